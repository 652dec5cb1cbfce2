"""People with rights in one namespace only, and objects that were stored before anybody checked them."""

from __future__ import annotations

import contextlib
import copy
import functools
import secrets
from collections.abc import Iterator
from typing import Any

from tests.aro import asokinds
from tests.aro.environment import Environment, poll
from tests.rig.client import Client, at
from vestibule.manifests import aro_crds

Json = dict[str, Any]
RBAC = "rbac.authorization.k8s.io/v1"
CRD = "apiextensions.k8s.io/v1"
OURS = {
    "cluster.x-k8s.io": ["clusters", "machinepools"],
    "infrastructure.cluster.x-k8s.io": ["aroclusters", "aromachinepools", "azureclusteridentities"],
    "controlplane.cluster.x-k8s.io": ["arocontrolplanes"],
}


def tenant(environment: Environment, namespace: str, *embedded: asokinds.AsoKind) -> Client:
    """A user with ``edit`` in one namespace, who may do everything there with the Cluster API and ARO kinds,
    and with these kinds of Azure Service Operator."""
    name = f"tenant-{secrets.token_hex(4)}"
    rules = [{"apiGroups": [group], "resources": plurals, "verbs": ["*"]} for group, plurals in OURS.items()]
    rules += [{"apiGroups": [one.group], "resources": [one.plural], "verbs": ["*"]} for one in embedded]
    meta = {"name": name, "namespace": namespace}
    role = {"apiVersion": RBAC, "kind": "Role", "metadata": meta, "rules": rules}
    created = environment.admin.create(at("roles", namespace, api=RBAC), role)
    assert created.status == 201, created.body
    for kind, bound in (("Role", name), ("ClusterRole", "edit")):
        binding = {
            "apiVersion": RBAC,
            "kind": "RoleBinding",
            "metadata": {"name": f"{name}-{kind.lower()}", "namespace": namespace},
            "roleRef": {"apiGroup": RBAC.split("/", maxsplit=1)[0], "kind": kind, "name": bound},
            "subjects": [{"kind": "User", "name": name, "apiGroup": RBAC.split("/", maxsplit=1)[0]}],
        }
        created = environment.admin.create(at("rolebindings", namespace, api=RBAC), binding)
        assert created.status == 201, created.body
    client = environment.plane.client(name)
    poll(
        "the rights to count",
        lambda: (
            client.get(at("aroclusters", namespace, api="infrastructure.cluster.x-k8s.io/v1beta2")).status
            == 200
        ),
    )
    return client


@contextlib.contextmanager
def unchecked(environment: Environment) -> Iterator[None]:
    """The definitions as they were before they had rules about embedded resources."""
    plain = copy.deepcopy(aro_crds.definitions())
    for one in plain:
        listed = resources(one)
        listed.pop("maxItems")
        listed["items"] = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
    _replace(environment, plain)
    try:
        _until(environment, 201)
        yield
    finally:
        restored(environment)


def restored(environment: Environment) -> None:
    """The definitions as they are shipped."""
    _replace(environment, aro_crds.definitions())
    _until(environment, 422)


def resources(definition: Json) -> Json:
    """The schema of the list of embedded resources."""
    schema = definition["spec"]["versions"][0]["schema"]["openAPIV3Schema"]
    found: Json = schema["properties"]["spec"]["properties"]["resources"]
    return found


def _replace(environment: Environment, definitions: list[Json]) -> None:
    for one in definitions:
        path = at("customresourcedefinitions", name=one["metadata"]["name"], api=CRD)
        environment.admin.apply(path, one, "rig", force=True).object  # noqa: B018 - raises


def _until(environment: Environment, status: int) -> None:
    """Until the definitions count, for all three kinds."""

    def tried(kind: str, plural: str, api: str) -> bool:
        obj = {
            "apiVersion": api,
            "kind": kind,
            "metadata": {"name": "probe", "namespace": "default"},
            "spec": {"resources": [{"apiVersion": "v1", "kind": "Secret"}]},
        }
        return environment.admin.create(at(plural, "default", api=api), obj, dryRun="All").status == status

    for kind, plural, group in (
        ("AROCluster", "aroclusters", "infrastructure"),
        ("AROControlPlane", "arocontrolplanes", "controlplane"),
        ("AROMachinePool", "aromachinepools", "infrastructure"),
    ):
        api = f"{group}.cluster.x-k8s.io/v1beta2"
        poll(f"{kind} to be served as defined", functools.partial(tried, kind, plural, api))


def attack(name: str, user: str) -> list[Json]:
    """What was embedded to read the Secrets of everybody, and to be asked about every pod."""
    subjects = [{"kind": "User", "name": user, "apiGroup": RBAC.split("/", maxsplit=1)[0]}]
    hook = {
        "name": "pods.attacker.example",
        "admissionReviewVersions": ["v1"],
        "sideEffects": "None",
        "failurePolicy": "Ignore",
        "clientConfig": {"url": "https://127.0.0.1:1/"},
        "rules": [
            {"apiGroups": [""], "apiVersions": ["v1"], "operations": ["CREATE"], "resources": ["nothing"]}
        ],
    }
    return [
        {
            "apiVersion": RBAC,
            "kind": "ClusterRoleBinding",
            "metadata": {"name": name},
            "roleRef": {
                "apiGroup": RBAC.split("/", maxsplit=1)[0],
                "kind": "ClusterRole",
                "name": "cluster-admin",
            },
            "subjects": subjects,
        },
        {
            "apiVersion": "admissionregistration.k8s.io/v1",
            "kind": "MutatingWebhookConfiguration",
            "metadata": {"name": name},
            "webhooks": [hook],
        },
        {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": name}, "stringData": {"a": "b"}},
        {
            "apiVersion": RBAC,
            "kind": "RoleBinding",
            "metadata": {"name": name, "namespace": "kube-system"},
            "roleRef": {"apiGroup": RBAC.split("/", maxsplit=1)[0], "kind": "ClusterRole", "name": "edit"},
            "subjects": subjects,
        },
    ]
