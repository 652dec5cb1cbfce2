"""Keys of vaults: a key is made where there is none, never a second version.

Two ways lead to a key, and identities often have permissions on only one of them: the resource manager, and
the vault itself. Behind one port: the manager is asked first, and the vault where the manager refuses.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Final, NamedTuple, Protocol

from vestibule import errors
from vestibule.clouds.azure.endpoints import AzureEndpoints
from vestibule.clouds.azure.errors import AzureCallError, translated

if TYPE_CHECKING:
    from azure.core.credentials import TokenCredential

_ABSENT: Final = frozenset({"KeyNotFound", "ResourceNotFound", "NotFound"})
_SIZE: Final = 2048
_PATIENCE: Final = {"retry_total": 2, "connection_timeout": 5, "read_timeout": 20}
_PERMISSIONS: Final = (
    "the identity may read the key neither through the resource manager (Microsoft.KeyVault/vaults/keys, "
    "read and write) nor in the vault itself (Key Vault Crypto Officer)"
)


class KeyVersion(NamedTuple):
    """The current version of a key."""

    version: str
    created: float | None
    """Seconds since the epoch, if the vault returns it."""


class VaultKeys(Protocol):
    """The keys that one identity sees in one subscription; blocks, so it belongs in a thread."""

    def version(self, group: str, vault: str, key: str) -> KeyVersion:
        """The current version of a key, which is made when there is none. Raises AzureCallError, Forbidden,
        Unavailable."""
        ...


def either(credential: TokenCredential, subscription: str, cloud: AzureEndpoints) -> VaultKeys:
    """Through the resource manager, or the vault itself where the manager refuses."""
    return _ManagerOrVaultKeys(
        ResourceManagerKeys(credential, subscription, cloud), VaultDataPlaneKeys(credential, cloud)
    )


class _ManagerOrVaultKeys:
    def __init__(self, managed: VaultKeys, own: VaultKeys) -> None:
        self._managed, self._own = managed, own

    def version(self, group: str, vault: str, key: str) -> KeyVersion:
        """See VaultKeys."""
        try:
            return self._managed.version(group, vault, key)
        except AzureCallError as fault:
            if fault.status != 403:
                raise
            refusal = fault
        try:
            return self._own.version(group, vault, key)
        except AzureCallError as fault:
            if fault.status != 403:
                raise
            raise errors.Forbidden(f"{_PERMISSIONS}: {refusal}; {fault}") from fault


class ResourceManagerKeys:
    """Through the resource manager, which makes no second version whatever happens."""

    def __init__(self, credential: TokenCredential, subscription: str, cloud: AzureEndpoints) -> None:
        from azure.mgmt.keyvault import KeyVaultManagementClient

        options: dict[str, Any] = {
            "base_url": cloud.resource_manager,
            "credential_scopes": [cloud.scope],
            **_PATIENCE,
        }
        self._client = KeyVaultManagementClient(credential, subscription, **options)

    def version(self, group: str, vault: str, key: str) -> KeyVersion:
        """See VaultKeys."""
        return _find_or_create(self._current, self._create, group, vault, key)

    @translated
    def _current(self, group: str, vault: str, key: str) -> KeyVersion:
        """Reading the key."""
        return _managed(self._client.keys.get(group, vault, key))

    @translated
    def _create(self, group: str, vault: str, key: str) -> KeyVersion:
        """Making the key."""
        from azure.mgmt.keyvault.models import KeyCreateParameters, KeyProperties

        parameters = KeyCreateParameters(properties=KeyProperties(kty="RSA", key_size=_SIZE))
        return _managed(self._client.keys.create_if_not_exist(group, vault, key, parameters))


class VaultDataPlaneKeys:
    """In the vault itself. There, to make a key that exists is a new version of it: so it is read first, and
    what may have been done is not asked for again before the next reading."""

    def __init__(self, credential: TokenCredential, cloud: AzureEndpoints) -> None:
        self._credential, self._cloud = credential, cloud

    def version(self, group: str, vault: str, key: str) -> KeyVersion:
        """See VaultKeys; the group does not matter, as the names of vaults are unique."""
        return _find_or_create(self._current, self._create, vault, key)

    @translated
    def _current(self, vault: str, key: str) -> KeyVersion:
        """Reading the key in the vault."""
        with self._client(vault) as client:
            return _own(client.get_key(key))

    @translated
    def _create(self, vault: str, key: str) -> KeyVersion:
        """Making the key in the vault."""
        with self._client(vault, retry_total=0) as client:
            return _own(client.create_rsa_key(key, size=_SIZE))

    def _client(self, vault: str, **more: Any) -> Any:
        from azure.keyvault.keys import KeyClient

        return KeyClient(
            self._cloud.vault(vault),
            self._credential,
            # the SDK compares the vault's word on whom to ask with its address; elsewhere the two differ
            verify_challenge_resource=self._cloud.known,
            **{**_PATIENCE, **more},
        )


def _find_or_create(
    current: Callable[..., KeyVersion], create: Callable[..., KeyVersion], *place: str
) -> KeyVersion:
    try:
        return current(*place)
    except AzureCallError as fault:
        if fault.status != 404 or (fault.code and fault.code not in _ABSENT):
            raise
    return create(*place)


def _managed(key: Any) -> KeyVersion:
    """The last part of the address of the key's version."""
    properties = key.properties
    version = str(properties.key_uri_with_version or "").rstrip("/").rpartition("/")[2]
    created = properties.attributes.created if properties.attributes is not None else None
    return KeyVersion(version, float(created) if created is not None else None)


def _own(key: Any) -> KeyVersion:
    created = key.properties.created_on
    return KeyVersion(str(key.properties.version or ""), created.timestamp() if created is not None else None)
