"""Conditions: transitions keep their moment, others' types stay, nothing new means nothing to write."""

from __future__ import annotations

import datetime

import pytest

from vestibule.api import conditions
from vestibule.api.conditions import Condition, merged, no, yes

THEN = datetime.datetime(2026, 1, 1, 12, tzinfo=datetime.UTC)
NOW = THEN + datetime.timedelta(minutes=7)


def test_the_moment_stays_while_the_status_does() -> None:
    first = merged(None, [yes("Available", "AsExpected")], now=THEN, generation=1)
    second = merged(first, [Condition("Available", "True", "Other", "words")], now=NOW, generation=2)

    assert second[0]["lastTransitionTime"] == "2026-01-01T12:00:00Z"
    assert (second[0]["reason"], second[0]["observedGeneration"]) == ("Other", 2)


def test_a_transition_has_its_own_moment() -> None:
    first = merged(None, [yes("Available", "AsExpected")], now=THEN, generation=1)
    second = merged(first, [no("Available", "Gone")], now=NOW, generation=1)

    assert second[0]["lastTransitionTime"] == "2026-01-01T12:07:00Z"


def test_nothing_new_is_equal_to_what_was() -> None:
    first = merged(None, [yes("A", "X"), no("B", "Y")], now=THEN, generation=1)

    assert merged(first, [no("B", "Y"), yes("A", "X")], now=NOW, generation=1) == first


def test_conditions_of_others_stay_and_retired_ones_go() -> None:
    theirs = {"type": "InProgress", "status": "False", "reason": "", "message": "", "lastTransitionTime": ""}
    old = merged([theirs], [yes("Old", "X")], now=THEN, generation=1)
    new = merged(old, [yes("New", "X")], now=NOW, generation=1, retired=["Old"])

    assert [one["type"] for one in new] == ["InProgress", "New"]
    assert new[0] == theirs


def test_only_a_new_status_or_reason_is_reported() -> None:
    before = merged(None, [yes("A", "X", "one"), yes("B", "X"), yes("C", "X")], now=THEN, generation=1)
    after = merged(before, [yes("A", "X", "two"), no("B", "Z"), no("C", "Z")], now=NOW, generation=1)

    assert [one["type"] for one in conditions.changed(before, after, "A", "B")] == ["B"]


def test_seconds_since_a_transition_survive_a_restart() -> None:
    created = merged(None, [no("Reconciled", "Failed")], now=THEN, generation=1)

    assert conditions.since(conditions.find(created, "Reconciled"), NOW) == 420
    assert conditions.since(None, NOW) == 0
    assert conditions.since({"lastTransitionTime": "nonsense"}, NOW) == 0


READY_CASES = {
    "all hold": ([("Available", "True", "AsExpected")], ("True", "AsExpected")),
    "one does not": (
        [("Available", "True", "AsExpected"), ("Reconciled", "False", "Forbidden")],
        ("False", "Forbidden"),
    ),
    "nothing is known of one": ([("Available", "Unknown", "NoAnswer")], ("Unknown", "NoAnswer")),
    "degraded": (
        [("Available", "True", "AsExpected"), ("Degraded", "True", "ForeignObject")],
        ("False", "ForeignObject"),
    ),
    "not reported": ([], ("Unknown", "NotReported")),
}


@pytest.mark.parametrize("case", READY_CASES)
def test_ready_sums_up_the_other_conditions(case: str) -> None:
    given, expected = READY_CASES[case]
    reported = [conditions.Condition(*one) for one in given]
    kinds = [kind for kind, _, _ in given if kind != "Degraded"] or ["Available"]

    after = conditions.merged((), reported, now=NOW, generation=1, ready=kinds)

    found = conditions.find(after, "Ready")
    assert found is not None
    assert (found["status"], found["reason"]) == expected
    again = conditions.merged(after, reported, now=NOW, generation=1, ready=kinds)
    assert again == after, "the same conditions cause no write"
