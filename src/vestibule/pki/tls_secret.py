"""A certificate as the data of two Secrets, and the CAs in webhook configurations. Pure.

The key of the CA lies in a Secret of its own, which no replica mounts; the other one holds what replicas
serve. Earlier versions stored all of it in that one, which is still read.
"""

from __future__ import annotations

import base64
import datetime
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final

from vestibule.pki import certificate_authority, rotation
from vestibule.pki.leaf import CertificatePair
from vestibule.pki.rotation import CertificateLifetimes, StoredCertificate

Data = Mapping[str, str] | None
_NO_LEAF: Final = CertificatePair("", "")


def stored_certificate(signing: Data, serving: Data) -> StoredCertificate | None:
    """What the two Secrets hold; None when there is no CA in them that can be read. A leaf that is missing or
    cannot be read is one that is due."""
    return _stored_certificate(signing, serving) or _stored_certificate(serving, serving)


def _stored_certificate(signing: Data, serving: Data) -> StoredCertificate | None:
    try:
        text = {key: base64.b64decode(one, validate=True).decode() for key, one in (signing or {}).items()}
        bundle = tuple(certificate_authority.split(text.get("ca.crt", "")))
        signer = next(ca for ca in bundle if ca == text["signer.crt"])
        prepared = text.get("next-signer.crt")
        return StoredCertificate(
            CertificatePair(signer, text["signer.key"]),
            _leaf(serving or {}),
            bundle,
            CertificatePair(prepared, text["next-signer.key"]) if prepared else None,
        )
    except (KeyError, ValueError, StopIteration):
        return None


def _leaf(serving: Mapping[str, str]) -> CertificatePair:
    pair = CertificatePair(decoded(serving.get("tls.crt")), decoded(serving.get("tls.key")))
    try:
        certificate_authority.dates(pair.certificate)
    except ValueError:
        return _NO_LEAF
    return pair if pair.key else _NO_LEAF


def next_stored(
    signing: Data,
    serving: Data,
    webhook_configurations: Iterable[Mapping[str, Any]],
    names: Sequence[str],
    now: datetime.datetime,
    lives: CertificateLifetimes,
    *,
    unread: bool = False,
) -> StoredCertificate:
    """What the two Secrets should hold now. ``unread``: not every webhook configuration could be read, so
    that nothing counts as trusted everywhere."""
    registered = list(webhook_configurations)
    before = stored_certificate(signing, serving)
    state = rotation.next_state(before, [] if unread else trusted(registered), names, now, lives)
    if before is None:
        # the CA was lost: replicas serve the old certificate until they get the new one
        alive = (ca for ca in _published(registered) if certificate_authority.dates(ca).until > now)
        state = state._replace(bundle=(*state.bundle, *alive))
    return state


def _published(webhook_configurations: Iterable[Mapping[str, Any]]) -> list[str]:
    """Every CA in the caBundle of at least one webhook."""
    found = [
        ca for one in webhook_configurations for hook in one.get("webhooks") or () for ca in trusted_cas(hook)
    ]
    return list(dict.fromkeys(found))


def signing_data(state: StoredCertificate) -> dict[str, str]:
    """The data of the Secret with the CA and its key."""
    text = {
        "ca.crt": "".join(state.bundle),
        "signer.crt": state.signer.certificate,
        "signer.key": state.signer.key,
    }
    if state.next_signer is not None:
        text |= {"next-signer.crt": state.next_signer.certificate, "next-signer.key": state.next_signer.key}
    return {key: encoded(value) for key, value in text.items()}


def serving_data(state: StoredCertificate) -> dict[str, str]:
    """The data of the Secret that replicas mount: their own pair, and whom to trust."""
    text = {
        "ca.crt": "".join(state.bundle),
        "tls.crt": state.leaf.certificate,
        "tls.key": state.leaf.key,
    }
    return {key: encoded(value) for key, value in text.items()}


def encoded(text: str) -> str:
    """As Secrets and caBundles have it."""
    return base64.b64encode(text.encode()).decode()


def decoded(value: str | None) -> str:
    """The text behind base64; empty when there is none, or none that can be read."""
    try:
        return base64.b64decode(value or "", validate=True).decode()
    except ValueError:
        return ""


def trusted(webhook_configurations: Iterable[Mapping[str, Any]]) -> list[str]:
    """The CAs in the caBundles of all webhooks."""
    bundles = [trusted_cas(hook) for one in webhook_configurations for hook in one.get("webhooks") or ()]
    return [ca for ca in bundles[0] if all(ca in bundle for bundle in bundles)] if bundles else []


def trusted_cas(hook: Mapping[str, Any]) -> list[str]:
    """The CAs that one webhook trusts; none when its bundle cannot be read."""
    try:
        return certificate_authority.split(
            base64.b64decode(hook["clientConfig"].get("caBundle") or "").decode()
        )
    except ValueError:
        return []
