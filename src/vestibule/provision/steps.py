"""Plans as values: steps, the steps that each depends on, and the resources that they create.

A plan is computed without a call. A value that only a performed step knows (the principal of an identity
that does not exist yet) is a ``StepResult`` in later steps.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Literal, NamedTuple

from vestibule.errors import InputProblem, InvalidInput

Verb = Literal["create", "update", "delete", "publish", "write"]


class StepResult(NamedTuple):
    """A value that is known after a step was performed."""

    step: str
    key: str


Value = str | StepResult
Results = Mapping[str, Mapping[str, str]]
"""Results by step."""


class OwnedResource(NamedTuple):
    """A cloud resource that belongs to us, for the inventory; nothing secret."""

    kind: str
    id: str


class PlannedStep(NamedTuple):
    """One action on a cloud resource or a file."""

    id: str
    verb: Verb
    title: str
    """For people: ``managed identity demo1-ns1-secret1``."""
    action: Any
    """One of the cloud's ``actions``: a tuple of plain values and StepResults."""
    after: tuple[str, ...] = ()
    """Steps that must be performed before, if they are in the plan."""
    resource: OwnedResource | None = None
    """The resource that the step creates or deletes."""
    why: str = ""
    """The fields that an update changes."""

    def __str__(self) -> str:
        return f"{self.verb} {self.title}" + (f" ({self.why})" if self.why else "")


class StepPlan(NamedTuple):
    """Everything that a command is going to do. Nothing is performed while ``problems`` is not empty."""

    steps: tuple[PlannedStep, ...] = ()
    known: Mapping[str, Mapping[str, str]] = {}
    """Results of steps that are not necessary, because their resource exists."""
    remarks: tuple[str, ...] = ()
    problems: tuple[InputProblem, ...] = ()
    existing: Mapping[str, OwnedResource] = {}
    """Resources of ours that exist, by the step that would create them: for the inventory."""
    issuer: Value = ""
    """The URL of the issuer."""

    def then(self, other: StepPlan, *gates: str) -> StepPlan:
        """Both plans as one. Every step of the second one waits for the ``gates``, steps of the first."""
        waits = tuple(step.id for step in self.steps if step.id in gates)
        ids = {step.id for step in other.steps}
        gated = (
            step if ids & {*step.after} else step._replace(after=(*dict.fromkeys((*step.after, *waits)),))
            for step in other.steps
        )
        return StepPlan(
            (*self.steps, *gated),
            {**self.known, **other.known},
            (*self.remarks, *other.remarks),
            (*self.problems, *other.problems),
            {**self.existing, **other.existing},
            self.issuer or other.issuer,
        )

    def accepted(self) -> StepPlan:
        """The plan itself. Raises InvalidInput with all of its problems."""
        if self.problems:
            raise InvalidInput(*self.problems)
        return self


def value_of(value: Value, results: Results) -> str:
    """The value; empty while its step was not performed."""
    return value if isinstance(value, str) else results.get(value.step, {}).get(value.key, "")


def resolved(action: Any, results: Results) -> Any:
    """The action with every StepResult replaced by its value."""
    return action._replace(
        **{
            name: results[value.step][value.key]
            for name, value in action._asdict().items()
            if isinstance(value, StepResult)
        }
    )


def ordered(steps: Sequence[PlannedStep]) -> list[PlannedStep]:
    """The steps in an order in which each comes after those it depends on; otherwise as given.

    Raises ValueError for a dependency cycle, which is a mistake of a plan.
    """
    known = {step.id for step in steps}
    done: set[str] = set()
    result: list[PlannedStep] = []
    waiting = list(steps)
    while waiting:
        ready = [step for step in waiting if not (set(step.after) & known) - done]
        if not ready:
            raise ValueError(f"steps wait for each other: {[step.id for step in waiting]}")
        result += ready
        done |= {step.id for step in ready}
        waiting = [step for step in waiting if step.id not in done]
    return result


def machine(steps: Iterable[PlannedStep]) -> list[dict[str, Any]]:
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
