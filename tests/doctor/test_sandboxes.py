"""Pods and their sandboxes: what was served lacks nothing, whatever the case; what was not, is found."""

from __future__ import annotations

import copy
import json
from pathlib import Path
from typing import Any

import pytest

from tests.vectors import osc
from vestibule.api import annotation_keys
from vestibule.checks import sandboxes
from vestibule.injection.sandbox import decision, patch
from vestibule.injection.sandbox.result import SandboxResult
from vestibule.injection.sandbox.sandbox_policy import SandboxPolicy

Json = dict[str, Any]
FILE = Path(__file__).parent.parent / "vectors" / "osc.json"
CASES: list[Json] = [
    one
    for one in json.loads(FILE.read_text())
    if one.get("kind") is None and one.get("operation", "CREATE") == "CREATE"
]


def look(pod: Json, case: Json, found: SandboxPolicy) -> list[tuple[str, str]]:
    namespace = case["namespace"]["metadata"]
    reported = sandboxes.drift(pod, namespace["name"], namespace.get("labels") or {}, found)
    return [(one.state, one.text) for one in reported]


@pytest.mark.parametrize("case", CASES, ids=lambda case: str(case["name"]))
@pytest.mark.parametrize("mode", ["strict", "better"])
def test_a_pod_that_was_served_lacks_nothing(case: Json, mode: str) -> None:
    case = {**osc._repeated(case), "mode": mode}
    found, pod = osc.kata_policy(case), case["pod"]
    namespace = case["namespace"]["metadata"]
    decided: SandboxResult = decision.decide(pod, namespace["name"], namespace.get("labels") or {}, found)
    reported = look(pod, case, found)
    if decided.refusal is not None:
        assert [state for state, _ in reported] == ["refused"]
        return
    lacks = bool(
        decided.runtime_class
        or set(decided.annotations) - set(pod["metadata"].get("annotations") or {})
        or set(decided.labels) - set(pod["metadata"].get("labels") or {})
    )

    assert bool(reported) == lacks
    assert look(patch.applied(copy.deepcopy(pod), decided), case, found) == []


def test_a_pod_of_an_older_policy_is_stale_and_not_missed() -> None:
    case = next(
        one
        for one in CASES
        if one["expect"].get("changed") and (one["pod"].get("spec") or {}).get("runtimeClassName")
    )
    case = {**osc._repeated(case), "mode": "better"}
    pod = copy.deepcopy(case["pod"])
    pod["metadata"].setdefault("annotations", {})[annotation_keys.SANDBOX] = "another"

    ((state, text),) = look(pod, case, osc.kata_policy(case))
    assert state == "stale"
    assert "older" in text
