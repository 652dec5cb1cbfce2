"""The public documents at an issuer's address, compared with the published ones; faults say what to do.
Pure."""

from __future__ import annotations

import re
from collections.abc import Collection
from typing import Final, NamedTuple

from vestibule.checks.http_document import HttpDocument
from vestibule.oidc import discovery, jwks

_CODE: Final = re.compile(rb"<Code>([A-Za-z]{1,80})</Code>")
_ELSEWHERE: Final = (
    "or publish to a static website ($web), or put a CDN or Azure Front Door in front of it; its address "
    "is the issuer"
)
_BUCKET: Final = (
    "the bucket denies public access: allow public reads of its objects, or put a CDN in front of it"
)
_CAUSES: Final = {
    "PublicAccessNotPermitted": f"the storage account forbids public access: allow it, {_ELSEWHERE}",
    "AuthorizationFailure": (
        f"the storage account's network rules deny public access: allow all networks, {_ELSEWHERE}"
    ),
    "NoAuthenticationInformation": f"the container is private: make its access level Blob, {_ELSEWHERE}",
    "ResourceNotFound": f"the container is private, {_ELSEWHERE}; or it is not the one that the issuer names",
    "ContainerNotFound": "the issuer names a container that does not exist",
    "BlobNotFound": "the container is public and has no such document: does the issuer name its prefix?",
    "AccountIsDisabled": "the storage account is disabled",
    "AccessDenied": _BUCKET,
    "NoSuchBucket": "the issuer names a bucket that does not exist",
    "NoSuchKey": "the bucket is public and has no such document: does the issuer name its prefix?",
    "PermanentRedirect": "the bucket is in another region than the issuer names",
}
_STATUSES: Final = {
    401: "anonymous read access is required",
    403: "anonymous read access is required: check the access level, the firewall and the policy of the site",
    404: "nothing is served there: is the path right, and does the site serve names that begin with a dot?",
}


class PublicIssuerFault(NamedTuple):
    """Why the public documents differ from the published ones."""

    text: str
    waits: bool
    """Whether it may resolve by itself: a cache, a rule that takes minutes to apply."""
    after: float = 0.0
    """The server's Retry-After in seconds."""


def configuration(reading: HttpDocument, issuer: str, keys_address: str) -> PublicIssuerFault | None:
    """The discovery document."""
    fault = _unread(reading)
    if fault is not None:
        return fault
    try:
        found = discovery.parse(reading.body)
    except ValueError as error:
        return PublicIssuerFault(f"{reading.url}: {error}", True)
    differs = discovery.issuer_mismatch(found.issuer, issuer)
    if differs:
        return PublicIssuerFault(
            f"{reading.url}: names the issuer {found.issuer!r}, want {issuer!r}: {differs}", True
        )
    if found.keys_address != keys_address:
        return PublicIssuerFault(
            f"{reading.url}: jwks_uri is {found.keys_address!r}, want {keys_address!r}", True
        )
    return None


def keys(reading: HttpDocument, body: bytes, retired: Collection[str] = ()) -> PublicIssuerFault | None:
    """The keys: all that were published, and none that retired."""
    fault = _unread(reading)
    if fault is not None or reading.body == body:
        return fault
    try:
        found = jwks.parse(reading.body)
    except ValueError as error:
        return PublicIssuerFault(f"{reading.url}: {error}", True)
    compared = jwks.compare(jwks.parse(body), found)
    old = [kid for kid in retired if kid in found.by_kid]
    words = []
    if compared.missing:
        words.append(f"lacks {', '.join(compared.missing)}")
    if compared.changed:
        words.append(f"holds another key as {', '.join(compared.changed)}")
    if old:
        words.append(f"still holds {', '.join(old)}")
    if not words:
        return None
    cause = "an older copy is served, from a cache or another origin"
    return PublicIssuerFault(f"{reading.url}: {' and '.join(words)}: {cause}", True)


def _unread(reading: HttpDocument) -> PublicIssuerFault | None:
    if reading.error:
        return PublicIssuerFault(f"{reading.url}: cannot be read: {reading.error}", True)
    if reading.redirects:
        return PublicIssuerFault(
            f"{reading.url}: redirects to {reading.redirects[-1]}, and clouds need not follow redirects",
            False,
        )
    if reading.status == 200:
        return None
    match = _CODE.search(reading.body[:4096])
    code = match[1].decode() if match else ""
    cause = _CAUSES.get(code) or _STATUSES.get(reading.status, "")
    status = f"status {reading.status}{f' {code}' if code else ''}"
    # roles, policies and public access of a new account take minutes to apply
    text = f"{reading.url}: {status}{f': {cause}' if cause else ''}"
    return PublicIssuerFault(text, reading.status >= 400, reading.retry_after)
