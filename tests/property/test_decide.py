"""What must hold for every pod, whatever its annotations say."""

from __future__ import annotations

import copy
import json
import re
from typing import Any

import jsonpatch
from hypothesis import example, given

from tests.property import pods
from tests.vectors import case
from vestibule.api import annotation_keys
from vestibule.api.settings import schema

Json = dict[str, Any]

AWS_POD: Json = {
    "apiVersion": "v1",
    "kind": "Pod",
    "metadata": {
        "name": "p",
        "namespace": "team-a",
        "annotations": {
            "cwii.dev/aws-inject": "true",
            "cwii.dev/aws-role-arn": "arn:aws:iam::123456789012:role/app",
            "cwii.dev/aws-verify": "true",
        },
    },
    "spec": {"containers": [{"name": "app", "image": "a"}], "initContainers": [{"name": "m", "image": "m"}]},
}
PROMISED = re.compile(
    r"/spec/volumes(/-)?"
    r"|/spec/initContainers(/\d+|/-)?"
    r"|/spec/(initC|c)ontainers/\d+/(env|volumeMounts)(/-)?"
    r"|/metadata/annotations(/cwii\.dev~1(injected|gcp-credentials))?"
)


def decided(pod: Json, objects: list[Json | None], settings: Json) -> tuple[case.Answer, schema.Settings]:
    expected = schema.parse(settings, "property")
    return case.ask(pod, case.cluster_of(objects), expected), expected


@given(pods.pods(), pods.clusters(), pods.SETTINGS)
@example(AWS_POD, [], {})
def test_the_patch_applies_by_a_foreign_implementation_too(
    pod: Json, objects: list[Json | None], settings: Json
) -> None:
    answer, _ = decided(pod, objects, settings)

    assert jsonpatch.apply_patch(copy.deepcopy(pod), answer.operations) == answer.pod


@given(pods.pods(), pods.clusters(), pods.SETTINGS)
@example(AWS_POD, [], {})
def test_a_second_pass_changes_nothing(pod: Json, objects: list[Json | None], settings: Json) -> None:
    first, expected = decided(pod, objects, settings)
    if not first.response["allowed"]:
        return
    second, _ = decided(first.pod, objects, settings)

    assert second.pod == first.pod
    assert len(second.operations) <= (1 if expected.mode == "strict" else 0)


@given(pods.pods(), pods.clusters(), pods.SETTINGS)
def test_the_decision_leaves_its_input_untouched_and_is_repeatable(
    pod: Json, objects: list[Json | None], settings: Json
) -> None:
    before = copy.deepcopy((pod, objects, settings))

    one, _ = decided(pod, objects, settings)
    two, _ = decided(pod, objects, settings)

    assert (pod, objects, settings) == before
    assert one.response == two.response


@given(pods.pods(), pods.clusters(), pods.SETTINGS)
@example(AWS_POD, [], {})
def test_only_promised_paths_are_written_and_only_by_add(
    pod: Json, objects: list[Json | None], settings: Json
) -> None:
    answer, _ = decided(pod, objects, settings)

    assert [operation for operation in answer.operations if operation["op"] != "add"] == []
    assert [path for path in (o["path"] for o in answer.operations) if not PROMISED.fullmatch(path)] == []


def without_ours(pod: Json, was: Json) -> Json:
    """The mutated pod with everything we may add taken out again, by comparing with what was there."""
    rest = copy.deepcopy(pod)
    annotations = rest["metadata"].get("annotations")
    old = was["metadata"].get("annotations")
    if annotations is not None:
        stored = {
            k: v
            for k, v in annotations.items()
            if k not in (annotation_keys.INJECTED, annotation_keys.GCP_CREDENTIALS)
        }
        restored = {k: v for k, v in (old or {}).items() if k not in stored}
        rest["metadata"]["annotations"] = {**stored, **restored} if old is not None else None
    for field in ("volumes", "initContainers", "containers"):
        rest["spec"][field] = None
    return rest


@given(pods.pods(), pods.clusters(), pods.SETTINGS)
@example(AWS_POD, [], {})
def test_everything_of_the_users_survives_unknown_fields_included(
    pod: Json, objects: list[Json | None], settings: Json
) -> None:
    answer, _ = decided(pod, objects, settings)
    mutated = answer.pod

    was = copy.deepcopy(pod)
    for field in ("volumes", "initContainers", "containers"):
        was["spec"][field] = None
    was["metadata"].setdefault("annotations", None)
    rest = without_ours(mutated, pod)
    rest["metadata"].setdefault("annotations", None)
    assert rest == was
    for field in ("volumes", "initContainers", "containers"):
        stored = [
            {key: value for key, value in item.items() if key not in ("env", "volumeMounts")}
            for item in mutated["spec"].get(field) or []
        ]
        for item in pod["spec"].get(field) or []:
            bare = {key: value for key, value in item.items() if key not in ("env", "volumeMounts")}
            assert bare in stored
    for field in ("initContainers", "containers"):
        mine = pod["spec"].get(field) or []
        theirs = (
            (mutated["spec"].get(field) or [])[-len(mine) or None :] if field == "initContainers" else None
        )
        pairs = zip(mine, theirs if theirs is not None else mutated["spec"][field], strict=False)
        if field == "initContainers" and schema.parse(settings, "property").mode == "strict":
            pairs = zip(mine, mutated["spec"].get(field) or [], strict=False)
        for old, new in pairs:
            for part in ("env", "volumeMounts"):
                assert (new.get(part) or [])[: len(old.get(part) or [])] == (old.get(part) or [])


@given(pods.pods(), pods.clusters(), pods.SETTINGS)
def test_warnings_are_few_short_and_printable(pod: Json, objects: list[Json | None], settings: Json) -> None:
    answer, _ = decided(pod, objects, settings)

    warnings = answer.response.get("warnings", [])
    assert len(warnings) <= 3
    assert all(len(text) <= 200 and text.isascii() and text.isprintable() for text in warnings)


@given(pods.pods(), pods.clusters(), pods.SETTINGS)
def test_a_dry_run_gets_the_same_answer_and_writes_nothing(
    pod: Json, objects: list[Json | None], settings: Json
) -> None:
    expected = schema.parse(settings, "property")

    real = case.ask(pod, case.cluster_of(objects), expected)
    dry = case.ask(pod, case.cluster_of(objects), expected, dry_run=True)

    assert dry.response == real.response
    assert dry.applied == []


@given(pods.pods(), pods.clusters())
def test_better_writes_no_object_unless_the_administrator_allows_it(
    pod: Json, objects: list[Json | None]
) -> None:
    answer, _ = decided(pod, objects, {})

    assert answer.applied == []
    assert json.dumps(answer.response)
