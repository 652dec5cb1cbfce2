"""Published keys and tokens: parsed, compared and checked, or ValueError; PEM text likewise."""

from __future__ import annotations

import contextlib
from typing import Final

from tests.fuzz import mutators
from vestibule import errors
from vestibule.oidc import discovery, jwks, keys, tokens

LONGEST: Final = 8192
WORDS: Final = (
    "keys", "kty", "RSA", "EC", "kid", "alg", "RS256", "ES256", "use", "sig", "n", "e", "AQAB", "crv",
    "P-256", "x", "y", "d", "issuer", "jwks_uri", "https://a", "-----BEGIN PUBLIC KEY-----\n",
    "-----END PUBLIC KEY-----\n", ".", "AA", "=", "eyJhbGciOiJSUzI1NiJ9", "exp", "iss", "aud",
)  # fmt: skip


def mutate(data: bytes, longest: int, seed: int) -> bytes:
    return mutators.tree(data, longest, seed, WORDS)


def check(data: bytes) -> None:
    """The bytes as a key set, a discovery document, a token and PEM text."""
    text = data.decode("utf-8", "replace")
    try:
        token = tokens.parse(text)
    except ValueError:
        token = _TOKEN
    try:
        found = jwks.parse(data)
    except ValueError:
        found = jwks.JwkSet()
    list(jwks.weak(found.keys))
    difference = jwks.compare(found, found)
    if any(difference):
        raise AssertionError(f"differs from itself: {difference}")
    for key in found.keys:
        if jwks.verifies(token, key):
            raise AssertionError("a signature that nobody made is good")
    with contextlib.suppress(ValueError):
        discovery.parse(data)
    try:
        for one in keys.read(text, "fuzz"):
            if not one.kid or not one.bits:
                raise AssertionError(f"a key without an id or without bits: {one}")
    except errors.InvalidInput:
        return


_TOKEN: Final = tokens.parse("eyJhbGciOiJSUzI1NiIsImtpZCI6ImEifQ.eyJpc3MiOiJodHRwczovL2EifQ.AAAA")
