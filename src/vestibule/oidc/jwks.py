"""Published keys: a JWKS document as values, compared key by key, and signatures checked against one key.

An unusable key is left out and reported; the other keys are used.
"""

from __future__ import annotations

import base64
import warnings
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final, NamedTuple

import msgspec
from joserfc import jwk, jws
from joserfc.errors import JoseError, SecurityWarning

from vestibule.oidc import tokens
from vestibule.oidc.tokens import ServiceAccountToken

ALGORITHMS: Final = ("RS256", "RS384", "RS512", "ES256", "ES384", "ES512")
"""What the API server signs with, and some cloud takes."""
_SMALLEST: Final = 2048
"""Bits of an RSA key."""


class Jwk(NamedTuple):
    """One public key."""

    kid: str
    kind: str
    """``RSA`` or ``EC``."""
    parameters: tuple[tuple[str, str], ...]
    """What makes the key: ``n`` and ``e``, or ``crv``, ``x`` and ``y``; leading zeros do not count."""
    algorithm: str = ""
    use: str = ""

    @property
    def bits(self) -> int:
        """Of the modulus, for RSA; else 0."""
        parameters = dict(self.parameters)
        return _integer(parameters["n"]).bit_length() if self.kind == "RSA" else 0


class JwkSet(NamedTuple):
    """A JWKS document."""

    keys: tuple[Jwk, ...] = ()
    problems: tuple[str, ...] = ()
    """Keys that were left out, and why."""

    @property
    def by_kid(self) -> dict[str, Jwk]:
        """The keys by their id; the first of an id counts."""
        found: dict[str, Jwk] = {}
        for key in self.keys:
            found.setdefault(key.kid, key)
        return found


def parse(body: bytes) -> JwkSet:
    """The keys of a document. Raises ValueError when it is no JWKS at all."""
    try:
        document = msgspec.json.decode(body, type=dict[str, Any])
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
        raise ValueError("is no JSON object, want a JWKS document") from None
    listed = document.get("keys")
    if not isinstance(listed, list):
        raise ValueError("has no list 'keys', want a JWKS document")
    keys: list[Jwk] = []
    problems: list[str] = []
    for number, entry in enumerate(listed):
        try:
            keys.append(_key(entry))
        except ValueError as error:
            problems.append(f"keys[{number}] {error}")
    repeated = sorted({key.kid for key in keys if sum(key.kid == other.kid for other in keys) > 1})
    problems += [f"kid {kid!r} is listed more than once" for kid in repeated]
    return JwkSet(tuple(keys), tuple(problems))


def _key(entry: object) -> Jwk:
    if not isinstance(entry, Mapping):
        raise ValueError("is no object, want a key")
    kind = entry.get("kty")
    if "d" in entry:
        raise ValueError("holds a private key, want public keys only")
    if kind == "RSA":
        names: tuple[str, ...] = ("n", "e")
    elif kind == "EC":
        names = ("x", "y")
    else:
        raise ValueError(f"has kty {kind!r}, want RSA or EC")
    parameters = []
    for name in names:
        text = entry.get(name)
        raw = tokens.decoded(text) if isinstance(text, str) else None
        if not raw:
            raise ValueError(f"has no {name}, want a base64url number")
        parameters.append((name, raw.lstrip(b"\0").hex()))
    if kind == "EC":
        parameters.insert(0, ("crv", str(entry.get("crv"))))
    return Jwk(
        str(entry.get("kid") or ""),
        kind,
        tuple(parameters),
        str(entry.get("alg") or ""),
        str(entry.get("use") or ""),
    )


class JwksDrift(NamedTuple):
    """How a published copy differs from the keys that the cluster has."""

    missing: tuple[str, ...]
    """Ids that the copy lacks."""
    changed: tuple[str, ...]
    """Ids under which the copy holds another key."""
    extra: tuple[str, ...]
    """Ids that only the copy holds: keys of before, or of after, a rotation."""


def compare(cluster: JwkSet, copy: JwkSet) -> JwksDrift:
    """What differs, by id."""
    ours, theirs = cluster.by_kid, copy.by_kid
    return JwksDrift(
        tuple(kid for kid in ours if kid not in theirs),
        tuple(kid for kid in ours if kid in theirs and not same(ours[kid], theirs[kid])),
        tuple(kid for kid in theirs if kid not in ours),
    )


def same(one: Jwk, other: Jwk) -> bool:
    """Whether both are one key, whatever they are called."""
    return (one.kind, one.parameters) == (other.kind, other.parameters)


def weak(keys: Sequence[Jwk]) -> Iterator[str]:
    """Keys that clouds refuse for their size."""
    for key in keys:
        if key.kind == "RSA" and key.bits < _SMALLEST:
            yield f"key {key.kid!r} has {key.bits} bits, want {_SMALLEST} or more"


def verifies(token: ServiceAccountToken, key: Jwk) -> bool:
    """Whether the token was signed with this key, by the algorithm that its header names."""
    if (key.algorithm and key.algorithm != token.algorithm) or "crit" in token.header:
        return False  # relying parties know no critical extension
    members = {name: text if name == "crv" else _base64url(text) for name, text in key.parameters}
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", SecurityWarning)  # weak() reports keys that are too small
            public = jwk.import_key({"kty": key.kind, **members})
            jws.deserialize_compact(token.compact, public, list(ALGORITHMS))
    except (JoseError, ValueError, KeyError):  # KeyError: a curve that joserfc does not know
        return False
    return True


def _integer(digits: str) -> int:
    return int(digits or "0", 16)


def _base64url(digits: str) -> str:
    return base64.urlsafe_b64encode(bytes.fromhex(digits)).rstrip(b"=").decode()
