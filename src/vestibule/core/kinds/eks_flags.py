"""Flags of the EKS pod identity webhook, in our settings. See ``cli.standin``."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

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
    Flag("tls-cipher-suites", "TLS 1.2 suites by their IANA names or OpenSSL's"),
    Flag("kubeconfig", "the cluster"),
    Flag("v", "verbosity: 4 and more is debug"),
    Flag("in-cluster", "false: certificates come from files, as here they always do", "bool"),
    goflags.VERSION,
    Flag(
        "compose-role-arn",
        _UNUSED + "role names are completed where the settings have eks.accountId",
        "bool",
        used=False,
    ),
    Flag("kube-api", _UNUSED + "the kubeconfig names the API server", used=False),
    Flag("tls-secret", _UNUSED + "certificates come from files", used=False),
    Flag("service-name", _UNUSED + "certificates come from files", used=False),
    Flag("resync-period", _UNUSED + "a watch needs none", used=False),
    Flag("service-account-lookup-grace-period", _UNUSED + "a miss is read at once", used=False),
    Flag("enable-debugging-handlers", _UNUSED + "there are none", "bool", used=False),
    *(
        Flag(name, _UNUSED + "logs are JSON lines", "bool", used=False)
        for name in (
            "logtostderr", "alsologtostderr", "add_dir_header", "skip_headers", "skip_log_headers",
            "one_output",
        )
    ),
    *(
        Flag(name, _UNUSED + "logs are JSON lines", used=False)
        for name in (
            "log_dir", "log_file", "log_file_max_size", "log_backtrace_at", "stderrthreshold", "vmodule",
        )
    ),
)  # fmt: skip
_TEXTS: Final = {
    "annotation-prefix": "eks.annotationPrefix",
    "token-audience": "eks.tokenAudience",
    "token-mount-path": "eks.tokenMountPath",
    "aws-default-region": "eks.awsDefaultRegion",
    "watch-container-credentials-config": "eks.containerCredentials.file",
    "container-credentials-audience": "eks.containerCredentials.audience",
    "container-credentials-mount-path": "eks.containerCredentials.mountPath",
    "container-credentials-volume-name": "eks.containerCredentials.volumeName",
    "container-credentials-token-path": "eks.containerCredentials.tokenPath",
    "container-credentials-full-uri": "eks.containerCredentials.fullUri",
    "tls-cert": "serving.tlsCert",
    "tls-key": "serving.tlsKey",
}


def settings(given: Mapping[str, str], environ: Mapping[str, str]) -> goflags.Meaning:
    """What flags mean; raises InvalidSettings with every problem."""
    del environ  # the original reads none
    reader = goflags.Reader(FLAGS, given)
    for name, path in _TEXTS.items():
        reader.text(name, path)
    reader.number("token-expiration", "eks.tokenExpiration")
    reader.boolean("sts-regional-endpoint", "eks.stsRegionalEndpoint")
    if reader.on("watch-config-map"):
        where = f"{given.get('namespace', 'eks')}/pod-identity-webhook"
        reader.put("eks.mappingConfigMap", where, "--watch-config-map")
    if reader.on("in-cluster"):
        reader.note("in-cluster", "is true, but certificates come from --tls-cert and --tls-key")
    reader.port("port", "serving.addr")
    reader.port("metrics-port", "serving.metricsAddr")
    reader.tls()
    if "v" in given:
        verbosity = integer(given["v"])
        if verbosity is None:
            reader.wrong("v", "a whole number")
        else:
            reader.put("serving.logLevel", "debug" if verbosity >= 4 else "info", "--v")
    serving = {
        "addr": "[::]:443",
        "metricsAddr": "[::]:9999",
        "tlsCert": "/etc/webhook/certs/tls.crt",
        "tlsKey": "/etc/webhook/certs/tls.key",
        "tlsMinVersion": "1.2",
    }
    return reader.meaning({"vocabularies": ["eks"], "serving": serving})
