"""Pods inside workloads: found in every kind, with owners that agree, and named when something is wrong."""

from __future__ import annotations

import json
from typing import Any

import pytest
from tests.offline.scene import document

from vestibule import errors
from vestibule.api import gvk
from vestibule.api.gvk import Kind
from vestibule.diagnose.offline import workloads
from vestibule.diagnose.offline.workloads import PodTemplate
from vestibule.injection import facts
from vestibule.yamledit import yaml_documents

SPEC = {"containers": [{"name": "main", "image": "example.com/app:1"}]}


def workload(kind: Kind, **template_meta: Any) -> dict[str, Any]:
    """An object of this kind with a pod in it."""
    meta = {"name": "web", "namespace": "team-a", "annotations": {"level": "workload"}}
    obj: dict[str, Any] = {"apiVersion": kind.api_version, "kind": kind.kind, "metadata": meta}
    if kind is gvk.POD:
        return {**obj, "spec": SPEC}
    template = {"metadata": template_meta, "spec": SPEC}
    if kind is gvk.CRON_JOB:
        job = {"metadata": {"annotations": {"level": "job"}}, "spec": {"template": template}}
        return {**obj, "spec": {"jobTemplate": job}}
    return {**obj, "spec": {"template": template}}


def only(obj: Any, **more: Any) -> PodTemplate:
    (found,) = workloads.templates(document(json.dumps(obj), "x.json"), **more)
    return found


def chain(template: PodTemplate) -> list[str]:
    """Kinds from the pod upwards by controller reference, uids compared on the way."""
    owners = {obj["metadata"]["uid"]: obj for obj in template.companions}
    kinds, references = ["Pod"], facts.owner_refs(template.pod["metadata"].get("ownerReferences"))
    while references:
        (reference,) = references
        owner = owners[reference.uid]
        source = facts.source(owner)
        assert reference == facts.OwnerRef(owner["apiVersion"], source.kind, source.name, source.uid, True)
        assert source.namespace == template.pod["metadata"]["namespace"]
        kinds.append(source.kind)
        references = source.owners
    return kinds


KINDS = {
    gvk.POD: ("", ["Pod"]),
    gvk.DEPLOYMENT: ("/spec/template", ["Pod", "ReplicaSet", "Deployment"]),
    gvk.STATEFUL_SET: ("/spec/template", ["Pod", "StatefulSet"]),
    gvk.DAEMON_SET: ("/spec/template", ["Pod", "DaemonSet"]),
    gvk.REPLICA_SET: ("/spec/template", ["Pod", "ReplicaSet"]),
    gvk.JOB: ("/spec/template", ["Pod", "Job"]),
    gvk.CRON_JOB: ("/spec/jobTemplate/spec/template", ["Pod", "Job", "CronJob"]),
}


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.kind)
def test_the_pod_of_every_kind_is_found_with_its_owners(kind: Kind) -> None:
    pointer, owners = KINDS[kind]

    template = only(workload(kind))

    assert (kind.kind, "web", "team-a", pointer) == template[:4]
    assert owners == chain(template)
    assert (template.pod["apiVersion"], template.pod["kind"], template.pod["spec"]) == ("v1", "Pod", SPEC)


def test_every_workload_kind_is_covered() -> None:
    assert set(KINDS) == set(workloads.TEMPLATES)


def test_a_pod_from_a_template_carries_its_metadata_and_no_name() -> None:
    template = only(workload(gvk.STATEFUL_SET, name="ignored", labels={"a": "b"}, annotations={"c": "d"}))

    meta = template.pod["metadata"]
    assert (meta["labels"], meta["annotations"]) == ({"a": "b"}, {"c": "d"})
    assert (meta["namespace"], meta["generateName"], meta.get("name")) == ("team-a", "web-", None)


def test_the_job_of_a_cron_job_has_the_annotations_of_its_template() -> None:
    cron_job, job = only(workload(gvk.CRON_JOB)).companions

    assert (cron_job["metadata"]["annotations"], job["metadata"]["annotations"]) == (
        {"level": "workload"},
        {"level": "job"},
    )


