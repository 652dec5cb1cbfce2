"""Two outcomes side by side: nothing where there is nothing, and one line for what many have."""

from __future__ import annotations

import copy
from typing import Any

import pytest

from vestibule.admission.verdict import Finding
from vestibule.diagnose.migrate import pod_diff
from vestibule.diagnose.migrate.pod_diff import PodChange, PodOutcome

Json = dict[str, Any]
POD: Json = {
    "metadata": {"name": "p", "annotations": {"a": "1"}},
    "spec": {
        "serviceAccountName": "app",
        "volumes": [
            {
                "name": "t",
                "projected": {"sources": [{"serviceAccountToken": {"audience": "x", "path": "token"}}]},
            }
        ],
        "initContainers": [{"name": "init", "image": "i"}],
        "containers": [
            {
                "name": "app",
                "image": "a",
                "env": [{"name": "A", "value": "1"}],
                "volumeMounts": [{"name": "t", "mountPath": "/t"}],
            }
        ],
    },
}


def changed(change: Any) -> list[PodChange]:
    after = copy.deepcopy(POD)
    change(after["spec"], after["metadata"])
    return pod_diff.changes(PodOutcome(POD), PodOutcome(after))


def _set(path: str, value: Any) -> Any:
    def change(spec: Json, meta: Json) -> None:
        target: Any = {"spec": spec, "metadata": meta}
        *steps, last = path.split(".")
        for step in steps:
            target = target[int(step)] if isinstance(target, list) else target[step]
        if isinstance(target, list):
            target.insert(int(last), value)
        elif value is None:
            del target[last]
        else:
            target[last] = value

    return change


APP = "spec.containers.0"
CASES: dict[str, tuple[Any, PodChange]] = {
    "a variable more": (
        _set(f"{APP}.env.1", {"name": "B", "value": "2"}),
        PodChange("variable", "container: variable B added"),
    ),
    "a variable with another value": (
        _set(f"{APP}.env.0.value", "2"),
        PodChange("variable", "container: variable A: '2', not '1'"),
    ),
    "a variable less": (
        _set(f"{APP}.env", []),
        PodChange("variable", "container: variable A no longer added"),
    ),
    "an init container's variable": (
        _set("spec.initContainers.0.env", [{"name": "B", "value": "2"}]),
        PodChange("variable", "init container: variable B added"),
    ),
    "a mount less": (
        _set(f"{APP}.volumeMounts", None),
        PodChange("mount", "container: mount /t no longer added"),
    ),
    "another volume at the path": (
        _set(f"{APP}.volumeMounts.0.name", "u"),
        PodChange("mount", "container: mount /t shows another volume"),
    ),
    "a volume more": (
        _set("spec.volumes.1", {"name": "u", "emptyDir": {}}),
        PodChange("volume", "volume u added"),
    ),
    "another audience": (
        _set("spec.volumes.0.projected.sources.0.serviceAccountToken.audience", "y"),
        PodChange("volume", "volume t: projected.sources[0].serviceAccountToken.audience is 'y', not 'x'"),
    ),
    "a source more": (
        _set("spec.volumes.0.projected.sources.1", {"configMap": {"name": "c"}}),
        PodChange("volume", "volume t: projected.sources has 2 entries, not 1"),
    ),
    "a container more": (
        _set("spec.initContainers.0", {"name": "setup", "image": "s"}),
        PodChange("container", "init container setup added"),
    ),
    "another image": (_set(f"{APP}.image", "b"), PodChange("container", "container app: image differ")),
    "a label": (_set("metadata.labels", {"l": "1"}), PodChange("mark", "label l added")),
    "an annotation less": (
        _set("metadata.annotations", {}),
        PodChange("mark", "annotation a no longer added"),
    ),
    "another field": (_set("spec.hostNetwork", True), PodChange("field", "spec.hostNetwork differs")),
}


@pytest.mark.parametrize("sentence", CASES)
def test_a_pod_with(sentence: str) -> None:
    change, expected = CASES[sentence]

    assert changed(change) == [expected]


def test_the_same_is_the_same() -> None:
    assert changed(lambda spec, meta: None) == []


def test_names_that_every_pod_has_of_its_own_are_one_name() -> None:
    digits = "0123456789abcdef0123456789abcd"

    (change,) = changed(_set("spec.volumes.1", {"name": f"azure-workload-identity-reserved-{digits}"}))

    assert change.text == "volume azure-workload-identity-reserved-… added"


def test_refusals_and_warnings_name_no_object() -> None:
    reported = Finding("warn", "ServiceAccount a/b: x is 'y'", "ServiceAccount a/b")
    refused = PodOutcome(POD, False, "ServiceAccount a/b: x is 'y', want z")

    assert pod_diff.changes(PodOutcome(POD), refused) == [PodChange("refused", "x is 'y', want z")]
    assert pod_diff.changes(refused, PodOutcome(POD))[0].kind == "admitted"
    assert pod_diff.changes(PodOutcome(POD), PodOutcome(POD, findings=(reported,))) == [
        PodChange("warning", "x is 'y'")
    ]
    assert (
        pod_diff.changes(PodOutcome(POD, findings=(reported,)), PodOutcome(POD, findings=(reported,))) == []
    )


def test_what_many_have_is_one_line_the_gravest_first() -> None:
    warning, refusal = PodChange("warning", "w"), PodChange("refused", "r")
    found = [("one", [warning]), ("two", [warning, refusal]), ("three", [warning])]

    groups = pod_diff.grouped(found, 2)

    assert [(one.kind, one.number, one.examples) for one in groups] == [
        ("refused", 1, ("two",)),
        ("warning", 3, ("one", "two")),
    ]
