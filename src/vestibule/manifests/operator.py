"""What the operator itself needs: CRDs, RBAC, lease, Deployment. Pure and deterministic.

Its permissions are the verbs that it uses. Objects without a namespace it may change by name only, and in
namespaces only those of its own, but for roles of a fixed name and for Events. It holds what it grants to the
webhook: without that the API server would not let it grant it, and with ``escalate`` it could grant itself
anything.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

import msgspec

from vestibule.api import aso, gvk
from vestibule.api.gvk import Kind
from vestibule.api.settings.schema import Settings
from vestibule.manifests import (
    aro_crds,
    aro_rbac,
    crds,
    hosted_rbac,
    install,
    kinds,
    operator_policy,
    rbac,
    sandbox_webhooks,
)
from vestibule.oidc import discovery

Object = dict[str, Any]
_RBAC: Final = "rbac.authorization.k8s.io/v1"
_OWNED_VERBS: Final = ["create", "delete", "get", "patch"]
_SEEN: Final = ["list", "watch"]


def name(settings: Settings) -> str:
    """Of everything that is the operator's: several can live in one cluster, each for its own name."""
    return f"{settings.install.name}-operator"


def objects(settings: Settings) -> list[Object]:
    """All objects, in the order in which they should be applied."""
    own, namespace = name(settings), settings.install.namespace
    subject = {"kind": "ServiceAccount", "name": own, "namespace": namespace}
    rendered = [
        _namespace(namespace),
        crds.webhook(),
        crds.identity_policy(),
        crds.published_issuer(),
        *crds.sandboxes(),
        *([crds.hosted_webhook()] if settings.install.hosted else []),
        *(aro_crds.definitions(_permitted(settings)) if settings.install.aro else []),
        _object("v1", "ServiceAccount", own, namespace, automountServiceAccountToken=False),
        *_bound("ClusterRole", "", cluster_rules(settings), subject),
        *_bound("Role", namespace, near_rules(settings), subject),
        *_hosted(settings, subject),
        *_aro(settings, own, subject),
        *(operator_policy.objects(own, namespace) if settings.install.guard else []),
        _object("coordination.k8s.io/v1", "Lease", own, namespace),
        _deployment(settings),
    ]
    return [_labelled(one, own) for one in rendered]


def _hosted(settings: Settings, subject: Object) -> list[Object]:
    """Its permissions for hosted control planes, if enabled."""
    if not settings.install.hosted:
        return []
    install = settings.install
    namespaces = None if install.hosted_all_namespaces else install.hosted_namespaces
    return hosted_rbac.objects(f"{name(settings)}-hosted", subject, namespaces)


def _permitted(settings: Settings) -> aso.PermittedKinds:
    return aso.permitted(settings.install.aro_kinds, "install.aroKinds")


def _aro(settings: Settings, own: str, subject: Object) -> list[Object]:
    """What it may do for ARO HCP clusters, where that is asked for."""
    if not settings.install.aro:
        return []
    return aro_rbac.objects(_aro_webhook(settings), own, subject, settings.install.aro_kinds)


def _aro_webhook(settings: Settings) -> str:
    """For ARO HCP clusters: role, Service and webhook configuration."""
    return f"{name(settings)}-aro"