def test_uids_are_the_same_in_every_run_and_those_of_the_cluster_are_kept() -> None:
    obj = workload(gvk.JOB)
    assert only(obj).companions == only(obj).companions

    obj["metadata"]["uid"] = "from-the-cluster"

    assert only(obj).pod["metadata"]["ownerReferences"][0]["uid"] == "from-the-cluster"


def test_objects_without_a_namespace_get_the_one_that_was_asked_for() -> None:
    obj = workload(gvk.DEPLOYMENT)
    del obj["metadata"]["namespace"]

    assert only(obj).namespace == "default"
    assert only(obj, namespace="team-b").pod["metadata"]["namespace"] == "team-b"


def test_a_job_that_is_named_by_the_server_has_a_stand_in_for_a_name() -> None:
    obj = workload(gvk.JOB)
    obj["metadata"] = {"generateName": "once-"}

    template = only(obj)

    assert (template.name, template.companions[0]["metadata"]["name"]) == ("once-", "once-offline")
    assert chain(template) == ["Pod", "Job"]


def test_items_of_lists_are_found_where_they_stand() -> None:
    inner = {"apiVersion": "v1", "kind": "List", "items": [workload(gvk.POD)]}
    other = {"apiVersion": "v1", "kind": "Service", "metadata": {"name": "s"}}
    outer = {"apiVersion": "v1", "kind": "List", "items": [other, workload(gvk.JOB), inner]}

    found = workloads.templates(document(json.dumps(outer), "x.json"))

    assert [template.pointer for template in found] == ["/items/1/spec/template", "/items/2/items/0"]


@pytest.mark.parametrize(
    "text",
    ["", "# nothing\n", "just text\n", "- a\n- b\n", "a: 1\n", "kind: 7\n", "apiVersion: x/v1\nkind: Job\n"],
)
def test_what_is_no_workload_passes(text: str) -> None:
    found, problems = yaml_documents.documents("x.yaml", text)

    assert problems == []
    assert [template for one in found for template in workloads.templates(one)] == []


HEAD = "apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: web}\n"
BAD = {
    "no spec": (HEAD, ["x.yaml:1: spec: is missing, want a mapping"]),
    "no template": (f"{HEAD}spec:\n  replicas: 1\n", ["x.yaml:4: spec.template: is missing, want a mapping"]),
    "a template that is a list": (
        f"{HEAD}spec:\n  template: []\n",
        ["x.yaml:5: spec.template: is a list, want a mapping"],
    ),
    "a template without spec, and an annotation without quotes": (
        f"{HEAD}spec:\n  template:\n    metadata:\n      annotations:\n        cwii.dev/aws-inject: true\n",
        [
            "x.yaml:5: spec.template.spec: is missing, want a mapping",
            "x.yaml:8: spec.template.metadata.annotations[cwii.dev/aws-inject]: is true, "
            'want a quoted string: "true"',
        ],
    ),
    "annotations of a ServiceAccount": (
        "apiVersion: v1\nkind: ServiceAccount\nmetadata: {name: a, annotations: {x: on}}\n",
        ['x.yaml:3: metadata.annotations.x: is true, want a quoted string: "true"'],
    ),
    "both templates of a CronJob": (
        "apiVersion: batch/v1\nkind: CronJob\nmetadata: {name: a}\nspec:\n  jobTemplate:\n"
        "    metadata: {annotations: {x: 1}}\n"
        "    spec:\n      template:\n        metadata: {annotations: {y: 2}}\n        spec: {}\n",
        [
            'x.yaml:6: spec.jobTemplate.metadata.annotations.x: is 1, want a quoted string: "1"',
            "x.yaml:9: spec.jobTemplate.spec.template.metadata.annotations.y: is 2, "
            'want a quoted string: "2"',
        ],
    ),
}


@pytest.mark.parametrize("case", BAD)
def test_bad_workloads_are_reported_with_place_value_and_want(case: str) -> None:
    text, expected = BAD[case]

    with pytest.raises(errors.InvalidInput) as raised:
        workloads.templates(document(text))

    assert expected == [str(problem) for problem in raised.value.problems]
