"""Where each Azure is: public, government, China, or one that a file describes (Azure Stack, a simulator)."""

from __future__ import annotations

from pathlib import Path
from typing import Final

import msgspec

from vestibule.errors import InputProblem, InvalidInput


class AzureEndpoints(msgspec.Struct, frozen=True, rename="camel", forbid_unknown_fields=True):
    """One cloud."""

    name: str
    resource_manager: str
    """Address of ARM."""
    authority: str
    """Address of Entra."""
    scope: str
    """What a token for ARM is asked for."""
    blob_suffix: str = "blob.core.windows.net"
    """Behind ``<account>.``; part of the issuer."""
    web_suffix: str = "web.core.windows.net"
    """The same for static websites."""
    storage_scope: str = "https://storage.azure.com/.default"
    blob_address: str = ""
    """Where blobs are written when that is not ``https://<account>.<suffix>``; ``{account}`` is replaced."""
    public_address: str = ""
    """Where they are fetched back for a comparison; ``{account}`` is replaced."""
    vault_suffix: str = "vault.azure.net"
    """Behind ``<vault>.``; the vault itself says whom to ask for a token."""
    vault_address: str = ""
    """Where vaults are when that is not ``https://<vault>.<suffix>``; ``{vault}`` is replaced."""
    known: bool = False
    """Whether Entra knows this cloud; else the login skips instance discovery."""

    def blobs(self, account: str) -> str:
        """Where the blobs of an account are written."""
        if self.blob_address:
            return self.blob_address.replace("{account}", account)
        return f"https://{account}.{self.blob_suffix}"

    def vault(self, name: str) -> str:
        """Where a vault itself is."""
        if self.vault_address:
            return self.vault_address.replace("{vault}", name)
        return f"https://{name}.{self.vault_suffix}"


PUBLIC: Final = AzureEndpoints(
    "AzurePublicCloud",
    "https://management.azure.com",
    "https://login.microsoftonline.com",
    "https://management.azure.com/.default",
    known=True,
)
_KNOWN: Final = (
    PUBLIC,
    AzureEndpoints(
        "AzureUSGovernment",
        "https://management.usgovcloudapi.net",
        "https://login.microsoftonline.us",
        "https://management.usgovcloudapi.net/.default",
        "blob.core.usgovcloudapi.net",
        "web.core.usgovcloudapi.net",
        vault_suffix="vault.usgovcloudapi.net",
        known=True,
    ),
    AzureEndpoints(
        "AzureChinaCloud",
        "https://management.chinacloudapi.cn",
        "https://login.chinacloudapi.cn",
        "https://management.chinacloudapi.cn/.default",
        "blob.core.chinacloudapi.cn",
        "web.core.chinacloudapi.cn",
        vault_suffix="vault.azure.cn",
        known=True,
    ),
)
NAMES: Final = tuple(one.name for one in _KNOWN)


def of(cloud: str) -> AzureEndpoints:
    """The cloud of this name, or the one that this JSON file describes. Raises InvalidInput."""
    for one in _KNOWN:
        if one.name.lower() == cloud.lower():
            return one
    want = f"want {', '.join(NAMES)} or a JSON file that describes a cloud"
    path = Path(cloud)
    if not path.is_file():
        raise InvalidInput(InputProblem("--cloud", "", f"is {cloud!r}, {want}"))
    try:
        found = msgspec.json.decode(path.read_bytes(), type=AzureEndpoints)
    except (msgspec.MsgspecError, OSError) as error:
        raise InvalidInput(
            InputProblem(f"--cloud {cloud}", "", f"cannot be used: {error}; {want}")
        ) from error
    wrong = [
        InputProblem(f"--cloud {cloud}", field, f"is {value!r}, want an https address")
        for field, value in (("resourceManager", found.resource_manager), ("authority", found.authority))
        if not value.startswith("https://")
    ]
    if wrong:
        raise InvalidInput(*wrong)
    return found
