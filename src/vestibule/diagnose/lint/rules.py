"""Rules for a single object of a manifest.

Problems that depend on several objects (an invalid value, an identity that cannot be injected) come from the
webhook's decision. The rules here find keys in places that the decision does not read.
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterator, Mapping
from typing import Any, Final, Literal, NamedTuple

from vestibule import errors
from vestibule.api import annotation_keys, identitypolicy
from vestibule.injection.sandbox import validation

Severity = Literal["error", "warning", "note"]
Path = tuple[str | int, ...]


class LintRule(NamedTuple):
    """A rule as reports and code hosts show it."""

    id: str
    name: str
    about: str


DECISION_REFUSES: Final = LintRule("V001", "refused", "The webhook would refuse the pod.")
DECISION_WARNS: Final = LintRule("V002", "told", "The webhook would warn about the pod.")
MISSING: Final = LintRule("V003", "incomplete", "An identity is requested and cannot be injected.")
NO_ACCOUNT: Final = LintRule(
    "V004", "no-service-account", "The pod's ServiceAccount is in none of the files."
)
WRONG_OBJECT: Final = LintRule("V101", "wrong-object", "The annotation is ignored on this kind.")
WRONG_LABEL: Final = LintRule(
    "V102", "label-not-on-the-pod", "A label that belongs on the pod is on its workload."
)
LABEL: Final = LintRule("V103", "label-for-annotation", "A label is used instead of an annotation.")
NEAR_MISS: Final = LintRule("V104", "near-miss", "An unknown key that resembles a known one.")
POLICY: Final = LintRule("V105", "broken-policy", "An invalid IdentityPolicy.")
SANDBOX: Final = LintRule("V106", "broken-sandbox", "An invalid KataConfig or OSCWebhookConfig.")
RULES: Final = (
    DECISION_REFUSES, DECISION_WARNS, MISSING, NO_ACCOUNT, WRONG_OBJECT, WRONG_LABEL, LABEL, NEAR_MISS,
    POLICY, SANDBOX,
)  # fmt: skip


class RuleViolation(NamedTuple):
    """One mistake inside an object."""

    rule: LintRule
    severity: Severity
    path: Path
    text: str
    advice: str


READ: Final = frozenset(
    {
        "Pod", "ServiceAccount", "Namespace", "Deployment", "ReplicaSet", "StatefulSet", "DaemonSet", "Job",
        "CronJob",
    }
)  # fmt: skip
"""Kinds whose annotations are read."""
_PREFIXES: Final = {
    "cwii": annotation_keys.CWII_PREFIX,
    "azwi": annotation_keys.AZWI_PREFIX,
    "eks": annotation_keys.EKS_PREFIX,
    "wif": annotation_keys.WIF_PREFIX,
    "gke": annotation_keys.GKE_PREFIX,
}
_USE: Final = f"{annotation_keys.AZWI_PREFIX}use"
_IDENTITY_KEYS: Final = {
    annotation_keys.AZWI_PREFIX: (
        "client-id",
        "tenant-id",
        "service-account-token-expiration",
        "inject-proxy-sidecar",
    ),
    annotation_keys.EKS_PREFIX: ("role-arn", "audience", "sts-regional-endpoints", "token-expiration"),
    annotation_keys.WIF_PREFIX: ("workload-identity-provider", "service-account-email", "injection-mode"),
    annotation_keys.GKE_PREFIX: ("gcp-service-account",),
}
"""Keys that request an identity; the clouds use their prefixes for other purposes too."""


def flaws(obj: Mapping[str, Any], template: Path | None) -> Iterator[RuleViolation]:
    """Every problem of an object; ``template`` is the path of its pod template, if it has one."""
    kind = str(obj.get("kind", ""))
    if kind == identitypolicy.KIND:
        yield from _policy(obj)
        return
    if kind in ("KataConfig", "OSCWebhookConfig"):
        yield from _sandbox(kind, obj)
        return
    meta = _mapping(obj, "metadata")
    yield from _annotations(kind, _mapping(meta, "annotations"), ("metadata", "annotations"))
    yield from _labels(kind, _mapping(meta, "labels"), ("metadata", "labels"), obj, template)
    if template:
        inner: Mapping[str, Any] = obj
        for step in template:
            inner = _mapping(inner, str(step))
        pod = _mapping(inner, "metadata")
        where = (*template, "metadata")
        yield from _annotations("Pod", _mapping(pod, "annotations"), (*where, "annotations"))
        yield from _labels("Pod", _mapping(pod, "labels"), (*where, "labels"), obj, None)


def _annotations(kind: str, annotations: Mapping[str, Any], path: Path) -> Iterator[RuleViolation]:
    for key in annotations:
        prefix = next((prefix for prefix in _PREFIXES.values() if str(key).startswith(prefix)), "")
        name = str(key).removeprefix(prefix)
        meant = prefix == annotation_keys.CWII_PREFIX or name in _IDENTITY_KEYS.get(prefix, ())
        if prefix and meant and kind not in READ:
            yield RuleViolation(
                WRONG_OBJECT,
                "error",
                (*path, key),
                f"{key} is ignored on a {kind}",
                "put it on the ServiceAccount, the pod template, the workload or the Namespace",
            )
        elif kind in READ and not meant and prefix != annotation_keys.CWII_PREFIX:
            close = _close(str(key))
            if close:
                yield RuleViolation(
                    NEAR_MISS,
                    "warning",
                    (*path, key),
                    f"{key} is not a known key",
                    f"did you mean {close}?",
                )


def _close(key: str) -> str:
    """The key of another dialect that was probably meant; the decision reports those of cwii."""
    domain, slash, name = key.partition("/")
    if not slash:
        return ""
    for prefix, names in _IDENTITY_KEYS.items():
        known = prefix.rstrip("/")
        if difflib.SequenceMatcher(None, domain.lower(), known).ratio() < 0.85:
            continue
        found = difflib.get_close_matches(name.lower().replace("_", "-"), names, n=1, cutoff=0.8)
        if found and key != prefix + found[0]:
            return prefix + found[0]
    return ""


def _labels(
    kind: str, labels: Mapping[str, Any], path: Path, obj: Mapping[str, Any], template: Path | None
) -> Iterator[RuleViolation]:
    for key in labels:
        if key == _USE:
            if kind != "Pod" and not _has_use(obj, template):
                where = "spec.template" if template else "the pod's own metadata"
                yield RuleViolation(
                    WRONG_LABEL,
                    "error",
                    (*path, key),
                    f"{key} is on the {kind}, but only the pod's own label is read",
                    f"move it to metadata.labels in {where}",
                )
            if labels[key] != "true":
                yield RuleViolation(
                    WRONG_LABEL, "warning", (*path, key), f"{key} is {labels[key]!r}", 'want "true", as text'
                )
            continue
        prefix = next((prefix for prefix in _IDENTITY_KEYS if str(key).startswith(prefix)), "")
        if str(key).startswith(annotation_keys.CWII_PREFIX) or str(key).removeprefix(
            prefix
        ) in _IDENTITY_KEYS.get(prefix, ()):
            yield RuleViolation(
                LABEL,
                "error",
                (*path, key),
                f"{key} is a label, but only annotations are read",
                "make it an annotation",
            )


def _has_use(obj: Mapping[str, Any], template: Path | None) -> bool:
    inner: Mapping[str, Any] = obj
    for step in template or ():
        inner = _mapping(inner, str(step))
    return bool(template) and _USE in _mapping(_mapping(inner, "metadata"), "labels")


def _policy(obj: Mapping[str, Any]) -> Iterator[RuleViolation]:
    try:
        identitypolicy.of_object(obj)
    except errors.InvalidInput as error:
        for problem in error.problems:
            path: Path = ("spec", *_steps(problem.field))
            yield RuleViolation(
                POLICY,
                "error",
                path,
                f"{problem.field}: {problem.text}".lstrip(": "),
                "the policy refuses identities in its scope until it is fixed",
            )


def _sandbox(kind: str, obj: Mapping[str, Any]) -> Iterator[RuleViolation]:
    for wrong in validation.of_object(kind, obj):
        yield RuleViolation(
            SANDBOX, "error", _steps(wrong.path), f"{wrong.path} {wrong.text}", f"({wrong.code})"
        )


def _steps(path: str) -> Path:
    """``spec.rules[0].name`` and ``custom[a.b/c]`` as steps."""
    steps: list[str | int] = []
    for name, inner in re.findall(r"([^.\[\]]+)|\[([^\]]*)\]", path):
        steps.append(int(inner) if inner.isdigit() else inner or name)
    return tuple(steps)


def _mapping(obj: Mapping[str, Any], key: str) -> Mapping[str, Any]:
    found = obj.get(key)
    return found if isinstance(found, Mapping) else {}
