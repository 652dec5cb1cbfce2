"""The rendered objects, adapted to the cluster they are for: what it does not serve is left out and reported,
what cannot work there is refused, and nothing that is not ours is overwritten.

Pure: the cluster comes as an Observed. Nothing is added and nothing is changed silently; every difference to
a plain ``render`` is a warning.
"""

from __future__ import annotations

import copy
from collections.abc import Iterator, Sequence
from typing import Any, Final, NamedTuple

from vestibule import errors
from vestibule.api import annotation_keys
from vestibule.api.settings.schema import Settings
from vestibule.manifests import foreign_webhooks, install, sandbox_webhooks, webhook_configurations
from vestibule.manifests.cluster_facts import ApiServerVersion, ClusterFacts, labels, name

Object = dict[str, Any]

_MATCH_CONDITIONS: Final = ApiServerVersion(1, 28)
"""The first with ``matchConditions`` switched on (beta)."""
_CERT_MANAGER: Final = "cert-manager.io/"
_DEFINITION: Final = "CustomResourceDefinition"
_ENFORCE: Final = "pod-security.kubernetes.io/enforce"


class _OptionalKind(NamedTuple):
    """A kind that an installation can be without."""

    since: str
    """The first version that serves it."""
    loss: str
    """What is lost without it."""


_OPTIONAL: Final = {
    "ValidatingAdmissionPolicy": _OptionalKind(
        "1.30", "users who may patch pods can change the injected annotations of a running pod"
    ),
    "ValidatingAdmissionPolicyBinding": _OptionalKind("1.30", "the guard is not in force"),
    "PodDisruptionBudget": _OptionalKind("1.21", "a drain may take every replica at once"),
}


class AdaptedManifests(NamedTuple):
    """What to apply, and what an administrator should know first."""

    objects: list[Object]
    warnings: list[str]


def adapt(objects: Sequence[Object], settings: Settings, observed: ClusterFacts) -> AdaptedManifests:
    """The objects for this cluster; raises InvalidInput with everything that keeps them from it."""
    desired, definitions = _without_definitions(objects, observed)
    served = [obj for obj in desired if _api_kind(obj) in observed.served]
    absent = [obj for obj in desired if _api_kind(obj) not in observed.served]
    problems = [*_cannot(absent, observed), *_foreign(served, observed)]
    if problems:
        raise errors.InvalidInput(*problems)
    served = _guarded_by_webhook(served, absent, settings)
    remaining, conditions = _without_conditions(served, settings, observed)
    return AdaptedManifests(
        remaining,
        [
            *(_left_out(obj, observed) for obj in absent),
            *definitions,
            *conditions,
            *_service_ca(settings, observed),
            *_namespace(served, observed),
            *_neighbours(settings, observed),
            *(f"not read: {what}" for what in observed.unseen),
        ],
    )


def _guarded_by_webhook(
    served: Sequence[Object], absent: Sequence[Object], settings: Settings
) -> list[Object]:
    """Where the cluster has no policies, the webhook itself refuses changes to confidential pods."""
    policy_name = sandbox_webhooks.guard_name(settings)
    guard = next(
        (
            one
            for one in absent
            if one["metadata"]["name"] == policy_name and "matchConstraints" in one["spec"]
        ),
        None,
    )
    if guard is None:
        return [*served]
    rules = [
        one for one in guard["spec"]["matchConstraints"]["resourceRules"] if "UPDATE" in one["operations"]
    ]
    entry = webhook_configurations.validated(settings, "frozen.sandbox.vestibule.dev", rules, "Fail")
    entry["matchConditions"] = guard["spec"]["matchConditions"]
    remaining = copy.deepcopy([*served])
    for obj in remaining:
        if obj["kind"] == "ValidatingWebhookConfiguration":
            obj["webhooks"].append(entry)
    return remaining


def _api_kind(obj: Object) -> tuple[str, str]:
    return obj["apiVersion"], obj["kind"]


def _cannot(absent: Sequence[Object], observed: ClusterFacts) -> Iterator[errors.InputProblem]:
    """What is not served and cannot be left out."""
    if any(obj["apiVersion"].startswith(_CERT_MANAGER) for obj in absent):
        yield errors.InputProblem(
            "settings",
            "install.certificate",
            "is 'cert-manager', and the cluster does not serve cert-manager.io/v1: install cert-manager "
            "first, or want 'self', which needs nothing",
        )
    for obj in absent:
        if obj["kind"] in _OPTIONAL or obj["apiVersion"].startswith(_CERT_MANAGER):
            continue
        yield errors.InputProblem(
            name(obj),
            "apiVersion",
            f"is {obj['apiVersion']}, and the cluster (Kubernetes {observed.version}) does not serve that "
            f"{obj['kind']}; want one that does",
        )


def _without_definitions(objects: Sequence[Object], observed: ClusterFacts) -> tuple[list[Object], list[str]]:
    """CRDs of other owners are not changed: the operator of the sandboxes brings KataConfig."""
    theirs = {
        obj["metadata"]["name"]
        for obj in observed.found
        if obj["kind"] == _DEFINITION and labels(obj).get(annotation_keys.MANAGED_BY) != install.OWNER
    }
    remaining, warnings = [], []
    for obj in objects:
        if obj["kind"] == _DEFINITION and obj["metadata"]["name"] in theirs:
            warnings.append(
                f"{name(obj)}: left out, it exists and is not ours: fields that its schema does not know, "
                "such as spec.webhook, are dropped by the API server"
            )
        else:
            remaining.append(obj)
    return remaining, warnings


