"""What a run will do, as values: steps with what they need, and what they make.

A plan is a list of steps, made without a call. A value that only a finished step knows (the principal of an
identity that does not exist yet) stands in later steps as a ``Ref``.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Literal, NamedTuple

Verb = Literal["create", "update", "delete", "publish", "write"]


class Ref(NamedTuple):
    """A value that a step finds out."""

    step: str
    key: str


Value = str | Ref
Results = Mapping[str, Mapping[str, str]]
"""What is known, by step."""


class Resource(NamedTuple):
    """Something in a cloud that is ours, for the inventory; nothing secret."""

    kind: str
    id: str


class Step(NamedTuple):
    """One thing to do."""

    id: str
    verb: Verb
    title: str
    """For people: ``managed identity demo1-ns1-secret1``."""
    action: Any
    """What the cloud's own ``perform`` understands: a tuple of plain values and Refs."""
    after: tuple[str, ...] = ()
    """Steps that must be done before, where they are in the plan."""
    made: Resource | None = None
    """What exists afterwards, or for ``delete`` no longer does."""
    why: str = ""
    """What is different now, for an update."""

    def __str__(self) -> str:
        return f"{self.verb} {self.title}" + (f" ({self.why})" if self.why else "")


class Plan(NamedTuple):
    """What to do, and what is left alone but should be known."""

    steps: tuple[Step, ...]
    known: Results
    """Results of what exists already, by the step that would have made it."""
    remarks: tuple[str, ...] = ()


def resolved(action: Any, results: Results) -> Any:
    """The action with every Ref replaced by its value."""
    return action._replace(
        **{
            name: results[value.step][value.key]
            for name, value in action._asdict().items()
            if isinstance(value, Ref)
        }
    )


def ordered(steps: Sequence[Step]) -> list[Step]:
    """The steps such that each comes after what it needs; as given where that leaves a choice.

    Raises ValueError for a circle, which is a mistake of a plan.
    """
    known = {step.id for step in steps}
    done: set[str] = set()
    result: list[Step] = []
    waiting = list(steps)
    while waiting:
        ready = [step for step in waiting if not (set(step.after) & known) - done]
        if not ready:
            raise ValueError(f"steps wait for each other: {[step.id for step in waiting]}")
        result += ready
        done |= {step.id for step in ready}
        waiting = [step for step in waiting if step.id not in done]
    return result


def machine(steps: Iterable[Step]) -> list[dict[str, Any]]:
    """For ``-o json``."""
    return [
        {
            "id": step.id,
            "verb": step.verb,
            "what": step.title,
            **({"why": step.why} if step.why else {}),
            **({"after": list(step.after)} if step.after else {}),
        }
        for step in steps
    ]
