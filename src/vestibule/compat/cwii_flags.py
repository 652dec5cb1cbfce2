"""Flags and variables of cwii as data: name, variable, settings key, form.

They are given as in cwii: every flag takes a value, booleans are the words ``true`` and ``false``,
a flag beats its variable, and both beat the settings file. A bad value is an error that names the flag or
variable.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final, Literal, NamedTuple

from vestibule import errors
from vestibule.api.settings import schema
from vestibule.gostrconv import address, integer


class CwiiFlag(NamedTuple):
    """One flag of cwii."""

    name: str
    path: tuple[str, ...]
    form: Literal["text", "bool", "int", "address", "delivery"]
    about: str

    @property
    def variable(self) -> str:
        """The environment variable that says the same."""
        return "CWII_" + self.name.upper().replace("-", "_")


CWII: Final = (
    CwiiFlag("addr", ("serving", "addr"), "address", "address to serve on"),
    CwiiFlag("tls-cert", ("serving", "tlsCert"), "text", "certificate chain, PEM"),
    CwiiFlag("tls-key", ("serving", "tlsKey"), "text", "private key, PEM"),
    CwiiFlag("mount-root", ("mountRoot",), "text", "directory in containers below which tokens appear"),
    CwiiFlag("token-expiration", ("tokenExpirationSeconds",), "int", "lifetime of tokens in seconds"),
    CwiiFlag(
        "native-annotations", ("nativeAnnotations",), "bool", "also understand the GKE, EKS and Azure keys"
    ),
    CwiiFlag("otel-enabled", ("serving", "otelEnabled"), "bool", "push to an OpenTelemetry collector"),
    CwiiFlag(
        "otel-endpoint", ("serving", "otelEndpoint"), "text", "where the collector listens, OTLP over gRPC"
    ),
    CwiiFlag("gcp-enabled", ("gcp", "enabled"), "bool", "serve Google Cloud"),
    CwiiFlag("gcp-default-audience", ("gcp", "defaultAudience"), "text", "workload identity provider"),
    CwiiFlag("gcp-delivery", ("gcp", "delivery"), "delivery", "annotation, config-map or init-container"),
    CwiiFlag("gcp-init-image", ("gcp", "initImage"), "text", "image that writes the credentials file"),
    CwiiFlag("gcp-verify-image", ("gcp", "verifyImage"), "text", "image of the verify container"),
    CwiiFlag("aws-enabled", ("aws", "enabled"), "bool", "serve AWS"),
    CwiiFlag("aws-default-audience", ("aws", "defaultAudience"), "text", "audience of tokens for AWS"),
    CwiiFlag("aws-verify-image", ("aws", "verifyImage"), "text", "image of the verify container"),
    CwiiFlag("az-enabled", ("az", "enabled"), "bool", "serve Azure"),
    CwiiFlag("az-default-audience", ("az", "defaultAudience"), "text", "audience of tokens for Azure"),
    CwiiFlag("az-verify-image", ("az", "verifyImage"), "text", "image of the verify container"),
)
"""The flags of cwii, in the order of its help."""


def overrides(flags: Mapping[str, str | None], environ: Mapping[str, str]) -> dict[str, Any]:
    """What flags and variables say, as settings data; raises InvalidSettings with every problem."""
    data: dict[str, Any] = {}
    problems: list[errors.InputProblem] = []
    for flag in CWII:
        given = flags.get(flag.name)
        place = f"--{flag.name}" if given is not None else flag.variable
        text = given if given is not None else environ.get(flag.variable)
        if text is None:
            continue
        value, want = _value(flag, text)
        if want:
            problems.append(errors.InputProblem(place, "", f"is {text!r}, want {want}"))
            continue
        target = data
        for key in flag.path[:-1]:
            target = target.setdefault(key, {})
        target[flag.path[-1]] = value
    if problems:
        raise errors.InvalidSettings(*problems)
    return data


def _value(flag: CwiiFlag, text: str) -> tuple[Any, str]:
    """The value, or what is wanted instead."""
    if flag.form == "bool":
        return text == "true", "" if text in ("true", "false") else "true or false"
    if flag.form == "int":
        number = integer(text)
        return number, "" if number is not None else "a whole number"
    if flag.form == "address":
        return text, "" if address(text) else "HOST:PORT or [IPV6]:PORT with a numeric host"
    if flag.form == "delivery":
        delivery = schema.delivery(text.strip())
        return delivery, "" if delivery else " or ".join(schema.DELIVERIES)
    return text, ""


def merged(base: Any, over: Mapping[str, Any]) -> Any:
    """Settings data merged with overrides, section by section; neither is changed."""
    if not isinstance(base, Mapping):
        return base if base is not None and not over else dict(over)
    result = dict(base)
    for key, value in over.items():
        result[key] = merged(result.get(key, {}), value) if isinstance(value, Mapping) else value
    return result


LOG_LEVELS: Final = {"trace": "debug", "debug": "debug", "info": "info", "warn": "warning", "error": "error"}


def log_level(rust_log: str) -> str | None:
    """The level in a ``RUST_LOG`` filter (``info``, ``warn,kube=debug``); None when it names none."""
    for part in rust_log.split(","):
        level = LOG_LEVELS.get(part.strip().lower())
        if level:
            return level
    return None