def _foreign(objects: Sequence[Object], observed: ClusterFacts) -> Iterator[errors.InputProblem]:
    """Cluster-wide objects of the same name with another owner; a namespace may be shared."""
    names = {(obj["kind"], obj["metadata"]["name"]) for obj in objects}
    for obj in observed.found:
        if obj["kind"] == "Namespace" or (obj["kind"], obj["metadata"]["name"]) not in names:
            continue
        if labels(obj).get(annotation_keys.MANAGED_BY) != install.OWNER:
            yield errors.InputProblem(
                name(obj),
                f"metadata.labels[{annotation_keys.MANAGED_BY}]",
                f"{_label(obj, annotation_keys.MANAGED_BY)}, want {install.OWNER!r}: it exists and is not "
                "ours, and we overwrite nothing that is not ours; remove it, or choose another install.name",
            )


_ISSUER: Final = (
    "with the token of the certificate issuer, every field of the webhook configurations can be changed"
)


def _left_out(obj: Object, observed: ClusterFacts) -> str:
    optional = _OPTIONAL[obj["kind"]]
    if obj["metadata"]["name"].endswith("-certificates"):
        optional = optional._replace(loss=_ISSUER)
    return (
        f"{name(obj)}: left out, Kubernetes {observed.version} does not serve {obj['apiVersion']} "
        f"{obj['kind']}, want {optional.since} or newer: {optional.loss}"
    )


def _without_conditions(
    objects: Sequence[Object], settings: Settings, observed: ClusterFacts
) -> tuple[list[Object], list[str]]:
    """Match conditions are dropped by API servers that do not know them; better we do it and say so."""
    if observed.version >= _MATCH_CONDITIONS:
        return list(objects), []
    remaining: list[Object] = []
    warnings: list[str] = []
    for obj in objects:
        if obj["metadata"]["name"] == sandbox_webhooks.name(settings):
            warnings.append(
                f"{name(obj)}: left out, Kubernetes {observed.version} does not know matchConditions, want "
                f"{_MATCH_CONDITIONS} or newer: without them it would send every pod; sandboxes are given to "
                f"the pods that MutatingWebhookConfiguration {settings.install.name} sends"
            )
            continue
        changed = copy.deepcopy(obj)
        for webhook in changed.get("webhooks") or ():
            conditions = [str(condition["name"]) for condition in webhook.pop("matchConditions", ())]
            if conditions:
                warnings.append(_conditions_lost(changed, webhook, conditions, settings, observed))
        remaining.append(changed)
    return remaining, warnings


def _conditions_lost(
    obj: Object, webhook: Object, conditions: Sequence[str], settings: Settings, observed: ClusterFacts
) -> str:
    outcome = (
        "which in strict mode mutates what it is sent, mirror pods included"
        if settings.mode == "strict"
        else "which leaves them alone"
    )
    return (
        f"{name(obj)}: webhooks[{webhook['name']}].matchConditions ({', '.join(conditions)}) left out, "
        f"Kubernetes {observed.version} does not know them, want {_MATCH_CONDITIONS} or newer: such pods are "
        f"sent to the webhook, {outcome}"
    )


def _service_ca(settings: Settings, observed: ClusterFacts) -> Iterator[str]:
    openshift = any(group.endswith(".openshift.io") for group in observed.groups)
    if settings.install.certificate == "service-ca" and not openshift:
        yield (
            "settings: install.certificate is 'service-ca', and the cluster serves no API of OpenShift: "
            "without its service CA there is no certificate and no trust; 'self' needs nothing"
        )


def _namespace(objects: Sequence[Object], observed: ClusterFacts) -> Iterator[str]:
    """A namespace that is there already: it becomes ours in part, and its pods meet our profile."""
    for found in observed.found:
        ours = next((one for one in objects if one["kind"] == found["kind"] == "Namespace"), None)
        if ours is None:
            continue
        if labels(found).get(annotation_keys.MANAGED_BY) != install.OWNER:
            yield (
                f"{name(found)}: exists and is not ours ({annotation_keys.MANAGED_BY} "
                f"{_label(found, annotation_keys.MANAGED_BY)}): applying adds our labels to it, and deleting "
                "what is printed here deletes it with everything in it"
            )
        level, desired = labels(found).get(_ENFORCE), labels(ours)[_ENFORCE]
        if level not in (None, desired):
            yield (
                f"{name(found)}: {_ENFORCE} is {level!r}, and applying makes it {desired!r}: pods there that "
                "need more are not admitted any more"
            )


def _neighbours(settings: Settings, observed: ClusterFacts) -> Iterator[str]:
    for neighbour in foreign_webhooks.known(observed.webhook_configurations, settings.install.name):
        yield (
            f"MutatingWebhookConfiguration {neighbour.configuration}: {neighbour.webhook} is "
            f"{neighbour.product}, and it mutates pods too: a pod that both know gets both identities, or "
            "half of each; keep them apart by webhook.namespaceSelector, or remove it once its pods moved"
        )


def _label(obj: Object, label: str) -> str:
    value = labels(obj).get(label)
    return "is not set" if value is None else f"is {value!r}"
