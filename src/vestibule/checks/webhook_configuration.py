"""The MutatingWebhookConfiguration through which the API server calls us: is it there, whom does it select,
what happens while nobody answers, and who else does the same work."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final, NamedTuple

import msgspec

from vestibule.api import annotation_keys, label_selectors
from vestibule.checks.check import Check, fail, ok, skipped, warn
from vestibule.manifests import foreign_webhooks, webhook_configurations

Object = Mapping[str, Any]
_KIND: Final = "MutatingWebhookConfiguration"
_SLOW: Final = 10
"""Seconds; a pod's creator waits as long as this when nobody answers."""


class WebhookEntry(NamedTuple):
    """Our entry in a configuration."""

    configuration: str
    hook: Object
    created: str = ""
    """When the configuration was made, as the API server writes it."""

    @property
    def about(self) -> str:
        """As people say it."""
        return f"{_KIND} {self.configuration}"

    @property
    def fails(self) -> bool:
        """Whether pods are stopped while nobody answers; that is the API's default."""
        return str(self.hook.get("failurePolicy", "Fail")) == "Fail"

    def selects(self, pod_labels: Mapping[str, str], namespace_labels: Mapping[str, str]) -> str:
        """Which selector leaves out a pod; empty when it is sent to us."""
        if not _selector(self.hook, "namespaceSelector").matches(namespace_labels):
            return "namespaceSelector"
        return "" if _selector(self.hook, "objectSelector").matches(pod_labels) else "objectSelector"


def _selector(hook: Object, field: str) -> label_selectors.LabelSelector:
    """A selector as the API server has taken it."""
    return msgspec.convert(hook.get(field) or {}, label_selectors.LabelSelector)


def find(configurations: Sequence[Object], name: str, wanted: str = "") -> list[WebhookEntry]:
    """Our entries. ``wanted`` names the configuration to take, whatever its entries are called; else it is
    the one called ``name``, and every one that holds a webhook of our name."""
    found = [
        WebhookEntry(str(one["metadata"]["name"]), hook, str(one["metadata"].get("creationTimestamp") or ""))
        for one in configurations
        for hook in one.get("webhooks") or ()
    ]
    if wanted:
        return [one for one in found if one.configuration == wanted]
    ours = [one for one in found if one.hook.get("name") == webhook_configurations.WEBHOOK_NAME]
    return sorted(ours, key=lambda one: one.configuration != name)


def missing(name: str, configurations: Sequence[Object], wanted: str) -> Check:
    """Nobody registered us; maybe somebody else is."""
    others = [
        one.product for one in foreign_webhooks.known([dict(one) for one in configurations], wanted or name)
    ]
    advice = "vestibule render --settings FILE | kubectl apply --server-side -f -"
    if others:
        advice += "; if we stand in for one of the others, name it with --webhook-configuration"
    among = f"; there are {', '.join(dict.fromkeys(others))}" if others else ""
    look = (
        f"{_KIND} {wanted}" if wanted else f"a {_KIND} with the webhook {webhook_configurations.WEBHOOK_NAME}"
    )
    return fail("webhook.registration", wanted or name, f"does not exist{among}", look, advice)


def judge(registration: WebhookEntry, own_namespace: str) -> Iterator[Check]:
    """Everything that the entry itself says."""
    about, hook = registration.about, registration.hook
    yield ok("webhook.registration", about, f"webhook {hook.get('name')}")
    if any(map(_pods_at_create, hook.get("rules") or ())):
        yield ok("webhook.rules", about, "pods are sent to us when they are created")
    else:
        yield fail(
            "webhook.rules",
            about,
            "no rule names pods at CREATE",
            'apiGroups [""], apiVersions [v1], resources [pods], operations [CREATE]',
            "apply the registration that vestibule render prints",
        )
    yield _timeout(about, hook)
    yield _reinvocation(about, hook)
    yield from _namespaces(registration, own_namespace)


