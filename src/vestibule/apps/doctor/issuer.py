"""Reads what the cluster and the world publish about the issuer."""

from __future__ import annotations

import asyncio
from typing import Any, NamedTuple

from vestibule import errors
from vestibule.adapters.cluster.access import Access
from vestibule.adapters.web import fetch
from vestibule.apps.doctor.question import Question
from vestibule.core.doctor import check, clocks, issuers
from vestibule.core.doctor.check import Check
from vestibule.core.doctor.issuers import Side
from vestibule.core.doctor.reading import Reading
from vestibule.core.oidc import discovery


class Seen(NamedTuple):
    """Both sides."""

    issuer: str
    cluster: Side
    public: Side
    checks: list[Check]


async def look(question: Question, said: str) -> Seen:
    """Look at both sides; ``said`` is what a token names as its issuer."""
    checks: list[Check] = []
    own = Side()
    if question.access is not None:
        found, listed = await asyncio.gather(
            _ask(question.access, discovery.PATH), _ask(question.access, discovery.KEYS_PATH)
        )
        own = issuers.cluster(found, listed)
        checks += own.checks
        checks.append(clocks.skew("clock.cluster", found))
    issuer = question.issuer or (own.document.issuer if own.document else "") or said
    if not issuer:
        checks.append(check.skipped("issuer.address", "issuer", "nobody names one", "give --issuer"))
        return Seen("", own, Side(), checks)
    checks.append(issuers.address(issuer))
    if discovery.flaw(issuer) or discovery.inside(issuer):
        checks.append(check.skipped("issuer.discovery", issuer, "no cloud can read it at this address"))
        checks += issuers.equal(own, Side(), issuer) if question.issuer else ()
        return Seen(issuer, own, Side(), checks)
    found = await _public(question, discovery.address(issuer))
    published = issuers.public(issuer, found, await _keys(question, found))
    checks += published.checks
    checks += issuers.equal(own, published, issuer)
    if not found.error:
        checks.append(clocks.skew("clock.issuer", found))
    return Seen(issuer, own, published, checks)


async def _keys(question: Question, found: Reading) -> Reading | None:
    """What the discovery document names as the keys; None when it names none."""
    try:
        return None if found.refusal else await _public(question, discovery.parse(found.body).keys_address)
    except ValueError:
        return None  # the judgement says what is wrong with the document


async def _ask(access: Access, path: str) -> Reading:
    """A document of the API server, read as ourselves; its client takes JSON alone, and keys are no JSON."""
    headers = {}
    try:
        authorization = await access.credential.authorization()
    except errors.Unavailable as error:
        return Reading(access.server + path, error=str(error))
    if authorization:
        headers["Authorization"] = authorization
    options: dict[str, Any] = {}
    if access.server_name:
        options["server_hostname"] = access.server_name
    if access.proxy:
        options["proxy"] = access.proxy
    return await fetch.get(access.server + path, access.tls, headers=headers, plain=True, **options)


async def _public(question: Question, url: str) -> Reading:
    """A document as a cloud reads it: as nobody."""
    return await fetch.get(url, question.tls, proxies=True)
