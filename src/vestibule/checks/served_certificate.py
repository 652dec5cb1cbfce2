"""Whether the API server trusts the serving certificate: the caBundle against the leaf, by PEM text."""

from __future__ import annotations

import base64
import binascii
import datetime
from collections.abc import Iterator
from typing import Final, NamedTuple

from vestibule.checks.check import Check, fail, ok, skipped, warn
from vestibule.checks.webhook_configuration import WebhookEntry
from vestibule.pki import certificate_authority

_SOON: Final = datetime.timedelta(days=3)
_RENEW = "let the owner of the certificate renew it (install.certificate), or put the right CA into caBundle"


class ServedCertificate(NamedTuple):
    """The serving certificate, from a handshake or a Secret."""

    place: str
    """The address that was called, or the Secret that was read."""
    leaf: str = ""
    """PEM, with its intermediates."""
    error: str = ""
    """Why the handshake that trusts only the caBundle failed; empty if it succeeded."""
    handshake: bool = True
    """False: read from a Secret, without a connection."""


class CaBundle(NamedTuple):
    """A parsed caBundle."""

    cas: tuple[str, ...]
    problem: str = ""


def bundle(webhook: WebhookEntry) -> CaBundle:
    """The CA certificates in the caBundle; none if it is empty."""
    text = webhook.hook.get("clientConfig", {}).get("caBundle") or ""
    if not text:
        return CaBundle(())
    try:
        return CaBundle(tuple(certificate_authority.split(base64.b64decode(text, validate=True).decode())))
    except (binascii.Error, ValueError):
        return CaBundle((), "is not base64 of PEM certificates")


def judge(
    webhook: WebhookEntry,
    found: CaBundle,
    served: ServedCertificate | None,
    names: tuple[str, ...],
    now: datetime.datetime,
    why: str,
) -> Iterator[Check]:
    """The bundle and the certificate; ``why`` is the reason why no certificate was read."""
    about = webhook.about
    if found.problem:
        yield fail(
            "webhook.ca-bundle", about, f"caBundle {found.problem}", "base64 of PEM certificates", _RENEW
        )
    elif not found.cas:
        yield warn(
            "webhook.ca-bundle",
            about,
            "caBundle is empty: the API server trusts the system CAs of its host",
            "the CA of the serving certificate",
            "with install.certificate 'self' the leader writes it: is a replica running?",
        )
    else:
        yield _dates(about, found, now)
    if served is None:
        yield skipped(
            "webhook.trust",
            about,
            why,
            "run doctor inside the cluster, or with permission to read the Secret",
        )
        return
    yield _trusted(webhook, found, served, names)
    try:
        chain = certificate_authority.split(served.leaf)
    except ValueError:
        chain = []  # reported above
    if chain:
        yield _leaf(served._replace(leaf=chain[0]), now)


def _dates(about: str, found: CaBundle, now: datetime.datetime) -> Check:
    alive = [one for one in found.cas if certificate_authority.dates(one).until > now]
    count = f"{len(alive)} of {len(found.cas)} CAs in caBundle valid"
    if not alive:
        return fail("webhook.ca-bundle", about, "every CA in caBundle has expired", "a valid one", _RENEW)
    last = max(certificate_authority.dates(one).until for one in alive)
    if last - now < _SOON:
        found_text = f"the last CA in caBundle expires at {last:%Y-%m-%d %H:%M} UTC"
        return warn("webhook.ca-bundle", about, found_text, "one that is valid longer", _RENEW)
    return ok("webhook.ca-bundle", about, f"{count} until {last:%Y-%m-%d}")


def _trusted(
    webhook: WebhookEntry, found: CaBundle, served: ServedCertificate, names: tuple[str, ...]
) -> Check:
    where = served.place
    error = served.error or ("" if served.handshake else _unsigned(found, served.leaf, names))
    if not error:
        seen = "what is served" if served.handshake else "what the Secret holds"
        more = "" if served.handshake else "; no connection was attempted"
        return ok("webhook.trust", where, f"caBundle verifies {seen}{more}")
    return fail(
        "webhook.trust",
        where,
        f"caBundle of {webhook.about} does not verify it: {error}",
        f"a certificate for {' or '.join(names)} signed by a CA in caBundle",
        _RENEW + "; until then the API server cannot call the webhook",
    )


def _unsigned(found: CaBundle, leaf: str, names: tuple[str, ...]) -> str:
    """Why the first certificate of a chain is not trusted; empty when it is."""
    try:
        chain = certificate_authority.split(leaf)
    except ValueError:
        chain = []
    if not chain:
        return "it has no certificate"
    hosts = certificate_authority.names(chain[0])
    if not set(hosts) & set(names):
        return f"it names {', '.join(hosts) or 'no host'}"
    end = chain[0]
    for above in chain[1:]:
        if certificate_authority.signed_by(end, above):
            end = above
    if end in found.cas or any(certificate_authority.signed_by(end, one) for one in found.cas):
        return ""
    return "no CA in caBundle signed it"


def _leaf(served: ServedCertificate, now: datetime.datetime) -> Check:
    dates = certificate_authority.dates(served.leaf)
    about = served.place
    if dates.until <= now:
        return fail(
            "webhook.certificate",
            about,
            f"expired at {dates.until:%Y-%m-%d %H:%M} UTC",
            "a valid one",
            _RENEW,
        )
    if dates.since > now:
        return fail(
            "webhook.certificate",
            about,
            f"not valid before {dates.since:%Y-%m-%d %H:%M} UTC",
            "a valid one",
            "compare the clocks",
        )
    left = dates.until - now
    if left < _SOON:
        return warn(
            "webhook.certificate",
            about,
            f"expires at {dates.until:%Y-%m-%d %H:%M} UTC",
            f"more than {_SOON.days} days",
            _RENEW,
        )
    return ok("webhook.certificate", about, f"valid until {dates.until:%Y-%m-%d}")


def text(data: object, key: str) -> str:
    """A decoded text of a Secret's data; empty if the key is missing. Reads nothing else of the Secret."""
    value = data.get(key) if isinstance(data, dict) else None
    try:
        return base64.b64decode(value, validate=True).decode() if isinstance(value, str) else ""
    except (binascii.Error, ValueError):
        return ""
