"""Reads what the cluster and the world publish about the issuer."""

from __future__ import annotations

import asyncio
from typing import NamedTuple

from vestibule.adapters.cluster import signing
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
            signing.document(question.access, discovery.PATH),
            signing.document(question.access, discovery.KEYS_PATH),
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


async def _public(question: Question, url: str) -> Reading:
    """A document as a cloud reads it: as nobody."""
    return await fetch.get(url, question.tls, proxies=True)
