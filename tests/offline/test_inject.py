"""The offline path as a whole: files in, decisions and files out, in every form that can be asked for."""

from __future__ import annotations

import io
import json
from pathlib import Path
from typing import Any

import pytest
from tests.offline.scene import AWS, document, injected, injected_text, piped

from vestibule import errors
from vestibule.admission import apply
from vestibule.api.settings import schema
from vestibule.diagnose.offline import inject, manifest_files, outputs
from vestibule.injection.policy import compile_policy
from vestibule.kube.manifest_directory import DirectoryCluster
from vestibule.kube.memory_cluster import MemoryCluster

DEPLOYMENT = """\
apiVersion: apps/v1
kind: Deployment
metadata:
  name: web
  namespace: team-a
spec:
  template:
    spec:
      serviceAccountName: app
      containers:
      - name: main
        image: example.com/app:1
"""
ACCOUNT = f"""\
apiVersion: v1
kind: ServiceAccount
metadata:
  name: app
  namespace: team-a
  annotations: {json.dumps(AWS)}
"""


def account(**more: str) -> dict[str, Any]:
    meta = {"name": "app", "namespace": "team-a", "annotations": {**AWS, **more}}
    return {"apiVersion": "v1", "kind": "ServiceAccount", "metadata": meta}


# ── where values come from ────────────────────────────────────────────────────────────────────────────────


def test_without_a_cluster_the_files_are_all_there_is() -> None:
    assert [result.verdict.outcome for result in injected(DEPLOYMENT).results] == ["skip"]


def test_a_service_account_in_the_same_input_counts() -> None:
    result = injected(f"{DEPLOYMENT}---\n{ACCOUNT}").results[0]

    assert result.verdict.outcome == "inject"
    assert result.verdict.values[0].object == "ServiceAccount team-a/app"


def test_a_service_account_in_the_cluster_counts(tmp_path: Path) -> None:
    (tmp_path / "account.yaml").write_text(ACCOUNT)
    cluster = DirectoryCluster(tmp_path)
    cluster.load()

    found = inject.run(piped(DEPLOYMENT), cluster, compile_policy(schema.Settings()))

    assert found.results[0].verdict.outcome == "inject"


def test_what_is_in_the_input_wins_over_the_cluster() -> None:
    old = account(**{"cwii.dev/aws-role-arn": "arn:aws:iam::123456789012:role/old"})

    result = injected(f"{ACCOUNT}---\n{DEPLOYMENT}", MemoryCluster([old])).results[0]

    assert dict(AWS)["cwii.dev/aws-role-arn"] in {value.value for value in result.verdict.values}


@pytest.mark.parametrize("mode", ["better", "strict"])
def test_a_deployment_in_the_input_is_the_owner_level(mode: schema.Mode) -> None:
    text = DEPLOYMENT.replace("spec:\n  template", f"  annotations: {json.dumps(AWS)}\nspec:\n  template", 1)

    result = injected(text, settings=schema.Settings(mode=mode)).results[0]

    assert {"Deployment team-a/web"} == {v.object for v in result.verdict.values if v.level != "default"}


def test_the_namespace_can_be_chosen_for_objects_that_name_none() -> None:
    text = DEPLOYMENT.replace("  namespace: team-a\n", "")

    result = injected(text, MemoryCluster([account()]), namespace="team-a").results[0]

    assert result.verdict.outcome == "inject"


# ── faults ────────────────────────────────────────────────────────────────────────────────────────────────


def test_a_read_that_fails_is_an_error_and_never_no_annotations() -> None:
    cluster = MemoryCluster()
    cluster.fault("GET", "serviceaccounts", "app", 500)

    with pytest.raises(errors.LookupFailed, match="ServiceAccount team-a/app"):
        injected(DEPLOYMENT, cluster)


def test_in_strict_mode_a_read_that_fails_refuses_the_pod() -> None:
    cluster = MemoryCluster()
    cluster.fault("GET", "serviceaccounts", "app", 500)

    assert injected(DEPLOYMENT, cluster, schema.Settings(mode="strict")).refused


def test_a_pod_that_is_malformed_is_reported_with_its_place() -> None:
    text = f"{ACCOUNT}---\n{DEPLOYMENT}".replace("- name: main\n", "- nome: main\n")

    with pytest.raises(errors.InvalidInput, match=r"<stdin>:8: Deployment team-a/web spec\.containers: "):
        injected(text)


