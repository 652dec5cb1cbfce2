"""A KataConfig that another operator manages is never written to, whatever happens to it."""

from __future__ import annotations

import copy
import json
from pathlib import Path
from typing import Any

import pytest

from tests.apiserver.operator_installation import API, OperatorInstallation, operator_installed
from tests.apiserver.test_operator_permissions import KATA, RULES, accepted
from tests.rig import process
from tests.rig.client import at
from tests.rig.controlplane import ControlPlane
from tests.rig.fixtures import Planes
from vestibule.manifests import crds

Json = dict[str, Any]
FINALIZER = "finalizer.kataconfiguration.openshift.io"


def made(environment: OperatorInstallation, name: str, **meta: Any) -> str:
    """A KataConfig; its path."""
    obj = {
        "apiVersion": KATA,
        "kind": "KataConfig",
        "metadata": {"name": name, **meta},
        "spec": {"checkNodeEligibility": False, "webhook": {"runtimeClassInjection": {"enabled": True}}},
    }
    environment.admin.create(at("kataconfigs", api=KATA), obj).object  # noqa: B018 - raises
    return at("kataconfigs", name=name, api=KATA)


def looked(environment: OperatorInstallation, number: int) -> None:
    """Until the operator has looked at everything once more: a rule that changed has its status."""
    rules = [{"name": f"r{number}", "mutate": {"annotations": {"example.com/a": str(number)}}}]
    obj = {
        "apiVersion": RULES,
        "kind": "OSCWebhookConfig",
        "metadata": {"name": "r"},
        "spec": {"rules": rules},
    }
    path = at("oscwebhookconfigs", name="r", api=RULES)
    environment.admin.apply(path, obj, "test", force=True).object  # noqa: B018 - raises
    environment.admin.wait(
        path,
        lambda found: (
            accepted(found) and found["status"].get("observedGeneration") == found["metadata"]["generation"]
        ),
    )


def writes(environment: OperatorInstallation, name: str) -> list[str]:
    """What the operator wrote to a KataConfig."""
    return [
        event["verb"]
        for event in environment.plane.audit.events(user=environment.user)
        if event.get("objectRef", {}).get("resource") == "kataconfigs"
        and event["objectRef"].get("name") == name
        and event["verb"] not in ("get", "list", "watch")
    ]


def theirs() -> Json:
    """The definition as the operator of the sandboxes brings it: without a field for the webhook."""
    found = copy.deepcopy(
        next(one for one in crds.sandboxes() if one["spec"]["names"]["kind"] == "KataConfig")
    )
    schema = found["spec"]["versions"][0]["schema"]["openAPIV3Schema"]
    del schema["properties"]["spec"]["properties"]["webhook"]
    return found


@pytest.mark.slow
def test_another_operators_kataconfig_is_left_alone(private_control_plane: Planes, tmp_path: Path) -> None:
    plane = private_control_plane()
    with operator_installed(plane, tmp_path) as environment:
        environment.ask(settings={"sandbox": {"enabled": True}})
        environment.start()
        managed = made(environment, "managed", finalizers=[FINALIZER])
        looked(environment, 0)
        for number in range(1, 4):  # it writes its whole status anew each time it looks
            state = {"status": {"kataNodes": {"nodeCount": number}, "conditions": []}}
            environment.admin.patch(f"{managed}/status", state).object  # noqa: B018 - raises
            looked(environment, number)
        assert writes(environment, "managed") == []
        environment.admin.patch(managed, {"metadata": {"finalizers": None}})
        looked(environment, 4)
        assert writes(environment, "managed") == []
        # nobody manages this one
        own = made(environment, "own")
        environment.admin.wait(own, accepted)
        assert set(writes(environment, "own")) == {"patch"}
        # their definition comes, and with it an object that nobody has touched yet
        definition = theirs()
        path = at(
            "customresourcedefinitions", name=definition["metadata"]["name"], api="apiextensions.k8s.io/v1"
        )
        existing = environment.admin.get(path).object
        existing["spec"]["versions"] = definition["spec"]["versions"]
        assert environment.admin.replace(path, existing).status == 200
        process.wait("the definition to be told", lambda: not _declared(environment), 30)
        made(environment, "fresh")
        looked(environment, 5)
        assert writes(environment, "fresh") == []


def _declared(environment: OperatorInstallation) -> bool:
    document = environment.admin.get(f"/openapi/v3/apis/{KATA}")
    assert document.status == 200
    schemas = json.loads(document.body)["components"]["schemas"]
    found = next(
        one
        for one in schemas.values()
        if any(each["kind"] == "KataConfig" for each in one.get("x-kubernetes-group-version-kind", ()))
    )
    return "webhook" in found["properties"]["spec"]["properties"]


def test_editors_of_a_namespace_decide_about_no_sandbox(
    control_plane: ControlPlane, namespace: str, tmp_path: Path
) -> None:
    """Whoever may edit one namespace writes none of the objects by which sandboxes are given, reads initdata
    of no other namespace, and borrows neither account."""
    other = control_plane.namespace("initdata")
    admin = control_plane.admin
    secret = {"metadata": {"name": "initdata"}, "data": {"initdata": "x"}}
    admin.create(at("configmaps", other), secret).object  # noqa: B018 - raises
    user = control_plane.client(f"editor-{namespace}")
    binding = {
        "metadata": {"name": "editor"},
        "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": "edit"},
        "subjects": [
            {"apiGroup": "rbac.authorization.k8s.io", "kind": "User", "name": f"editor-{namespace}"}
        ],
    }
    rbac = "rbac.authorization.k8s.io/v1"
    admin.create(at("rolebindings", namespace, api=rbac), binding).object  # noqa: B018 - raises
    process.wait("the right to count", lambda: user.get(at("configmaps", namespace)).status == 200, 15)
    with operator_installed(control_plane, tmp_path) as environment:
        token = {"apiVersion": "authentication.k8s.io/v1", "kind": "TokenRequest", "spec": {}}
        created = {"metadata": {"name": "stolen"}}
        role = {
            **created,
            "roleRef": {
                "apiGroup": "rbac.authorization.k8s.io",
                "kind": "ClusterRole",
                "name": environment.account,
            },
            "subjects": binding["subjects"],
        }
        tried = {
            "a KataConfig": user.create(at("kataconfigs", api=KATA), {**created, "spec": {}}),
            "rules": user.create(at("oscwebhookconfigs", api=RULES), {**created, "spec": {"rules": []}}),
            "a status": user.patch(at("kataconfigs", name="k", sub="status", api=KATA), {"status": {}}),
            "a class": user.create(
                at("runtimeclasses", api="node.k8s.io/v1"), {**created, "handler": "runc"}
            ),
            "an installation": user.create(at("vestibulewebhooks", api=API), {**created, "spec": {}}),
            "initdata": user.get(at("configmaps", other, "initdata")),
            "the account": user.create(
                at("serviceaccounts", environment.name, environment.account, sub="token"), token
            ),
            "the role": user.create(at("rolebindings", namespace, api=rbac), role),
        }

    assert {what: answer.status for what, answer in tried.items()} == dict.fromkeys(tried, 403)
