"""Flags of the GCP workload identity federation webhook, in our settings. See ``cli.standin``."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

import msgspec

from vestibule import errors
from vestibule.core.kinds import goflags
from vestibule.core.kinds.goflags import Flag
from vestibule.core.kinds.text import duration, integer

_UNUSED: Final = "taken, without effect: logs are JSON lines"
FLAGS: Final = (
    Flag("annotation-prefix", "what stands before the slash in the keys"),
    Flag("token-audience", "audience of the tokens"),
    Flag("token-expiration", "life of the tokens, such as 24h"),
    Flag("token-default-mode", "mode of the token file"),
    Flag("gcp-default-region", "region of containers that set none"),
    Flag("gcloud-image", "image of the init container in gcloud mode"),
    Flag("setup-container-resources", "its resources, JSON"),
    Flag("default-injection-mode", "direct or gcloud"),
    Flag("health-probe-bind-address", "where /healthz and /readyz are served"),
    Flag("metrics-bind-address", "where /metrics is served"),
    Flag("webhook-port", "where reviews are answered"),
    Flag("webhook-cert-dir", "directory of tls.crt and tls.key"),
    Flag("tls-min-version", "1.2, 1.3, VersionTLS12 or VersionTLS13; lower ones are raised to 1.2"),
    Flag("tls-cipher-suites", "TLS 1.2 suites by their IANA names"),
    Flag("kubeconfig", "the cluster"),
    Flag("leader-elect", "taken, without effect: every replica serves", "bool", used=False),
    Flag("zap-devel", _UNUSED, "bool", used=False),
    *(Flag(f"zap-{name}", _UNUSED, used=False) for name in ("encoder", "stacktrace-level", "time-encoding")),
    Flag("zap-log-level", "debug, info or error"),
)
_TEXTS: Final = {
    "annotation-prefix": "annotationPrefix",
    "token-audience": "tokenAudience",
    "gcp-default-region": "defaultRegion",
    "gcloud-image": "gcloudImage",
    "default-injection-mode": "injectionMode",
}


def settings(given: Mapping[str, str], environ: Mapping[str, str]) -> dict[str, Any]:
    """What flags say, as settings data; raises InvalidSettings with every problem."""
    del environ  # the original reads none
    problems: list[errors.Problem] = []

    def wrong(name: str, want: str) -> None:
        problems.append(errors.Problem(f"--{name}", "", f"is {given[name]!r}, want {want}"))

    wif: dict[str, Any] = {field: given[name] for name, field in _TEXTS.items() if name in given}
    if "token-expiration" in given:
        seconds = duration(given["token-expiration"])
        if seconds is None:
            wrong("token-expiration", "a duration such as 24h")
        else:
            wif["tokenExpirationSeconds"] = int(seconds)
    if "token-default-mode" in given:
        mode = _mode(given["token-default-mode"])
        if mode is None:
            wrong("token-default-mode", "a file mode such as 0440")
        else:
            wif["tokenDefaultMode"] = mode
    if given.get("setup-container-resources"):
        try:
            wif["setupResources"] = msgspec.json.decode(
                given["setup-container-resources"], type=dict[str, Any]
            )
        except msgspec.MsgspecError as error:
            wrong("setup-container-resources", f"an object ({error})")
    port = integer(given.get("webhook-port", "9443"))
    if port is None:
        wrong("webhook-port", "a port")
    if problems:
        raise errors.InvalidSettings(*problems)
    directory = given.get("webhook-cert-dir", "/tmp/k8s-webhook-server/serving-certs").rstrip("/")  # noqa: S108
    metrics = given.get("metrics-bind-address", ":8080")
    level = given.get("zap-log-level", "info")
    serving = {
        "addr": f"[::]:{port}",
        "healthAddr": goflags.listen(given.get("health-probe-bind-address", ":8081")),
        "metricsAddr": "" if metrics == "0" else goflags.listen(metrics),
        "tlsCert": f"{directory}/tls.crt",
        "tlsKey": f"{directory}/tls.key",
        "tlsMinVersion": goflags.tls_version("--tls-min-version", given.get("tls-min-version", "1.2")),
        "tlsCipherSuites": tuple(filter(None, given.get("tls-cipher-suites", "").split(","))),
        "logLevel": level if level in ("debug", "error") else "info",
    }
    return {
        "vocabularies": ("wif",),
        "wif": wif,
        "serving": serving,
        "kubeconfig": given.get("kubeconfig", ""),
    }


def _mode(text: str) -> int | None:
    """As Go reads a number with base 0: a leading zero makes it octal."""
    digits = text.removeprefix("0o").removeprefix("0O")
    base = 8 if text.startswith("0") and text != "0" else 10
    try:
        return int(digits, base)
    except ValueError:
        return None
