"""The discovery document of an issuer, and addresses of issuers as the clouds compare them: byte by byte."""

from __future__ import annotations

from typing import Any, Final, NamedTuple
from urllib.parse import urlsplit

import msgspec

PATH: Final = "/.well-known/openid-configuration"
KEYS_PATH: Final = "/openid/v1/jwks"
"""Where an API server has its keys."""
_INSIDE: Final = (".svc", ".svc.cluster.local", ".cluster.local", ".local", ".internal")
_INSIDE_HOSTS: Final = frozenset({"localhost", "kubernetes", "kubernetes.default"})


class DiscoveryDocument(NamedTuple):
    """What the clouds read of it."""

    issuer: str
    keys_address: str
    algorithms: tuple[str, ...] = ()


def parse(body: bytes) -> DiscoveryDocument:
    """The document in these bytes. Raises ValueError when it is none."""
    try:
        found = msgspec.json.decode(body, type=dict[str, Any])
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
        raise ValueError("is no JSON object, want a discovery document") from None
    for name in ("issuer", "jwks_uri"):
        if not isinstance(found.get(name), str) or not found[name]:
            raise ValueError(f"has no {name}, want a discovery document")
    listed = found.get("id_token_signing_alg_values_supported")
    algorithms = tuple(map(str, listed)) if isinstance(listed, list) else ()
    return DiscoveryDocument(found["issuer"], found["jwks_uri"], algorithms)


def address(issuer: str) -> str:
    """Where the document of an issuer is: a slash at its end is not doubled."""
    return issuer.removesuffix("/") + PATH


def issuer_mismatch(one: str, other: str) -> str:
    """How two issuers differ, in words; empty when they are the same."""
    if one == other:
        return ""
    if one.rstrip("/") == other.rstrip("/"):
        return "they differ in the slash at the end"
    if one.lower() == other.lower():
        return "they differ in upper and lower case"
    if one.strip() == other.strip():
        return "they differ in blanks around them"
    if one.rstrip("/").lower() == other.rstrip("/").lower():
        return "they differ in case and in the slash at the end"
    return "they are different addresses"


def flaw(issuer: str) -> str:
    """Why no cloud takes this issuer; empty when nothing is wrong with its form."""
    try:
        parts = urlsplit(issuer)
        host, _ = parts.hostname, parts.port  # reading the port checks it
    except ValueError:
        return "is no address"
    if parts.scheme != "https" or not host:
        return "is no https address"
    if parts.query or parts.fragment or parts.username or parts.password:
        return "has a query, a fragment or a user in it"
    if issuer != issuer.strip() or not issuer.isascii():
        return "has blanks or characters outside ASCII in it"
    return ""


def inside(issuer: str) -> bool:
    """Whether the address means something inside a cluster only."""
    try:
        host = (urlsplit(issuer).hostname or "").rstrip(".")
    except ValueError:
        return False
    return (
        host in _INSIDE_HOSTS
        or host.endswith(_INSIDE)
        or (bool(host) and "." not in host and ":" not in host)
    )
