"""A new authority without a failed call: both are trusted, then the new one signs, then every endpoint is
seen to serve its leaf, and only then the old one goes. One step per look, each from what is observed."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final, Literal, NamedTuple

Step = Literal["publish", "reissue", "confirm", "drop", "none"]
ORDER: Final[tuple[Step, ...]] = ("publish", "reissue", "confirm", "drop")
WORDS: Final[dict[Step, str]] = {
    "publish": "publish both CAs in the guest",
    "reissue": "reissue leaf",
    "confirm": "confirm every endpoint serves the new chain",
    "drop": "drop old CA",
    "none": "nothing to do",
}


class ObservedTrust(NamedTuple):
    """What stands there now; certificates are PEM texts, one each."""

    published: Sequence[str]
    """Authorities in the guest's registration."""
    current: str
    """The authority that should sign."""
    leaf_is_current: bool
    """Whether it signed the leaf that is kept."""
    endpoints: Mapping[str, bool]
    """Every endpoint, and whether it was seen to serve a leaf of the current authority."""


class TrustState(NamedTuple):
    """What can be seen of the trust in a guest before anything is decided."""

    published: Sequence[str] = ()
    """Authorities in the guest's registration."""
    endpoints: Mapping[str, bool] | None = None
    """As in ``Observed``; None: nobody can look, as at the loopback of another pod."""
    settled: bool = True
    """Whether it has been published for so long that every API server of the guest knows."""


NOTHING: Final = TrustState()


class RolloverStep(NamedTuple):
    """One step, and the bundle that the guest should trust during it."""

    step: Step
    bundle: tuple[str, ...]


def following(observed: ObservedTrust) -> RolloverStep:
    """The next step. Nothing published yet: only the current authority is, there is none to overlap."""
    published, current = tuple(observed.published), observed.current
    if not published:
        return (
            RolloverStep("publish", (current,)) if observed.leaf_is_current else RolloverStep("reissue", ())
        )
    if current not in published:
        return RolloverStep("publish", (*published, current))
    if not observed.leaf_is_current:
        return RolloverStep("reissue", published)
    if published == (current,):
        return RolloverStep("none", published)
    if not observed.endpoints or not all(observed.endpoints.values()):
        return RolloverStep("confirm", published)
    return RolloverStep("drop", (current,))
