"""What the replicas serve and what the API server should trust, by the mode that is asked for. Pure but for
keys.

Ours is kept in two Secrets and rotates as ``pki/rotation`` says: a new CA signs only after every
registration has been seen to trust it. Others' certificates are only read.
"""

from __future__ import annotations

import datetime
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from vestibule import gostrconv
from vestibule.api.vestibulewebhook import CertificateSpec
from vestibule.pki import certificate_authority, rotation, tls_secret
from vestibule.pki.rotation import CertificateLifetimes

Object = Mapping[str, Any]


class CertificateFacts(NamedTuple):
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


def lives(asked: CertificateSpec) -> CertificateLifetimes:
    """How long things live; what cannot be read was told before."""
    spans = [
        datetime.timedelta(seconds=gostrconv.duration(one) or 0)
        for one in (asked.authority_life, asked.leaf_life, asked.overlap)
    ]
    return CertificateLifetimes(*spans)


def ours(
    signing: Object | None,
    serving: Object | None,
    registrations: Sequence[Object],
    names: Sequence[str],
    now: datetime.datetime,
    lives: CertificateLifetimes,
) -> CertificateFacts:
    """Our own: the next state of what the two Secrets keep."""
    held = [(one or {}).get("data") for one in (signing, serving)]
    state = tls_secret.next_stored(held[0], held[1], registrations, names, now, lives)
    # what was changed now is looked at again: its next step may depend on what is published
    again = rotation.due(state, now, lives)
    return CertificateFacts(
        "".join(state.bundle),
        signing=tls_secret.signing_data(state),
        serving=tls_secret.serving_data(state),
        again=max(again, 1.0),
        until=certificate_authority.dates(state.leaf.certificate).until,
    )


def theirs(
    asked: CertificateSpec, name: str, secret: Object | None, service_ca: Object | None
) -> CertificateFacts:
    """Somebody else's: what they have given us up to now."""
    data = (secret or {}).get("data") or {}
    leaf = tls_secret.decoded(data.get("tls.crt"))
    until = None
    if leaf:
        try:
            until = certificate_authority.dates(leaf).until
        except ValueError:
            return CertificateFacts(waiting=f"Secret {name}-tls: tls.crt is no certificate")
    if not leaf or not data.get("tls.key"):
        return CertificateFacts(waiting=f"Secret {name}-tls has no certificate yet")
    if asked.mode == "service-ca":
        bundle = str(((service_ca or {}).get("data") or {}).get("service-ca.crt", ""))
        return CertificateFacts(bundle, "" if bundle else "the service CA is not known yet", until=until)
    bundle = tls_secret.decoded(asked.ca_bundle) or tls_secret.decoded(data.get("ca.crt"))
    return CertificateFacts(bundle, "" if bundle else f"Secret {name}-tls has no ca.crt", until=until)