def cluster_rules(settings: Settings) -> list[Object]:
    """What it may do in the whole cluster."""
    base = settings.install.name
    own = [
        base,
        sandbox_webhooks.name(settings),
        f"{base}-guard",
        sandbox_webhooks.guard_name(settings),
        f"{base}-final",
    ]
    wide = list(kinds.WIDE)
    return [
        _rule([gvk.VESTIBULE_WEBHOOK], ["get", "list", "patch", "watch"]),
        _rule([gvk.VESTIBULE_WEBHOOK], ["patch"], sub="status"),
        *_rules([*wide, *kinds.RBAC], _SEEN),
        *_rules(wide, _OWNED_VERBS, own),
        _rule([kinds.NODE], ["list"]),
        *_rules([gvk.KATA_CONFIG, gvk.OSC_WEBHOOK_CONFIG, gvk.RUNTIME_CLASS], _SEEN),
        _rule([gvk.KATA_CONFIG, gvk.OSC_WEBHOOK_CONFIG], ["patch"], sub="status"),
        _rule([gvk.IDENTITY_POLICY], ["get", *_SEEN]),
        _rule([gvk.IDENTITY_POLICY], ["patch"], sub="status"),
        *_rules(list(kinds.RBAC), _OWNED_VERBS, [f"{base}-initdata"]),
        *audit_rules(settings),
        *issuer_rules(),
        *held(settings),
    ]


def audit_rules(settings: Settings) -> list[Object]:
    """What the auditor needs besides what the webhook reads, which is held: pods are listed, and their
    workloads are reported, and evicted only if enabled."""
    evict = [_rule([gvk.POD], ["create"], sub="eviction")] if settings.install.evictions else []
    return [_rule([gvk.POD], ["list"]), *event_rules(), *evict]


def issuer_rules() -> list[Object]:
    """What it takes to keep an issuer published: its objects, and what the API server itself publishes."""
    return [
        _rule([gvk.PUBLISHED_ISSUER], ["get", *_SEEN]),
        _rule([gvk.PUBLISHED_ISSUER], ["patch"], sub="status"),
        {"nonResourceURLs": [discovery.PATH, discovery.KEYS_PATH], "verbs": ["get"]},
    ]


def held(settings: Settings) -> list[Object]:
    """What it grants to the webhook, whatever that comes to ask for; its auditor reads with it, too."""
    everything = _everything(settings)
    initdata = {"apiGroups": [""], "resources": ["configmaps"], "verbs": ["get"]}
    return [*rbac.rules(everything), initdata]


def _everything(settings: Settings) -> Settings:
    on = msgspec.structs.replace(settings.sandbox, enabled=True)
    return msgspec.structs.replace(settings, sandbox=on, identity_policies=True)


def near_rules(settings: Settings) -> list[Object]:
    """What it may do in its own namespace."""
    return [
        *_rules([*kinds.NEAR, *kinds.CERT_MANAGER], [*_OWNED_VERBS[:3], "list", "patch", "watch"]),
        _rule([kinds.ENDPOINT_SLICE], _SEEN),
        {
            "apiGroups": ["coordination.k8s.io"],
            "resources": ["leases"],
            "resourceNames": [name(settings)],
            "verbs": ["get", "update"],
        },
    ]


def event_rules() -> list[Object]:
    """Events are in the namespace of their object, and in ``default`` where that has no namespace."""
    return [{"apiGroups": ["events.k8s.io"], "resources": ["events"], "verbs": ["create"]}]


def _rule(of: Sequence[Kind], verbs: Sequence[str], names: Sequence[str] = (), sub: str = "") -> Object:
    rule: Object = {
        "apiGroups": [of[0].group],
        "resources": sorted(f"{kind.plural}/{sub}" if sub else kind.plural for kind in of),
        "verbs": list(verbs),
    }
    return {**rule, "resourceNames": list(names)} if names else rule


def _rules(of: Sequence[Kind], verbs: Sequence[str], names: Sequence[str] = ()) -> list[Object]:
    """The same, one for each group."""
    groups = dict.fromkeys(kind.group for kind in of)
    return [_rule([kind for kind in of if kind.group == group], verbs, names) for group in groups]


def _bound(kind: str, namespace: str, rules: list[Object], subject: Object) -> list[Object]:
    """A role and its binding."""
    meta = {"name": subject["name"], **({"namespace": namespace} if namespace else {})}
    role = {"apiGroup": "rbac.authorization.k8s.io", "kind": kind, "name": subject["name"]}
    return [
        {"apiVersion": _RBAC, "kind": kind, "metadata": meta, "rules": rules},
        {
            "apiVersion": _RBAC,
            "kind": f"{kind}Binding",
            "metadata": dict(meta),
            "roleRef": role,
            "subjects": [subject],
        },
    ]


