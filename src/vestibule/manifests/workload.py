"""The webhook as a workload: Deployment, Service, PodDisruptionBudget and NetworkPolicy, hardened by
default."""

from __future__ import annotations

import ipaddress
import math
from typing import Any, Final

from vestibule import gostrconv
from vestibule.api.settings.schema import Settings

Object = dict[str, Any]
SETTINGS_FILE: Final = "settings.json"
SETTINGS_DIRECTORY: Final = "/etc/vestibule"
TOKEN_DIRECTORY: Final = "/var/run/secrets/kubernetes.io/serviceaccount"
CLIENT_CA_FILE: Final = "/client-ca/ca.crt"
"""Where the CA of the API servers' client certificates is mounted."""


def settings_name(settings: Settings) -> str:
    """Name of the ConfigMap with the settings file."""
    return settings.install.settings or f"{settings.install.name}-settings"


def selector(settings: Settings) -> dict[str, str]:
    """Labels of our pods."""
    return {"app.kubernetes.io/name": "vestibule", "app.kubernetes.io/instance": settings.install.name}


def objects(settings: Settings) -> list[Object]:
    """All four."""
    return [_deployment(settings), _service(settings), _budget(settings), _network_policy(settings)]


def _meta(settings: Settings, **more: Any) -> Object:
    return {"name": settings.install.name, "namespace": settings.install.namespace, **more}


def _port(listen: str) -> int:
    parsed = gostrconv.address(listen)
    return parsed[1] if parsed else 0


def _deployment(settings: Settings) -> Object:
    install = settings.install
    labels = selector(settings)
    serving = settings.serving
    leave = math.ceil(serving.drain_seconds + serving.grace_seconds) + 5
    spread = [
        {
            "maxSkew": 1,
            "topologyKey": key,
            "whenUnsatisfiable": "ScheduleAnyway",
            "labelSelector": {"matchLabels": labels},
        }
        for key in ("kubernetes.io/hostname", "topology.kubernetes.io/zone")
    ]
    pod: Object = {
        "automountServiceAccountToken": False,
        "containers": [_container(settings)],
        "priorityClassName": "system-cluster-critical",
        "securityContext": {
            "fsGroup": 65532,
            "runAsGroup": 65532,
            "runAsNonRoot": True,
            "runAsUser": 65532,
            "seccompProfile": {"type": "RuntimeDefault"},
        },
        "serviceAccountName": install.name,
        "terminationGracePeriodSeconds": leave,
        "topologySpreadConstraints": spread,
        "volumes": _volumes(settings),
    }
    return {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": _meta(settings),
        "spec": {
            "replicas": install.replicas,
            "selector": {"matchLabels": labels},
            "strategy": {"type": "RollingUpdate", "rollingUpdate": {"maxSurge": 1, "maxUnavailable": 0}},
            "template": {"metadata": {"labels": labels}, "spec": pod},
        },
    }


def _container(settings: Settings) -> Object:
    install, serving = settings.install, settings.serving
    ports = [{"name": "https", "containerPort": _port(serving.addr), "protocol": "TCP"}]
    probe: Object = {"scheme": "HTTPS", "port": "https"}
    if serving.metrics_addr:
        ports.append({"name": "metrics", "containerPort": _port(serving.metrics_addr), "protocol": "TCP"})
        # the plain port answers before there is a certificate, and to a kubelet that has none of its own
        probe = {"scheme": "HTTP", "port": "metrics"}
    return {
        "name": "webhook",
        "image": install.image,
        "args": ["webhook", f"--settings={SETTINGS_DIRECTORY}/{SETTINGS_FILE}"],
        "env": [
            {"name": "POD_NAMESPACE", "valueFrom": {"fieldRef": {"fieldPath": "metadata.namespace"}}},
        ],
        "ports": ports,
        "livenessProbe": {
            "httpGet": {"path": "/healthz", **probe},
            "periodSeconds": 10,
            "failureThreshold": 3,
        },
        "readinessProbe": {
            "httpGet": {"path": "/readyz", **probe},
            "periodSeconds": 2,
            "failureThreshold": 1,
        },
        "startupProbe": {
            "httpGet": {"path": "/healthz", **probe},
            "periodSeconds": 1,
            "failureThreshold": 60,
        },
        "resources": {
            "requests": {"cpu": install.cpu, "memory": install.memory},
            "limits": {"memory": install.memory},
        },
        "securityContext": {
            "allowPrivilegeEscalation": False,
            "capabilities": {"drop": ["ALL"]},
            "readOnlyRootFilesystem": True,
        },
        "volumeMounts": [
            {"name": "settings", "mountPath": SETTINGS_DIRECTORY, "readOnly": True},
            {"name": "tls", "mountPath": "/tls", "readOnly": True},
            *(
                [{"name": "client-ca", "mountPath": CLIENT_CA_FILE.rpartition("/")[0], "readOnly": True}]
                if install.client_ca
                else []
            ),
            {"name": "token", "mountPath": TOKEN_DIRECTORY, "readOnly": True},
            {"name": "tmp", "mountPath": "/tmp"},  # noqa: S108 - a size-limited emptyDir
        ],
    }


