"""Label selectors, as Kubernetes means them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Final

import msgspec

_OPERATORS: Final = ("In", "NotIn", "Exists", "DoesNotExist")


class LabelRequirement(msgspec.Struct, frozen=True):
    """One of ``matchExpressions``."""

    key: str
    """Key of the label."""
    operator: str
    """In, NotIn, Exists or DoesNotExist."""
    values: tuple[str, ...] = ()
    """Values for In and NotIn."""

    def matches(self, labels: Mapping[str, str]) -> bool:
        """Whether labels meet it."""
        present = self.key in labels
        if self.operator == "Exists":
            return present
        if self.operator == "DoesNotExist":
            return not present
        chosen = present and labels[self.key] in self.values
        return chosen if self.operator == "In" else not chosen


class LabelSelector(msgspec.Struct, frozen=True, rename="camel"):
    """A selector; an empty one matches everything."""

    match_labels: dict[str, str] = msgspec.field(default_factory=dict)
    """Labels that must have these values."""
    match_expressions: tuple[LabelRequirement, ...] = ()
    """Requirements; all of them must hold."""

    def matches(self, labels: Mapping[str, str]) -> bool:
        """Whether labels meet all of it."""
        return all(labels.get(key) == value for key, value in self.match_labels.items()) and all(
            requirement.matches(labels) for requirement in self.match_expressions
        )

    def label_keys(self) -> set[str]:
        """The label keys that it reads."""
        return {*self.match_labels, *(requirement.key for requirement in self.match_expressions)}

    def problems(self) -> Iterator[tuple[str, str]]:
        """Path inside the selector, and what is wrong there."""
        for position, one in enumerate(self.match_expressions):
            path = f"matchExpressions[{position}]"
            if one.operator not in _OPERATORS:
                yield path, f"has operator {one.operator!r}, want {', '.join(_OPERATORS)}"
            elif one.operator in ("In", "NotIn") and not one.values:
                yield path, f"has operator {one.operator} and no values"
            elif one.operator in ("Exists", "DoesNotExist") and one.values:
                yield path, f"has operator {one.operator} and values, want none"


def matches(selector: LabelSelector | None, labels: Mapping[str, str]) -> bool:
    """Whether labels meet a selector; where there is none they do."""
    return selector is None or selector.matches(labels)
