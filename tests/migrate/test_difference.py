"""Two outcomes side by side: nothing where there is nothing, and one line for what many have."""

from __future__ import annotations

import copy
from typing import Any

import pytest

from vestibule.core.admission.verdict import Finding
from vestibule.core.migrate import difference
from vestibule.core.migrate.difference import Change, Outcome

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


def changed(change: Any) -> list[Change]:
    after = copy.deepcopy(POD)
    change(after["spec"], after["metadata"])
    return difference.changes(Outcome(POD), Outcome(after))


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
CASES: dict[str, tuple[Any, Change]] = {
    "a variable more": (
        _set(f"{APP}.env.1", {"name": "B", "value": "2"}),
        Change("variable", "container: variable B added"),
    ),
    "a variable with another value": (
        _set(f"{APP}.env.0.value", "2"),
        Change("variable", "container: variable A: '2', not '1'"),
    ),
    "a variable less": (_set(f"{APP}.env", []), Change("variable", "container: variable A no longer added")),
    "an init container's variable": (
        _set("spec.initContainers.0.env", [{"name": "B", "value": "2"}]),
        Change("variable", "init container: variable B added"),
    ),
    "a mount less": (
        _set(f"{APP}.volumeMounts", None),
        Change("mount", "container: mount /t no longer added"),
    ),
    "another volume at the path": (
        _set(f"{APP}.volumeMounts.0.name", "u"),
        Change("mount", "container: mount /t shows another volume"),
    ),
    "a volume more": (
        _set("spec.volumes.1", {"name": "u", "emptyDir": {}}),
        Change("volume", "volume u added"),
    ),
    "another audience": (
        _set("spec.volumes.0.projected.sources.0.serviceAccountToken.audience", "y"),
        Change("volume", "volume t: projected.sources[0].serviceAccountToken.audience is 'y', not 'x'"),
    ),
    "a source more": (
        _set("spec.volumes.0.projected.sources.1", {"configMap": {"name": "c"}}),
        Change("volume", "volume t: projected.sources has 2 entries, not 1"),
    ),
    "a container more": (
        _set("spec.initContainers.0", {"name": "setup", "image": "s"}),
        Change("container", "init container setup added"),
    ),
    "another image": (_set(f"{APP}.image", "b"), Change("container", "container app: image differ")),
    "a label": (_set("metadata.labels", {"l": "1"}), Change("mark", "label l added")),
    "an annotation less": (_set("metadata.annotations", {}), Change("mark", "annotation a no longer added")),
    "another field": (_set("spec.hostNetwork", True), Change("field", "spec.hostNetwork differs")),
}


@pytest.mark.parametrize("sentence", CASES)
def test_a_pod_with(sentence: str) -> None:
    change, wanted = CASES[sentence]

    assert changed(change) == [wanted]


def test_the_same_is_the_same() -> None:
    assert changed(lambda spec, meta: None) == []


def test_names_that_every_pod_has_of_its_own_are_one_name() -> None:
    digits = "0123456789abcdef0123456789abcd"

    (change,) = changed(_set("spec.volumes.1", {"name": f"azure-workload-identity-reserved-{digits}"}))

    assert change.text == "volume azure-workload-identity-reserved-… added"


def test_refusals_and_warnings_name_no_object() -> None:
    told = Finding("warn", "ServiceAccount a/b: x is 'y'", "ServiceAccount a/b")
    refused = Outcome(POD, False, "ServiceAccount a/b: x is 'y', want z")

    assert difference.changes(Outcome(POD), refused) == [Change("refused", "x is 'y', want z")]
    assert difference.changes(refused, Outcome(POD))[0].kind == "admitted"
    assert difference.changes(Outcome(POD), Outcome(POD, findings=(told,))) == [Change("warning", "x is 'y'")]
    assert difference.changes(Outcome(POD, findings=(told,)), Outcome(POD, findings=(told,))) == []


def test_what_many_have_is_one_line_the_gravest_first() -> None:
    warning, refusal = Change("warning", "w"), Change("refused", "r")
    found = [("one", [warning]), ("two", [warning, refusal]), ("three", [warning])]

    groups = difference.grouped(found, 2)

    assert [(one.kind, one.number, one.examples) for one in groups] == [
        ("refused", 1, ("two",)),
        ("warning", 3, ("one", "two")),
    ]
