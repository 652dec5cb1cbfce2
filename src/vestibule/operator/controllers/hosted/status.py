"""What the status of a HostedWebhook says, from what a look has seen. Pure.

``Available`` sums up: pods of the guest get their identity. The others say where it ends when they do not.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

from vestibule.api.conditions import Condition, no, yes
from vestibule.operator.controllers.hosted import ca_rollover, dryrun_probe
from vestibule.operator.controllers.hosted.attach_modes import AttachChoice
from vestibule.operator.controllers.hosted.dryrun_probe import ProbeResult

Object = dict[str, Any]
TOLD: Final = ("Available", "GuestReachable", "Reconciled")
"""Conditions whose change is worth an Event."""
READY: Final = ("Reconciled", "Available")
"""What the condition ``Ready`` sums up."""
KUBECONFIG_REFUSED: Final = "KubeconfigRefused"


def invalid(message: str) -> list[Condition]:
    """The request cannot be read."""
    return [no("Resolved", "InvalidSpec", message), no("Available", "InvalidSpec", message)]


def missing(message: str) -> list[Condition]:
    """There is no such control plane."""
    return [no("Resolved", "NotFound", message), no("Available", "NotFound", message)]


def paused(message: str) -> list[Condition]:
    """Hands off; what stood before stands."""
    return [Condition("Resolved", "Unknown", "Paused", message)]


def unreachable(message: str) -> list[Condition]:
    """The guest does not answer; whether its pods are served nobody can say."""
    return [
        no("GuestReachable", "NoAnswer", message),
        Condition("Available", "Unknown", "GuestUnreachable", "the guest does not answer"),
    ]


def kubeconfig_refused(message: str) -> list[Condition]:
    """The guest's kubeconfig is none that we use; the message names every field."""
    return [
        no("GuestReachable", KUBECONFIG_REFUSED, message),
        Condition("Available", "Unknown", KUBECONFIG_REFUSED, message),
    ]


def faulty(reason: str, message: str) -> list[Condition]:
    """A look ended early; what was said about the guest before stands."""
    return [no("Reconciled", reason, message)]


def refused(choice: AttachChoice, notes: Sequence[str]) -> list[Condition]:
    """Nothing is attached, or the control plane has the webhook itself."""
    told = [
        yes("GuestReachable", "Answers"),
        yes("Reconciled", "AsExpected"),
        *_attach_conditions(choice, notes),
    ]
    if choice.way is None:
        reason, message = str(choice.conditions[0]["reason"]), str(choice.conditions[0]["message"])
        told.append(no("Available", reason, message))
    return told


def attached(
    choice: AttachChoice,
    notes: Sequence[str],
    unproven: str,
    step: ca_rollover.Step,
    tried: ProbeResult = dryrun_probe.NOT_ASKED,
) -> list[Condition]:
    """Our own webhook stands, and answers or does not; where it cannot be called, a trial tells."""
    told = [
        yes("GuestReachable", "Answers"),
        yes("Reconciled", "AsExpected"),
        *_attach_conditions(choice, notes),
    ]
    changing = step not in ("none", "confirm")
    told.append(yes("CertificatesReady", "Rotating" if changing else "AsExpected", _step(step)))
    if choice.way != "deployment" and not unproven:
        good = yes("Available", "Serving" if tried.status == "True" else "Registered")
        return [*told, Condition("Verified", *tried), good]
    if unproven:
        return [*told, no("Verified", "NotProven", unproven), no("Available", "NotProven", unproven)]
    return [*told, yes("Verified", "Answers"), yes("Available", "Serving")]


def _step(step: ca_rollover.Step) -> str:
    return "" if step == "none" else f"a new authority takes over: {ca_rollover.WORDS[step]}"


def _attach_conditions(choice: AttachChoice, notes: Sequence[str]) -> list[Condition]:
    return [
        Condition(one["type"], one["status"], one["reason"], "; ".join((one["message"], *notes)))
        for one in choice.conditions
    ]
