"""Compares what is published with what a cluster signs, and with keys on disk; every conclusion is a check of
the doctor's kind, with the doctor's ids where it knows them."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from vestibule import errors
from vestibule.checks import check, claims, issuers
from vestibule.checks.check import Check
from vestibule.checks.http_document import HttpDocument
from vestibule.checks.issuers import IssuerView
from vestibule.clouds.objectstore.ports import ObjectStore
from vestibule.clouds.publisher import Fetch
from vestibule.kube import serviceaccount_issuer
from vestibule.kube.access import ClusterAccess
from vestibule.oidc import discovery, documents, jwks
from vestibule.oidc.documents import DocumentFormat
from vestibule.oidc.keys import PublicKey
from vestibule.oidc.tokens import ServiceAccountToken
from vestibule.provision import cluster_keys
from vestibule.provision.cluster_keys import TokenAccount


class CheckOptions(NamedTuple):
    """What to compare."""

    fetch: Fetch
    issuer: str = ""
    """Empty: the cluster's."""
    access: ClusterAccess | None = None
    account: TokenAccount | None = None
    """Whose fresh tokens are verified."""
    token: ServiceAccountToken | None = None
    """A token from the command line."""
    keys: Sequence[PublicKey] = ()
    """Keys that must be published."""
    store: ObjectStore | None = None
    """The place behind the address."""
    shape: DocumentFormat = documents.AZURE


def run(question: CheckOptions) -> list[Check]:
    """Every check. Raises what reading the store raises."""
    checks: list[Check] = []
    own = IssuerView()
    if question.access is not None:
        found, listed = asyncio.run(_own(question.access))
        own = issuers.cluster(found, listed)
        checks += own.checks
    tokens = list(_tokens(question, checks))
    issuer = question.issuer or (own.document.issuer if own.document else "")
    issuer = issuer or (tokens[0][1].issuer if tokens else "")
    if not issuer:
        checks.append(check.skipped("issuer.address", "issuer", "no issuer is known", "give --issuer"))
        return checks
    checks.append(issuers.address(issuer))
    if discovery.flaw(issuer):
        return checks
    public, raw = _public(question, issuer)
    checks += public.checks
    checks += issuers.equal(own, public, issuer)
    checks += _given(question, public)
    if question.store is not None:
        checks += _stored(question.store, question.shape, raw)
    for about, token in tokens:
        checks += claims.signature(about, token, public.keys, own.keys)
        checks.append(claims.issuer(about, token, issuer))
    return checks


async def _own(access: ClusterAccess) -> tuple[HttpDocument, HttpDocument]:
    return await asyncio.gather(
        serviceaccount_issuer.document(access, discovery.PATH),
        serviceaccount_issuer.document(access, discovery.KEYS_PATH),
    )


def _public(question: CheckOptions, issuer: str) -> tuple[IssuerView, HttpDocument | None]:
    found = question.fetch(discovery.address(issuer))
    listed = None
    if not found.refusal:
        try:
            listed = question.fetch(discovery.parse(found.body).keys_address)
        except ValueError:
            listed = None  # the judgement says what is wrong with the document
    return issuers.public(issuer, found, listed), listed


def _given(question: CheckOptions, public: IssuerView) -> Iterator[Check]:
    """Keys on disk against what is published."""
    if not question.keys:
        return
    if public.keys is None:
        yield check.skipped("keys.published", "the keys given", "there are no published keys to look into")
        return
    ours = jwks.parse(documents.key_set(question.keys))
    found = jwks.compare(ours, public.keys)
    for key in question.keys:
        if key.kid in found.missing:
            advice = "vestibule oidc publish"
            yield check.fail("keys.published", key.origin, f"{key.kid} is not published", "every key", advice)
        elif key.kid in found.changed:
            yield check.fail(
                "keys.published", key.origin, f"another key is published as {key.kid}", "this key"
            )
        else:
            yield check.ok("keys.published", key.origin, f"{key.kid} is published")


def _stored(store: ObjectStore, shape: DocumentFormat, listed: HttpDocument | None) -> Iterator[Check]:
    """What lies in the store against what is served from it."""
    stored = store.read(shape.keys_name)
    if stored is None:
        text = f"{shape.keys_name} is not there"
        yield check.fail("store.served", store.where, text, "the keys", "vestibule oidc publish")
    elif listed is None or listed.refusal:
        yield check.skipped("store.served", store.where, "nothing is served to compare with")
    elif stored.body == listed.body:
        yield check.ok("store.served", store.where, f"{listed.url} serves what lies there, byte for byte")
    else:
        advice = "a cache holds an older copy, or the address leads to another place: wait, then check again"
        yield check.fail("store.served", store.where, f"{listed.url} serves another copy", "this one", advice)


def _tokens(question: CheckOptions, checks: list[Check]) -> Iterator[tuple[str, ServiceAccountToken]]:
    if question.token is not None:
        yield "the token given", question.token
    if question.access is None or question.account is None:
        return
    about = f"{question.account}, a fresh token"
    try:
        seen: set[str] = set()
        for token in cluster_keys.signed(question.access, question.account):
            if token.kid not in seen:
                seen.add(token.kid)
                yield about, token
    except errors.Forbidden as error:
        checks.append(check.skipped("token.mint", about, str(error), "allow create of serviceaccounts/token"))
    except (errors.NotFound, errors.Unavailable) as error:
        checks.append(check.fail("token.mint", about, str(error), "a token"))
