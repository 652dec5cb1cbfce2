"""MutatingAdmissionPolicies of the API server: which version serves them, and one in force for a test."""

from __future__ import annotations

import contextlib
import json
from collections.abc import Iterator
from typing import Any

from tests.rig import process
from tests.rig.client import at
from tests.rig.controlplane import ControlPlane

Json = dict[str, Any]
GROUP = "admissionregistration.k8s.io"
ALPHA = {
    # before 1.36 it is switched on by hand
    "feature-gates": "MutatingAdmissionPolicy=true",
    "runtime-config": f"{GROUP}/v1alpha1=true",
}


def policy_api(plane: ControlPlane) -> str:
    """The apiVersion that serves MutatingAdmissionPolicy, the newest; empty when none does."""
    (group,) = (one for one in plane.admin.get("/apis").object["groups"] if one["name"] == GROUP)
    for version in group["versions"]:
        served = plane.admin.get(f"/apis/{version['groupVersion']}").object["resources"]
        if any(resource["name"] == "mutatingadmissionpolicies" for resource in served):
            return str(version["groupVersion"])
    return ""


@contextlib.contextmanager
def policy(plane: ControlPlane, namespace: str, expression: str, again: str = "Never") -> Iterator[None]:
    """A policy for the pods of one namespace, in force; it also sets a label, by which one can tell."""
    api, admin = policy_api(plane), plane.admin
    mutations = [
        {
            "patchType": "ApplyConfiguration",
            "applyConfiguration": {
                "expression": 'Object{metadata: Object.metadata{labels: {"policy": "here"}}}'
            },
        },
        {"patchType": "JSONPatch", "jsonPatch": {"expression": expression}},
    ]
    rule = {"apiGroups": [""], "apiVersions": ["v1"], "operations": ["CREATE"], "resources": ["pods"]}
    selector = {"matchLabels": {"kubernetes.io/metadata.name": namespace}}
    spec = {
        "failurePolicy": "Fail",
        "matchConstraints": {"resourceRules": [rule], "namespaceSelector": selector},
        "mutations": mutations,
        "reinvocationPolicy": again,
    }
    paths = [at(f"mutatingadmission{word}", api=api) for word in ("policies", "policybindings")]
    meta = {"metadata": {"name": namespace}}
    probe = {"metadata": {"name": "probe"}, "spec": {"containers": [{"name": "a", "image": "a"}]}}

    def in_force() -> bool:
        created = admin.create(at("pods", namespace), probe, dryRun="All").object
        return bool(created["metadata"].get("labels", {}).get("policy") == "here")

    admin.create(paths[0], {**meta, "spec": spec}).object  # noqa: B018 - raises
    try:
        admin.create(paths[1], {**meta, "spec": {"policyName": namespace}}).object  # noqa: B018 - raises
        process.wait("the policy to be in force", in_force, 30)
        yield
    finally:
        for path in reversed(paths):
            admin.delete(f"{path}/{namespace}")


def added(name: str, resources: Json | None = None) -> str:
    """CEL that adds a container."""
    value = f'Object.spec.containers{{name: "{name}", image: "s"}}'
    if resources:
        value = f'{{"name": dyn("{name}"), "image": dyn("s"), "resources": dyn({json.dumps(resources)})}}'
    return f'JSONPatch{{op: "add", path: "/spec/containers/-", value: {value}}}'
