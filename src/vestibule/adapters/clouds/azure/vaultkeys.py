"""Keys of vaults, through the resource manager: a key is made where there is none, never a second version."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, NamedTuple

from vestibule.adapters.clouds.azure.endpoints import Endpoints
from vestibule.adapters.clouds.azure.faults import CloudFault, told

if TYPE_CHECKING:
    from azure.core.credentials import TokenCredential

_ABSENT: Final = frozenset({"KeyNotFound", "ResourceNotFound", "NotFound"})
_SECONDS: Final = 20


class KeyVersion(NamedTuple):
    """The current version of a key."""

    version: str
    created: float | None
    """Seconds since the epoch, where the vault tells."""


class VaultKeys:
    """The keys that one identity sees in one subscription; blocks, so it belongs in a thread."""

    def __init__(self, credential: TokenCredential, subscription: str, cloud: Endpoints) -> None:
        from azure.mgmt.keyvault import KeyVaultManagementClient

        options: dict[str, Any] = {
            "base_url": cloud.resource_manager,
            "credential_scopes": [cloud.scope],
            "retry_total": 2,
            "connection_timeout": 5,
            "read_timeout": _SECONDS,
        }
        self._client = KeyVaultManagementClient(credential, subscription, **options)

    def version(self, group: str, vault: str, key: str) -> KeyVersion:
        """The current version of a key, which is made when there is none. Raises CloudFault, Forbidden,
        Unavailable."""
        try:
            return self._current(group, vault, key)
        except CloudFault as fault:
            if fault.status != 404 or (fault.code and fault.code not in _ABSENT):
                raise
        return self._made(group, vault, key)

    @told
    def _current(self, group: str, vault: str, key: str) -> KeyVersion:
        """Reading the key."""
        return _version(self._client.keys.get(group, vault, key))

    @told
    def _made(self, group: str, vault: str, key: str) -> KeyVersion:
        """Making the key."""
        from azure.mgmt.keyvault.models import KeyCreateParameters, KeyProperties

        wanted = KeyCreateParameters(properties=KeyProperties(kty="RSA", key_size=2048))
        return _version(self._client.keys.create_if_not_exist(group, vault, key, wanted))


def _version(key: Any) -> KeyVersion:
    """The last part of the address of the key's version."""
    properties = key.properties
    version = str(properties.key_uri_with_version or "").rstrip("/").rpartition("/")[2]
    made = properties.attributes.created if properties.attributes is not None else None
    return KeyVersion(version, float(made) if made is not None else None)
