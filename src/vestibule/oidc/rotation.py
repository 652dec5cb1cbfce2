"""A rotation of the signing key as a state and the next action. Pure: time and observations are parameters.

The new key is published before anything signs with it, and the old one stays until the longest token that it
can have signed has ended. So at no moment does a cluster sign with a key that is not published, wherever the
work is interrupted.

=========  ==========================================  =======================================
stage      what is true                                what ends it
=========  ==========================================  =======================================
prepared   a new key exists, unpublished               both keys are published and seen
published  both keys are published                     caches in between have forgotten the old
switching  the new key may sign                        the cluster is seen to sign with it
draining   the new key signs; old tokens still live    the longest token has ended
retiring   no token of the old key is alive            the old key is no longer published
done       the new key alone is published
=========  ==========================================  =======================================
"""

from __future__ import annotations

from collections.abc import Collection
from typing import Final, Literal, NamedTuple

import msgspec

from vestibule.oidc import documents

Stage = Literal["prepared", "published", "switching", "draining", "retiring", "done"]
STAGES: Final[tuple[Stage, ...]] = ("prepared", "published", "switching", "draining", "retiring", "done")
SETTLE: Final = 3.0 * documents.CACHE_SECONDS
"""Seconds from publication to the first signature: three lives of a cached copy."""
LONGEST: Final = 24 * 3600.0
"""Seconds that a token for a cloud lives at most: the dialects accept up to 86400."""
MARGIN: Final = 300.0
"""Seconds for clocks that differ; clouds forgive five minutes."""


class KeyRotationState(msgspec.Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=False):
    """The state of a rotation between two calls. Times are seconds since the epoch; 0: not yet."""

    issuer: str
    target: str
    new: str
    """The id of the new key."""
    old: tuple[str, ...]
    """Ids that retire at the end."""
    began: float
    settle: float = SETTLE
    longest: float = LONGEST
    published: float = 0.0
    """Both keys were seen at the public address."""
    switched: float = 0.0
    """Since when the cluster signs with the new key, observed or assumed."""
    observed: bool = False
    """Whether the switch was observed, not only assumed."""
    retired: float = 0.0
    version: int = 1


class RotationAction(NamedTuple):
    """The next thing."""

    do: Literal["publish", "wait", "switch", "retire", "nothing"]
    until: float = 0.0
    """When a wait is over."""
    why: str = ""


def stage(state: KeyRotationState, now: float) -> Stage:
    if state.retired:
        return "done"
    if not state.published:
        return "prepared"
    if not state.switched:
        return "published" if now < state.published + state.settle else "switching"
    return "draining" if now < drained(state) else "retiring"


def drained(state: KeyRotationState) -> float:
    """When the last token of the old key has ended."""
    return state.switched + state.longest + MARGIN


def action(state: KeyRotationState, now: float) -> RotationAction:
    """What to do now."""
    where = stage(state, now)
    if where == "prepared":
        return RotationAction("publish", why="the new key is not published yet")
    if where == "published":
        until = state.published + state.settle
        return RotationAction("wait", until, "copies in caches may still lack the new key")
    if where == "switching":
        return RotationAction("switch", why="the cluster may sign with the new key now")
    if where == "draining":
        return RotationAction("wait", drained(state), "tokens of the old key may still be alive")
    if where == "retiring":
        return RotationAction("retire", why="no token of the old key is alive")
    return RotationAction("nothing", why="the new key alone is published")


def published(state: KeyRotationState, now: float) -> KeyRotationState:
    """Both keys were seen at the public address; the first time counts."""
    return state if state.published else msgspec.structs.replace(state, published=now)


def signing(
    state: KeyRotationState, kids: Collection[str], now: float, *, observed: bool = True
) -> KeyRotationState:
    """The cluster signs with these keys; ``observed`` is False if that is assumed.

    With the new one alone: the switch is made. With an old one, even once: some API server has not switched,
    or has gone back, and the wait for its tokens starts again.
    """
    if not kids:
        return state
    if set(kids) == {state.new}:
        seen = observed or state.observed
        return msgspec.structs.replace(state, switched=state.switched or now, observed=seen)
    return msgspec.structs.replace(state, switched=0.0, observed=False) if state.switched else state


def retired(state: KeyRotationState, now: float) -> KeyRotationState:
    """The old keys are gone."""
    return msgspec.structs.replace(state, retired=now)


def unknown_kids(state: KeyRotationState, kids: Collection[str]) -> tuple[str, ...]:
    """Ids that the cluster signs with and that this rotation knows nothing of."""
    return tuple(sorted(set(kids) - {state.new, *state.old}))


def encode(state: KeyRotationState) -> bytes:
    """As stored data."""
    return msgspec.json.format(msgspec.json.encode(state), indent=2) + b"\n"


def decode(body: bytes) -> KeyRotationState:
    """The state from stored data. Raises ValueError if it is invalid."""
    try:
        found = msgspec.json.decode(body, type=KeyRotationState)
    except (msgspec.MsgspecError, UnicodeDecodeError) as error:
        raise ValueError(f"is no state of a rotation: {error}") from None
    if found.version != 1 or not found.new or found.new in found.old:
        raise ValueError("is no state of a rotation that this version understands")
    return found
