"""Logging in as azure-identity does it everywhere: environment, workload identity, managed identity, CLI."""

from __future__ import annotations

from typing import TYPE_CHECKING

from vestibule.clouds.azure.endpoints import AzureEndpoints
from vestibule.errors import MissingExtra

if TYPE_CHECKING:
    from azure.core.credentials import TokenCredential


def login(cloud: AzureEndpoints) -> TokenCredential:
    """The default credential; no request before the first call. Raises MissingExtra."""
    try:
        from azure.identity import DefaultAzureCredential
    except ModuleNotFoundError as error:
        raise MissingExtra("azure", "azure") from error
    credential: TokenCredential = DefaultAzureCredential(
        authority=cloud.authority,
        # an authority that Entra does not list would be looked up there, and refused
        disable_instance_discovery=not cloud.known,
    )
    return credential
