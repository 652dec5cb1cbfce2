"""What stands in the guest: a role, its binding, the registration; and what to do when they are not as they
should be.

Fields that we leave unset are the guest's to choose (``timeoutSeconds``, ``namespaceSelector``,
``matchConditions``): they are kept, and never count as drift. The registration itself is taken back to what
it must say, and made again when somebody deletes it.
"""

from __future__ import annotations

import copy
from collections.abc import Sequence
from typing import Any, Final, Literal, NamedTuple

from vestibule.operator.controllers.hosted.certificates import encoded
from vestibule.operator.controllers.hosted.hypershift_webhooks import ACCOUNT_NAMESPACE, HypershiftWebhook

Object = dict[str, Any]
MANAGED: Final = "hypershift.openshift.io/managed"
_RBAC: Final = "rbac.authorization.k8s.io"
_PODS: Final[Object] = {
    "operations": ["CREATE"],
    "apiGroups": [""],
    "apiVersions": ["v1"],
    "resources": ["pods"],
}


class HostedObjectsSpec(NamedTuple):
    """Whose objects, under which names, and how the API server reaches the webhook."""

    webhook: HypershiftWebhook
    ca_bundle: str
    """PEM text."""
    name: str
    configuration: str
    entry: str
    url: str = ""
    service: Object | None = None
    """A Service in the guest, where the webhook runs there; else the URL counts."""
    subjects: tuple[Object, ...] = ()
    labels: tuple[tuple[str, str], ...] = ()
    failure_policy: Literal["Ignore", "Fail"] = "Ignore"


def hypershift(webhook: HypershiftWebhook, ca_bundle: str) -> HostedObjectsSpec:
    """What HyperShift's config operator wants."""
    return HostedObjectsSpec(
        webhook,
        ca_bundle,
        webhook.name,
        webhook.configuration,
        webhook.entry,
        url=webhook.local_url,
        subjects=({"kind": "ServiceAccount", "name": webhook.name, "namespace": ACCOUNT_NAMESPACE},),
        labels=((MANAGED, "true"),),
    )


def objects(wanted: HostedObjectsSpec) -> list[Object]:
    """Role, binding and registration, in the order in which they are made."""
    return [role(wanted), binding(wanted), configuration(wanted)]


def role(wanted: HostedObjectsSpec) -> Object:
    """May read ServiceAccounts, and nothing else."""
    rule = {"apiGroups": [""], "resources": ["serviceaccounts"], "verbs": ["get", "list", "watch"]}
    return {
        "apiVersion": f"{_RBAC}/v1",
        "kind": "ClusterRole",
        "metadata": _meta(wanted, wanted.name),
        "rules": [rule],
    }


def binding(wanted: HostedObjectsSpec) -> Object:
    """Gives the role to the webhook."""
    return {
        "apiVersion": f"{_RBAC}/v1",
        "kind": "ClusterRoleBinding",
        "metadata": _meta(wanted, wanted.name),
        "roleRef": {"apiGroup": _RBAC, "kind": "ClusterRole", "name": wanted.name},
        "subjects": [dict(one) for one in wanted.subjects],
    }


def configuration(wanted: HostedObjectsSpec) -> Object:
    """Pods at their creation, to a URL (or a Service of the guest); while it is down they pass."""
    client: Object = {"caBundle": encoded(wanted.ca_bundle)}
    if wanted.service is not None:
        client["service"] = dict(wanted.service)
    else:
        client["url"] = wanted.url
    entry: Object = {
        "name": wanted.entry,
        "admissionReviewVersions": list(wanted.webhook.versions),
        "clientConfig": client,
        "failurePolicy": wanted.failure_policy,
        "sideEffects": "None",
        "rules": [copy.deepcopy(_PODS)],
        **copy.deepcopy(dict(wanted.webhook.extra)),
    }
    return {
        "apiVersion": "admissionregistration.k8s.io/v1",
        "kind": "MutatingWebhookConfiguration",
        "metadata": _meta(wanted, wanted.configuration),
        "webhooks": [entry],
    }


def _meta(wanted: HostedObjectsSpec, name: str) -> Object:
    return {"name": name, **({"labels": dict(wanted.labels)} if wanted.labels else {})}


class HostedChange(NamedTuple):
    """What must be written, if anything."""

    action: Literal["none", "create", "update", "recreate"]
    thing: Object
    """As it should be; for ``none`` as it is."""

    @property
    def writes(self) -> int:
        """How many objects change."""
        return 0 if self.action == "none" else 1


def change(live: Object | None, desired: Object) -> HostedChange:
    """What keeps the live object from being as desired.

    A binding's role cannot be changed, so a binding to another one is made anew.
    """
    if live is None:
        return HostedChange("create", desired)
    if desired["kind"] == "ClusterRoleBinding" and live.get("roleRef") != desired["roleRef"]:
        return HostedChange("recreate", desired)
    merged = _laid_over(live, desired)
    return HostedChange("none", live) if merged == live else HostedChange("update", merged)


_KEYED: Final = {"webhooks": "name"}
"""Lists whose members are told apart by a key; in all others the order counts."""


def _laid_over(live: Any, desired: Any, field: str = "") -> Any:
    """The live value with everything that is desired; what nobody desires stays."""
    if isinstance(desired, dict) and isinstance(live, dict):
        if field in ("clientConfig", "matchLabels", "roleRef"):
            return desired  # half of ours and half of somebody's would be neither
        if field == "objectSelector":
            return desired
        return {**live, **{key: _laid_over(live.get(key), value, key) for key, value in desired.items()}}
    if isinstance(desired, list) and isinstance(live, list):
        return _listed(live, desired, field)
    return desired


def _listed(live: Sequence[Any], desired: Sequence[Any], field: str) -> list[Any]:
    key = _KEYED.get(field)
    if key is not None:
        known = {one[key]: one for one in live if isinstance(one, dict) and key in one}
        return [_laid_over(known[one[key]], one) if one[key] in known else one for one in desired]
    if field == "rules" and len(live) == len(desired):
        return [_laid_over(old, new) for old, new in zip(live, desired, strict=True)]
    return list(desired)
