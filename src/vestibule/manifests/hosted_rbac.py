"""The operator's permissions in namespaces of hosted control planes. Pure and deterministic.

Control planes live in namespaces that come and go, and their Secrets with them; so these permissions are a
role of their own, which is granted in named namespaces, cluster-wide only on request, and not at all unless
it is asked for.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

from vestibule.api import control_planes, gvk
from vestibule.api.gvk import Kind
from vestibule.api.hostedwebhook import HOSTED_WEBHOOK
from vestibule.manifests import kinds

Object = dict[str, Any]
_RBAC: Final = "rbac.authorization.k8s.io"
_FOLLOWED: Final = ["get", "list", "watch"]
_OWNED_VERBS: Final = ["create", "delete", "get", "list", "patch", "watch"]
_OWNED: Final = (kinds.SECRET, kinds.SERVICE, gvk.DEPLOYMENT, kinds.BUDGET, kinds.NETWORK_POLICY)


def rules() -> list[Object]:
    """The verbs that the hosted controller uses."""
    return [
        _rule(HOSTED_WEBHOOK, ["get", "list", "patch", "watch"]),
        _rule(HOSTED_WEBHOOK, ["patch"], "status"),
        *(_rule(kind, _OWNED_VERBS) for kind in _OWNED),
        _rule(kinds.ENDPOINT_SLICE, ["list", "watch"]),
        *(_rule(kind, _FOLLOWED) for kind in control_planes.READ),
        *(_rule(kind, [*_FOLLOWED, "update"]) for kind in control_planes.WRITTEN),
        {"apiGroups": ["events.k8s.io"], "resources": ["events"], "verbs": ["create"]},
    ]


def objects(name: str, subject: Object, namespaces: Sequence[str] | None) -> list[Object]:
    """The role and its bindings: one in each namespace that is named; None: one for all of them."""
    reference = {"apiGroup": _RBAC, "kind": "ClusterRole", "name": name}
    role = {
        "apiVersion": f"{_RBAC}/v1",
        "kind": "ClusterRole",
        "metadata": {"name": name},
        "rules": rules(),
    }
    bindings = [
        {
            "apiVersion": f"{_RBAC}/v1",
            "kind": "RoleBinding" if namespace else "ClusterRoleBinding",
            "metadata": {"name": name, **({"namespace": namespace} if namespace else {})},
            "roleRef": reference,
            "subjects": [subject],
        }
        for namespace in (("",) if namespaces is None else namespaces)
    ]
    return [role, *bindings]


def _rule(kind: Kind, verbs: Sequence[str], sub: str = "") -> Object:
    resource = f"{kind.plural}/{sub}" if sub else kind.plural
    return {"apiGroups": [kind.group], "resources": [resource], "verbs": list(verbs)}
