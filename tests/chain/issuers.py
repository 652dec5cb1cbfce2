"""Tokens read the way a cloud reads them: keys from the issuer's own discovery document, then the signature.

What a cloud trusts (audience, subject) differs from cloud to cloud and is not checked here, and neither is
the time: each double has a clock and asks ``timely``. Only the issuers given here can be reached, as a cloud
only reads from those that somebody registered.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, NamedTuple
from urllib.parse import urlsplit

import jwt
from jwt.types import Options

from tests.rig.client import Client
from tests.rig.controlplane import ControlPlane

# bound to system:service-account-issuer-discovery in every cluster; anonymous readers are not
READERS = ("system:serviceaccounts",)
_SIGNATURE_ONLY: Options = {
    "require": ["iss", "sub", "aud", "exp", "iat", "nbf"],
    "verify_aud": False,
    "verify_exp": False,
    "verify_nbf": False,
    "verify_iat": False,
}


class Unverified(Exception):
    """Nobody should believe this token."""

    def __init__(self, issuer: str, why: str) -> None:
        super().__init__(f"token of {issuer!r}: {why}")
        self.issuer, self.why = issuer, why


class Claims(NamedTuple):
    """What a token says; its signature is good."""

    issuer: str
    subject: str
    audiences: tuple[str, ...]
    begins: int
    ends: int

    @property
    def life(self) -> int:
        """Seconds."""
        return self.ends - self.begins

    def timely(self, now: float) -> bool:
        return self.begins - 60 <= now < self.ends


class Issuers:
    """Everybody whose keys can be read."""

    def __init__(self, planes: Iterable[ControlPlane]) -> None:
        self._clients = {plane.apiserver.issuer: plane.client("chain:cloud", READERS) for plane in planes}
        self._keys: dict[str, jwt.PyJWKSet] = {}
        self.seen: list[Claims] = []
        """Tokens that were presented and verified."""

    def claims(self, token: str, trusted: Iterable[str]) -> Claims:
        """The claims of a token of a trusted issuer. Raises Unverified."""
        try:
            header = jwt.get_unverified_header(token)
            message = jwt.decode(token, options={"verify_signature": False})
        except jwt.InvalidTokenError as error:
            raise Unverified("", f"not a token: {error}") from error
        issuer = str(message.get("iss", ""))
        if issuer not in trusted:
            raise Unverified(issuer, "unknown issuer")
        key = self._key(issuer, str(header.get("kid")))
        try:
            # the algorithm is ours to choose, never the header's
            raw = jwt.decode(token, key, ["RS256"], options=_SIGNATURE_ONLY, issuer=issuer)
        except jwt.InvalidTokenError as error:
            raise Unverified(issuer, f"bad signature: {error}") from error
        audiences = raw["aud"] if isinstance(raw["aud"], list) else [raw["aud"]]
        self.seen.append(Claims(issuer, raw["sub"], tuple(audiences), raw["nbf"], raw["exp"]))
        return self.seen[-1]

    def _key(self, issuer: str, kid: str) -> jwt.PyJWK:
        if issuer not in self._keys:
            self._keys[issuer] = self._read(issuer)
        try:
            return self._keys[issuer][kid]
        except KeyError:
            raise Unverified(issuer, f"no published key {kid!r}") from None

    def _read(self, issuer: str) -> jwt.PyJWKSet:
        client = self._clients.get(issuer)
        if client is None:
            raise Unverified(issuer, "cannot be reached")
        document = _get(client, "/.well-known/openid-configuration")
        if document["issuer"] != issuer:
            raise Unverified(issuer, f"discovery says {document['issuer']!r}")
        return jwt.PyJWKSet.from_dict(_get(client, urlsplit(document["jwks_uri"]).path))


def _get(client: Client, path: str) -> dict[str, Any]:
    # the keys are application/jwk-set+json, and 406 for who asks for plain JSON
    return client.raw("GET", path, headers={"Accept": "*/*"}).object
