"""The way down: what is removed in which order, and when a guest that does not answer is left behind.

The registration goes first, so that no pod meets a webhook that is half gone; the finalizer last. A guest
that is being deleted anyway, or has not answered for long, is not cleaned: the finalizer is released and an
Event tells. What is not ours is never removed.
"""

from __future__ import annotations

import datetime
from typing import Any, Final, NamedTuple

Object = dict[str, Any]
LIMIT: Final = datetime.timedelta(minutes=10)
"""How long a guest may stay silent before its clean-up is given up; an upgrade of a single replica takes
less."""
SKIPPED: Final = "GuestCleanupSkipped"
GUEST: Final = (
    "MutatingWebhookConfiguration",
    "ClusterRoleBinding",
    "ClusterRole",
    "ServiceAccount (if ours)",
)
MANAGEMENT: Final = ("webhook workload or attachment", "secrets")
FINALIZER: Final = "finalizer"


class TeardownObservation(NamedTuple):
    """What is known of a guest at its tear-down."""

    reachable: bool
    silent_since: datetime.datetime | None = None
    """When it was first not heard; None when it answers, or has not been asked."""
    control_plane_deleting: bool = False
    """Its control plane has a deletionTimestamp, or is gone."""


class TeardownPlan(NamedTuple):
    """What to do now."""

    order: tuple[str, ...]
    """Steps, in order; each only after the one before is done."""
    guest_skipped: bool = False
    event: str = ""
    """Reason of the Event to write."""
    message: str = ""
    retry: datetime.timedelta | None = None
    """Wait: the guest may come back."""


def plan(
    guest: TeardownObservation, now: datetime.datetime, limit: datetime.timedelta = LIMIT
) -> TeardownPlan:
    """The steps, or the wait. The management side is kept while we wait: the guest may still call it."""
    if guest.control_plane_deleting:
        return TeardownPlan(
            (*MANAGEMENT, FINALIZER), guest_skipped=True, message="the control plane is being deleted"
        )
    if guest.reachable:
        return TeardownPlan((*GUEST, *MANAGEMENT, FINALIZER))
    silent = now - (guest.silent_since or now)
    if silent < limit:
        return TeardownPlan((), message=f"the guest has not answered for {silent}", retry=limit - silent)
    text = (
        f"the guest has not answered for {silent}, longer than {limit}: its registration, role and binding "
        "are left behind; with failurePolicy Ignore they do no harm"
    )
    return TeardownPlan((*MANAGEMENT, FINALIZER), guest_skipped=True, event=SKIPPED, message=text)


def owned(thing: Object | None, control_plane: Object) -> bool:
    """Whether an object carries the reference to its control plane; only then may it be deleted when it is
    not wanted any more. A missing one is nobody's, and no error."""
    if thing is None:
        return False
    uid, name = control_plane["metadata"].get("uid"), control_plane["metadata"]["name"]
    return any(
        one.get("kind") == control_plane["kind"]
        and one.get("name") == name
        and (not uid or one.get("uid") == uid)
        for one in thing["metadata"].get("ownerReferences") or ()
    )
