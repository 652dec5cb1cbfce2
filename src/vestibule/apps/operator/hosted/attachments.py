"""How the webhook is attached to a control plane: what may be chosen, what is, and what would not last.

Preference: what is built in; a Deployment of our own, which neither rolls the API server nor can take it out
of service; the guest itself. Sidecars and static pods restart API servers and are for who asks for them. A
Deployment that another controller owns is never patched: ``outlives`` shows why.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final, Literal, NamedTuple

from vestibule.apps.operator.hosted import webhooks
from vestibule.apps.operator.hosted.target import Target, Way
from vestibule.apps.operator.hosted.trust import NOTHING, Standing

Object = dict[str, Any]
Asked = Literal["auto", "builtin", "deployment", "sidecar", "static-pod", "in-guest"]
ASKED: Final[tuple[Asked, ...]] = ("auto", "builtin", "deployment", "sidecar", "static-pod", "in-guest")
PROVIDED: Final = "ProvidedByControlPlane"
"""Reason: the control plane runs the webhook itself, and the guest calls it."""
ALLOW_LABEL: Final = "hypershift.openshift.io/allow-guest-webhooks"
_WORDS: Final[dict[Way, str]] = {
    "builtin": "BuiltIn",
    "deployment": "Deployment",
    "sidecar": "Sidecar",
    "static-pod": "StaticPod",
    "in-guest": "InGuest",
}


class Seen(NamedTuple):
    """What stands there already."""

    containers: Sequence[str] | None = None
    """Of the API server's pod; None: not looked at."""
    configurations: Sequence[str] = ()
    """Names of the guest's MutatingWebhookConfigurations."""
    trust: Standing = NOTHING
    """What the guest trusts us by."""


class Choice(NamedTuple):
    """The way, or why none is taken."""

    way: Way | None
    conditions: tuple[Object, ...]
    notes: tuple[str, ...] = ()

    @property
    def mode(self) -> str:
        """For the status."""
        return _WORDS[self.way] if self.way else "Refused"

    @property
    def status(self) -> Object:
        """As it stands in the status of a request."""
        return {"mode": self.mode, "conditions": [dict(one) for one in self.conditions]}


def choose(asked: Asked, target: Target, seen: Seen) -> Choice:
    """What to do for this control plane."""
    built_in = provided(target, seen)
    if built_in is not None:
        return _provided(asked, built_in, seen)
    if asked == "builtin":
        return _refused("NotProvided", f"{target} runs no webhook of its own")
    possible = [way for way in target.ways if way != "builtin"]
    if asked == "auto":
        return _taken(possible[0], (*target.notes, *_stale(target, seen)))
    if asked not in possible:
        text = f"{target} cannot be attached to by {asked}, want {', '.join(possible)}"
        if asked == "sidecar":
            text += "; a Deployment that another controller owns is not patched"
        return _refused("NotPossible", text)
    return _taken(asked, (*target.notes, *_stale(target, seen)))


def provided(target: Target, seen: Seen) -> webhooks.Webhook | None:
    """The webhook that the control plane runs itself, as far as can be seen; None when there is none.

    A registration without the container is what a downgrade leaves behind, and counts only when nobody
    looked at the containers.
    """
    if target.flavour != "hypershift":
        return None
    for webhook in webhooks.ALL:
        if seen.containers is not None and webhook.name in seen.containers:
            return webhook
        if seen.containers is None and webhook.configuration in seen.configurations:
            return webhook
    return None


def _provided(asked: Asked, webhook: webhooks.Webhook, seen: Seen) -> Choice:
    if asked not in ("auto", "builtin"):
        return _refused(
            PROVIDED,
            f"{webhook.name} is part of the control plane and its config operator re-creates its "
            "registration, so two webhooks would run; ask for auto or builtin",
        )
    if webhook.configuration not in seen.configurations:
        text = f"{webhook.name} runs, and the guest has no registration {webhook.configuration} yet"
        return Choice("builtin", (_condition("Available", "False", "RegistrationMissing", text),))
    text = f"{webhook.name} is part of the control plane"
    return Choice("builtin", (_condition("Available", "True", PROVIDED, text),))


def _stale(target: Target, seen: Seen) -> list[str]:
    if target.flavour != "hypershift" or seen.containers is None:
        return []
    return [
        f"MutatingWebhookConfiguration {webhook.configuration} stands in the guest and nothing serves it: "
        "a downgrade left it behind; with failurePolicy Fail it blocks pods"
        for webhook in webhooks.ALL
        if webhook.configuration in seen.configurations and webhook.name not in seen.containers
    ]


def _taken(way: Way, notes: tuple[str, ...]) -> Choice:
    return Choice(way, (_condition("Resolved", "True", _WORDS[way], f"attached by {way}"),), notes)


def _refused(reason: str, text: str) -> Choice:
    return Choice(None, (_condition("Resolved", "False", reason, text),))


def _condition(kind: str, status: str, reason: str, message: str) -> Object:
    return {"type": kind, "status": status, "reason": reason, "message": message}


# ── what would not last in HyperShift ───────────────────────────────────────────────────────────────────────


def survives(url: str, services: Iterable[Object]) -> bool:
    """Whether HyperShift leaves a guest's registration with this URL alone.

    Its test is one for substrings: ``https://`` and the name of any Service of the control plane's
    namespace, unless that Service has the label.
    """
    return not any(
        f"https://{service['metadata']['name']}" in url
        for service in services
        if ALLOW_LABEL not in (service["metadata"].get("labels") or {})
    )


def outlives(desired: Object, live: Object, *, desired_changed: bool) -> bool:
    """Whether what others added to an object of HyperShift's operator outlives its next pass.

    It looks whether everything desired is in the live object, members of lists by their place, longer lists
    being no difference; and writes its own when not, or when what it desires has changed.
    """
    return not desired_changed and _within(desired, live)


def _within(desired: Any, live: Any) -> bool:
    if isinstance(desired, Mapping):
        return isinstance(live, Mapping) and all(
            key in live and _within(value, live[key]) for key, value in desired.items() if value
        )
    if isinstance(desired, list):
        return (
            isinstance(live, list)
            and len(live) >= len(desired)
            and all(_within(one, other) for one, other in zip(desired, live, strict=False))
        )
    return bool(not desired or desired == live)