def _pods_at_create(rule: Object) -> bool:
    return all(
        not wanted.isdisjoint(rule.get(field) or ())
        for field, wanted in (
            ("apiGroups", {"", "*"}),
            ("apiVersions", {"v1", "*"}),
            ("operations", {"CREATE", "*"}),
            ("resources", {"pods", "pods/*", "*", "*/*"}),
        )
    )


def _timeout(about: str, hook: Object) -> Check:
    seconds = hook.get("timeoutSeconds", 10)
    if isinstance(seconds, int) and seconds > _SLOW:
        found = f"timeoutSeconds is {seconds}"
        advice = "set webhook.timeoutSeconds to 5: whoever creates a pod waits as long"
        return warn("webhook.timeout", about, found, f"at most {_SLOW}", advice)
    return ok("webhook.timeout", about, f"timeoutSeconds is {seconds}")


def _reinvocation(about: str, hook: Object) -> Check:
    policy = hook.get("reinvocationPolicy", "Never")
    if policy == "IfNeeded":
        return ok("webhook.reinvocation", about, "reinvocationPolicy is IfNeeded")
    advice = "set webhook.reinvocationPolicy to IfNeeded"
    return warn(
        "webhook.reinvocation",
        about,
        f"reinvocationPolicy is {policy}: containers that later webhooks add get no identity",
        "IfNeeded",
        advice,
    )


def _namespaces(registration: WebhookEntry, own_namespace: str) -> Iterator[Check]:
    """The failure policy, and whether a cluster can lock itself out with it."""
    about = registration.about
    inside = [
        name
        for name in dict.fromkeys((*webhook_configurations.ALWAYS_OUT, own_namespace))
        if name
        and registration.selects({}, {annotation_keys.NAMESPACE_NAME_LABEL: name}) != "namespaceSelector"
    ]
    selective = bool(registration.hook.get("objectSelector"))
    policy = "Fail" if registration.fails else "Ignore"
    outcome = "pods do not start" if registration.fails else "pods start without their identity"
    yield ok("webhook.failure-policy", about, f"failurePolicy is {policy}: {outcome} while nobody answers")
    if not inside:
        yield ok("webhook.namespaces", about, "kube-system and our own namespace are left out")
        return
    judged = fail if registration.fails and not selective else warn
    harm = (
        "while we are down they cannot start, and neither can we"
        if registration.fails
        else "every pod of theirs waits for us"
    )
    yield judged(
        "webhook.namespaces",
        about,
        f"pods of {', '.join(inside)} are sent to us: {harm}",
        "a namespaceSelector that leaves them out",
        "apply the registration that vestibule render prints",
    )


def others(configurations: Sequence[Object], own: str) -> Iterator[Check]:
    """Other webhooks that give pods an identity."""
    found = list(foreign_webhooks.known([dict(one) for one in configurations], own))
    if not found:
        yield ok("webhook.neighbours", own, "no other webhook gives pods an identity")
    for one in found:
        yield warn(
            "webhook.neighbours",
            f"{_KIND} {one.configuration}",
            f"{one.webhook} is {one.product}",
            "one webhook for every pod",
            "both would mutate the pods that both are sent; vestibule migrate tells what to remove",
        )


class WebhookService(NamedTuple):
    """The Service behind an entry."""

    name: str
    exists: bool
    ready: int
    """Addresses that are ready."""
    unready: int = 0


def service(registration: WebhookEntry, found: WebhookService | None, why: str) -> Check:
    """Whether somebody is there to answer; ``why`` says what kept us from looking."""
    id_ = "webhook.service"
    if found is None:
        return skipped(id_, registration.about, why)
    about = f"Service {found.name}"
    if not found.exists:
        return fail(
            id_,
            about,
            "does not exist",
            "the Service that the registration names",
            "vestibule render prints it",
        )
    if not found.ready:
        text = f"no address is ready, {found.unready} are not" if found.unready else "has no address at all"
        advice = "look at the Deployment's pods: kubectl get pods, their logs and /readyz"
        return fail(id_, about, text, "at least one ready address", advice)
    if found.ready == 1:
        want = "two or more, so that one can go"
        return warn(id_, about, "one address is ready", want, "raise install.replicas")
    return ok(id_, about, f"{found.ready} addresses are ready")
