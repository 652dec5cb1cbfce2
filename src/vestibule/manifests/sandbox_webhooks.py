"""How the API server calls us for sandboxes: a configuration of its own, so narrow that an outage cannot hurt
pods that need no sandbox.

First come entries for pods without a class: one for the KataConfig's injection, and one for the rules that
share their selectors. The last entry is for pods that have a Kata class; it comes after the others, sees
the class that was set there, and so is called again when a later webhook adds containers. Each call does
identity and sandbox in one patch, so the general webhook configuration can exclude what is sent here.
"""

from __future__ import annotations

import copy
from collections.abc import Sequence
from typing import Any, Final

from vestibule.api import annotation_keys, kata
from vestibule.api.label_selectors import LabelSelector
from vestibule.api.settings.schema import Settings
from vestibule.injection.sandbox.sandbox_policy import ALWAYS_OUT, SandboxPolicy
from vestibule.manifests import webhook_configurations

Object = dict[str, Any]
Conditions = list[dict[str, str]]
_CLASS: Final = "object.spec.runtimeClassName"
_DOMAIN: Final = "sandbox.vestibule.dev"
_LONGEST: Final = 5
"""Seconds that a pod waits for us at most."""


def name(settings: Settings) -> str:
    """Of the configuration. Configurations are called by name, and digits sort before the letters with which
    the names of the peer-pods webhook's begin: it sees the class that we set."""
    return f"00-{settings.install.name}-sandbox"


def desired(settings: Settings, found: SandboxPolicy | None) -> Object | None:
    """The configuration; None when there should be none."""
    if found is None or not settings.sandbox.enabled or not found.active:
        return None
    entries = [
        *_for_classes(settings, found),
        *_for_kata_pods(settings, found),
        *_for_enforced_pods(settings, found),
    ]
    if not entries:
        return None
    meta: Object = {"name": name(settings)}
    annotations = webhook_configurations.ca_injection(settings)
    if annotations:
        meta["annotations"] = annotations
    return {
        "apiVersion": webhook_configurations.API,
        "kind": "MutatingWebhookConfiguration",
        "metadata": meta,
        "webhooks": entries,
    }


def merged(desired: Object, ca_bundle: str) -> Object:
    """The desired configuration, with the CA bundle that another owner maintains."""
    result = copy.deepcopy(desired)
    for entry in result["webhooks"] if ca_bundle else ():
        entry["clientConfig"]["caBundle"] = ca_bundle
    return result


def sent_here(settings: Settings, found: SandboxPolicy | None) -> Conditions:
    """The match condition by which the general webhook configuration excludes pods of this one.

    Empty when nothing is sent here, or when such pods would pass without the identity for which the general
    configuration would delay them.
    """
    if found is None or desired(settings, found) is None or not found.kata_classes:
        return []
    if settings.webhook.failure_policy == "Fail" and found.webhook.failure_policy == "Ignore":
        return []
    exact, prefixes = _always_out()
    names = ", ".join(f"'{one}'" for one in exact)
    apart = [
        f"request.namespace in [{names}]",
        *(f"request.namespace.startsWith('{one}')" for one in prefixes),
    ]
    expression = f"!({_in_kata_class(found)}) || {' || '.join(apart)}"
    return [{"name": "not-sent-for-its-sandbox", "expression": expression}]


def guard(settings: Settings, found: SandboxPolicy | None) -> list[Object]:
    """A ValidatingAdmissionPolicy for confidential namespaces: annotations that decide about the virtual
    machine stay as admission left them, and pods have one of the classes that are allowed. Kata reads the
    annotations when the pod starts, and a pod with a scheduling gate starts when its author likes. Needs no
    server."""
    if found is None or not settings.sandbox.enabled or not found.active:
        return []
    enforce = found.webhook.enforce
    if not found.frozen:
        return []
    exact, prefixes = _always_out()
    out = ", ".join(f"'{one}'" for one in sorted({*exact, settings.install.namespace}))
    conditions = [
        *_globs("in-a-confidential-namespace", "", found.frozen),
        {"name": "not-a-system-namespace", "expression": f"!(request.namespace in [{out}])"},
        *(
            {"name": f"not-{one.rstrip('-')}", "expression": f"!request.namespace.startsWith('{one}')"}
            for one in prefixes
        ),
    ]
    validations = [
        webhook_configurations.same_prefix(
            kata.PREFIX, "was decided at admission and cannot be changed on a pod of this namespace"
        ),
        webhook_configurations.unbound([kata.PREFIX]),
    ]
    if enforce.runtime_classes:
        pattern = _regex(enforce.runtime_classes)
        validations.append(
            {
                "expression": (
                    "request.operation != 'CREATE' || object.kind != 'Pod' || "
                    f"object.spec.?runtimeClassName.orValue('').matches('^({pattern})$')"
                ),
                "message": f"runtimeClassName: want {', '.join(enforce.runtime_classes)} in this namespace",
                "reason": "Forbidden",
            }
        )
    return webhook_configurations.pod_policy(
        guard_name(settings),
        ["CREATE", "UPDATE"] if enforce.runtime_classes else ["UPDATE"],
        conditions,
        validations,
    )


def guard_name(settings: Settings) -> str:
    """Of the policy for confidential namespaces and its binding."""
    return f"{settings.install.name}-sandbox-guard"


