"""Flags and variables of the Azure Workload Identity webhook, in our settings. See ``cli.compat``."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from vestibule.compat import goflags
from vestibule.compat.goflags import GoFlag

FLAGS: Final = (
    GoFlag("audience", "audience of the tokens"),
    GoFlag("webhook-cert-dir", "directory of tls.crt and tls.key"),
    GoFlag("disable-cert-rotation", "certificates come from elsewhere", "bool"),
    GoFlag("tls-min-version", "1.2, 1.3, VersionTLS12 or VersionTLS13; lower ones are raised to 1.2"),
    GoFlag("tls-cipher-suites", "TLS 1.2 suites by their IANA names or OpenSSL's"),
    GoFlag("health-addr", "where /healthz and /readyz are served"),
    GoFlag("metrics-addr", "where /metrics is served"),
    GoFlag("metrics-backend", "prometheus"),
    GoFlag("log-level", "info, debug, trace or all; default: warnings"),
    GoFlag("kubeconfig", "the cluster"),
    GoFlag("custom-token-endpoint-annotation-suffix", "pods request the endpoint with use-<suffix>"),
    GoFlag("custom-token-endpoint-audience", "audience of the endpoint's tokens"),
    goflags.VERSION,
)
_LEVELS: Final = {"": "warning", "info": "info", "debug": "debug", "trace": "debug", "all": "debug"}
_VARIABLES: Final = {
    "AZURE_TENANT_ID": "azwi.tenantId",
    "AZURE_ENVIRONMENT": "azwi.cloud",
    "PROXY_IMAGE": "azwi.proxyImage",
    "PROXY_INIT_IMAGE": "azwi.proxyInitImage",
    "AZURE_KUBERNETES_TOKEN_PROXY": "azwi.endpoint.tokenProxy",
    "AZURE_KUBERNETES_SNI_NAME": "azwi.endpoint.sniName",
    "AZURE_KUBERNETES_CA_DATA": "azwi.endpoint.caData",
    "AZURE_KUBERNETES_CA_CONFIGMAP_NAME": "azwi.endpoint.caConfigMapName",
    "AZURE_KUBERNETES_CA_CTB_SIGNER_NAME": "azwi.endpoint.caSignerName",
    "AZURE_KUBERNETES_CA_CTB_LABEL_SELECTOR": "azwi.endpoint.caLabelSelector",
}


def settings(given: Mapping[str, str], environ: Mapping[str, str]) -> goflags.FlagSettings:
    """What flags and variables mean; raises InvalidSettings with every problem."""
    reader = goflags.FlagReader(FLAGS, given)
    for variable, path in _VARIABLES.items():
        for name in (f"CONFIG_{variable}", variable):
            if environ.get(name):
                reader.put(path, environ[name], name)
                break
    if given.get("audience"):
        reader.text("audience", "azwi.audience")
    reader.text("custom-token-endpoint-annotation-suffix", "azwi.endpoint.annotationSuffix")
    reader.text("custom-token-endpoint-audience", "azwi.endpoint.audience")
    reader.text("log-level", "azwi.proxyLogLevel")
    reader.choice("log-level", "serving.logLevel", _LEVELS, "info, debug, trace or all")
    if given.get("metrics-backend", "prometheus").lower() != "prometheus":
        reader.wrong("metrics-backend", "prometheus")
    reader.listen("health-addr", "serving.healthAddr")
    reader.listen("metrics-addr", "serving.metricsAddr")
    reader.tls()
    certificates = reader.certificates("webhook-cert-dir", "/certs")
    if not reader.on("disable-cert-rotation"):
        reader.note(
            "disable-cert-rotation",
            "is not set, but nothing renews the certificate in --webhook-cert-dir: let cert-manager do it, "
            "or us, with selfCertificate in the settings",
        )
    serving = {
        "addr": "[::]:9443",
        "healthAddr": "[::]:9440",
        "metricsAddr": "[::]:8095",
        "tlsMinVersion": "1.3",
        "logLevel": "warning",
        **certificates,
    }
    return reader.meaning({"vocabularies": ["azwi"], "serving": serving})