def test_problems_of_all_documents_come_at_once() -> None:
    bad = "apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: a}\n"

    with pytest.raises(errors.InvalidInput) as raised:
        injected(f"{bad}---\n{bad}")

    assert [problem.place for problem in raised.value.problems] == ["<stdin>:1", "<stdin>:5"]


def test_unreadable_sources_are_reported_all_at_once(tmp_path: Path) -> None:
    (tmp_path / "bad.yaml").write_text("a: [")

    with pytest.raises(errors.InvalidInput) as raised:
        manifest_files.read([str(tmp_path / "nowhere"), str(tmp_path), "-"], io.BytesIO(b"\xff"))

    assert [
        (f"{tmp_path}/nowhere", "cannot be read (No such file or directory), want a readable file"),
        (f"{tmp_path}/bad.yaml:1", "is not YAML: did not find expected node content"),
        ("<stdin>:1", "byte 0 is not UTF-8, want UTF-8"),
    ] == [(problem.place, problem.text) for problem in raised.value.problems]


# ── what comes out ────────────────────────────────────────────────────────────────────────────────────────


def test_files_and_folders_are_joined_to_one_stream(tmp_path: Path) -> None:
    (tmp_path / "a.yaml").write_text("# a\na: 1")
    (tmp_path / "b.yaml").write_text("# b\n---\nb: 1\n")
    (tmp_path / "c.json").write_text('{"c": 1}')
    files = manifest_files.read([str(tmp_path)], io.BytesIO())

    found = inject.run(files, None, compile_policy(schema.Settings()))

    assert outputs.as_stream(found) == '# a\na: 1\n# b\n---\nb: 1\n---\n{"c": 1}\n'
    assert json.loads(outputs.as_json(found))["items"] == [{"a": 1}, {"b": 1}, {"c": 1}]


def test_patches_apply_to_the_documents() -> None:
    text = f"{DEPLOYMENT}---\n{ACCOUNT}"

    found = injected(text)
    (entry,) = json.loads(outputs.as_patches(found))
    value = document(DEPLOYMENT).value
    apply.patch(value, entry["patch"])

    assert found.after[0].documents[0].value == value
    assert (
        entry["object"],
        entry["place"],
        entry["outcome"],
    ) == ("Deployment team-a/web", "<stdin>:1", "inject")


def test_a_diff_shows_additions_only() -> None:
    lines = outputs.as_diff(injected(f"{DEPLOYMENT}---\n{ACCOUNT}")).splitlines()

    assert lines[:2] == ["--- <stdin>", "+++ <stdin>"]
    assert [line for line in lines[2:] if line.startswith("-")] == []
    assert "+        - name: AWS_ROLE_ARN" in lines


def test_no_change_is_an_empty_diff_and_the_same_text() -> None:
    found = injected(DEPLOYMENT)

    assert outputs.as_diff(found) == ""
    assert outputs.as_stream(found) == DEPLOYMENT


GCP = {
    "cwii.dev/gcp-inject": "true",
    "cwii.dev/gcp-audience": "//iam.googleapis.com/projects/1/locations/global/workloadIdentityPools/p"
    "/providers/x",
}


def test_config_maps_that_the_webhook_would_write_come_with_the_stream_once() -> None:
    text = f"{DEPLOYMENT}---\n{ACCOUNT.replace(json.dumps(AWS), json.dumps(GCP))}"
    settings = schema.Settings(mode="strict")

    first = injected(text, settings=settings)
    second = injected(outputs.as_stream(first), settings=settings)

    assert [obj["kind"] for obj in first.objects] == ["ConfigMap"]
    assert "+kind: ConfigMap\n" in outputs.as_diff(first)
    assert second.objects == ()
    assert outputs.as_stream(first) == outputs.as_stream(second)


def test_two_pods_in_one_document_are_both_served() -> None:
    pods = [
        {
            "apiVersion": "v1",
            "kind": "Pod",
            "metadata": {"name": name, "annotations": AWS},
            "spec": {"containers": [{"name": "main", "image": "i"}]},
        }
        for name in ("a", "b")
    ]
    text = json.dumps({"apiVersion": "v1", "kind": "List", "items": pods})

    after = json.loads(injected_text(text))

    assert [len(item["spec"]["volumes"]) for item in after["items"]] == [1, 1]
    assert injected_text(json.dumps(after)) == json.dumps(after) + "\n"
