"""The keys of vaults for AROControlPlanes: asked with their identities, and believed for a while."""

from __future__ import annotations

import asyncio
import base64
import time
from collections.abc import Callable
from typing import Any, Final

from vestibule import errors
from vestibule.adapters.clouds.azure import clusteridentity, endpoints
from vestibule.adapters.clouds.azure.endpoints import Endpoints
from vestibule.adapters.clouds.azure.faults import CloudFault
from vestibule.adapters.clouds.azure.vaultkeys import VaultKeys
from vestibule.adapters.cluster import pages
from vestibule.adapters.cluster.client import Client
from vestibule.core.aro import embedded, names
from vestibule.core.aro.world import KeyQuestion
from vestibule.core.native import kinds

_BELIEVED: Final = 600.0
"""Seconds; a key that is rotated in its vault is followed within this time."""
_PATIENCE: Final = 45.0
_CLOUDS: Final = {"": "AzurePublicCloud", "AzureUSGovernmentCloud": "AzureUSGovernment"}


class Vaults:
    """Fulfils Keys. The SDK is loaded by the first question."""

    def __init__(self, client: Client, cloud: str = "", clock: Callable[[], float] = time.monotonic) -> None:
        """``cloud``: a file that describes another Azure, in the place of all of them."""
        self._client = client
        self._cloud = cloud
        self._clock = clock
        self._known: dict[KeyQuestion, tuple[float, str]] = {}

    async def version(self, question: KeyQuestion) -> str:
        """See Keys."""
        until, version = self._known.get(question, (0.0, ""))
        if until > self._clock():
            return version
        identity = await pages.one(
            self._client, names.IDENTITY, question.identity.namespace, question.identity.name
        )
        if identity is None:
            raise errors.NotFound(f"{question.identity} does not exist")
        spec = identity.get("spec") or {}
        secret = await self._secret(spec, question.identity.namespace)
        try:
            async with asyncio.timeout(_PATIENCE):
                version = await asyncio.to_thread(self._asked, question, spec, secret)
        except TimeoutError:
            raise errors.Unavailable(f"no answer about {question} in {_PATIENCE:g} s") from None
        self._known[question] = (self._clock() + _BELIEVED, version)
        return version

    async def _secret(self, spec: dict[str, Any], namespace: str) -> dict[str, str]:
        name = str(embedded.value(spec, "clientSecret.name") or "")
        if not name:
            return {}
        where = str(embedded.value(spec, "clientSecret.namespace") or namespace)
        found = await pages.one(self._client, kinds.SECRET, where, name)
        if found is None:
            raise errors.NotFound(f"Secret {where}/{name} of the AzureClusterIdentity does not exist")
        return {key: base64.b64decode(value).decode() for key, value in (found.get("data") or {}).items()}

    def _asked(self, question: KeyQuestion, spec: dict[str, Any], secret: dict[str, str]) -> str:
        cloud = self._endpoints(question.environment)
        made = clusteridentity.credential(spec, secret, cloud)
        try:
            keys = VaultKeys(made, question.subscription, cloud)
            return keys.version(question.resource_group, question.vault, question.key)
        except CloudFault as fault:
            kind = errors.Forbidden if fault.status in (401, 403) else errors.Unavailable
            raise kind(str(fault)) from fault
        except errors.InvalidInput as error:
            raise errors.Forbidden(str(error)) from error

    def _endpoints(self, environment: str) -> Endpoints:
        return endpoints.of(self._cloud or _CLOUDS.get(environment, environment))
