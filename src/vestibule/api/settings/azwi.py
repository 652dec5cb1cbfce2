"""Settings of the Azure Workload Identity dialect, ``azure.workload.identity/*``."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Final, Literal

import msgspec

from vestibule.api.settings.section import SettingsSection

PREFIX: Final = "azure.workload.identity/"
DEFAULT_AUDIENCE: Final = "api://AzureADTokenExchange"
AUTHORITIES: Final = {
    "": "https://login.microsoftonline.com/",
    "azurepubliccloud": "https://login.microsoftonline.com/",
    "azurecloud": "https://login.microsoftonline.com/",
    "azureusgovernmentcloud": "https://login.microsoftonline.us/",
    "azureusgovernment": "https://login.microsoftonline.us/",
    "azurechinacloud": "https://login.chinacloudapi.cn/",
    "azuregermancloud": "https://login.microsoftonline.de/",
}
"""Cloud names in lower case, and where their tokens are exchanged."""
YOUNGER: Final = {"azurebleucloud": "https://login.sovcloud-identity.fr/"}
"""Clouds at which AZWI exits; HyperShift allows them."""
MOUNTS: Final = {
    "1.5": "/var/run/secrets/azure/tokens",
    "1.6.0": "/var/run/secrets/azure/wi",
    "1.6.1": "/var/run/secrets/azure/wi",
}
"""Where the token is mounted in a layout; 1.6.1 adds a directory of the pod's own."""
_NAME: Final = re.compile(r"[A-Za-z0-9]([-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?")
_VERSION: Final = re.compile(r"v?(\d+)\.(\d+)\.(\d+)(?:[-+].*)?", re.ASCII)


class TokenEndpoint(SettingsSection, frozen=True):
    """A token endpoint of one's own (AKS identity binding), used by pods that ask for it."""

    annotation_suffix: str = ""
    """Pods ask with ``azure.workload.identity/use-<suffix>: "true"``; empty: there is no such endpoint."""
    audience: str = ""
    """Audience of the tokens that go there."""
    token_proxy: str = ""
    """Its address, ``AZURE_KUBERNETES_TOKEN_PROXY`` in the pod."""
    sni_name: str = ""
    """The name to ask for in the TLS handshake."""
    ca_data: str = ""
    """Its CA, PEM."""
    ca_config_map_name: str = ""
    """A ConfigMap with its CA under ``ca.crt``, in the namespace of every pod."""
    ca_signer_name: str = ""
    """A ClusterTrustBundle signer."""
    ca_label_selector: str = ""
    """Which of the signer's bundles: a label selector as JSON."""


class AzwiSettings(SettingsSection, frozen=True):
    """Azure Workload Identity."""

    layout: Literal["1.5", "1.6.0", "1.6.1"] = "1.5"
    """Names and paths of which release: ``1.5`` (and all before it, OpenShift's too) mounts
    ``/var/run/secrets/azure/tokens``, ``1.6.0`` and later use reserved names below
    ``/var/run/secrets/azure/wi``."""
    legacy_mount: str = ""
    """A second path at which the token volume is mounted, for programs that have another release's path
    built in (``better``): ``/var/run/secrets/azure/tokens`` with a layout from 1.6 on. It shows the token
    under the names of all releases."""
    tenant_id: str = ""
    """The tenant of accounts that name none."""
    cloud: str = ""
    """Name of the Azure cloud (``AzurePublicCloud``, ``AzureUSGovernmentCloud``, ``AzureChinaCloud`` …)."""
    authority_host: str = ""
    """Where tokens are exchanged, instead of the cloud's own place."""
    audience: str = DEFAULT_AUDIENCE
    """Audience of the tokens."""
    require_label: bool = True
    """Serve only pods with the label ``azure.workload.identity/use: "true"``. In ``strict`` without other
    dialects only the webhook configuration decides, as with AZWI."""
    proxy_image: str = "mcr.microsoft.com/oss/azure/workload-identity/proxy:v1.5.1"
    """Image of the proxy sidecar."""
    proxy_init_image: str = "mcr.microsoft.com/oss/azure/workload-identity/proxy-init:v1.5.1"
    """Image of the container that redirects IMDS to the proxy."""
    proxy_cpu: str = "50m"
    """Request and limit of the proxy containers (``better``)."""
    proxy_memory: str = "64Mi"
    """Request and limit of the proxy containers (``better``)."""
    proxy_log_level: str = ""
    """Passed on to the proxy."""
    kubernetes_version: str = ""
    """Version of the API server, which says whether the proxy can be a native sidecar; empty: asked for
    where there is a live cluster, and new enough where there is none."""
    endpoint: TokenEndpoint = TokenEndpoint()
    """A token endpoint of one's own."""


