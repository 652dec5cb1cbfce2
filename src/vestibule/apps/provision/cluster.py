"""What a running cluster signs with: its issuer, the keys it publishes, and the keys of fresh tokens."""

from __future__ import annotations

import asyncio
from typing import Final, NamedTuple

import msgspec

from vestibule import errors
from vestibule.adapters.cluster import signing
from vestibule.adapters.cluster.access import Access
from vestibule.adapters.cluster.client import Client
from vestibule.core.doctor.reading import Reading
from vestibule.core.oidc import discovery, jwks, keys
from vestibule.core.oidc.keys import PublicKey
from vestibule.core.oidc.tokens import Token
from vestibule.errors import Problem

AUDIENCE: Final = "vestibule.dev/oidc"
"""Of tokens that are only looked at: nobody takes it."""
LOOKS: Final = 5
"""Tokens that are asked for, each over a connection of its own: a balancer may have several API servers."""


class Account(NamedTuple):
    """A ServiceAccount whose tokens we may look at."""

    namespace: str
    name: str

    def __str__(self) -> str:
        return f"ServiceAccount {self.namespace}/{self.name}"


class Documents(NamedTuple):
    """What the API server itself publishes."""

    issuer: str
    keys: tuple[PublicKey, ...]


def documents(access: Access) -> Documents:
    """Issuer and keys. Raises Forbidden when we may not read them, Unavailable, InvalidInput when a key is
    none that a cloud can use."""
    found, listed = asyncio.run(_both(access))
    try:
        return Documents(discovery.parse(_readable(found)).issuer, _keys(_readable(listed), listed.url))
    except ValueError as error:
        raise errors.Unavailable(f"{access.server}: the answer {error}") from error


def signed(access: Access, account: Account, looks: int = LOOKS) -> tuple[Token, ...]:
    """Fresh tokens. Raises Forbidden, NotFound, Unavailable; never without naming the account."""
    try:
        return asyncio.run(_tokens(access, account, looks))
    except (errors.Forbidden, errors.NotFound) as error:
        raise type(error)(f"{account}: {error}") from error
    except errors.Unavailable as error:
        raise errors.Unavailable(f"{account}: {error}") from error


async def _both(access: Access) -> tuple[Reading, Reading]:
    return await asyncio.gather(
        signing.document(access, discovery.PATH), signing.document(access, discovery.KEYS_PATH)
    )


async def _tokens(access: Access, account: Account, looks: int) -> tuple[Token, ...]:
    found = []
    for _ in range(looks):
        client = Client(access)
        try:
            found.append(await signing.token(client, account.namespace, account.name, AUDIENCE))
        finally:
            await client.close()
    return tuple(found)


def _readable(reading: Reading) -> bytes:
    if reading.forbidden:
        advice = "grant the ClusterRole system:service-account-issuer-discovery"
        raise errors.Forbidden(f"{reading.url}: status {reading.status}; {advice}")
    if reading.refusal:
        raise errors.Unavailable(f"{reading.url}: {reading.refusal}")
    return reading.body


def _keys(body: bytes, url: str) -> tuple[PublicKey, ...]:
    jwks.parse(body)  # says what is wrong with the document as a whole
    problems: list[Problem] = []
    found: list[PublicKey] = []
    for number, entry in enumerate(msgspec.json.decode(body)["keys"]):
        try:
            if not isinstance(entry, dict):
                raise ValueError("is no object, want a key")
            found.append(keys.of_jwk(entry, url))
        except ValueError as error:
            problems.append(Problem(url, f"keys[{number}]", str(error)))
    if problems:
        raise errors.InvalidInput(*problems)
    return tuple(found)
