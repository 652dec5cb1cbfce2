"""What the status of KataConfigs and OSCWebhookConfigs says. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final, NamedTuple

from vestibule import errors
from vestibule.api import kata
from vestibule.api.conditions import Condition, no, yes
from vestibule.injection.sandbox.conflicts import RuleConflict
from vestibule.injection.sandbox.sandbox_policy import SandboxPolicy

Object = Mapping[str, Any]
ACCEPTED: Final = "WebhookAccepted"
IN_FORCE: Final = "WebhookInForce"
UNAMBIGUOUS: Final = "Unambiguous"
_OURS: Final = (ACCEPTED, IN_FORCE)
_FIELDS: Final = ("conditions", "runtimeClasses")
"""Of the status of a KataConfig, what is there without another operator."""
_MOST: Final = 5
"""Mistakes and conflicts that are written out."""


class SandboxFacts(NamedTuple):
    """What the cluster says."""

    kata_policy: SandboxPolicy
    problems: Mapping[str, str]
    """What is left out, and why, by kind, name and path."""
    conflicts: Sequence[RuleConflict] = ()


def of_config(obj: Object, found: SandboxFacts) -> list[Condition]:
    """Of a KataConfig."""
    name = f"KataConfig {obj['metadata']['name']}"
    wrong = [*_mistakes(found, name), *_initdata(obj, found)]
    return [_accepted(wrong), _in_force(obj, name, found.kata_policy)]


def manager(obj: Object) -> str:
    """What shows that another operator manages a KataConfig; empty when nothing does. Such an operator writes
    the whole status anew, and looks again whenever anybody wrote: two writers would never stop."""
    finalizers = obj["metadata"].get("finalizers") or ()
    if finalizers:
        return f"it holds the finalizer {finalizers[0]}"
    state = obj.get("status") or {}
    for field in state:
        if field not in _FIELDS:
            return f"it has status.{field}"
    for one in state.get("conditions") or ():
        if one.get("type") not in _OURS:
            return f"it has the condition {one.get('type')}"
    return ""


def of_rules(obj: Object, found: SandboxFacts) -> list[Condition]:
    """Of an OSCWebhookConfig."""
    name = f"OSCWebhookConfig {obj['metadata']['name']}"
    told = [one for one in found.conflicts if _about(one.winner, name) or _about(one.loser, name)]
    clear = yes(UNAMBIGUOUS, "AsExpected")
    if told:
        clear = no(UNAMBIGUOUS, "EarlierRuleWins", _listed(map(str, told)))
    return [_accepted(_mistakes(found, name)), clear]


def _about(rule: str, name: str) -> bool:
    return rule.startswith(f"{name}, ")


def _accepted(wrong: Sequence[str]) -> Condition:
    return no(ACCEPTED, "Invalid", _listed(wrong)) if wrong else yes(ACCEPTED, "AsExpected")


def _in_force(obj: Object, name: str, kata_policy: SandboxPolicy) -> Condition:
    spec = obj.get("spec") or {}
    if obj["metadata"].get("deletionTimestamp"):
        return no(IN_FORCE, "Deleting", "it is being deleted")
    if kata_policy.name != name:
        return no(IN_FORCE, "OlderInForce", f"{kata_policy.name} is older: only its spec.webhook counts")
    if not spec.get("webhook"):
        return no(IN_FORCE, "NoWebhook", "there is no spec.webhook")
    if not kata_policy.active:
        return no(IN_FORCE, "Disabled", "spec.webhook.enabled is false")
    return yes(IN_FORCE, "AsExpected")


def _mistakes(found: SandboxFacts, name: str) -> list[str]:
    return [
        f"{place.removeprefix(f'{name}: ')}: {text}"
        for place, text in found.problems.items()
        if place.startswith(f"{name}: ")
    ]


def _initdata(obj: Object, found: SandboxFacts) -> list[str]:
    """A ConfigMap with initdata that may not be read."""
    try:
        reference = kata.initdata_reference(kata.kata_config(obj))
    except errors.InvalidInput:
        return []  # told already
    if reference is None:
        return []
    place = f"ConfigMap {reference.namespace}/{reference.name}"
    return [f"{place}: {found.problems[place]}"] if place in found.problems else []


def _listed(texts: Iterable[str]) -> str:
    told = list(dict.fromkeys(texts))
    more = f"; and {len(told) - _MOST} more" if len(told) > _MOST else ""
    return "; ".join(told[:_MOST]) + more
