"""What the operator may do for ARO HCP clusters, and where the API server asks it about them. Pure.

A role of its own, not granted unless it is asked for: these clusters live in any namespace, with Secrets. Of
the kinds that are embedded it names exactly those that may be: the ones that clusters are made of, and those
that the settings add. There are no wildcards.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

from vestibule.api import aso, gvk
from vestibule.api.gvk import Kind
from vestibule.aro import author_access, names
from vestibule.manifests import kinds

Object = dict[str, Any]
_RBAC: Final = "rbac.authorization.k8s.io"
_OURS: Final = (names.ARO_CLUSTER, names.ARO_CONTROL_PLANE, names.ARO_MACHINE_POOL)
PORT: Final = 9443
_EMBEDDED: Final = ("create", "delete", "list", "patch", "watch")


def rules(webhook: str, added: Sequence[str] = ()) -> list[Object]:
    """The verbs that the ARO controllers and their webhook use; ``webhook`` is the name of the webhook
    configuration, ``added`` are kinds of the settings, ``GROUP/KIND/PLURAL``."""
    shipped: dict[str, list[str]] = {}
    for one in aso.SHIPPED:
        shipped.setdefault(one.group, []).append(one.plural)
    return [
        *(_rule(kind, ["list", "patch", "watch"]) for kind in _OURS),
        *(_rule(kind, ["patch"], "status") for kind in _OURS),
        # OpenShift wants this of who sets owners that block a deletion
        *(_rule(kind, ["update"], "finalizers") for kind in _OURS),
        _rule(names.CLUSTER, ["get", "list", "watch"]),
        _rule(names.MACHINE_POOL, ["get", "list", "patch", "watch"]),
        _rule(names.IDENTITY, ["get"]),
        _rule(gvk.NAMESPACE, ["get"]),
        _rule(kinds.SECRET, ["create", "get", "patch"]),
        *(
            {"apiGroups": [group], "resources": plurals, "verbs": list(_EMBEDDED)}
            for group, plurals in shipped.items()
        ),
        # whether the author of an object may create what it embeds
        _rule(author_access.REVIEW, ["create"]),
        {"apiGroups": ["events.k8s.io"], "resources": ["events"], "verbs": ["create"]},
        {**_rule(kinds.VALIDATING, ["create", "get", "patch"]), "resourceNames": [webhook]},
        *(
            {"apiGroups": [group], "resources": [plural], "verbs": list(_EMBEDDED)}
            for group, _, plural in (value.split("/") for value in added)
        ),
    ]


def objects(name: str, operator: str, subject: Object, added: Sequence[str] = ()) -> list[Object]:
    """The role, its binding, and the Service of the validating webhook; ``operator`` is the label of the
    pods."""
    role = {"apiGroup": _RBAC, "kind": "ClusterRole", "name": name}
    port = {"name": "aro", "port": 443, "targetPort": "aro", "protocol": "TCP"}
    return [
        {
            "apiVersion": f"{_RBAC}/v1",
            "kind": "ClusterRole",
            "metadata": {"name": name},
            "rules": rules(name, added),
        },
        {
            "apiVersion": f"{_RBAC}/v1",
            "kind": "ClusterRoleBinding",
            "metadata": {"name": name},
            "roleRef": role,
            "subjects": [subject],
        },
        {
            "apiVersion": "v1",
            "kind": "Service",
            "metadata": {"name": name, "namespace": subject["namespace"]},
            "spec": {"selector": {"app.kubernetes.io/name": operator}, "ports": [port]},
        },
    ]


def _rule(kind: Kind, verbs: Sequence[str], sub: str = "") -> Object:
    resource = f"{kind.plural}/{sub}" if sub else kind.plural
    return {"apiGroups": [kind.group], "resources": [resource], "verbs": list(verbs)}
