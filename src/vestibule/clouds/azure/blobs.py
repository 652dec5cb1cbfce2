"""The blobs of a storage account: where documents go, and the account's static website."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from vestibule.clouds.azure.endpoints import AzureEndpoints
from vestibule.clouds.azure.errors import translated
from vestibule.clouds.objectstore.azure_blob import AzureBlobs

if TYPE_CHECKING:
    from azure.core.credentials import TokenCredential


def store(
    cloud: AzureEndpoints,
    account: str,
    container: str,
    credential: TokenCredential,
    shared_key: Callable[[], str] | None,
) -> AzureBlobs:
    """A container to write to: with the login, or with the account's key where that is not enough."""
    return AzureBlobs(cloud.blobs(account), container, credential=credential, shared_key=shared_key)


@translated
def enable_website(
    cloud: AzureEndpoints, account: str, credential: TokenCredential, shared_key: Callable[[], str]
) -> None:
    """Switching on the static website of storage account."""
    from azure.core.exceptions import HttpResponseError
    from azure.storage.blob import BlobServiceClient, StaticWebsite

    for login in (lambda: credential, shared_key):
        service = BlobServiceClient(cloud.blobs(account), credential=login())
        try:
            service.set_service_properties(static_website=StaticWebsite(enabled=True))
        except HttpResponseError as error:
            # an owner of the account has no permission for its data, but may list its keys
            if error.status_code not in (401, 403) or login is shared_key:
                raise
        else:
            return
