"""Rules that say different things about one key: where both match, the one that comes first wins. Pure."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from vestibule.api.kata import RuleMatch, SandboxRule
from vestibule.api.label_selectors import LabelSelector
from vestibule.injection.sandbox.sandbox_policy import NamedRule


class RuleConflict(NamedTuple):
    """Two rules and what they disagree about."""

    key: str
    winner: str
    loser: str

    def __str__(self) -> str:
        return f"{self.key}: {self.winner} wins over {self.loser} where both match"


def conflicts(rules: Sequence[NamedRule]) -> Iterator[RuleConflict]:
    """Every pair, in the order in which the rules count; pairs that surely never meet are left out."""
    values: dict[str, list[tuple[NamedRule, str]]] = defaultdict(list)
    for named in rules:
        for key, value in _sets(named.rule):
            for earlier, other in values[key]:
                if other != value and _may_meet(earlier.rule.match, named.rule.match):
                    yield RuleConflict(key, earlier.where, named.where)
            values[key].append((named, value))


def _sets(rule: SandboxRule) -> Iterator[tuple[str, str]]:
    if rule.mutate.runtime_class_name:
        yield "runtimeClassName", rule.mutate.runtime_class_name
    for key, value in rule.mutate.annotations.items():
        yield f"annotation {key}", value
    for key, value in rule.mutate.labels.items():
        yield f"label {key}", value


def _may_meet(one: RuleMatch, other: RuleMatch) -> bool:
    """Whether one pod can match both; yes where that is hard to say."""
    return not (
        _apart(one.namespaces, other.namespaces)
        or _apart(one.runtime_classes, other.runtime_classes)
        or _selected_apart(one.namespace_selector, other.namespace_selector)
        or _selected_apart(one.pod_selector, other.pod_selector)
    )


def _apart(one: Sequence[str], other: Sequence[str]) -> bool:
    """Whether two lists of plain names have none in common; an empty one means all."""
    if not one or not other or any(set(name) & set("*?") for name in (*one, *other)):
        return False
    return set(one).isdisjoint(other)


def _selected_apart(one: LabelSelector | None, other: LabelSelector | None) -> bool:
    mine, theirs = (selector.match_labels or {} if selector else {} for selector in (one, other))
    return any(theirs.get(key, value) != value for key, value in mine.items())