def _namespace(name: str) -> Object:
    labels = {"pod-security.kubernetes.io/enforce": "restricted"}
    return {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name, "labels": labels}}


def _object(api: str, kind: str, own: str, namespace: str, **more: Any) -> Object:
    return {"apiVersion": api, "kind": kind, "metadata": {"name": own, "namespace": namespace}, **more}


def _labelled(obj: Object, own: str) -> Object:
    labels = {
        "app.kubernetes.io/name": own,
        "app.kubernetes.io/managed-by": install.OWNER,
        **obj["metadata"].get("labels", {}),
    }
    return {**obj, "metadata": {**obj["metadata"], "labels": labels}}


def _aro_port(settings: Settings) -> list[Object]:
    if not settings.install.aro:
        return []
    return [{"name": "aro", "containerPort": aro_rbac.PORT, "protocol": "TCP"}]


def _deployment(settings: Settings) -> Object:
    own = name(settings)
    labels = {"app.kubernetes.io/name": own}
    image = settings.install.image
    probe: Object = {"scheme": "HTTP", "port": "metrics"}
    container = {
        "name": "operator",
        "image": image,
        "args": [
            "operator",
            f"--only={settings.install.name}",
            f"--lease={own}",
            "--metrics-addr=0.0.0.0:8080",
            *(["--hosted"] if settings.install.hosted else []),
            *(["--hosted-all-namespaces"] if settings.install.hosted_all_namespaces else []),
            *(f"--hosted-namespace={one}" for one in settings.install.hosted_namespaces),
            *(["--aro", f"--aro-webhook={_aro_webhook(settings)}"] if settings.install.aro else []),
            *(f"--aro-kind={one}" for one in settings.install.aro_kinds),
        ],
        "env": [
            {"name": "POD_NAMESPACE", "valueFrom": {"fieldRef": {"fieldPath": "metadata.namespace"}}},
            {"name": "VESTIBULE_IMAGE", "value": image},
        ],
        "ports": [{"name": "metrics", "containerPort": 8080, "protocol": "TCP"}, *_aro_port(settings)],
        "livenessProbe": {"httpGet": {"path": "/healthz", **probe}, "periodSeconds": 10},
        "readinessProbe": {"httpGet": {"path": "/readyz", **probe}, "periodSeconds": 5},
        "resources": {
            "requests": {"cpu": "10m", "memory": "96Mi"},
            # hundreds of hosted clusters are hundreds of connections
            "limits": {"memory": "512Mi" if settings.install.hosted or settings.install.aro else "256Mi"},
        },
        # TLS reads keys from files only, and the rest of the file system cannot be written
        "volumeMounts": [{"name": "tmp", "mountPath": "/tmp"}],  # noqa: S108 - a size-limited emptyDir
        "securityContext": {
            "allowPrivilegeEscalation": False,
            "capabilities": {"drop": ["ALL"]},
            "readOnlyRootFilesystem": True,
        },
    }
    pod = {
        "containers": [container],
        "automountServiceAccountToken": True,
        "volumes": [{"name": "tmp", "emptyDir": {"medium": "Memory", "sizeLimit": "16Mi"}}],
        "securityContext": {
            "runAsGroup": 65532,
            "runAsNonRoot": True,
            "runAsUser": 65532,
            "seccompProfile": {"type": "RuntimeDefault"},
        },
        "serviceAccountName": own,
        "terminationGracePeriodSeconds": 10,
    }
    return _object(
        "apps/v1",
        "Deployment",
        own,
        settings.install.namespace,
        spec={
            "replicas": 2,
            "selector": {"matchLabels": labels},
            "template": {"metadata": {"labels": labels}, "spec": pod},
        },
    )
