"""How the webhook is attached to a control plane: what may be chosen, what is, and what would not last.

Preference: what is built in; a Deployment of our own, which neither rolls the API server nor can take it out
of service; the guest itself. Sidecars and static pods restart API servers and are for who asks for them. A
Deployment that another controller owns is never patched: its owner writes its own again.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, Final, Literal, NamedTuple

from vestibule.operator.controllers.hosted import hypershift_webhooks
from vestibule.operator.controllers.hosted.ca_rollover import NOTHING, TrustState
from vestibule.operator.controllers.hosted.control_plane import ControlPlane, Way

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


class AttachObservation(NamedTuple):
    """What stands there already."""

    containers: Sequence[str] | None = None
    """Of the API server's pod; None: not looked at."""
    configurations: Sequence[str] = ()
    """Names of the guest's MutatingWebhookConfigurations."""
    trust: TrustState = NOTHING
    """What the guest trusts us by."""


class AttachChoice(NamedTuple):
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


def choose(asked: Asked, target: ControlPlane, seen: AttachObservation) -> AttachChoice:
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


def provided(target: ControlPlane, seen: AttachObservation) -> hypershift_webhooks.HypershiftWebhook | None:
    """The webhook that the control plane runs itself, as far as can be seen; None when there is none.

    A registration without the container is what a downgrade leaves behind, and counts only when nobody
    looked at the containers.
    """
    if target.flavour != "hypershift":
        return None
    for webhook in hypershift_webhooks.ALL:
        if seen.containers is not None and webhook.name in seen.containers:
            return webhook
        if seen.containers is None and webhook.configuration in seen.configurations:
            return webhook
    return None


def _provided(
    asked: Asked, webhook: hypershift_webhooks.HypershiftWebhook, seen: AttachObservation
) -> AttachChoice:
    if asked not in ("auto", "builtin"):
        return _refused(
            PROVIDED,
            f"{webhook.name} is part of the control plane and its config operator re-creates its "
            "registration, so two webhooks would run; ask for auto or builtin",
        )
    if webhook.configuration not in seen.configurations:
        text = f"{webhook.name} runs, and the guest has no registration {webhook.configuration} yet"
        return AttachChoice("builtin", (_condition("Available", "False", "RegistrationMissing", text),))
    text = f"{webhook.name} is part of the control plane"
    return AttachChoice("builtin", (_condition("Available", "True", PROVIDED, text),))


def _stale(target: ControlPlane, seen: AttachObservation) -> list[str]:
    if target.flavour != "hypershift" or seen.containers is None:
        return []
    return [
        f"MutatingWebhookConfiguration {webhook.configuration} stands in the guest and nothing serves it: "
        "a downgrade left it behind; with failurePolicy Fail it blocks pods"
        for webhook in hypershift_webhooks.ALL
        if webhook.configuration in seen.configurations and webhook.name not in seen.containers
    ]


def _taken(way: Way, notes: tuple[str, ...]) -> AttachChoice:
    return AttachChoice(way, (_condition("Resolved", "True", _WORDS[way], f"attached by {way}"),), notes)


def _refused(reason: str, text: str) -> AttachChoice:
    return AttachChoice(None, (_condition("Resolved", "False", reason, text),))


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
