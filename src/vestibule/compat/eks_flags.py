"""Flags of the EKS pod identity webhook, in our settings. See ``cli.compat``."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from vestibule.compat import goflags
from vestibule.compat.goflags import GoFlag
from vestibule.gostrconv import integer

_UNUSED: Final = "taken, without effect: "
FLAGS: Final = (
    GoFlag("annotation-prefix", "prefix of the annotation keys, before the slash"),
    GoFlag("token-audience", "audience of the tokens"),
    GoFlag("token-mount-path", "where the token is mounted"),
    GoFlag("token-expiration", "life of the tokens in seconds"),
    GoFlag("aws-default-region", "region of containers that name none"),
    GoFlag("sts-regional-endpoint", "use the region's own STS", "bool"),
    GoFlag("watch-config-map", "read roles from the ConfigMap pod-identity-webhook", "bool"),
    GoFlag("watch-container-credentials-config", "file of accounts with a Pod Identity association"),
    GoFlag("container-credentials-audience", "audience of tokens for the agent"),
    GoFlag("container-credentials-mount-path", "where that token is mounted"),
    GoFlag("container-credentials-volume-name", "name of its volume"),
    GoFlag("container-credentials-token-path", "name of its file"),
    GoFlag("container-credentials-full-uri", "address of the agent"),
    GoFlag("namespace", "namespace of the ConfigMap"),
    GoFlag("port", "where reviews are answered"),
    GoFlag("metrics-port", "where metrics are served"),
    GoFlag("tls-cert", "certificate chain, PEM"),
    GoFlag("tls-key", "private key, PEM"),
    GoFlag("tls-min-version", "1.2, 1.3, VersionTLS12 or VersionTLS13; lower ones are raised to 1.2"),
    GoFlag("tls-cipher-suites", "TLS 1.2 suites by their IANA names or OpenSSL's"),
    GoFlag("kubeconfig", "the cluster"),
    GoFlag("v", "verbosity: 4 and more is debug"),
    GoFlag("in-cluster", "false: certificates come from files, as here they always do", "bool"),
    goflags.VERSION,
    GoFlag(
        "compose-role-arn",
        _UNUSED + "role names are completed where the settings have eks.accountId",
        "bool",
        used=False,
    ),
    GoFlag("kube-api", _UNUSED + "the kubeconfig names the API server", used=False),
    GoFlag("tls-secret", _UNUSED + "certificates come from files", used=False),
    GoFlag("service-name", _UNUSED + "certificates come from files", used=False),
    GoFlag("resync-period", _UNUSED + "a watch needs none", used=False),
    GoFlag("service-account-lookup-grace-period", _UNUSED + "a miss is read at once", used=False),
    GoFlag("enable-debugging-handlers", _UNUSED + "there are none", "bool", used=False),
    *(
        GoFlag(name, _UNUSED + "logs are JSON lines", "bool", used=False)
        for name in (
            "logtostderr", "alsologtostderr", "add_dir_header", "skip_headers", "skip_log_headers",
            "one_output",
        )
    ),
    *(
        GoFlag(name, _UNUSED + "logs are JSON lines", used=False)
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


def settings(given: Mapping[str, str], environ: Mapping[str, str]) -> goflags.FlagSettings:
    """What flags mean; raises InvalidSettings with every problem."""
    del environ  # the EKS webhook reads none
    reader = goflags.FlagReader(FLAGS, given)
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
