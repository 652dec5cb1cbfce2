"""The MutatingWebhookConfiguration of the webhook: whether it exists, which pods it selects, its failure
policy, and other webhooks with the same task."""

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
"""Seconds; the creation of a pod takes this long while the webhook does not respond."""


class WebhookEntry(NamedTuple):
    """One webhook of a MutatingWebhookConfiguration."""

    configuration: str
    hook: Object
    created: str = ""
    """The creationTimestamp of the configuration."""

    @property
    def about(self) -> str:
        """Kind and name, for messages."""
        return f"{_KIND} {self.configuration}"

    @property
    def fails(self) -> bool:
        """Whether pods are rejected while the webhook does not respond; the API's default."""
        return str(self.hook.get("failurePolicy", "Fail")) == "Fail"

    def selects(self, pod_labels: Mapping[str, str], namespace_labels: Mapping[str, str]) -> str:
        """Which selector excludes a pod; empty if the API server sends it to the webhook."""
        if not _selector(self.hook, "namespaceSelector").matches(namespace_labels):
            return "namespaceSelector"
        return "" if _selector(self.hook, "objectSelector").matches(pod_labels) else "objectSelector"


def _selector(hook: Object, field: str) -> label_selectors.LabelSelector:
    """A selector that the API server has validated."""
    return msgspec.convert(hook.get(field) or {}, label_selectors.LabelSelector)


def find(configurations: Sequence[Object], name: str, configuration: str = "") -> list[WebhookEntry]:
    """The vestibule webhooks. ``configuration`` is the one to use, whatever its webhooks are called; else
    every configuration with a webhook of our name, the one called ``name`` first."""
    found = [
        WebhookEntry(str(one["metadata"]["name"]), hook, str(one["metadata"].get("creationTimestamp") or ""))
        for one in configurations
        for hook in one.get("webhooks") or ()
    ]
    if configuration:
        return [one for one in found if one.configuration == configuration]
    ours = [one for one in found if one.hook.get("name") == webhook_configurations.WEBHOOK_NAME]
    return sorted(ours, key=lambda one: one.configuration != name)


def missing(name: str, configurations: Sequence[Object], configuration: str) -> Check:
    """There is no webhook configuration for vestibule; other webhooks are named."""
    others = [
        one.product
        for one in foreign_webhooks.known([dict(one) for one in configurations], configuration or name)
    ]
    advice = "vestibule render --settings FILE | kubectl apply --server-side -f -"
    if others:
        advice += "; if vestibule replaces one of them, name its configuration with --webhook-configuration"
    among = f"; found: {', '.join(dict.fromkeys(others))}" if others else ""
    want = (
        f"{_KIND} {configuration}"
        if configuration
        else f"a {_KIND} with the webhook {webhook_configurations.WEBHOOK_NAME}"
    )
    return fail("webhook.registration", configuration or name, f"does not exist{among}", want, advice)


def judge(webhook: WebhookEntry, own_namespace: str) -> Iterator[Check]:
    """The checks of the entry's own fields."""
    about, hook = webhook.about, webhook.hook
    yield ok("webhook.registration", about, f"webhook {hook.get('name')}")
    if any(map(_pods_at_create, hook.get("rules") or ())):
        yield ok("webhook.rules", about, "pods are sent to the webhook when they are created")
    else:
        yield fail(
            "webhook.rules",
            about,
            "no rule names pods at CREATE",
            'apiGroups [""], apiVersions [v1], resources [pods], operations [CREATE]',
            "apply the webhook configuration that vestibule render prints",
        )
    yield _timeout(about, hook)
    yield _reinvocation(about, hook)
    yield from _namespaces(webhook, own_namespace)


def _pods_at_create(rule: Object) -> bool:
    return all(
        not accepted.isdisjoint(rule.get(field) or ())
        for field, accepted in (
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
        advice = "set webhook.timeoutSeconds to 5: a pod waits that long if the webhook is down"
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


def _namespaces(webhook: WebhookEntry, own_namespace: str) -> Iterator[Check]:
    """The failure policy, and whether the cluster can lock itself out."""
    about = webhook.about
    inside = [
        name
        for name in dict.fromkeys((*webhook_configurations.ALWAYS_OUT, own_namespace))
        if name and webhook.selects({}, {annotation_keys.NAMESPACE_NAME_LABEL: name}) != "namespaceSelector"
    ]
    selective = bool(webhook.hook.get("objectSelector"))
    policy = "Fail" if webhook.fails else "Ignore"
    outcome = "pods do not start" if webhook.fails else "pods start without their identity"
    yield ok(
        "webhook.failure-policy",
        about,
        f"failurePolicy is {policy}: {outcome} while the webhook does not respond",
    )
    if not inside:
        yield ok("webhook.namespaces", about, "kube-system and the webhook's namespace are excluded")
        return
    judged = fail if webhook.fails and not selective else warn
    harm = (
        "while the webhook is down they cannot start, and neither can the webhook"
        if webhook.fails
        else "each of their pods waits for the webhook"
    )
    yield judged(
        "webhook.namespaces",
        about,
        f"pods of {', '.join(inside)} are sent to the webhook: {harm}",
        "a namespaceSelector that excludes them",
        "apply the webhook configuration that vestibule render prints",
    )


def others(configurations: Sequence[Object], own: str) -> Iterator[Check]:
    """Other webhooks that inject an identity."""
    found = list(foreign_webhooks.known([dict(one) for one in configurations], own))
    if not found:
        yield ok("webhook.neighbours", own, "no other webhook injects an identity")
    for one in found:
        yield warn(
            "webhook.neighbours",
            f"{_KIND} {one.configuration}",
            f"{one.webhook} is {one.product}",
            "one webhook for every pod",
            "both mutate the pods that both receive; vestibule migrate shows what to remove",
        )


class WebhookService(NamedTuple):
    """The Service behind an entry."""

    name: str
    exists: bool
    ready: int
    """Addresses that are ready."""
    unready: int = 0


def service(webhook: WebhookEntry, found: WebhookService | None, why: str) -> Check:
    """Whether the Service has ready addresses; ``why`` is the reason why it was not read."""
    id_ = "webhook.service"
    if found is None:
        return skipped(id_, webhook.about, why)
    about = f"Service {found.name}"
    if not found.exists:
        return fail(
            id_,
            about,
            "does not exist",
            "the Service that the webhook configuration names",
            "vestibule render prints it",
        )
    if not found.ready:
        text = f"no address is ready, {found.unready} are not" if found.unready else "has no address at all"
        advice = "check the Deployment's pods: kubectl get pods, their logs and /readyz"
        return fail(id_, about, text, "at least one ready address", advice)
    if found.ready == 1:
        want = "two or more, so that one can restart"
        return warn(id_, about, "one address is ready", want, "raise install.replicas")
    return ok(id_, about, f"{found.ready} addresses are ready")
