"""The first step: the runtime class of a pod that has none."""

from __future__ import annotations

from vestibule.api import label_selectors
from vestibule.injection.sandbox import origins
from vestibule.injection.sandbox.draft import SandboxDraft
from vestibule.injection.sandbox.origins import ValueSource


def choose(draft: SandboxDraft) -> str:
    """The class a pod without one gets; empty: none."""
    candidates = [
        (where, rule.mutate.runtime_class_name)
        for where, rule, _ in draft.area.rules
        if rule.mutate.runtime_class_name and not rule.match.runtime_classes and draft.matches(rule.match)
    ]
    if len({name for _, name in candidates}) > 1:
        draft.warn(
            "RuleConflict",
            f"{candidates[1][0]} sets another class than {candidates[0][0]}, which takes precedence",
        )
    for where, name in candidates:
        draft.class_claims.add(origins.RUNTIME_CLASS, name, ValueSource("rule", where))
    if _injected(draft):
        injected = draft.kata_policy.webhook.runtime_class_injection.default_runtime_class
        draft.class_claims.add(origins.RUNTIME_CLASS, injected, draft.config)
        candidates = candidates or [("KataConfig", injected)]
    if not candidates:
        return ""
    where, name = candidates[0]
    return name if _can_have(draft, where, name) else ""


def _injected(draft: SandboxDraft) -> bool:
    selector = draft.kata_policy.webhook.runtime_class_injection.pod_selector
    return draft.area.injects and label_selectors.matches(selector, draft.labels)


def _can_have(draft: SandboxDraft, where: str, name: str) -> bool:
    """Whether the pod can run in this class; if not, why."""
    if draft.spec.get("hostNetwork") is True:
        draft.warn("HostNetwork", f"{where} gives class {name}, but Kata has no host network: left as it is")
        return False
    if draft.of_daemon_set:
        draft.warn(
            "DaemonSetPod",
            f"{where} gives class {name}, but pods of a DaemonSet run on every node: left as it is",
        )
        return False
    if name not in draft.kata_policy.kata_classes:
        return draft.cannot(
            "RuntimeClassUnavailable", f"{where} gives class {name}, which no KataConfig has created"
        )
    found = draft.kata_policy.classes.get(name)
    if found is not None:
        selector = draft.spec.get("nodeSelector") or {}
        for key, value in found.node_selector.items():
            if key in selector and selector[key] != value:
                return draft.cannot(
                    "NodeSelectorConflict",
                    f"{where} gives class {name}, whose nodes have {key}={value!r}, but the pod selects "
                    f"{key}={selector[key]!r}",
                )
    return True


def keep_existing(draft: SandboxDraft, had: str) -> None:
    """The pod has a class: it stays, and rules that request another are reported."""
    draft.class_claims.add(origins.RUNTIME_CLASS, had, origins.POD)
    for where, rule, _ in draft.area.rules:
        requested = rule.mutate.runtime_class_name
        if requested and requested != had and had in rule.match.runtime_classes and draft.matches(rule.match):
            draft.warn(
                "ReclassRefused",
                f"{where} sets class {requested}, but a class that is set is never changed",
            )
