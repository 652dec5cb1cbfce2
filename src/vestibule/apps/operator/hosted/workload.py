"""The webhook in a Deployment of its own, in the namespace of the control plane: no rollout of the API
server, nothing in its readiness, certificates reloaded in place."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from vestibule.apps.operator.hosted import sidecar, webhooks
from vestibule.apps.operator.hosted.sidecar import Asked
from vestibule.apps.operator.hosted.target import Target

Object = dict[str, Any]
_USER: Final = 65532
NAME: Final = webhooks.OURS


def names(namespace: str) -> tuple[str, ...]:
    """Under which the Service can be called."""
    return (NAME, f"{NAME}.{namespace}.svc", f"{NAME}.{namespace}.svc.cluster.local")


def url(target: Target, path: str) -> str:
    """Where the guest's API server finds it; URLs are dialled from its own pod, past any tunnel."""
    return f"https://{NAME}.{target.namespace}.svc:443{path}"


def objects(target: Target, asked: Asked, replicas: int = 2) -> list[Object]:
    """Deployment, Service, budget and network policy."""
    port = asked.webhook.port
    return [
        _deployment(target, asked._replace(local=False), replicas),
        {
            "apiVersion": "v1",
            "kind": "Service",
            "metadata": _meta(target, target.service_labels),
            "spec": {
                "ports": [{"name": "https", "port": 443, "targetPort": port, "protocol": "TCP"}],
                "selector": {"app": NAME},
            },
        },
        {
            "apiVersion": "policy/v1",
            "kind": "PodDisruptionBudget",
            "metadata": _meta(target),
            "spec": {"maxUnavailable": 1, "selector": {"matchLabels": {"app": NAME}}},
        },
        {
            "apiVersion": "networking.k8s.io/v1",
            "kind": "NetworkPolicy",
            "metadata": _meta(target),
            "spec": {
                "podSelector": {"matchLabels": {"app": NAME}},
                "policyTypes": ["Ingress"],
                # from its neighbours only: the API server is one of them
                "ingress": [
                    {"from": [{"podSelector": {}}], "ports": [{"protocol": "TCP", "port": port}]},
                    {"ports": [{"protocol": "TCP", "port": webhooks.METRICS_PORT}]},
                ],
            },
        },
    ]


def _meta(target: Target, labels: Mapping[str, str] | None = None) -> Object:
    return {
        "name": NAME,
        "namespace": target.namespace,
        "labels": {"app": NAME, "app.kubernetes.io/managed-by": "vestibule", **(labels or {})},
    }


def _deployment(target: Target, asked: Asked, replicas: int) -> Object:
    spread = {
        "maxSkew": 1,
        "topologyKey": "kubernetes.io/hostname",
        "whenUnsatisfiable": "ScheduleAnyway",
        "labelSelector": {"matchLabels": {"app": NAME}},
    }
    pod: Object = {
        "automountServiceAccountToken": False,
        "containers": [sidecar.ours(asked)],
        "securityContext": {
            "fsGroup": _USER,
            "runAsGroup": _USER,
            "runAsNonRoot": True,
            "runAsUser": _USER,
            "seccompProfile": {"type": "RuntimeDefault"},
        },
        "topologySpreadConstraints": [spread],
        "volumes": sidecar.our_volumes(mode=0o440),
    }
    for field in ("nodeSelector", "tolerations"):
        placed = (target.thing.get("spec") or {}).get(field) if target.flavour == "hypershift" else None
        if placed:
            pod[field] = placed
    return {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": _meta(target),
        "spec": {
            "replicas": replicas,
            "selector": {"matchLabels": {"app": NAME}},
            "strategy": {"type": "RollingUpdate", "rollingUpdate": {"maxSurge": 1, "maxUnavailable": 0}},
            "template": {"metadata": {"labels": {"app": NAME, **target.pod_labels}}, "spec": pod},
        },
    }
