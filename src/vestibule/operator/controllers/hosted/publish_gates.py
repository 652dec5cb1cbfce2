"""When the guest may hear of the webhook: not before it has been proved, from where the API server sits.

A registration for a webhook that does not answer costs every pod its identity (``Ignore``) or its life
(``Fail``); one that is published after the proof costs nobody anything.
"""

from __future__ import annotations

from typing import Final

READY: Final = "Deployment has at least one ready replica"
HANDSHAKE: Final = "a TLS probe of the Service verifies against the published caBundle"
ROUND_TRIP: Final = "a dry AdmissionReview round-trip succeeds"
GATES: Final = (READY, HANDSHAKE, ROUND_TRIP)