def _for_classes(settings: Settings, found: SandboxPolicy) -> list[Object]:
    """Entries for pods without a class, one for each pair of selectors."""
    injection = found.webhook.runtime_class_injection
    entries = []
    if injection.enabled:
        out = _globs("not-excluded-from-classes", "!", injection.exclude_namespaces)
        entries.append(
            _entry(settings, found, "class", out, injection.namespace_selector, injection.pod_selector)
        )
    chosen: list[tuple[LabelSelector | None, LabelSelector | None, tuple[str, ...]]] = []
    for named in found.rules:
        match = named.rule.match
        if not named.rule.mutate.runtime_class_name or match.runtime_classes:
            continue
        for at, (namespaces, pods, globs) in enumerate(chosen):
            if (namespaces, pods) == (match.namespace_selector, match.pod_selector):
                both = (*globs, *match.namespaces) if globs and match.namespaces else ()
                chosen[at] = (namespaces, pods, both)
                break
        else:
            chosen.append((match.namespace_selector, match.pod_selector, match.namespaces))
    for number, (namespaces, pods, globs) in enumerate(chosen, start=1):
        inside = _globs("in-a-namespace-of-the-rules", "", globs)
        entries.append(_entry(settings, found, f"rules-{number}", inside, namespaces, pods))
    return entries


def _for_kata_pods(settings: Settings, found: SandboxPolicy) -> list[Object]:
    if not found.kata_classes:
        return []
    condition = {"name": "class", "expression": _in_kata_class(found)}
    return [_with_conditions(settings, found, "kata", [condition])]


def _for_enforced_pods(settings: Settings, found: SandboxPolicy) -> list[Object]:
    """Pods of confidential namespaces whose class is none that a KataConfig lists: the list is written late,
    or never, and what is enforced there does not depend on it."""
    namespaces = found.webhook.enforce.namespaces
    if not namespaces:
        return []
    other = f" && !({_in_kata_class(found)})" if found.kata_classes else ""
    conditions = [
        {"name": "class", "expression": f"has({_CLASS}){other}"},
        *_globs("in-a-confidential-namespace", "", namespaces),
    ]
    return [_with_conditions(settings, found, "enforced", conditions)]


def _in_kata_class(found: SandboxPolicy) -> str:
    classes = ", ".join(f"'{one}'" for one in sorted(found.kata_classes))
    return f"has({_CLASS}) && {_CLASS} in [{classes}]"


def _entry(
    settings: Settings,
    found: SandboxPolicy,
    entry: str,
    conditions: Conditions,
    namespaces: LabelSelector | None,
    pods: LabelSelector | None,
) -> Object:
    """For pods without a class that a selector of namespaces and one of pods choose."""
    conditions = [{"name": "class", "expression": f"!has({_CLASS})"}, *conditions]
    entry_with_conditions = _with_conditions(settings, found, entry, conditions)
    if namespaces is not None:
        more = _selector(namespaces)
        entry_with_conditions["namespaceSelector"]["matchExpressions"] += more.pop("matchExpressions", [])
        entry_with_conditions["namespaceSelector"] |= more
    if pods is not None and pods != LabelSelector():
        entry_with_conditions["objectSelector"] = _selector(pods)
    return entry_with_conditions


def _with_conditions(settings: Settings, found: SandboxPolicy, entry: str, conditions: Conditions) -> Object:
    exact, prefixes = _always_out()
    out = {*exact, *webhook_configurations.exact_out(settings)}
    return {
        "name": f"{entry}.{_DOMAIN}",
        "admissionReviewVersions": ["v1"],
        "clientConfig": webhook_configurations.client_config(settings, "/mutate"),
        "failurePolicy": found.webhook.failure_policy,
        "matchConditions": [
            *conditions,
            *(
                {"name": f"not-{one.rstrip('-')}", "expression": f"!request.namespace.startsWith('{one}')"}
                for one in prefixes
            ),
            *webhook_configurations.match_conditions(settings),
        ],
        "matchPolicy": "Equivalent",
        "namespaceSelector": {
            "matchExpressions": [
                {"key": annotation_keys.NAMESPACE_NAME_LABEL, "operator": "NotIn", "values": sorted(out)}
            ]
        },
        "reinvocationPolicy": "IfNeeded",
        "rules": [copy.deepcopy(webhook_configurations.PODS_AT_CREATE)],
        "sideEffects": webhook_configurations.side_effects(settings),
        "timeoutSeconds": min(_LONGEST, settings.webhook.timeout_seconds),
    }


def _always_out() -> tuple[list[str], list[str]]:
    """Namespaces that no setting brings in, and the beginnings of others."""
    exact = sorted(one for one in ALWAYS_OUT if "*" not in one)
    return exact, sorted(one.rstrip("*") for one in ALWAYS_OUT if one.endswith("*"))


def _globs(condition: str, sign: str, globs: Sequence[str]) -> Conditions:
    """A condition on the name of the namespace; none without patterns."""
    if not globs:
        return []
    return [{"name": condition, "expression": f"{sign}request.namespace.matches('^({_regex(globs)})$')"}]


def _regex(globs: Sequence[str]) -> str:
    """Globs over names as one RE2 expression."""
    return "|".join(
        one.replace(".", "[.]").replace("*", ".*").replace("?", ".") for one in sorted(set(globs))
    )


def _selector(given: LabelSelector) -> Object:
    """A selector as the API server reads it."""
    selector: Object = {}
    if given.match_labels:
        selector["matchLabels"] = dict(sorted(given.match_labels.items()))
    if given.match_expressions:
        selector["matchExpressions"] = [
            {"key": one.key, "operator": one.operator, **({"values": list(one.values)} if one.values else {})}
            for one in given.match_expressions
        ]
    return selector
