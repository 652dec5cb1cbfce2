"""Does the API server trust the certificate that is served? The caBundle against the leaf, by PEM text."""

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
_RENEW = "let the certificate's keeper renew it (install.certificate), or put the right CA into caBundle"


class ServedCertificate(NamedTuple):
    """What was seen of the certificate."""

    place: str
    """The address that was called, or the Secret that was read."""
    leaf: str = ""
    """PEM, with what came along."""
    error: str = ""
    """Why the handshake that trusts the caBundle alone failed; empty when it did not."""
    handshake: bool = True
    """False: read from a Secret, nobody was called."""


class CaBundle(NamedTuple):
    """A caBundle taken apart."""

    authorities: tuple[str, ...]
    problem: str = ""


def bundle(registration: WebhookEntry) -> CaBundle:
    """The authorities that the registration trusts; none when it names none."""
    text = registration.hook.get("clientConfig", {}).get("caBundle") or ""
    if not text:
        return CaBundle(())
    try:
        return CaBundle(tuple(certificate_authority.split(base64.b64decode(text, validate=True).decode())))
    except (binascii.Error, ValueError):
        return CaBundle((), "is no base64 of PEM certificates")


def judge(
    registration: WebhookEntry,
    found: CaBundle,
    served: ServedCertificate | None,
    names: tuple[str, ...],
    now: datetime.datetime,
    why: str,
) -> Iterator[Check]:
    """The bundle and the certificate; ``why`` says why no certificate was seen."""
    about = registration.about
    if found.problem:
        yield fail(
            "webhook.ca-bundle", about, f"caBundle {found.problem}", "base64 of PEM certificates", _RENEW
        )
    elif not found.authorities:
        yield warn(
            "webhook.ca-bundle",
            about,
            "caBundle is empty: the API server trusts its own machine's authorities",
            "the authority of our certificate",
            "with install.certificate 'self' the leader writes it: is a replica running?",
        )
    else:
        yield _dates(about, found, now)
    if served is None:
        yield skipped(
            "webhook.trust",
            about,
            why,
            "run doctor inside the cluster, or as somebody who may read the Secret",
        )
        return
    yield _trusted(registration, found, served, names)
    try:
        chain = certificate_authority.split(served.leaf)
    except ValueError:
        chain = []  # told above
    if chain:
        yield _leaf(served._replace(leaf=chain[0]), now)


def _dates(about: str, found: CaBundle, now: datetime.datetime) -> Check:
    alive = [one for one in found.authorities if certificate_authority.dates(one).until > now]
    count = f"{len(alive)} of {len(found.authorities)} authorities in caBundle valid"
    if not alive:
        return fail(
            "webhook.ca-bundle", about, "every authority in caBundle has expired", "a valid one", _RENEW
        )
    last = max(certificate_authority.dates(one).until for one in alive)
    if last - now < _SOON:
        found_text = f"the last authority in caBundle ends at {last:%Y-%m-%d %H:%M} UTC"
        return warn("webhook.ca-bundle", about, found_text, "one that lives longer", _RENEW)
    return ok("webhook.ca-bundle", about, f"{count} until {last:%Y-%m-%d}")


def _trusted(
    registration: WebhookEntry, found: CaBundle, served: ServedCertificate, names: tuple[str, ...]
) -> Check:
    where = served.place
    error = served.error or ("" if served.handshake else _unsigned(found, served.leaf, names))
    if not error:
        seen = "what is served" if served.handshake else "what the Secret holds"
        more = "" if served.handshake else "; nobody was called"
        return ok("webhook.trust", where, f"caBundle verifies {seen}{more}")
    return fail(
        "webhook.trust",
        where,
        f"caBundle of {registration.about} does not verify it: {error}",
        f"a certificate for {' or '.join(names)} of an authority in caBundle",
        _RENEW + "; until then the API server calls nobody",
    )


def _unsigned(found: CaBundle, leaf: str, names: tuple[str, ...]) -> str:
    """Why the first certificate of a chain is not trusted; empty when it is."""
    try:
        chain = certificate_authority.split(leaf)
    except ValueError:
        chain = []
    if not chain:
        return "there is no certificate"
    said = certificate_authority.names(chain[0])
    if not set(said) & set(names):
        return f"it names {', '.join(said) or 'nobody'}"
    end = chain[0]
    for above in chain[1:]:
        if certificate_authority.signed_by(end, above):
            end = above
    if end in found.authorities or any(
        certificate_authority.signed_by(end, one) for one in found.authorities
    ):
        return ""
    return "none of its authorities signed it"


def _leaf(served: ServedCertificate, now: datetime.datetime) -> Check:
    dates = certificate_authority.dates(served.leaf)
    about = served.place
    if dates.until <= now:
        return fail(
            "webhook.certificate", about, f"ended at {dates.until:%Y-%m-%d %H:%M} UTC", "a valid one", _RENEW
        )
    if dates.since > now:
        return fail(
            "webhook.certificate",
            about,
            f"counts from {dates.since:%Y-%m-%d %H:%M} UTC",
            "a valid one",
            "compare the clocks",
        )
    left = dates.until - now
    if left < _SOON:
        return warn(
            "webhook.certificate",
            about,
            f"ends at {dates.until:%Y-%m-%d %H:%M} UTC",
            f"more than {_SOON.days} days",
            _RENEW,
        )
    return ok("webhook.certificate", about, f"valid until {dates.until:%Y-%m-%d}")


def text(data: object, key: str) -> str:
    """A text out of a Secret's data; empty when it is not there. Nothing else of the Secret is looked at."""
    value = data.get(key) if isinstance(data, dict) else None
    try:
        return base64.b64decode(value, validate=True).decode() if isinstance(value, str) else ""
    except (binascii.Error, ValueError):
        return ""
