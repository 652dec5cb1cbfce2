"""The webhook in a Deployment of its own, in the namespace of the control plane: no rollout of the API
server, nothing in its readiness, certificates reloaded in place."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from vestibule.operator.controllers.hosted import hypershift_webhooks, sidecar
from vestibule.operator.controllers.hosted.control_plane import ControlPlane
from vestibule.operator.controllers.hosted.sidecar import SidecarSpec

Object = dict[str, Any]
_USER: Final = 65532
PORT: Final = "https"
"""Name of the port of the Service."""


def names(target: ControlPlane) -> tuple[str, ...]:
    """Under which the Service can be called."""
    name, namespace = target.own, target.namespace
    return (name, f"{name}.{namespace}.svc", f"{name}.{namespace}.svc.cluster.local")


def url(target: ControlPlane, path: str) -> str:
    """Where the guest's API server finds it; URLs are dialled from its own pod, past any tunnel."""
    return f"https://{target.own}.{target.namespace}.svc:443{path}"


def objects(target: ControlPlane, asked: SidecarSpec, replicas: int = 2, operator: str = "") -> list[Object]:
    """Deployment, Service, budget and network policy; ``operator`` is the namespace from where it is
    proved that replicas answer."""
    port, own = asked.webhook.port, target.own
    callers: list[Object] = [{"podSelector": {}}]
    if operator:
        callers.append({"namespaceSelector": {"matchLabels": {"kubernetes.io/metadata.name": operator}}})
    return [
        _deployment(target, asked._replace(local=False), replicas),
        {
            "apiVersion": "v1",
            "kind": "Service",
            "metadata": _meta(target, target.service_labels),
            "spec": {
                "ports": [{"name": PORT, "port": 443, "targetPort": port, "protocol": "TCP"}],
                "selector": {"app": own},
            },
        },
        {
            "apiVersion": "policy/v1",
            "kind": "PodDisruptionBudget",
            "metadata": _meta(target),
            "spec": {"maxUnavailable": 1, "selector": {"matchLabels": {"app": own}}},
        },
        {
            "apiVersion": "networking.k8s.io/v1",
            "kind": "NetworkPolicy",
            "metadata": _meta(target),
            "spec": {
                "podSelector": {"matchLabels": {"app": own}},
                "policyTypes": ["Ingress"],
                # from its neighbours, of which the API server is one, and from who proves that it answers
                "ingress": [
                    {"from": callers, "ports": [{"protocol": "TCP", "port": port}]},
                    {"ports": [{"protocol": "TCP", "port": hypershift_webhooks.METRICS_PORT}]},
                ],
            },
        },
    ]


def _meta(target: ControlPlane, labels: Mapping[str, str] | None = None) -> Object:
    return {
        "name": target.own,
        "namespace": target.namespace,
        "labels": {"app": target.own, "app.kubernetes.io/managed-by": "vestibule", **(labels or {})},
    }


def _deployment(target: ControlPlane, asked: SidecarSpec, replicas: int) -> Object:
    spread = {
        "maxSkew": 1,
        "topologyKey": "kubernetes.io/hostname",
        "whenUnsatisfiable": "ScheduleAnyway",
        "labelSelector": {"matchLabels": {"app": target.own}},
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
        "volumes": sidecar.our_volumes(target.own, 0o440),
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
            "selector": {"matchLabels": {"app": target.own}},
            "strategy": {"type": "RollingUpdate", "rollingUpdate": {"maxSurge": 1, "maxUnavailable": 0}},
            "template": {"metadata": {"labels": {"app": target.own, **target.pod_labels}}, "spec": pod},
        },
    }
