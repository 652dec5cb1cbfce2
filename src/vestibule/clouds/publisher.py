"""Publishes an issuer: the keys first, then the discovery document; then both are read back.

What is there is read, merged by ``kid`` and written under the ETag that was read; a concurrent write
causes a retry. Keys are never dropped unless they are named, and documents that are not ours are left
alone. The place and the public address are two things: a site, a CDN or Azure Front Door may be in between.
"""

from __future__ import annotations

import asyncio
import ssl
import time
from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Final, Literal, NamedTuple

from vestibule import errors, jitter
from vestibule.checks import public_issuer
from vestibule.checks.http_document import HttpDocument
from vestibule.clouds.objectstore.ports import ABSENT, Content, ObjectStore, StoredObject
from vestibule.errors import InputProblem
from vestibule.httpclient import fetch as web
from vestibule.oidc import discovery, documents, key_merge
from vestibule.oidc.documents import DocumentFormat
from vestibule.oidc.keys import PublicKey

Fetch = Callable[[str], HttpDocument]
"""Reads a public address anonymously."""
_ATTEMPTS: Final = 8
"""Writers that may come in between before we give up."""
PATIENCE: Final = 60.0
"""Seconds in which a document must become visible; a new public container takes up to half a minute."""
_POLL_SECONDS: Final = 2.0


class DocumentChange(NamedTuple):
    """One document."""

    name: str
    action: Literal["create", "update", "keep"]
    body: bytes
    if_match: str
    """The ETag that was read; empty: there was nothing."""


class PublicationPlan(NamedTuple):
    """What would be written. Nothing has been."""

    where: str
    issuer: str
    keys: DocumentChange
    configuration: DocumentChange
    kids: tuple[str, ...]
    """All that are published then."""
    added: tuple[str, ...]
    retired: tuple[str, ...]

    @property
    def changes(self) -> tuple[DocumentChange, DocumentChange]:
        """In the order in which they are written."""
        return self.keys, self.configuration


class Publication(NamedTuple):
    """What was done."""

    plan: PublicationPlan
    verified: bool
    """Whether both documents were seen at the public address."""


def fetching(tls: ssl.SSLContext | None = None) -> Fetch:
    """Reads as clouds do: over HTTPS, without a login. ``tls`` says whom to trust; None: as this machine."""

    def fetch(url: str) -> HttpDocument:
        return asyncio.run(web.get(url, tls, proxies=True))

    return fetch


def plan(
    store: ObjectStore,
    issuer: str,
    keys: Sequence[PublicKey],
    *,
    shape: DocumentFormat = documents.AZURE,
    retire: Collection[str] = (),
    adopt: bool = False,
) -> PublicationPlan:
    """The changes to write. ``adopt`` takes over a document whose owner is unknown.

    Raises InvalidInput with everything that forbids it; Forbidden, NotFound, Unavailable of the store.
    """
    refuse(issuer, keys)
    published_keys, described = store.read(shape.keys_name), store.read(documents.DISCOVERY_NAME)
    published, configuration = _body(published_keys), _body(described)
    foreign = key_merge.foreign(issuer, configuration, published, keys)
    if foreign and not (adopt and not _other(issuer, configuration)):
        advice = "want an empty place, or documents of this issuer"
        raise errors.InvalidInput(InputProblem(store.where, "", f"{foreign}; {advice}"))
    merged = key_merge.merge(published, keys, place=f"{store.where}: {shape.keys_name}", retire=retire)
    required = key_merge.needed(
        issuer, configuration, merged.body, place=f"{store.where}: {documents.DISCOVERY_NAME}", shape=shape
    )
    return PublicationPlan(
        store.where,
        issuer,
        _change(shape.keys_name, published_keys, merged.body, same=not merged.changed),
        _change(documents.DISCOVERY_NAME, described, required or configuration or b"", same=required is None),
        merged.kids,
        merged.added,
        merged.retired,
    )


def publish(
    store: ObjectStore,
    issuer: str,
    keys: Sequence[PublicKey],
    *,
    shape: DocumentFormat = documents.AZURE,
    retire: Collection[str] = (),
    adopt: bool = False,
    tags: Mapping[str, str] | None = None,
    fetch: Fetch | None = None,
    patience: float = PATIENCE,
    pause: Callable[[float], None] = time.sleep,
) -> Publication:
    """Write both documents and verify them from outside; without ``fetch`` they are not verified.

    Safe to repeat. Raises as ``plan`` does; Conflict when others write without end; Unavailable with the
    cause when the public does not see what was written.
    """
    for attempt in range(_ATTEMPTS):
        planned = plan(store, issuer, keys, shape=shape, retire=retire, adopt=adopt)
        try:
            for change in planned.changes:
                _write(store, change, tags)
            break
        except errors.Conflict:
            if attempt == _ATTEMPTS - 1:
                raise
            pause(jitter.between(0.05, 0.2) * 2**attempt)
    if fetch is not None:
        verify(planned, fetch, shape=shape, patience=patience, pause=pause)
    return Publication(planned, fetch is not None)


def verify(
    planned: PublicationPlan,
    fetch: Fetch,
    *,
    shape: DocumentFormat = documents.AZURE,
    patience: float = PATIENCE,
    pause: Callable[[float], None] = time.sleep,
) -> None:
    """Look at both documents as a cloud does, until they are what was written or patience ends.

    Raises Unavailable; the text names the cause.
    """
    issuer, waited = planned.issuer, 0.0
    keys_address = documents.keys_address(issuer, shape)
    while True:
        faults = (
            public_issuer.configuration(fetch(discovery.address(issuer)), issuer, keys_address),
            public_issuer.keys(fetch(keys_address), planned.keys.body, planned.retired),
        )
        found = [fault for fault in faults if fault is not None]
        if not found:
            return
        if waited >= patience or not all(fault.waits for fault in found):
            problem = "; ".join(fault.text for fault in found)
            raise errors.Unavailable(
                f"written to {planned.where}, but the public address does not serve it: {problem}"
            )
        rest = max(_POLL_SECONDS, *(fault.after for fault in found))
        pause(rest)
        waited += rest


def refuse(issuer: str, keys: Sequence[PublicKey] | None) -> None:
    """What is wrong before the first call; None: the keys are not known yet. Raises InvalidInput."""
    problems = []
    flaw = discovery.flaw(issuer)
    if flaw:
        problems.append(InputProblem("issuer", issuer, f"{flaw}, want an https address without a query"))
    if keys is not None and not keys:
        problems.append(
            InputProblem("keys", "", "there is none, want at least one: no empty list is published")
        )
    if problems:
        raise errors.InvalidInput(*problems)


def _write(store: ObjectStore, change: DocumentChange, tags: Mapping[str, str] | None) -> None:
    if change.action == "keep":
        return
    content = Content(change.body, documents.CONTENT_TYPE, documents.CACHE_CONTROL, tags or {})
    store.write(change.name, content, if_match=change.if_match)


def _change(name: str, current: StoredObject | None, body: bytes, *, same: bool) -> DocumentChange:
    if current is None:
        return DocumentChange(name, "create", body, ABSENT)
    served = current.content_type in ("", documents.CONTENT_TYPE)  # others served it as a stream of octets
    return DocumentChange(name, "keep" if same and served else "update", body, current.etag)


def _other(issuer: str, configuration: bytes | None) -> bool:
    """Whether a discovery document names another issuer."""
    if configuration is None:
        return False
    try:
        return discovery.parse(configuration).issuer != issuer
    except ValueError:
        return False


def _body(stored: StoredObject | None) -> bytes | None:
    return None if stored is None else stored.body
