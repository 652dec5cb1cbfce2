"""Reads what the cluster and the public address publish about the issuer."""

from __future__ import annotations

import asyncio
from typing import NamedTuple

from vestibule.checks import check, clocks, issuers
from vestibule.checks.check import Check
from vestibule.checks.http_document import HttpDocument
from vestibule.checks.issuers import IssuerView
from vestibule.diagnose.doctor.options import DoctorOptions
from vestibule.httpclient import fetch
from vestibule.kube import serviceaccount_issuer
from vestibule.oidc import discovery


class IssuerDocumentsRead(NamedTuple):
    """Both sides."""

    issuer: str
    cluster: IssuerView
    public: IssuerView
    checks: list[Check]


async def read_issuer(question: DoctorOptions, token_issuer: str) -> IssuerDocumentsRead:
    """Look at both sides; ``token_issuer`` is what a token names as its issuer."""
    checks: list[Check] = []
    own = IssuerView()
    if question.access is not None:
        found, listed = await asyncio.gather(
            serviceaccount_issuer.document(question.access, discovery.PATH),
            serviceaccount_issuer.document(question.access, discovery.KEYS_PATH),
        )
        own = issuers.cluster(found, listed)
        checks += own.checks
        checks.append(clocks.skew("clock.cluster", found))
    issuer = question.issuer or (own.document.issuer if own.document else "") or token_issuer
    if not issuer:
        checks.append(check.skipped("issuer.address", "issuer", "no issuer is known", "give --issuer"))
        return IssuerDocumentsRead("", own, IssuerView(), checks)
    checks.append(issuers.address(issuer))
    if discovery.flaw(issuer) or discovery.inside(issuer):
        checks.append(check.skipped("issuer.discovery", issuer, "no cloud can read it at this address"))
        checks += issuers.equal(own, IssuerView(), issuer) if question.issuer else ()
        return IssuerDocumentsRead(issuer, own, IssuerView(), checks)
    found = await _public(question, discovery.address(issuer))
    published = issuers.public(issuer, found, await _keys(question, found))
    checks += published.checks
    checks += issuers.equal(own, published, issuer)
    if not found.error:
        checks.append(clocks.skew("clock.issuer", found))
    return IssuerDocumentsRead(issuer, own, published, checks)


async def _keys(question: DoctorOptions, found: HttpDocument) -> HttpDocument | None:
    """What the discovery document names as the keys; None when it names none."""
    try:
        return None if found.refusal else await _public(question, discovery.parse(found.body).keys_address)
    except ValueError:
        return None  # the judgement says what is wrong with the document


async def _public(question: DoctorOptions, url: str) -> HttpDocument:
    """A document as a cloud reads it: anonymously."""
    return await fetch.get(url, question.tls, proxies=True)
