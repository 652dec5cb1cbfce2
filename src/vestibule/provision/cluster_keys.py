"""What a running cluster signs with: its issuer, the keys it publishes, and the keys of fresh tokens."""

from __future__ import annotations

import asyncio
from typing import Final, NamedTuple

from vestibule import errors
from vestibule.kube import serviceaccount_issuer
from vestibule.kube.access import ClusterAccess
from vestibule.kube.client import Client
from vestibule.kube.serviceaccount_issuer import IssuerDocuments
from vestibule.oidc.tokens import ServiceAccountToken

AUDIENCE: Final = "vestibule.dev/oidc"
"""Audience of tokens that are only inspected: no service accepts it."""
SAMPLES: Final = 5
"""Tokens that are asked for, each over a connection of its own: a balancer may have several API servers."""


class TokenAccount(NamedTuple):
    """A ServiceAccount whose tokens we may look at."""

    namespace: str
    name: str

    def __str__(self) -> str:
        return f"ServiceAccount {self.namespace}/{self.name}"


def documents(access: ClusterAccess) -> IssuerDocuments:
    """Issuer and keys. Raises Forbidden when we may not read them, Unavailable, InvalidInput when a key is
    none that a cloud can use."""
    return asyncio.run(serviceaccount_issuer.documents(access))


def signed(
    access: ClusterAccess, account: TokenAccount, samples: int = SAMPLES
) -> tuple[ServiceAccountToken, ...]:
    """Fresh tokens. Raises Forbidden, NotFound, Unavailable; never without naming the account."""
    try:
        return asyncio.run(_tokens(access, account, samples))
    except (errors.Forbidden, errors.NotFound) as error:
        raise type(error)(f"{account}: {error}") from error
    except errors.Unavailable as error:
        raise errors.Unavailable(f"{account}: {error}") from error


async def _tokens(
    access: ClusterAccess, account: TokenAccount, samples: int
) -> tuple[ServiceAccountToken, ...]:
    found = []
    for _ in range(samples):
        client = Client(access)
        try:
            found.append(await serviceaccount_issuer.token(client, account.namespace, account.name, AUDIENCE))
        finally:
            await client.close()
    return tuple(found)
