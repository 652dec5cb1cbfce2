"""The serving certificate's next state, from the stored state and what the API server trusts. Pure but
for keys.

A CA is prepared, published together with the old one, and signs only after the API server has been seen to
trust both for a while; the old CA stays trusted until it expires. So at no moment does a replica serve a leaf
whose CA is not in the published bundle, however late it learns of the change. Leaves are renewed with a third
of their life left.
"""

from __future__ import annotations

import datetime
from collections.abc import Sequence
from typing import Final, NamedTuple

from vestibule.pki import certificate_authority
from vestibule.pki.leaf import CertificatePair

_RENEW_AT: Final = 1 / 3
"""Share of a life that is left when the successor is made."""


class CertificateLifetimes(NamedTuple):
    """How long things live."""

    ca: datetime.timedelta = datetime.timedelta(days=365)
    leaf: datetime.timedelta = datetime.timedelta(days=30)
    overlap: datetime.timedelta = datetime.timedelta(minutes=2)
    """From the moment both CAs are trusted to the first leaf of the new one; an API server needs about a
    second."""


class StoredCertificate(NamedTuple):
    """The state in the cluster between two reconciles."""

    signer: CertificatePair
    """The CA that signs."""
    leaf: CertificatePair
    """What every replica serves."""
    bundle: tuple[str, ...]
    """Every CA that must be trusted, newest first."""
    next_signer: CertificatePair | None = None
    """A CA that is published and does not sign yet."""


def next_state(
    stored: StoredCertificate | None,
    trusted: Sequence[str],
    names: Sequence[str],
    now: datetime.datetime,
    lives: CertificateLifetimes,
) -> StoredCertificate:
    """The state to store now; the same object if there is nothing to do.

    ``trusted`` are the CAs in the API server's own configuration, as last seen.
    """
    if stored is None or not _usable(stored, now):
        signer = certificate_authority.new_ca("vestibule", now=now, life=lives.ca)
        older = tuple(ca for ca in (stored.bundle if stored else ()) if _valid(ca, now))
        leaf = certificate_authority.new_leaf(signer, names, now=now, life=lives.leaf)
        return StoredCertificate(signer, leaf, (signer.certificate, *older))
    if stored.next_signer is not None:
        return _activated(stored, stored.next_signer, trusted, names, now, lives)
    if certificate_authority.dates(stored.signer.certificate).left(now) < _RENEW_AT:
        prepared = certificate_authority.new_ca("vestibule", now=now, life=lives.ca)
        return stored._replace(next_signer=prepared, bundle=(prepared.certificate, *stored.bundle))
    if _leaf_is_due(stored, names, now):
        return stored._replace(
            leaf=certificate_authority.new_leaf(stored.signer, names, now=now, life=lives.leaf)
        )
    alive = tuple(ca for ca in stored.bundle if _valid(ca, now))
    return stored if alive == stored.bundle else stored._replace(bundle=alive)


def due(stored: StoredCertificate, now: datetime.datetime, lives: CertificateLifetimes) -> float:
    """Seconds until something is to be done, unless the names change; a prepared CA that is not trusted yet
    counts as due after its overlap."""
    moments = [_third(stored.leaf.certificate)]
    if stored.next_signer is not None:
        since = certificate_authority.dates(stored.next_signer.certificate).since + certificate_authority.SKEW
        moments.append(since + lives.overlap)
    else:
        moments.append(_third(stored.signer.certificate))
    moments += [certificate_authority.dates(ca).until for ca in stored.bundle]
    return max(0.0, (min(moments) - now).total_seconds())


def _third(certificate: str) -> datetime.datetime:
    """When a third of a life is left."""
    dates = certificate_authority.dates(certificate)
    return dates.until - (dates.until - dates.since - certificate_authority.SKEW) * _RENEW_AT


def _activated(
    stored: StoredCertificate,
    prepared: CertificatePair,
    trusted: Sequence[str],
    names: Sequence[str],
    now: datetime.datetime,
    lives: CertificateLifetimes,
) -> StoredCertificate:
    """Let the prepared CA sign, once it has been trusted for long enough."""
    prepared_at = certificate_authority.dates(prepared.certificate).since + certificate_authority.SKEW
    if prepared.certificate not in trusted or now < prepared_at + lives.overlap:
        if _leaf_is_due(stored, names, now):
            return stored._replace(
                leaf=certificate_authority.new_leaf(stored.signer, names, now=now, life=lives.leaf)
            )
        return stored
    leaf = certificate_authority.new_leaf(prepared, names, now=now, life=lives.leaf)
    return stored._replace(signer=prepared, leaf=leaf, next_signer=None)


def _leaf_is_due(stored: StoredCertificate, names: Sequence[str], now: datetime.datetime) -> bool:
    """Whether there is no leaf of the signer, or none that lasts and has these names."""
    leaf = stored.leaf.certificate
    try:
        return (
            certificate_authority.dates(leaf).left(now) < _RENEW_AT
            or set(certificate_authority.names(leaf)) != set(names)
            or not certificate_authority.signed_by(leaf, stored.signer.certificate)
        )
    except ValueError:
        return True


def _usable(stored: StoredCertificate, now: datetime.datetime) -> bool:
    """Whether the signer is alive and published."""
    return _valid(stored.signer.certificate, now) and stored.signer.certificate in stored.bundle


def _valid(certificate: str, now: datetime.datetime) -> bool:
    return certificate_authority.dates(certificate).until > now
