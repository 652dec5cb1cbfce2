"""Flags and variables of the Azure Workload Identity webhook, in our settings. See ``cli.standin``."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from vestibule import errors
from vestibule.core.kinds import goflags
from vestibule.core.kinds.goflags import Flag

FLAGS: Final = (
    Flag("audience", "audience of the tokens"),
    Flag("webhook-cert-dir", "directory of tls.crt and tls.key"),
    Flag("disable-cert-rotation", "certificates come from elsewhere", "bool"),
    Flag("tls-min-version", "1.2, 1.3, VersionTLS12 or VersionTLS13; lower ones are raised to 1.2"),
    Flag("tls-cipher-suites", "TLS 1.2 suites by their IANA names"),
    Flag("health-addr", "where /healthz and /readyz are served"),
    Flag("metrics-addr", "where /metrics is served"),
    Flag("metrics-backend", "prometheus"),
    Flag("log-level", "info, debug, trace or all; default: warnings"),
    Flag("kubeconfig", "the cluster"),
    Flag("custom-token-endpoint-annotation-suffix", "pods ask for the endpoint with use-<suffix>"),
    Flag("custom-token-endpoint-audience", "audience of the endpoint's tokens"),
)
_LEVELS: Final = {"": "warning", "info": "info", "debug": "debug", "trace": "debug", "all": "debug"}
_ENDPOINT: Final = {
    "AZURE_KUBERNETES_TOKEN_PROXY": "tokenProxy",
    "AZURE_KUBERNETES_SNI_NAME": "sniName",
    "AZURE_KUBERNETES_CA_DATA": "caData",
    "AZURE_KUBERNETES_CA_CONFIGMAP_NAME": "caConfigMapName",
    "AZURE_KUBERNETES_CA_CTB_SIGNER_NAME": "caSignerName",
    "AZURE_KUBERNETES_CA_CTB_LABEL_SELECTOR": "caLabelSelector",
}


def settings(given: Mapping[str, str], environ: Mapping[str, str]) -> dict[str, Any]:
    """What flags and variables say, as settings data; raises InvalidSettings with every problem."""
    problems: list[errors.Problem] = []

    def variable(name: str) -> str:
        return environ.get(f"CONFIG_{name}") or environ.get(name) or ""

    level = given.get("log-level", "").lower()
    if level not in _LEVELS:
        problems.append(errors.Problem("--log-level", "", f"is {level!r}, want info, debug, trace or all"))
    if given.get("metrics-backend", "prometheus").lower() != "prometheus":
        problems.append(
            errors.Problem("--metrics-backend", "", f"is {given['metrics-backend']!r}, want prometheus")
        )
    if problems:
        raise errors.InvalidSettings(*problems)
    directory = given.get("webhook-cert-dir", "/certs").rstrip("/")
    azwi: dict[str, Any] = {
        "tenantId": variable("AZURE_TENANT_ID"),
        "cloud": variable("AZURE_ENVIRONMENT"),
        "proxyLogLevel": given.get("log-level", ""),
        "endpoint": {
            "annotationSuffix": given.get("custom-token-endpoint-annotation-suffix", ""),
            "audience": given.get("custom-token-endpoint-audience", ""),
            **{field: variable(name) for name, field in _ENDPOINT.items()},
        },
    }
    for field, value in (
        ("audience", given.get("audience", "")),
        ("proxyImage", variable("PROXY_IMAGE")),
        ("proxyInitImage", variable("PROXY_INIT_IMAGE")),
    ):
        if value:
            azwi[field] = value
    serving: dict[str, Any] = {
        "addr": "[::]:9443",
        "healthAddr": goflags.listen(given.get("health-addr", ":9440")),
        "metricsAddr": goflags.listen(given.get("metrics-addr", ":8095")),
        "tlsCert": f"{directory}/tls.crt",
        "tlsKey": f"{directory}/tls.key",
        "tlsMinVersion": goflags.tls_version("--tls-min-version", given.get("tls-min-version", "1.3")),
        "tlsCipherSuites": tuple(filter(None, given.get("tls-cipher-suites", "").split(","))),
        "logLevel": _LEVELS[level],
    }
    return {
        "vocabularies": ("azwi",),
        "azwi": azwi,
        "serving": serving,
        "kubeconfig": given.get("kubeconfig", ""),
    }
