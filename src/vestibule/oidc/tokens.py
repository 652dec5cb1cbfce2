"""ServiceAccount tokens, taken apart: header and claims.

Reading is not believing: ``jwks.verifies`` says whether a signature is good. A message never holds a piece of
the token itself, since the bearer of a token is the ServiceAccount until it expires.
"""

from __future__ import annotations

import base64
import binascii
from collections.abc import Mapping
from typing import Any, Final, NamedTuple

import msgspec

LONGEST: Final = 64 * 1024
"""Characters; the clouds take 4 to 20 thousand."""


class MalformedToken(ValueError):
    """The text is no token; the message says why and shows nothing of it."""


class ServiceAccountToken(NamedTuple):
    """One token."""

    header: Mapping[str, Any]
    claims: Mapping[str, Any]
    compact: str
    """The whole text, as it was given."""

    def __repr__(self) -> str:
        return f"Token(iss={self.issuer!r}, sub={self.subject!r})"

    @property
    def length(self) -> int:
        """Characters of the whole text."""
        return len(self.compact)

    @property
    def algorithm(self) -> str:
        """``alg`` of the header."""
        return _text(self.header.get("alg"))

    @property
    def kid(self) -> str:
        """``kid`` of the header."""
        return _text(self.header.get("kid"))

    @property
    def issuer(self) -> str:
        """``iss``."""
        return _text(self.claims.get("iss"))

    @property
    def subject(self) -> str:
        """``sub``."""
        return _text(self.claims.get("sub"))

    @property
    def audiences(self) -> tuple[str, ...]:
        """``aud``, one or several."""
        aud = self.claims.get("aud")
        listed = aud if isinstance(aud, list) else [aud]
        return tuple(one for one in listed if isinstance(one, str))

    def seconds(self, claim: str) -> float | None:
        """``exp``, ``nbf`` or ``iat``; None when it is missing or no number."""
        value = self.claims.get(claim)
        return float(value) if isinstance(value, int | float) and not isinstance(value, bool) else None


def parse(text: str) -> ServiceAccountToken:
    """The token in this text, white space around it apart. Raises MalformedToken."""
    stripped = text.strip()
    if not stripped:
        raise MalformedToken("is empty, want a token")
    if len(stripped) > LONGEST:
        raise MalformedToken(f"has {len(stripped)} characters, want at most {LONGEST}")
    parts = stripped.split(".")
    if len(parts) == 5:
        raise MalformedToken("is encrypted (five parts), want a signed token of three parts")
    if len(parts) != 3:
        raise MalformedToken(f"has {len(parts)} parts between dots, want header, claims and signature")
    header, claims, signature = parts
    token = ServiceAccountToken(_object(header, "header"), _object(claims, "claims"), stripped)
    _bytes(signature, "signature")
    return token


def _object(part: str, name: str) -> dict[str, Any]:
    try:
        return msgspec.json.decode(_bytes(part, name), type=dict[str, Any])
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
        raise MalformedToken(f"its {name} is no JSON object") from None


def _bytes(part: str, name: str) -> bytes:
    found = decoded(part)
    if found is None:
        raise MalformedToken(f"its {name} is no base64url text")
    return found


_PLAIN: Final = str.maketrans("-_", "+/")


def decoded(text: str) -> bytes | None:
    """The bytes of a base64url text without padding; None when it is none."""
    if not text.isascii() or "=" in text or "+" in text or "/" in text:
        return None
    try:
        return base64.b64decode(text.translate(_PLAIN) + "=" * (-len(text) % 4), validate=True)
    except (binascii.Error, ValueError):
        return None


def _text(value: object) -> str:
    return value if isinstance(value, str) else ""