def authority(settings: AzwiSettings, *, strict: bool) -> str | None:
    """Where tokens are exchanged; None if the cloud is unknown, in strict mode to AZWI.

    A cloud of one's own (``AzureStackCloud``) has no place that we could know: ``authorityHost`` says it.
    """
    known = AUTHORITIES if strict else {**AUTHORITIES, **YOUNGER}
    return settings.authority_host or known.get(settings.cloud.lower())


def version(text: str) -> tuple[int, int] | None:
    """Major and minor of a version such as ``v1.32.0-alpha.1``; None when it is none."""
    match = _VERSION.fullmatch(text)
    return (int(match[1]), int(match[2])) if match else None


def problems(settings: AzwiSettings, *, strict: bool) -> Iterator[tuple[str, str]]:
    """Field and what is wrong with it. What AZWI exits at and a cluster can tolerate is an error in
    strict only."""
    if strict and authority(settings, strict=True) is None:
        yield "cloud", f"There is no cloud environment matching the name {settings.cloud!r}"
    if settings.kubernetes_version and version(settings.kubernetes_version) is None:
        yield "kubernetesVersion", f"is {settings.kubernetes_version!r}, want a version such as v1.34.0"
    legacy = settings.legacy_mount
    if legacy and not legacy.startswith("/"):
        yield "legacyMount", f"is {legacy!r}, want an absolute path"
    elif legacy and _nested(legacy.rstrip("/"), MOUNTS[settings.layout], settings.layout):
        yield "legacyMount", f"is {legacy!r}, want a path neither above nor below {MOUNTS[settings.layout]}"
    yield from (("endpoint." + field, text) for field, text in _endpoint(settings.endpoint))


def _nested(one: str, other: str, layout: str) -> bool:
    """Whether a volume would be mounted inside a volume, which is read-only; 1.6.1 mounts below its path."""
    if one == other:
        return layout == "1.6.1"
    return f"{one}/".startswith(f"{other}/") or f"{other}/".startswith(f"{one}/")


def _endpoint(endpoint: TokenEndpoint) -> Iterator[tuple[str, str]]:
    suffix, audience = endpoint.annotation_suffix, endpoint.audience
    if suffix and not audience:
        yield "audience", "audience cannot be empty when annotation suffix is set"
    if audience and not suffix:
        yield "annotationSuffix", "annotation suffix cannot be empty when audience is set"
    if audience.lower() == DEFAULT_AUDIENCE.lower():
        yield "audience", f"is {audience!r}: it cannot be equal to default audience"
    if suffix and _NAME.fullmatch(f"use-{suffix}") is None:
        yield "annotationSuffix", f"{PREFIX}use-{suffix} is not valid as an annotation key"
    sources = (endpoint.ca_data, endpoint.ca_config_map_name, endpoint.ca_signer_name)
    if sum(map(bool, sources)) > 1:
        yield (
            "caData",
            (
                "only one of AZURE_KUBERNETES_CA_DATA, AZURE_KUBERNETES_CA_CONFIGMAP_NAME or "
                "AZURE_KUBERNETES_CA_CTB_SIGNER_NAME can be set"
            ),
        )
    if endpoint.ca_label_selector:
        if not endpoint.ca_signer_name:
            yield "caSignerName", "AZURE_KUBERNETES_CA_CTB_SIGNER_NAME needs to be set with a label selector"
        if label_selector(endpoint) is None:
            yield "caLabelSelector", f"failed to decode LabelSelector from {endpoint.ca_label_selector!r}"


class _SelectorRequirement(msgspec.Struct, forbid_unknown_fields=True, omit_defaults=True):
    key: str
    operator: str
    values: list[str] = []


class _NamespaceSelector(msgspec.Struct, rename="camel", forbid_unknown_fields=True, omit_defaults=True):
    match_labels: dict[str, str] = {}
    match_expressions: list[_SelectorRequirement] = []


def label_selector(endpoint: TokenEndpoint) -> dict[str, object] | None:
    """The parsed selector; None if the text is invalid."""
    try:
        msgspec.json.decode(endpoint.ca_label_selector, type=_NamespaceSelector)
    except msgspec.MsgspecError:
        return None
    found: dict[str, object] = json.loads(endpoint.ca_label_selector)
    return found
