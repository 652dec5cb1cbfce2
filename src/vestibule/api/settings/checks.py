"""What the types of the settings cannot say: ranges, grammars, and values that contradict each other."""

from __future__ import annotations

import ipaddress
import re
from typing import TYPE_CHECKING, Final

from vestibule import errors, gostrconv
from vestibule.api import annotation_keys, aso, glob_patterns, identitypolicy, quantity
from vestibule.api.settings import azwi, eks, wif
from vestibule.api.settings.podlimits import PodLimits

if TYPE_CHECKING:
    from vestibule.api.settings.schema import Settings

_DNS_LABEL: Final = re.compile(r"[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?")
_IMAGE: Final = re.compile(r"[^\s]+")


def problems(settings: Settings, place: str) -> list[errors.InputProblem]:
    """What the types cannot say, all of it."""
    found: list[errors.InputProblem] = []

    def want(ok: bool, field: str, value: object, expected: str) -> None:
        if not ok:
            found.append(errors.InputProblem(place, field, f"is {value!r}, want {expected}"))

    strict = settings.mode == "strict"
    want(settings.mount_root.startswith("/") or strict, "mountRoot", settings.mount_root, "an absolute path")
    top = settings.max_token_expiration_seconds
    want(
        annotation_keys.MIN_TOKEN_SECONDS <= top <= annotation_keys.MAX_TOKEN_SECONDS,
        "maxTokenExpirationSeconds",
        top,
        f"{annotation_keys.MIN_TOKEN_SECONDS} to {annotation_keys.MAX_TOKEN_SECONDS}",
    )
    want(
        strict or settings.token_expiration_seconds <= top,
        "tokenExpirationSeconds",
        settings.token_expiration_seconds,
        f"at most maxTokenExpirationSeconds ({top})",
    )
    for index, glob in enumerate(settings.exclude.namespaces):
        want(
            glob_patterns.is_name_glob(glob),
            f"exclude.namespaces[{index}]",
            glob,
            "a namespace name, '*' allowed in it",
        )
    for name in ("gcp", "aws", "az"):
        image = getattr(settings, name).verify_image
        want(bool(_IMAGE.fullmatch(image)), f"{name}.verifyImage", image, "an image reference")
    want(
        bool(_IMAGE.fullmatch(settings.gcp.init_image)),
        "gcp.initImage",
        settings.gcp.init_image,
        "an image reference",
    )
    for field, value in (
        ("verify.cpu", settings.verify.cpu),
        ("verify.memory", settings.verify.memory),
        ("install.cpu", settings.install.cpu),
        ("install.memory", settings.install.memory),
    ):
        want(quantity.is_positive(value), field, value, "a quantity above zero such as 250m or 512Mi")
    want(
        settings.verify.run_as_user > 0, "verify.runAsUser", settings.verify.run_as_user, "a user id above 0"
    )
    want(
        settings.verify.timeout_seconds > 0,
        "verify.timeoutSeconds",
        settings.verify.timeout_seconds,
        "a number above 0",
    )
    want(
        1 <= settings.webhook.timeout_seconds <= 30,
        "webhook.timeoutSeconds",
        settings.webhook.timeout_seconds,
        "1 to 30",
    )
    for field in PodLimits.__struct_fields__:
        value = getattr(settings.pod_limits, field)
        shown = PodLimits.__struct_encode_fields__[PodLimits.__struct_fields__.index(field)]
        want(value >= 1, f"podLimits.{shown}", value, "1 or more")
    for position, policy in enumerate(settings.policies):
        try:
            identitypolicy.parse(policy, place)
        except errors.InvalidInput as invalid:
            found += [
                errors.InputProblem(place, f"policies[{position}].{one.field}".rstrip("."), one.text)
                for one in invalid.problems
            ]
    want(settings.install.replicas >= 1, "install.replicas", settings.install.replicas, "1 or more")
    for field in ("name", "namespace"):
        value = getattr(settings.install, field)
        want(
            bool(_DNS_LABEL.fullmatch(value)),
            f"install.{field}",
            value,
            "a DNS label (lower case letters, digits, '-')",
        )
    named = settings.install.hosted_namespaces
    for index, value in enumerate(named):
        fine = bool(_DNS_LABEL.fullmatch(value)) and value not in named[:index]
        want(fine, f"install.hostedNamespaces[{index}]", value, "the name of a namespace, each once")
    want(
        settings.install.hosted or not named,
        "install.hostedNamespaces",
        list(named),
        "none without install.hosted",
    )
    added = settings.install.aro_kinds
    for index, value in enumerate(added):
        problem = aso.problem(value, added[:index])
        want(not problem, f"install.aroKinds[{index}]", value, problem)
    want(settings.install.aro or not added, "install.aroKinds", list(added), "none without install.aro")
    want(len(added) <= aso.MOST, "install.aroKinds", len(added), f"at most {aso.MOST}")
    everywhere = settings.install.hosted_all_namespaces
    want(
        not settings.install.hosted or everywhere or bool(named),
        "install.hostedNamespaces",
        list(named),
        "the namespaces of control planes with install.hosted, or install.hostedAllNamespaces",
    )
    want(
        not everywhere or (settings.install.hosted and not named),
        "install.hostedAllNamespaces",
        everywhere,
        "false without install.hosted, or with install.hostedNamespaces",
    )
    for index, value in enumerate(settings.install.api_servers):
        want(
            _network(value), f"install.apiServers[{index}]", value, "an address or a network, as 10.0.0.0/24"
        )
    want(
        not settings.install.client_ca or bool(settings.serving.metrics_addr),
        "install.clientCa",
        settings.install.client_ca,
        "none without serving.metricsAddr: the kubelet's probes show no certificate and need the plain port",
    )
    own = settings.self_certificate
    for field, value in (
        ("authorityLife", own.authority_life),
        ("leafLife", own.leaf_life),
        ("overlap", own.overlap),
    ):
        want(
            (gostrconv.duration(value) or 0) > 0,
            f"selfCertificate.{field}",
            value,
            "a duration such as 720h or 30m",
        )
    serving = settings.serving
    want(serving.max_connections >= 1, "serving.maxConnections", serving.max_connections, "1 or more")
    want(serving.max_inflight >= 1, "serving.maxInflight", serving.max_inflight, "1 or more")
    want(serving.drain_seconds >= 0, "serving.drainSeconds", serving.drain_seconds, "0 or more")
    want(serving.grace_seconds >= 0, "serving.graceSeconds", serving.grace_seconds, "0 or more")
    for field, addr in (
        ("addr", serving.addr),
        ("metricsAddr", serving.metrics_addr or "127.0.0.1:0"),
        ("healthAddr", serving.health_addr or "127.0.0.1:0"),
    ):
        want(
            gostrconv.address(addr) is not None,
            f"serving.{field}",
            addr,
            "HOST:PORT or [IPV6]:PORT with a numeric host",
        )
    want(
        len(set(settings.vocabularies)) == len(settings.vocabularies),
        "vocabularies",
        settings.vocabularies,
        "each once",
    )
    if "azwi" in settings.vocabularies:
        found += [
            errors.InputProblem(place, f"azwi.{field}", text)
            for field, text in azwi.problems(settings.azwi, strict=strict)
        ]
    if "eks" in settings.vocabularies:
        found += [
            errors.InputProblem(place, f"eks.{field}", text) for field, text in eks.problems(settings.eks)
        ]
    if not {"wif", "gke"}.isdisjoint(settings.vocabularies):
        found += [
            errors.InputProblem(place, f"wif.{field}", text)
            for field, text in wif.problems(settings.wif, strict=strict)
        ]
    return found


def _network(value: str) -> bool:
    try:
        ipaddress.ip_network(value)
    except ValueError:
        return False
    return True
