"""Every mutated vector, and generated pods, are accepted by a real API server after our patch."""

from __future__ import annotations

import base64
import json
import re
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.property import pods
from tests.rig.client import at
from tests.rig.controlplane import ControlPlane
from tests.vectors import case, cwii, run
from vestibule.api.settings import schema

Json = dict[str, Any]
VECTORS = [
    pytest.param(vector, id=vector["name"])
    for file in ("cwii.json", "cwii_better.json")
    for vector in run.load(run.HERE / file)
    if vector["expect"]["allowed"] and vector["expect"]["outcome"] == "inject"
]
INVALID_BY_ITSELF = {
    # the original builds these pods and the API server refuses them; strict reproduces the original
    "expiration-no-upper-bound": "expirationSeconds",
    "existing-mount-same-volume-other-path-kept": "",
}


@pytest.fixture(scope="module")
def team(control_plane: ControlPlane) -> str:
    """A namespace with the ServiceAccount that the vectors name."""
    name = control_plane.namespace("accepted")
    control_plane.admin.create(at("serviceaccounts", name), {"metadata": {"name": "app"}}).object  # noqa: B018
    return name


def accepted(plane: ControlPlane, namespace: str, pod: Json) -> tuple[int, str]:
    """What the API server says about a pod, without keeping it."""
    obj = json.loads(json.dumps(pod).replace('"team-a"', json.dumps(namespace)))
    obj["metadata"].pop("ownerReferences", None)
    answer = plane.admin.create(at("pods", namespace), obj, dryRun="All", fieldValidation="Strict")
    return answer.status, answer.message if answer.status != 201 else ""


@pytest.mark.parametrize("vector", VECTORS)
def test_a_mutated_vector_is_accepted(control_plane: ControlPlane, team: str, vector: Json) -> None:
    objects = [vector.get("namespace"), vector.get("serviceAccount"), *vector.get("owners", [])]
    before, why = accepted(control_plane, team, vector["pod"])
    answer = case.ask(vector["pod"], case.cluster_of(objects), cwii.settings(vector["config"]), dry_run=True)

    status, message = accepted(control_plane, team, answer.pod)

    if before != 201 and vector["name"] not in INVALID_BY_ITSELF:
        assert status in (201, before), f"refused before: {why}; refused after: {message}"
    elif vector["name"] in INVALID_BY_ITSELF:
        assert INVALID_BY_ITSELF[vector["name"]] in message
    else:
        assert status == 201, message


_VALID_NAME = re.compile(r"[a-z0-9]([-a-z0-9]*[a-z0-9])?")


def plausible(pod: Json) -> Json:
    """The generated pod without what no API server takes: unknown fields, twins, nulls, and foreign names."""
    obj: Json = {
        "metadata": {"name": "p", "namespace": "team-a"},
        "spec": {"containers": [], "initContainers": []},
    }
    annotations = pod["metadata"].get("annotations") or {}
    obj["metadata"]["annotations"] = {
        key: value for key, value in annotations.items() if re.fullmatch(r"[a-z.]+/[a-z-]+", key)
    }
    seen: set[str] = set()
    for field in ("containers", "initContainers"):
        for container in pod["spec"].get(field) or []:
            name = container["name"]
            if name in seen or not _VALID_NAME.fullmatch(name):
                continue
            seen.add(name)
            stored: Json = {"name": name, "image": "a"}
            env = {item["name"]: item for item in container.get("env") or []}
            stored["env"] = [
                {k: v for k, v in item.items() if k in ("name", "value", "valueFrom")}
                for item in env.values()
            ]
            paths = {
                mount["mountPath"].rstrip("/") or "/": mount["name"]
                for mount in container.get("volumeMounts") or []
            }
            stored["volumeMounts"] = [{"name": name, "mountPath": path} for path, name in paths.items()]
            obj["spec"][field].append(stored)
    if not obj["spec"]["containers"]:
        obj["spec"]["containers"] = [{"name": "only", "image": "a"}]
    used = {
        m["name"]
        for f in ("containers", "initContainers")
        for c in obj["spec"][f]
        for m in c.get("volumeMounts", [])
    }
    obj["spec"]["volumes"] = [{"name": name, "emptyDir": {}} for name in sorted(used)]
    return obj


@settings(max_examples=300, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    pod=pods.pods(),
    objects=pods.clusters(),
    data=st.sampled_from([{}, {"gcp": {"delivery": "init-container"}}]),
)
def test_a_generated_pod_is_accepted_after_our_patch_if_it_was_before(
    control_plane: ControlPlane, team: str, pod: Json, objects: list[Json | None], data: Json
) -> None:
    obj = plausible(pod)
    before, why = accepted(control_plane, team, obj)
    answer = case.ask(obj, case.cluster_of(objects), schema.parse(data, "generated"))
    if not answer.response["allowed"]:
        return

    status, message = accepted(control_plane, team, answer.pod)

    assert status == 201 or before != 201, (
        f"{message} (before: {why}); {base64.b64encode(json.dumps(obj).encode())!r}"
    )
