"""When the guest may hear of the webhook: not before it has been proved, from where the API server sits.

A registration for a webhook that does not answer costs every pod its identity (``Ignore``) or its life
(``Fail``); one that is published after the proof costs nobody anything.
"""

from __future__ import annotations

from typing import Final, NamedTuple

READY: Final = "Deployment has at least one ready replica"
HANDSHAKE: Final = "a TLS probe of the Service verifies against the published caBundle"
ROUND_TRIP: Final = "a dry AdmissionReview round-trip succeeds"
GATES: Final = (READY, HANDSHAKE, ROUND_TRIP)


class Proof(NamedTuple):
    """What was seen."""

    ready_replicas: int = 0
    handshake: bool = False
    """Against the very bundle that is to be published."""
    round_trip: bool = False


def unmet(proof: Proof) -> tuple[str, ...]:
    """What must still hold before the registration is made; nothing: it may be."""
    held = (proof.ready_replicas > 0, proof.handshake, proof.round_trip)
    return tuple(gate for gate, yes in zip(GATES, held, strict=True) if not yes)
