"""Whether an object is as wanted, and whose it is."""

from __future__ import annotations

import copy
from collections.abc import Callable
from typing import Any

import pytest

from vestibule.operator import drift

Json = dict[str, Any]
MANAGER = "vestibule-operator"
WANTED: Json = {
    "apiVersion": "apps/v1",
    "kind": "Deployment",
    "metadata": {"name": "a", "namespace": "n", "labels": {"x": "y"}},
    "spec": {
        "replicas": 2,
        "paused": False,
        "template": {
            "spec": {
                "containers": [
                    {"name": "c", "args": ["webhook"], "resources": {"requests": {"cpu": "0.1"}}, "env": []}
                ]
            }
        },
    },
}


def live(change: Callable[[Json], object] = lambda _: None) -> Json:
    """The object as the API server shows it, with defaults, and then a change."""
    shown = copy.deepcopy(drift.marked(WANTED, "o"))
    del shown["spec"]["paused"]
    container = shown["spec"]["template"]["spec"]["containers"][0]
    del container["env"]
    container["resources"]["requests"]["cpu"] = "100m"
    container["imagePullPolicy"] = "Always"
    shown["spec"]["revisionHistoryLimit"] = 10
    shown["metadata"] |= {
        "uid": "u",
        "managedFields": [
            {
                "manager": MANAGER,
                "operation": "Apply",
                "fieldsV1": {"f:metadata": {"f:labels": {f"f:{drift.OWNER}": {}}}},
            }
        ],
    }
    change(shown)
    return shown


def test_defaults_spellings_and_empty_values_are_no_difference() -> None:
    assert drift.first(drift.marked(WANTED, "o"), live()) == ""


@pytest.mark.parametrize(
    ("change", "where"),
    [
        (lambda o: o["spec"].update(replicas=3), "spec.replicas"),
        (lambda o: o["metadata"]["labels"].pop("x"), "metadata.labels.x"),
        (
            lambda o: o["spec"]["template"]["spec"]["containers"].append({"name": "d"}),
            "spec.template.spec.containers",
        ),
        (
            lambda o: o["spec"]["template"]["spec"]["containers"][0].update(args=["sh"]),
            "spec.template.spec.containers[0].args[0]",
        ),
        (lambda o: o["spec"].pop("replicas"), "spec.replicas"),
    ],
    ids=["a value", "a label gone", "one more in a list", "a value in a list", "a field gone"],
)
def test_what_somebody_changed_is_found(change: Callable[[Json], object], where: str) -> None:
    assert drift.first(drift.marked(WANTED, "o"), live(change)) == where


def test_what_is_not_wanted_any_more_is_found_by_the_digest() -> None:
    fewer = copy.deepcopy(WANTED)
    del fewer["spec"]["replicas"]

    assert drift.first(drift.marked(fewer, "o"), live()).startswith("metadata.annotations")


def test_ours_is_what_we_wrote_the_label_on() -> None:
    assert drift.ours(live(), "o", MANAGER)


@pytest.mark.parametrize(
    "change",
    [
        lambda o: o["metadata"]["labels"].pop(drift.OWNER),
        lambda o: o["metadata"]["labels"].update({drift.OWNER: "other"}),
        lambda o: o["metadata"].pop("managedFields"),
        lambda o: o["metadata"]["managedFields"][0].update(manager="kubectl"),
        lambda o: o["metadata"]["managedFields"][0].update(operation="Update"),
    ],
    ids=["no label", "another owner", "a copy", "written by kubectl", "not applied"],
)
def test_everything_else_is_not_ours(change: Callable[[Json], object]) -> None:
    assert not drift.ours(live(change), "o", MANAGER)
