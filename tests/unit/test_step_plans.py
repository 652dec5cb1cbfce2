"""Plans joined into one: what waits for what, and which problems are reported."""

from __future__ import annotations

from typing import NamedTuple

import pytest

from vestibule.errors import InputProblem, InvalidInput
from vestibule.provision import steps
from vestibule.provision.steps import PlannedStep, StepPlan, StepResult


class Nothing(NamedTuple):
    """An action without effect."""


def step(identifier: str, *after: str) -> PlannedStep:
    return PlannedStep(identifier, "create", identifier, Nothing(), after)


def test_every_step_of_the_second_plan_waits_for_the_gates_of_the_first() -> None:
    issuer = StepPlan((step("group"), step("documents", "group")))
    identities = StepPlan((step("identity", "group"), step("credential", "identity"), step("other")))

    joined = issuer.then(identities, "documents")

    assert {one.id: one.after for one in joined.steps} == {
        "group": (),
        "documents": ("group",),
        "identity": ("group", "documents"),
        "credential": ("identity",),
        "other": ("documents",),
    }
    assert [one.id for one in steps.ordered(joined.steps)][:2] == ["group", "documents"]


def test_a_gate_that_is_not_in_the_first_plan_holds_nothing_up() -> None:
    joined = StepPlan((step("group"),)).then(StepPlan((step("identity"),)), "documents")

    assert [one.after for one in joined.steps] == [(), ()]


def test_problems_of_both_plans_are_raised_at_once() -> None:
    first, second = InputProblem("--region", "", "a"), InputProblem("--name", "", "b")

    with pytest.raises(InvalidInput) as caught:
        StepPlan(problems=(first,)).then(StepPlan(problems=(second,))).accepted()

    assert caught.value.problems == (first, second)


def test_a_value_is_empty_until_its_step_was_performed() -> None:
    issuer = StepResult("documents", "issuer")

    found = [steps.value_of(issuer, results) for results in ({}, {"documents": {"issuer": "https://x"}})]

    assert found == ["", "https://x"]
