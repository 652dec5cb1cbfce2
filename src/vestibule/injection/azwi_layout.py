"""Where the token of an Azure identity goes, in the layouts of its webhook's releases: names, paths, and the
sources of the volume."""

from __future__ import annotations

import hashlib
from typing import Any, Final, NamedTuple

from vestibule.api.settings import azwi
from vestibule.api.settings.azwi import AzwiSettings, TokenEndpoint
from vestibule.injection.plan import PlannedEnv, PlannedMount

RESERVED: Final = "azure-workload-identity-reserved-"
_CA: Final = "ca-cert/ca.crt"
_TOKENS: Final = ("azure-identity-token", "token/azure-identity-token")
"""The token's file until 1.5, and from 1.6 on."""


class TokenLocation(NamedTuple):
    """Where the token of one pod goes."""

    volume: str
    mount: str
    token: str
    second: str = ""
    """A second mount, for programs that have another release's path built in."""

    @property
    def file(self) -> str:
        """The token, as programs name it."""
        return f"{self.mount}/{self.token}"


def place(settings: AzwiSettings, pod: str, reserved: str = "", *, second: bool) -> TokenLocation:
    """The names of a layout; from 1.6 they hold a digest of the pod's name."""
    mount = azwi.MOUNTS[settings.layout]
    if settings.layout == "1.5":
        found = TokenLocation(_TOKENS[0], mount, _TOKENS[0])
    else:
        digest = reserved or hashlib.sha256(pod.encode()).hexdigest()[:30]
        if settings.layout == "1.6.1":
            mount += f"/{digest}"
        found = TokenLocation(RESERVED + digest, mount, _TOKENS[1])
    other = settings.legacy_mount.rstrip("/") if second else ""
    return found if other in ("", mount) else found._replace(second=other)


def sources(
    where: TokenLocation, audience: str, expiration: int, endpoint: TokenEndpoint | None
) -> list[dict[str, Any]]:
    """What the volume shows. A second mount shows the token under the other releases' name, too: there its
    file is expected, and mounting a part of a volume would cut it off from renewal."""
    files = [where.token, *(name for name in _TOKENS if where.second and name != where.token)]
    found: list[dict[str, Any]] = [
        {"serviceAccountToken": {"path": file, "expirationSeconds": expiration, "audience": audience}}
        for file in files
    ]
    return found if endpoint is None else [*found, *_ca_sources(endpoint)]


def mounts(where: TokenLocation) -> list[PlannedMount]:
    """The volume in a container."""
    reserved = where.volume.startswith(RESERVED)
    found = [PlannedMount(where.volume, where.mount, when="replace" if reserved else "absent")]
    return [*found, PlannedMount(where.volume, where.second)] if where.second else found


def endpoint_env(endpoint: TokenEndpoint, where: TokenLocation, *, checked: bool) -> list[PlannedEnv]:
    """Variables of a token endpoint of one's own."""
    projected = endpoint.ca_config_map_name or endpoint.ca_signer_name
    file = f"{where.mount}/{_CA}" if projected or not checked else ""
    return [
        PlannedEnv("AZURE_KUBERNETES_TOKEN_PROXY", endpoint.token_proxy, "extra"),
        PlannedEnv("AZURE_KUBERNETES_SNI_NAME", endpoint.sni_name, "extra"),
        PlannedEnv("AZURE_KUBERNETES_CA_FILE", file, "extra"),
        PlannedEnv("AZURE_KUBERNETES_CA_DATA", endpoint.ca_data, "extra"),
    ]


def _ca_sources(endpoint: TokenEndpoint) -> list[dict[str, Any]]:
    if endpoint.ca_config_map_name:
        items = [{"key": "ca.crt", "path": _CA}]
        return [{"configMap": {"name": endpoint.ca_config_map_name, "items": items, "optional": False}}]
    if not endpoint.ca_signer_name:
        return []
    bundle: dict[str, Any] = {"signerName": endpoint.ca_signer_name, "path": _CA, "optional": False}
    if endpoint.ca_label_selector:
        bundle["labelSelector"] = azwi.label_selector(endpoint)
    return [{"clusterTrustBundle": bundle}]
