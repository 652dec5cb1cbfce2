"""The keys of vaults for AROControlPlanes: asked with their identities, and believed for a while."""

from __future__ import annotations

import asyncio
import base64
import hashlib
import logging
import time
from collections.abc import Callable
from typing import Any, Final

import msgspec

from vestibule import errors
from vestibule.aro import embedded, identities, keys, names
from vestibule.aro.ports import KeyQuestion
from vestibule.clouds.azure import clusteridentity, endpoints, keyvault_keys
from vestibule.clouds.azure.endpoints import AzureEndpoints
from vestibule.clouds.azure.errors import AzureCallError
from vestibule.clouds.azure.keyvault_keys import KeyVersion, VaultKeys
from vestibule.kube import lister
from vestibule.kube.client import Client
from vestibule.manifests import kinds

_PATIENCE: Final = 45.0
_CLOUDS: Final = {"": "AzurePublicCloud", "AzureUSGovernmentCloud": "AzureUSGovernment"}


class KeyVaults:
    """Fulfils KeyReader. The SDK is loaded by the first question."""

    def __init__(
        self,
        client: Client,
        cloud: str,
        believed: float,
        created: dict[tuple[str, str], float],
        clock: Callable[[], float] = time.monotonic,
        namespace: str = "",
    ) -> None:
        """``cloud``: a file that describes another Azure, in the place of all of them. ``believed``: seconds
        for which an answer counts; a key that is rotated in its vault is followed at the look after that.
        ``created``: where it is noted when the current version of a key was made. ``namespace``: the
        operator's own."""
        self._created = created
        self._namespace = namespace
        self._client = client
        self._cloud = cloud
        self._believed = believed
        self._clock = clock
        self._known: dict[KeyQuestion, tuple[float, str]] = {}
        self._clients: dict[tuple[str, str, str], tuple[str, VaultKeys]] = {}
        """By identity, subscription and environment, with a digest of what they log in with."""

    async def version(self, question: KeyQuestion) -> str:
        """See KeyReader."""
        until, version = self._known.get(question, (0.0, ""))
        if until > self._clock():
            return version
        identity = await lister.one(
            self._client, names.IDENTITY, question.identity.namespace, question.identity.name
        )
        if identity is None:
            raise errors.NotFound(f"{question.identity} does not exist")
        spec = identity.get("spec") or {}
        wrong = identities.misplaced(spec, question.identity, self._namespace)
        if wrong:
            raise errors.Forbidden(wrong)
        secret = await self._secret(spec, question.identity.namespace)
        try:
            async with asyncio.timeout(_PATIENCE):
                found = await asyncio.to_thread(self._asked, question, spec, secret)
        except TimeoutError:
            raise errors.Unavailable(f"no answer about {question} in {_PATIENCE:g} s") from None
        self._known[question] = (self._clock() + self._believed, found.version)
        if found.created is not None:
            self._created[question.vault, question.key] = found.created
        return found.version

    async def _secret(self, spec: dict[str, Any], namespace: str) -> dict[str, str]:
        name = str(embedded.value(spec, "clientSecret.name") or "")
        if not name:
            return {}
        found = await lister.one(self._client, kinds.SECRET, namespace, name)
        if found is None:
            raise errors.NotFound(f"Secret {namespace}/{name} of the AzureClusterIdentity does not exist")
        return {key: base64.b64decode(value).decode() for key, value in (found.get("data") or {}).items()}

    def _asked(self, question: KeyQuestion, spec: dict[str, Any], secret: dict[str, str]) -> KeyVersion:
        try:
            login = self._client_of(question, spec, secret)
            return login.version(question.resource_group, question.vault, question.key)
        except AzureCallError as fault:
            kind = errors.Forbidden if fault.status in (401, 403) else errors.Unavailable
            raise kind(str(fault)) from fault
        except errors.InvalidInput as error:
            raise errors.Forbidden(str(error)) from error

    def _client_of(self, question: KeyQuestion, spec: dict[str, Any], secret: dict[str, str]) -> VaultKeys:
        """A client that is logged in; the one of before, while nothing about the login changed."""
        who = (str(question.identity), question.subscription, question.environment)
        digest = hashlib.sha256(msgspec.json.encode((spec, secret), order="sorted")).hexdigest()
        known = self._clients.get(who)
        if known is not None and known[0] == digest:
            return known[1]
        logging.getLogger("azure").setLevel(logging.WARNING)  # the SDK tells of every call
        cloud = self._endpoints(question.environment)
        credential = clusteridentity.credential(spec, secret, cloud)
        made = keyvault_keys.either(credential, question.subscription, cloud)
        self._clients[who] = (digest, made)
        return made

    def _endpoints(self, environment: str) -> AzureEndpoints:
        """Of what the command line says, or of a cloud by its name; an object never names a file."""
        if not self._cloud and environment not in keys.ENVIRONMENTS:
            raise errors.Forbidden(
                f"spec.azureEnvironment is {environment!r}, which is no Azure that is known"
            )
        return endpoints.of(self._cloud or _CLOUDS.get(environment, environment))
