"""Flags of the EKS pod identity webhook, in our settings. See ``cli.standin``."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from vestibule import errors
from vestibule.core.kinds import goflags
from vestibule.core.kinds.goflags import Flag
from vestibule.core.kinds.text import integer

_UNUSED: Final = "taken, without effect: "
FLAGS: Final = (
    Flag("annotation-prefix", "what stands before the slash in the keys"),
    Flag("token-audience", "audience of the tokens"),
    Flag("token-mount-path", "where the token is mounted"),
    Flag("token-expiration", "life of the tokens in seconds"),
    Flag("aws-default-region", "region of containers that name none"),
    Flag("sts-regional-endpoint", "use the region's own STS", "bool"),
    Flag("watch-config-map", "read roles from the ConfigMap pod-identity-webhook", "bool"),
    Flag("watch-container-credentials-config", "file of accounts with a Pod Identity association"),
    Flag("container-credentials-audience", "audience of tokens for the agent"),
    Flag("container-credentials-mount-path", "where that token is mounted"),
    Flag("container-credentials-volume-name", "name of its volume"),
    Flag("container-credentials-token-path", "name of its file"),
    Flag("container-credentials-full-uri", "where the agent answers"),
    Flag("namespace", "namespace of the ConfigMap"),
    Flag("port", "where reviews are answered"),
    Flag("metrics-port", "where metrics are served"),
    Flag("tls-cert", "certificate chain, PEM"),
    Flag("tls-key", "private key, PEM"),
    Flag("tls-min-version", "1.2, 1.3, VersionTLS12 or VersionTLS13; lower ones are raised to 1.2"),
    Flag("tls-cipher-suites", "TLS 1.2 suites by their IANA names"),
    Flag("kubeconfig", "the cluster"),
    Flag("v", "verbosity: 4 and more is debug"),
    Flag(
        "in-cluster", "false: certificates come from files; true is not supported by today's clusters", "bool"
    ),
    Flag("compose-role-arn", "complete role names; needs eks.accountId in the settings", "bool"),
    Flag("kube-api", _UNUSED + "the kubeconfig names the API server", used=False),
    Flag("tls-secret", _UNUSED + "certificates come from files", used=False),
    Flag("service-name", _UNUSED + "certificates come from files", used=False),
    Flag("resync-period", _UNUSED + "a watch needs none", used=False),
    Flag("service-account-lookup-grace-period", _UNUSED + "a miss is read at once", used=False),
    Flag("enable-debugging-handlers", _UNUSED + "there are none", "bool", used=False),
    *(
        Flag(name, _UNUSED + "logs are JSON lines", "bool", used=False)
        for name in ("logtostderr", "alsologtostderr")
    ),
    *(
        Flag(name, _UNUSED + "logs are JSON lines", used=False)
        for name in ("log_dir", "stderrthreshold", "vmodule")
    ),
)
_TEXTS: Final = {
    "annotation-prefix": "annotationPrefix",
    "token-audience": "tokenAudience",
    "token-mount-path": "tokenMountPath",
    "aws-default-region": "awsDefaultRegion",
}
_CREDENTIALS: Final = {
    "watch-container-credentials-config": "file",
    "container-credentials-audience": "audience",
    "container-credentials-mount-path": "mountPath",
    "container-credentials-volume-name": "volumeName",
    "container-credentials-token-path": "tokenPath",
    "container-credentials-full-uri": "fullUri",
}


def settings(given: Mapping[str, str], environ: Mapping[str, str]) -> dict[str, Any]:
    """What flags say, as settings data; raises InvalidSettings with every problem."""
    del environ  # the original reads none
    problems: list[errors.Problem] = []

    def number(name: str, default: int) -> int:
        value = integer(given.get(name, str(default)))
        if value is None:
            problems.append(errors.Problem(f"--{name}", "", f"is {given[name]!r}, want a whole number"))
        return value or 0

    eks: dict[str, Any] = {field: given[name] for name, field in _TEXTS.items() if name in given}
    eks["tokenExpiration"] = number("token-expiration", 86400)
    eks["stsRegionalEndpoint"] = goflags.boolean(given.get("sts-regional-endpoint", "false")) is True
    eks["containerCredentials"] = {
        field: given[name] for name, field in _CREDENTIALS.items() if name in given
    }
    if goflags.boolean(given.get("watch-config-map", "false")):
        eks["mappingConfigMap"] = f"{given.get('namespace', 'eks')}/pod-identity-webhook"
    serving = {
        "addr": f"[::]:{number('port', 443)}",
        "metricsAddr": f"[::]:{number('metrics-port', 9999)}",
        "tlsCert": given.get("tls-cert", "/etc/webhook/certs/tls.crt"),
        "tlsKey": given.get("tls-key", "/etc/webhook/certs/tls.key"),
        "tlsMinVersion": goflags.tls_version("--tls-min-version", given.get("tls-min-version", "1.2")),
        "tlsCipherSuites": tuple(filter(None, given.get("tls-cipher-suites", "").split(","))),
        "logLevel": "debug" if number("v", 0) >= 4 else "info",
    }
    if problems:
        raise errors.InvalidSettings(*problems)
    return {
        "vocabularies": ("eks",),
        "eks": eks,
        "serving": serving,
        "kubeconfig": given.get("kubeconfig", ""),
    }