def _volumes(settings: Settings) -> list[Object]:
    """The API token is projected by hand, into the one container that needs it."""
    return [
        {"name": "settings", "configMap": {"name": settings_name(settings)}},
        {"name": "tls", "secret": _serving_secret(settings)},
        *(
            [{"name": "client-ca", "configMap": {"name": settings.install.client_ca}}]
            if settings.install.client_ca
            else []
        ),
        token_volume(),
        {"name": "tmp", "emptyDir": {"medium": "Memory", "sizeLimit": "16Mi"}},
    ]


def serving_items() -> list[Object]:
    """What replicas see of a Secret that we keep: their own pair."""
    return [{"key": key, "path": key} for key in ("tls.crt", "tls.key")]


def _serving_secret(settings: Settings) -> Object:
    """The certificate as it is mounted. While there is none the kubelet tries again and the pod waits."""
    source: Object = {"secretName": f"{settings.install.name}-tls", "defaultMode": 0o440}
    return {**source, "items": serving_items()} if settings.install.certificate == "self" else source


def token_volume() -> Object:
    """A token for the API server, by hand."""
    return {
        "name": "token",
        "projected": {
            "sources": [
                {"serviceAccountToken": {"path": "token", "expirationSeconds": 3600}},
                {
                    "configMap": {
                        "name": "kube-root-ca.crt",
                        "items": [{"key": "ca.crt", "path": "ca.crt"}],
                    }
                },
                {
                    "downwardAPI": {
                        "items": [{"path": "namespace", "fieldRef": {"fieldPath": "metadata.namespace"}}]
                    }
                },
            ]
        },
    }


def _service(settings: Settings) -> Object:
    meta = _meta(settings)
    if settings.install.certificate == "service-ca":
        meta["annotations"] = {
            "service.beta.openshift.io/serving-cert-secret-name": f"{settings.install.name}-tls"
        }
    ports = [{"name": "https", "port": 443, "targetPort": "https", "protocol": "TCP"}]
    if settings.serving.metrics_addr:
        port = _port(settings.serving.metrics_addr)
        ports.append({"name": "metrics", "port": port, "targetPort": "metrics", "protocol": "TCP"})
    return {
        "apiVersion": "v1",
        "kind": "Service",
        "metadata": meta,
        "spec": {"ipFamilyPolicy": "PreferDualStack", "ports": ports, "selector": selector(settings)},
    }


def _budget(settings: Settings) -> Object:
    """One at a time; as maxUnavailable, which lets a single replica be drained too."""
    return {
        "apiVersion": "policy/v1",
        "kind": "PodDisruptionBudget",
        "metadata": _meta(settings),
        "spec": {"maxUnavailable": 1, "selector": {"matchLabels": selector(settings)}},
    }


def _network_policy(settings: Settings) -> Object:
    """In: reviews, from the API servers where the settings name them and else from anywhere (they have no pod
    address), and scrapes. Out: DNS and the API server."""
    reviews: Object = {"ports": [{"protocol": "TCP", "port": "https"}]}
    scrapes = [{"protocol": "TCP", "port": "metrics"}] if settings.serving.metrics_addr else []
    if settings.install.api_servers:
        networks = [str(ipaddress.ip_network(one)) for one in settings.install.api_servers]
        reviews["from"] = [{"ipBlock": {"cidr": network}} for network in networks]
        ingress = [reviews, *([{"ports": scrapes}] if scrapes else [])]
    else:
        reviews["ports"] += scrapes
        ingress = [reviews]
    return {
        "apiVersion": "networking.k8s.io/v1",
        "kind": "NetworkPolicy",
        "metadata": _meta(settings),
        "spec": {
            "podSelector": {"matchLabels": selector(settings)},
            "policyTypes": ["Ingress", "Egress"],
            "ingress": ingress,
            "egress": egress(),
        },
    }


def egress() -> list[Object]:
    """DNS and the API server."""
    return [
        {"ports": [{"protocol": "UDP", "port": 53}, {"protocol": "TCP", "port": 53}]},
        {"ports": [{"protocol": "TCP", "port": 443}, {"protocol": "TCP", "port": 6443}]},
    ]
