"""The rendered objects, adapted to the cluster they are for: what it does not serve is left out and told,
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
        "1.30", "who may patch pods can change the annotations we wrote on a running pod"
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
    wanted, definitions = _without_definitions(objects, observed)
    served = [thing for thing in wanted if _api_kind(thing) in observed.served]
    absent = [thing for thing in wanted if _api_kind(thing) not in observed.served]
    problems = [*_cannot(absent, observed), *_foreign(served, observed)]
    if problems:
        raise errors.InvalidInput(*problems)
    served = _guarded_by_webhook(served, absent, settings)
    kept, conditions = _without_conditions(served, settings, observed)
    return AdaptedManifests(
        kept,
        [
            *(_left_out(thing, observed) for thing in absent),
            *definitions,
            *conditions,
            *_service_ca(settings, observed),
            *_namespace(served, observed),
            *_neighbours(settings, observed),
            *(f"not looked at: {what}" for what in observed.unseen),
        ],
    )


def _guarded_by_webhook(
    served: Sequence[Object], absent: Sequence[Object], settings: Settings
) -> list[Object]:
    """Where the cluster has no policies, the webhook itself refuses changes to confidential pods."""
    wanted = sandbox_webhooks.guard_name(settings)
    guard = next(
        (one for one in absent if one["metadata"]["name"] == wanted and "matchConstraints" in one["spec"]),
        None,
    )
    if guard is None:
        return [*served]
    rules = [
        one for one in guard["spec"]["matchConstraints"]["resourceRules"] if "UPDATE" in one["operations"]
    ]
    entry = webhook_configurations.validated(settings, "frozen.sandbox.vestibule.dev", rules, "Fail")
    entry["matchConditions"] = guard["spec"]["matchConditions"]
    kept = copy.deepcopy([*served])
    for thing in kept:
        if thing["kind"] == "ValidatingWebhookConfiguration":
            thing["webhooks"].append(entry)
    return kept


def _api_kind(thing: Object) -> tuple[str, str]:
    return thing["apiVersion"], thing["kind"]


def _cannot(absent: Sequence[Object], observed: ClusterFacts) -> Iterator[errors.InputProblem]:
    """What is not served and cannot be left out."""
    if any(thing["apiVersion"].startswith(_CERT_MANAGER) for thing in absent):
        yield errors.InputProblem(
            "settings",
            "install.certificate",
            "is 'cert-manager', and the cluster does not serve cert-manager.io/v1: install cert-manager "
            "first, or want 'self', which needs nothing",
        )
    for thing in absent:
        if thing["kind"] in _OPTIONAL or thing["apiVersion"].startswith(_CERT_MANAGER):
            continue
        yield errors.InputProblem(
            name(thing),
            "apiVersion",
            f"is {thing['apiVersion']}, and the cluster (Kubernetes {observed.version}) does not serve that "
            f"{thing['kind']}; want one that does",
        )


def _without_definitions(objects: Sequence[Object], observed: ClusterFacts) -> tuple[list[Object], list[str]]:
    """Definitions that somebody else brought stay theirs: the operator of the sandboxes brings KataConfig."""
    theirs = {
        thing["metadata"]["name"]
        for thing in observed.found
        if thing["kind"] == _DEFINITION and labels(thing).get(annotation_keys.MANAGED_BY) != install.OWNER
    }
    kept, warnings = [], []
    for thing in objects:
        if thing["kind"] == _DEFINITION and thing["metadata"]["name"] in theirs:
            warnings.append(
                f"{name(thing)}: left out, it exists and is not ours: fields that its schema does not know, "
                "such as spec.webhook, are dropped by the API server"
            )
        else:
            kept.append(thing)
    return kept, warnings


def _foreign(objects: Sequence[Object], observed: ClusterFacts) -> Iterator[errors.InputProblem]:
    """Cluster-wide objects of the same name that somebody else made; a namespace may be shared."""
    wanted = {(thing["kind"], thing["metadata"]["name"]) for thing in objects}
    for thing in observed.found:
        if thing["kind"] == "Namespace" or (thing["kind"], thing["metadata"]["name"]) not in wanted:
            continue
        if labels(thing).get(annotation_keys.MANAGED_BY) != install.OWNER:
            yield errors.InputProblem(
                name(thing),
                f"metadata.labels[{annotation_keys.MANAGED_BY}]",
                f"{_label(thing, annotation_keys.MANAGED_BY)}, want {install.OWNER!r}: it exists and is not "
                "ours, and we overwrite nothing that is not ours; remove it, or choose another install.name",
            )


_ISSUER: Final = "who holds the token of the issuer of certificates can change our webhook configurations"


def _left_out(thing: Object, observed: ClusterFacts) -> str:
    optional = _OPTIONAL[thing["kind"]]
    if thing["metadata"]["name"].endswith("-certificates"):
        optional = optional._replace(loss=_ISSUER)
    return (
        f"{name(thing)}: left out, Kubernetes {observed.version} does not serve {thing['apiVersion']} "
        f"{thing['kind']}, want {optional.since} or newer: {optional.loss}"
    )


def _without_conditions(
    objects: Sequence[Object], settings: Settings, observed: ClusterFacts
) -> tuple[list[Object], list[str]]:
    """Match conditions are dropped by API servers that do not know them; better we do it and say so."""
    if observed.version >= _MATCH_CONDITIONS:
        return list(objects), []
    kept: list[Object] = []
    warnings: list[str] = []
    for thing in objects:
        if thing["metadata"]["name"] == sandbox_webhooks.name(settings):
            warnings.append(
                f"{name(thing)}: left out, Kubernetes {observed.version} does not know matchConditions, want "
                f"{_MATCH_CONDITIONS} or newer: without them it would send every pod; sandboxes are given to "
                f"the pods that MutatingWebhookConfiguration {settings.install.name} sends"
            )
            continue
        changed = copy.deepcopy(thing)
        for webhook in changed.get("webhooks") or ():
            conditions = [str(condition["name"]) for condition in webhook.pop("matchConditions", ())]
            if conditions:
                warnings.append(_conditions_lost(changed, webhook, conditions, settings, observed))
        kept.append(changed)
    return kept, warnings


def _conditions_lost(
    thing: Object, webhook: Object, conditions: Sequence[str], settings: Settings, observed: ClusterFacts
) -> str:
    outcome = (
        "which in strict mode mutates what it is sent, mirror pods included"
        if settings.mode == "strict"
        else "which leaves them alone"
    )
    return (
        f"{name(thing)}: webhooks[{webhook['name']}].matchConditions ({', '.join(conditions)}) left out, "
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
        level, wanted = labels(found).get(_ENFORCE), labels(ours)[_ENFORCE]
        if level not in (None, wanted):
            yield (
                f"{name(found)}: {_ENFORCE} is {level!r}, and applying makes it {wanted!r}: pods there that "
                "need more are not admitted any more"
            )


def _neighbours(settings: Settings, observed: ClusterFacts) -> Iterator[str]:
    for neighbour in foreign_webhooks.known(observed.registrations, settings.install.name):
        yield (
            f"MutatingWebhookConfiguration {neighbour.configuration}: {neighbour.webhook} is "
            f"{neighbour.product}, and it mutates pods too: a pod that both know gets both identities, or "
            "half of each; keep them apart by webhook.namespaceSelector, or remove it once its pods moved"
        )


def _label(thing: Object, label: str) -> str:
    value = labels(thing).get(label)
    return "is not set" if value is None else f"is {value!r}"
