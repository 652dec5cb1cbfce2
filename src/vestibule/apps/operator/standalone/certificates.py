"""What the replicas serve and what the API server should trust, by the mode that is asked for. Pure but for
keys.

Ours is kept in two Secrets and rotates as ``core/pki/rotation`` says: a new CA signs only after every
registration has been seen to trust it. Others' certificates are only read.
"""

from __future__ import annotations

import datetime
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from vestibule.core.kinds import text
from vestibule.core.kinds.installs import Certificate
from vestibule.core.pki import authority, keeping, rotation
from vestibule.core.pki.rotation import Lives

Object = Mapping[str, Any]


class Served(NamedTuple):
    """What is known about the certificate."""

    bundle: str = ""
    """PEM of every CA that must be trusted; empty while there is none."""
    waiting: str = ""
    """What is waited for; empty when nothing is."""
    signing: Mapping[str, str] | None = None
    """What the Secret with the CA's key should hold, where we keep it."""
    serving: Mapping[str, str] | None = None
    """The same of the one that replicas mount."""
    again: float | None = None
    """Seconds until something is to be done."""
    until: datetime.datetime | None = None
    """When the certificate ends."""


def lives(asked: Certificate) -> Lives:
    """How long things live; what cannot be read was told before."""
    spans = [
        datetime.timedelta(seconds=text.duration(one) or 0)
        for one in (asked.authority_life, asked.leaf_life, asked.overlap)
    ]
    return Lives(*spans)


def ours(
    signing: Object | None,
    serving: Object | None,
    registrations: Sequence[Object],
    names: Sequence[str],
    now: datetime.datetime,
    lives: Lives,
) -> Served:
    """Our own: the next state of what the two Secrets keep."""
    held = [(one or {}).get("data") for one in (signing, serving)]
    state = keeping.next_kept(held[0], held[1], registrations, names, now, lives)
    # what was changed now is looked at again: its next step may depend on what is published
    again = rotation.due(state, now, lives)
    return Served(
        "".join(state.bundle),
        signing=keeping.signing_data(state),
        serving=keeping.serving_data(state),
        again=max(again, 1.0),
        until=authority.dates(state.leaf.certificate).until,
    )


def theirs(asked: Certificate, name: str, secret: Object | None, service_ca: Object | None) -> Served:
    """Somebody else's: what they have given us up to now."""
    data = (secret or {}).get("data") or {}
    leaf = keeping.decoded(data.get("tls.crt"))
    until = None
    if leaf:
        try:
            until = authority.dates(leaf).until
        except ValueError:
            return Served(waiting=f"Secret {name}-tls: tls.crt is no certificate")
    if not leaf or not data.get("tls.key"):
        return Served(waiting=f"Secret {name}-tls has no certificate yet")
    if asked.mode == "service-ca":
        bundle = str(((service_ca or {}).get("data") or {}).get("service-ca.crt", ""))
        return Served(bundle, "" if bundle else "the service CA is not known yet", until=until)
    bundle = keeping.decoded(asked.ca_bundle) or keeping.decoded(data.get("ca.crt"))
    return Served(bundle, "" if bundle else f"Secret {name}-tls has no ca.crt", until=until)
