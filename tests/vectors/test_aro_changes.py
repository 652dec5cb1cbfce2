"""Wishes of the aro format that no case of the repository has: each holds where it is true, and fails where
it is not."""

from __future__ import annotations

import copy
from typing import Any

import pytest

from tests.vectors import run

Json = dict[str, Any]
CASES = {case["name"]: case for case in run.load(run.HERE / "aro.json")}
APPLIES = "engine-second-pass-applies-with-forced-ssa-and-controller-owner"
SHARED = "engine-never-prunes-objects-of-other-owners"
DELETES = "aroc-delete-waits-for-embedded"


def _problems(name: str, expect: Json, reader: Json | None = None) -> list[str]:
    case = copy.deepcopy(CASES[name])
    case["expect"] = expect
    if reader is not None:
        case["world"] = reader
    return run.problems("aro", case)


@pytest.mark.parametrize(
    ("name", "expect"),
    [
        (APPLIES, {"created": [{"kind": "ResourceGroup", "name": "rg1", "namespace": "default"}]}),
        (APPLIES, {"notDeleted": ["AROCluster/c1"]}),
        (APPLIES, {"unchanged": ["Cluster/c1"]}),
        (APPLIES, {"namespaceMustNotReach": "kube-system"}),
        (SHARED, {"notDeleted": [{"kind": "VirtualNetwork", "name": "vnet1"}]}),
        (DELETES, {"created": []}),
    ],
)
def test_a_wish_that_holds_passes(name: str, expect: Json) -> None:
    assert _problems(name, expect) == []


@pytest.mark.parametrize(
    ("name", "expect", "says"),
    [
        (APPLIES, {"created": []}, "created: got ['ResourceGroup/rg1'"),
        (APPLIES, {"created": [{"kind": "ResourceGroup", "name": "x"}]}, "ResourceGroup/x is not among"),
        (
            APPLIES,
            {"created": [{"kind": "ResourceGroup", "name": "rg1", "namespace": "other"}]},
            "ResourceGroup/rg1: namespace: got default",
        ),
        (APPLIES, {"unchanged": True}, "unchanged: AROCluster/c1 is"),
        (APPLIES, {"unchanged": ["Secret/nobody"]}, "Secret/nobody was never there"),
        (APPLIES, {"namespaceMustNotReach": ["default"]}, "apply of ResourceGroup/rg1 in default"),
        (DELETES, {"notDeleted": ["ResourceGroup/rg1"]}, "ResourceGroup/rg1 is deleted"),
    ],
)
def test_a_wish_that_does_not_hold_fails(name: str, expect: Json, says: str) -> None:
    assert says in "; ".join(_problems(name, expect))


def test_an_object_that_cannot_be_applied_is_in_the_conditions_and_holds_up_no_other() -> None:
    fault = {"apply": {"ResourceGroup/rg1": {"error": "admission webhook denied the request"}}}

    found = _problems(
        APPLIES,
        {
            "outcome": "error",
            "created": [{"kind": "VirtualNetwork", "name": "vnet1"}],
            "conditions": {
                "Ready": {
                    "status": "False",
                    "reason": "ApplyFailed",
                    "message": "applying ResourceGroup default/rg1: admission webhook denied the request",
                }
            },
        },
        fault,
    )

    assert found == []
    assert _problems(APPLIES, {"outcome": "requeue"}, fault) != []


def test_a_run_that_does_not_come_to_its_end_fails() -> None:
    case = copy.deepcopy(CASES["flow-create-order"])
    case["action"]["until"] = "Cluster gone at last"
    case["world"] = {"apply": {"ResourceGroup/rg1": {"error": "refused"}}}
    case["expect"] = {"notDeleted": ["Cluster/c1"]}

    assert run.problems("aro", case) == ["never reached: Cluster gone at last"]
