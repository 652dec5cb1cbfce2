"""A KataConfig that another operator manages is never written to, whatever happens to it."""

from __future__ import annotations

import copy
import json
from pathlib import Path
from typing import Any

import pytest

from tests.apiserver.operated import API, Operated, operated
from tests.apiserver.test_operator_rights import KATA, RULES, accepted
from tests.rig import process
from tests.rig.client import at
from tests.rig.controlplane import ControlPlane
from tests.rig.fixtures import Planes
from vestibule.manifests import crds

Json = dict[str, Any]
FINALIZER = "finalizer.kataconfiguration.openshift.io"


def made(stand: Operated, name: str, **meta: Any) -> str:
    """A KataConfig; its path."""
    thing = {
        "apiVersion": KATA,
        "kind": "KataConfig",
        "metadata": {"name": name, **meta},
        "spec": {"checkNodeEligibility": False, "webhook": {"runtimeClassInjection": {"enabled": True}}},
    }
    stand.admin.create(at("kataconfigs", api=KATA), thing).object  # noqa: B018 - raises
    return at("kataconfigs", name=name, api=KATA)


def looked(stand: Operated, number: int) -> None:
    """Until the operator has looked at everything once more: a rule that changed has its status."""
    rules = [{"name": f"r{number}", "mutate": {"annotations": {"example.com/a": str(number)}}}]
    thing = {
        "apiVersion": RULES,
        "kind": "OSCWebhookConfig",
        "metadata": {"name": "r"},
        "spec": {"rules": rules},
    }
    path = at("oscwebhookconfigs", name="r", api=RULES)
    stand.admin.apply(path, thing, "test", force=True).object  # noqa: B018 - raises
    stand.admin.wait(
        path,
        lambda found: (
            accepted(found) and found["status"].get("observedGeneration") == found["metadata"]["generation"]
        ),
    )


def writes(stand: Operated, name: str) -> list[str]:
    """What the operator wrote to a KataConfig."""
    return [
        event["verb"]
        for event in stand.plane.audit.events(user=stand.user)
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
    with operated(plane, tmp_path) as stand:
        stand.ask(settings={"sandbox": {"enabled": True}})
        stand.start()
        managed = made(stand, "managed", finalizers=[FINALIZER])
        looked(stand, 0)
        for number in range(1, 4):  # it writes its whole status anew each time it looks
            state = {"status": {"kataNodes": {"nodeCount": number}, "conditions": []}}
            stand.admin.patch(f"{managed}/status", state).object  # noqa: B018 - raises
            looked(stand, number)
        assert writes(stand, "managed") == []
        stand.admin.patch(managed, {"metadata": {"finalizers": None}})
        looked(stand, 4)
        assert writes(stand, "managed") == []
        # nobody manages this one
        own = made(stand, "own")
        stand.admin.wait(own, accepted)
        assert set(writes(stand, "own")) == {"patch"}
        # their definition comes, and with it an object that nobody has touched yet
        definition = theirs()
        path = at(
            "customresourcedefinitions", name=definition["metadata"]["name"], api="apiextensions.k8s.io/v1"
        )
        there = stand.admin.get(path).object
        there["spec"]["versions"] = definition["spec"]["versions"]
        assert stand.admin.replace(path, there).status == 200
        process.wait("the definition to be told", lambda: not _declared(stand), 30)
        made(stand, "fresh")
        looked(stand, 5)
        assert writes(stand, "fresh") == []


def _declared(stand: Operated) -> bool:
    document = stand.admin.get(f"/openapi/v3/apis/{KATA}")
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
    with operated(control_plane, tmp_path) as stand:
        token = {"apiVersion": "authentication.k8s.io/v1", "kind": "TokenRequest", "spec": {}}
        made = {"metadata": {"name": "stolen"}}
        role = {
            **made,
            "roleRef": {
                "apiGroup": "rbac.authorization.k8s.io",
                "kind": "ClusterRole",
                "name": stand.account,
            },
            "subjects": binding["subjects"],
        }
        tried = {
            "a KataConfig": user.create(at("kataconfigs", api=KATA), {**made, "spec": {}}),
            "rules": user.create(at("oscwebhookconfigs", api=RULES), {**made, "spec": {"rules": []}}),
            "a status": user.patch(at("kataconfigs", name="k", sub="status", api=KATA), {"status": {}}),
            "a class": user.create(at("runtimeclasses", api="node.k8s.io/v1"), {**made, "handler": "runc"}),
            "an installation": user.create(at("vestibulewebhooks", api=API), {**made, "spec": {}}),
            "initdata": user.get(at("configmaps", other, "initdata")),
            "the account": user.create(at("serviceaccounts", stand.name, stand.account, sub="token"), token),
            "the role": user.create(at("rolebindings", namespace, api=rbac), role),
        }

    assert {what: answer.status for what, answer in tried.items()} == dict.fromkeys(tried, 403)
