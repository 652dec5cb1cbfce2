"""The issuer as the cluster and as the public sees it: reachable, byte for byte equal, with the same keys.

Clouds compare issuers byte by byte and read the keys where the discovery document says, without any login.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from vestibule.checks.check import Check, fail, ok, skipped, warn
from vestibule.checks.http_document import HttpDocument
from vestibule.oidc import discovery, jwks
from vestibule.oidc.discovery import DiscoveryDocument
from vestibule.oidc.jwks import JwkSet

_READER = "grant the ClusterRole system:service-account-issuer-discovery"
_ISSUER_PAGE = "see docs/issuer.md"


class IssuerView(NamedTuple):
    """What one side publishes; None for what could not be read."""

    document: DiscoveryDocument | None = None
    keys: JwkSet | None = None
    checks: tuple[Check, ...] = ()


def cluster(found: HttpDocument, listed: HttpDocument) -> IssuerView:
    """The API server's own documents."""
    checks: list[Check] = []
    document = _document("cluster.discovery", found, checks)
    keys = _keys("cluster.keys", listed, checks)
    return IssuerView(document, keys, tuple(checks))


def public(issuer: str, found: HttpDocument, listed: HttpDocument | None) -> IssuerView:
    """The public documents at the issuer's address; ``listed`` is None if the keys' address is unknown."""
    checks: list[Check] = []
    document = _document("issuer.discovery", found, checks)
    if document is not None:
        checks.append(_name(issuer, document))
    if listed is None:
        checks.append(skipped("issuer.keys", issuer, "the discovery document has no jwks_uri"))
        return IssuerView(document, None, tuple(checks))
    if not listed.url.startswith("https://"):
        checks.append(
            fail(
                "issuer.keys",
                listed.url,
                f"jwks_uri is {listed.url!r}",
                "an https address",
                f"set --service-account-jwks-uri of the API server; {_ISSUER_PAGE}",
            )
        )
        return IssuerView(document, None, tuple(checks))
    return IssuerView(document, _keys("issuer.keys", listed, checks), tuple(checks))


def _document(id_: str, found: HttpDocument, checks: list[Check]) -> DiscoveryDocument | None:
    if found.refusal:
        checks.append(_unreadable(id_, found, "a discovery document"))
        return None
    try:
        document = discovery.parse(found.body)
    except ValueError as error:
        checks.append(
            fail(
                id_,
                found.url,
                f"the response {error}",
                "a discovery document",
                "publish the API server's own",
            )
        )
        return None
    checks.append(_read(id_, found, f"issuer {document.issuer}"))
    return document


def _keys(id_: str, listed: HttpDocument, checks: list[Check]) -> JwkSet | None:
    if listed.refusal:
        checks.append(_unreadable(id_, listed, "the keys"))
        return None
    try:
        keys = jwks.parse(listed.body)
    except ValueError as error:
        checks.append(
            fail(id_, listed.url, f"the response {error}", "a JWKS document", "publish the API server's own")
        )
        return None
    flaws = [*keys.problems, *jwks.weak(keys.keys)]
    items = tuple({"kid": key.kid, "kind": key.kind, "algorithm": key.algorithm} for key in keys.keys)
    if not keys.keys:
        checks.append(fail(id_, listed.url, "has no key", "at least one key", _ISSUER_PAGE))
    elif flaws:
        checks.append(
            warn(
                id_, listed.url, "; ".join(flaws), "keys that every cloud can use", _ISSUER_PAGE, items=items
            )
        )
    else:
        many = f"{len(keys.keys)} key{'s' * (len(keys.keys) != 1)}"
        checks.append(
            _read(id_, listed, f"{many}: {', '.join(key.kid or '(no kid)' for key in keys.keys)}", items)
        )
    return keys


def _unreadable(id_: str, found: HttpDocument, what: str) -> Check:
    if found.forbidden and id_.startswith("cluster."):
        return skipped(id_, found.url, f"no permission to read it: status {found.status}", _READER)
    if found.forbidden:
        text = f"{what} refused to anonymous requests: status {found.status}"
        return fail(id_, found.url, text, "anonymous read access", _READER + " to system:unauthenticated")
    advice = "check the address, DNS, the firewall and the certificate"
    return fail(id_, found.url, f"cannot be read: {found.refusal}", what, advice)


def _read(id_: str, found: HttpDocument, text: str, items: tuple[dict[str, str], ...] = ()) -> Check:
    if found.redirects:
        return warn(
            id_,
            found.url,
            f"{text}; redirected to {' and '.join(found.redirects)}",
            "a response without a redirect",
            "clouds need not follow redirects: publish the document at this address",
            items=items,
        )
    return ok(id_, found.url, text, items=items)


def _name(issuer: str, document: DiscoveryDocument) -> Check:
    differs = discovery.issuer_mismatch(issuer, document.issuer)
    if not differs:
        return ok("issuer.name", issuer, "the discovery document names this issuer, byte for byte")
    return fail(
        "issuer.name",
        issuer,
        f"the discovery document names {document.issuer!r}: {differs}",
        f"{issuer!r}, byte for byte",
        f"publish the document of the API server as it is, or correct the address; {_ISSUER_PAGE}",
    )


def address(issuer: str) -> Check:
    """Whether clouds can use the issuer's address."""
    flaw = discovery.flaw(issuer)
    if flaw:
        return fail(
            "issuer.address",
            issuer,
            flaw,
            "an https address without query, fragment, user or blanks",
            "set --service-account-issuer of the API server",
        )
    if discovery.inside(issuer):
        return warn(
            "issuer.address",
            issuer,
            "resolves only inside the cluster",
            "an address that the clouds reach",
            "AWS and Azure cannot use it; Google Cloud can be given the keys as a file; " + _ISSUER_PAGE,
        )
    return ok("issuer.address", issuer, "is an https address")


def equal(cluster_side: IssuerView, public_side: IssuerView, issuer: str) -> Iterator[Check]:
    """Whether the copy that the clouds read is the cluster's own."""
    if cluster_side.document is not None:
        own = cluster_side.document.issuer
        differs = discovery.issuer_mismatch(own, issuer)
        if differs:
            yield fail(
                "issuer.equal",
                issuer,
                f"the cluster's issuer is {own!r}: {differs}",
                f"{issuer!r}, byte for byte",
                "configure the cloud with the cluster's issuer, or set that one as the API server's "
                "first issuer",
            )
        else:
            yield ok("issuer.equal", issuer, "is the cluster's issuer, byte for byte")
    if cluster_side.keys is None or public_side.keys is None:
        if public_side.document is not None:
            yield skipped("issuer.same-keys", issuer, "only one of the two key sets was read")
        return
    yield _same_keys(issuer, jwks.compare(cluster_side.keys, public_side.keys))


def _same_keys(issuer: str, found: jwks.JwksDrift) -> Check:
    if found.missing or found.changed:
        words = []
        if found.missing:
            words.append(f"lacks {', '.join(found.missing)}")
        if found.changed:
            words.append(f"holds another key as {', '.join(found.changed)}")
        return fail(
            "issuer.same-keys",
            issuer,
            f"the published JWKS {' and '.join(words)}",
            "every key of the cluster",
            "publish the cluster's /openid/v1/jwks again; clouds cache the old keys for some time",
        )
    extra = f"; also {', '.join(found.extra)}, from a rotation or from another cluster" if found.extra else ""
    return ok("issuer.same-keys", issuer, f"every key of the cluster is published{extra}")
