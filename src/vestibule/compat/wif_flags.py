"""Flags of the GCP workload identity federation webhook, in our settings. See ``cli.compat``."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

import msgspec

from vestibule.compat import goflags
from vestibule.compat.goflags import GoFlag
from vestibule.gostrconv import duration, integer

_UNUSED: Final = "taken, without effect: logs are JSON lines"
FLAGS: Final = (
    GoFlag("annotation-prefix", "prefix of the annotation keys, before the slash"),
    GoFlag("token-audience", "audience of the tokens"),
    GoFlag("token-expiration", "life of the tokens, such as 24h"),
    GoFlag("token-default-mode", "mode of the token file"),
    GoFlag("gcp-default-region", "region of containers that set none"),
    GoFlag("gcloud-image", "image of the init container in gcloud mode"),
    GoFlag("setup-container-resources", "its resources, JSON"),
    GoFlag("default-injection-mode", "direct or gcloud"),
    GoFlag("health-probe-bind-address", "where /healthz and /readyz are served"),
    GoFlag("metrics-bind-address", "where /metrics is served"),
    GoFlag("webhook-port", "where reviews are answered"),
    GoFlag("webhook-cert-dir", "directory of tls.crt and tls.key"),
    GoFlag("tls-min-version", "1.2, 1.3, VersionTLS12 or VersionTLS13; lower ones are raised to 1.2"),
    GoFlag("tls-cipher-suites", "TLS 1.2 suites by their IANA names or OpenSSL's"),
    GoFlag("kubeconfig", "the cluster"),
    GoFlag("zap-log-level", "debug, info, error or a number, which is debug"),
    GoFlag("leader-elect", "taken, without effect: every replica serves", "bool", used=False),
    GoFlag("zap-devel", _UNUSED, "bool", used=False),
    *(
        GoFlag(f"zap-{name}", _UNUSED, used=False)
        for name in ("encoder", "stacktrace-level", "time-encoding")
    ),
)
_TEXTS: Final = {
    "annotation-prefix": "wif.annotationPrefix",
    "token-audience": "wif.tokenAudience",
    "gcp-default-region": "wif.defaultRegion",
    "gcloud-image": "wif.gcloudImage",
}
_LEVELS: Final = {"debug": "debug", "info": "info", "error": "error", "panic": "error"}


def settings(given: Mapping[str, str], environ: Mapping[str, str]) -> goflags.FlagSettings:
    """What flags mean; raises InvalidSettings with every problem."""
    del environ  # GCP-WIF reads none
    reader = goflags.FlagReader(FLAGS, given)
    for name, path in _TEXTS.items():
        reader.text(name, path)
    modes = {"direct": "direct", "gcloud": "gcloud"}
    reader.choice("default-injection-mode", "wif.injectionMode", modes, "direct or gcloud")
    _token(reader, given)
    if given.get("setup-container-resources"):
        try:
            found = msgspec.json.decode(given["setup-container-resources"], type=dict[str, Any])
            reader.put("wif.setupResources", found, "--setup-container-resources")
        except msgspec.MsgspecError as error:
            reader.wrong("setup-container-resources", f"an object ({error})")
    reader.port("webhook-port", "serving.addr")
    reader.listen("health-probe-bind-address", "serving.healthAddr")
    reader.listen("metrics-bind-address", "serving.metricsAddr")
    reader.tls()
    level = given.get("zap-log-level", "")
    if (integer(level) or 0) > 0:
        reader.put("serving.logLevel", "debug", "--zap-log-level")
    else:
        reader.choice("zap-log-level", "serving.logLevel", _LEVELS, "debug, info, error or a number above 0")
    serving = {
        "addr": "[::]:9443",
        "healthAddr": "[::]:8081",
        "metricsAddr": "[::]:8080",
        "tlsMinVersion": "1.2",
        **reader.certificates("webhook-cert-dir", "/tmp/k8s-webhook-server/serving-certs"),  # noqa: S108
    }
    return reader.meaning({"vocabularies": ["wif"], "serving": serving})


def _token(reader: goflags.FlagReader, given: Mapping[str, str]) -> None:
    if "token-expiration" in given:
        seconds = duration(given["token-expiration"])
        if seconds is None:
            reader.wrong("token-expiration", "a duration such as 24h")
        else:
            reader.put("wif.tokenExpirationSeconds", int(seconds), "--token-expiration")
    if "token-default-mode" in given:
        mode = _mode(given["token-default-mode"])
        if mode is None:
            reader.wrong("token-default-mode", "a file mode such as 0440")
        else:
            reader.put("wif.tokenDefaultMode", mode, "--token-default-mode")


def _mode(text: str) -> int | None:
    """As Go reads a number with base 0: a leading zero makes it octal."""
    digits = text.removeprefix("0o").removeprefix("0O")
    base = 8 if text.startswith("0") and text != "0" else 10
    try:
        return int(digits, base)
    except ValueError:
        return None
