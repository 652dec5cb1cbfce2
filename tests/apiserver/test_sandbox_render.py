"""What ``render`` prints for sandboxes, applied as it is: the chosen pods are sent, nobody else is, and an
outage hurts nobody else."""

from __future__ import annotations

import contextlib
import json
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.apiserver import sandbox_installation
from tests.apiserver.sandbox_installation import INJECTION, KATA, PREFIX, configure, label
from tests.apiserver.test_render import dry_run, render, warnings
from tests.apiserver.webhook_installation import WebhookInstallation, path_of
from tests.process.webhook import free_port
from tests.rig import process
from tests.rig.client import Answer, at
from tests.rig.controlplane import ControlPlane
from vestibule.initdata import document

Json = dict[str, Any]
INITDATA = document.encode(document.build({"policy.rego": "package agent_policy\n"}).text)
SETTINGS: Json = {"sandbox": {"enabled": True}, "identityPolicies": True}
ROLE = "arn:aws:iam::123456789012:role/app"


class Printed:
    """A webhook that has what ``render`` prints for the KataConfig in the cluster."""

    def __init__(self, installation: WebhookInstallation, folder: Path) -> None:
        self.installation, self.admin = installation, installation.plane.admin
        self.objections: dict[str, str] = {}
        """What the API server had against what was printed."""
        self._file = folder / "render.json"
        install = {"name": installation.name, "namespace": installation.name, "certificate": "secret"}
        given = {**install, "caBundle": installation.bundle()}
        self._file.write_text(json.dumps({**SETTINGS, "install": given}))

    def render(self) -> subprocess.CompletedProcess[str]:
        return render(self.installation.plane.kubeconfig(), self._file)

    def objects(self) -> list[Json]:
        return list(yaml.safe_load_all(self.render().stdout))

    def registration(self, name: str) -> Json | None:
        kind = "MutatingWebhookConfiguration"
        found = [one for one in self.objects() if (one["kind"], one["metadata"]["name"]) == (kind, name)]
        return found[0] if found else None

    @property
    def sandbox(self) -> str:
        return f"00-{self.installation.name}-sandbox"

    def apply(self, obj: Json) -> None:
        self.admin.apply(path_of(obj), obj, "render", force=True).object  # noqa: B018 - raises

    def calls(self) -> float:
        return sum(one.metric("vestibule_admission_requests_total") for one in self.installation.replicas)


def pointed(obj: Json, port: int) -> Json:
    """A registration as printed, but for the Service network that the rig has not."""
    changed: Json = json.loads(json.dumps(obj))
    for entry in changed["webhooks"]:
        path = entry["clientConfig"].pop("service")["path"]
        entry["clientConfig"]["url"] = f"https://127.0.0.1:{port}{path}"
    return changed


def joined(obj: Json, user: str) -> Json:
    """Bindings also bind the user as whom the process runs."""
    if obj["kind"] not in ("ClusterRoleBinding", "RoleBinding"):
        return obj
    subject = {"apiGroup": "rbac.authorization.k8s.io", "kind": "User", "name": user}
    return {**obj, "subjects": [*obj["subjects"], subject]}


def pod(name: str = "p", annotations: Json | None = None, **spec: Any) -> Json:
    meta: Json = {"name": name, **({"annotations": annotations} if annotations else {})}
    return {"metadata": meta, "spec": {"containers": [{"name": "app", "image": "a"}], **spec}}


def create(installation: WebhookInstallation, namespace: str, obj: Json) -> Answer:
    return installation.plane.admin.create(at("pods", namespace), obj, dryRun="All")


@pytest.fixture(scope="module")
def printed(control_plane: ControlPlane, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Printed]:
    folder = tmp_path_factory.mktemp("printed")
    admin = control_plane.admin
    installation = WebhookInstallation(control_plane, folder, "webhook-printed", **SETTINGS)
    created = Printed(installation, folder)
    initdata = control_plane.namespace("initdata")
    try:
        installation.apply("Namespace", "CustomResourceDefinition")
        admin.wait(at("kataconfigs", api=KATA))
        sandbox_installation.classes(control_plane)
        stored = {"metadata": {"name": "initdata"}, "data": {"initdata": INITDATA}}
        admin.create(at("configmaps", initdata), stored).object  # noqa: B018 - raises
        reference = {"namespace": initdata, "name": "initdata"}
        annotations = {"defaultVCPUs": 2, "initdataFrom": reference}
        enforce = {"namespaces": ["confidential*"], "runtimeClasses": ["kata-late"]}
        webhook = {"runtimeClassInjection": INJECTION, "annotations": annotations, "enforce": enforce}
        configure(installation, webhook, peer_pods=False)
        manifests = created.objects()
        # the definitions are there already, by another hand
        created.objections = dry_run(admin, [o for o in manifests if o["kind"] != "CustomResourceDefinition"])
        for obj in manifests:
            if not obj["kind"].endswith("WebhookConfiguration"):
                created.apply(joined(obj, installation.user))
        replica = installation.start()
        for obj in manifests:
            if obj["kind"].endswith("WebhookConfiguration"):
                created.apply(pointed(obj, replica.port))
        yield created
    finally:
        for kind in ("mutating", "validating"):
            for name in (created.sandbox, installation.name):
                plural = f"{kind}webhookconfigurations"
                admin.delete(at(plural, name=name, api="admissionregistration.k8s.io/v1"))
        installation.close()
        sandbox_installation.remove(control_plane)
        admin.delete(at("namespaces", name=initdata))


@pytest.fixture
def chosen(printed: Printed, namespace: str) -> str:
    """A namespace that the KataConfig chooses, and that the API server is known to send."""
    label(printed.installation, namespace, sandboxed="true")

    def classed() -> bool:
        answer = create(printed.installation, namespace, pod())
        return answer.status == 201 and "runtimeClassName" in answer.object["spec"]

    process.wait("pods of the namespace to be sent", classed, 20)
    return namespace


def test_a_pod_of_a_chosen_namespace_gets_its_class_and_all_that_follows(
    printed: Printed, chosen: str
) -> None:
    created = create(printed.installation, chosen, pod()).object

    assert created["spec"]["runtimeClassName"] == "kata"
    assert created["spec"]["overhead"] == {"cpu": "250m", "memory": "350Mi"}
    assert created["metadata"]["annotations"][f"{PREFIX}default_vcpus"] == "2"


def test_initdata_is_read_with_the_right_that_was_printed(printed: Printed, chosen: str) -> None:
    created = create(printed.installation, chosen, pod(runtimeClassName="kata-remote")).object

    assert created["metadata"]["annotations"][f"{PREFIX}cc_init_data"] == INITDATA


@contextlib.contextmanager
def without(printed: Printed, name: str) -> Iterator[None]:
    """One of the registrations is away for a while."""
    path = at("mutatingwebhookconfigurations", name=name, api="admissionregistration.k8s.io/v1")
    before = printed.admin.get(path).object
    printed.admin.delete(path)
    printed.admin.wait_gone(path)
    try:
        yield
    finally:
        meta = {"name": name, "labels": before["metadata"]["labels"]}
        obj = {**before, "metadata": meta}
        printed.admin.create(path.rpartition("/")[0], obj).object  # noqa: B018 - raises


def test_pods_of_other_namespaces_cause_no_call(
    printed: Printed, chosen: str, control_plane: ControlPlane
) -> None:
    other = control_plane.namespace("other")
    installation = printed.installation
    try:
        with without(printed, installation.name):
            # the API server has forgotten the general one when a pod of elsewhere is not counted any more

            def quiet() -> bool:
                before = printed.calls()
                create(installation, other, pod()).object  # noqa: B018 - raises
                return printed.calls() == before

            process.wait("the general registration to be gone", quiet, 20)
            before = printed.calls()
            for number in range(10):
                assert "runtimeClassName" not in create(installation, other, pod(f"p{number}")).object["spec"]
            assert printed.calls() == before
            create(installation, chosen, pod()).object  # noqa: B018 - raises
            assert printed.calls() > before
    finally:
        control_plane.admin.delete(at("namespaces", name=other))


def test_a_class_that_no_status_lists_leads_around_no_enforcement(
    printed: Printed, control_plane: ControlPlane
) -> None:
    admin, confidential = control_plane.admin, control_plane.namespace("confidential")
    late = {"metadata": {"name": "kata-late"}, "handler": "kata-late"}
    admin.create(at("runtimeclasses", api="node.k8s.io/v1"), late).object  # noqa: B018 - raises
    try:
        with without(
            printed, printed.installation.name
        ):  # so that the narrow registration has to send the pod
            forged = {f"{PREFIX}kernel_params": "agent.debug_console"}
            created = create(
                printed.installation, confidential, pod(annotations=forged, runtimeClassName="kata-late")
            )

            assert created.object["metadata"]["annotations"][f"{PREFIX}kernel_params"] == ""
    finally:
        admin.delete(at("runtimeclasses", name="kata-late", api="node.k8s.io/v1"))
        admin.delete(at("namespaces", name=confidential))


def account(printed: Printed, namespace: str) -> Json:
    """An account that asks for an identity; pods that use it."""
    asks = {"cwii.dev/aws-inject": "true", "cwii.dev/aws-role-arn": ROLE}
    obj = {"metadata": {"name": "app", "annotations": asks}}
    printed.admin.create(at("serviceaccounts", namespace), obj).object  # noqa: B018 - raises
    return {"serviceAccountName": "app"}


def role_of(made: Json) -> str:
    env = {one["name"]: one["value"] for one in made["spec"]["containers"][0].get("env", [])}
    return str(env.get("AWS_ROLE_ARN", ""))


def test_a_kata_pod_is_sent_once_and_gets_identity_and_sandbox_together(
    printed: Printed, chosen: str
) -> None:
    uses = account(printed, chosen)
    before = printed.calls()

    created = create(printed.installation, chosen, pod(runtimeClassName="kata", **uses)).object

    assert printed.calls() == before + 1
    assert role_of(created) == ROLE
    assert created["metadata"]["annotations"][f"{PREFIX}default_vcpus"] == "2"


def test_the_general_webhook_configuration_serves_who_is_never_sandboxed(
    printed: Printed, chosen: str, control_plane: ControlPlane
) -> None:
    del chosen  # both registrations are known to the API server
    openshift = "openshift-printed"
    meta = {"name": openshift, "labels": {"sandboxed": "true"}}
    control_plane.admin.create(at("namespaces"), {"metadata": meta}).object  # noqa: B018 - raises
    try:
        control_plane.admin.wait(at("serviceaccounts", openshift, "default"))
        uses = account(printed, openshift)

        with_class = create(printed.installation, openshift, pod(runtimeClassName="kata", **uses)).object
        without_class = create(printed.installation, openshift, pod(**uses)).object

        assert role_of(with_class) == role_of(without_class) == ROLE
        assert f"{PREFIX}default_vcpus" not in with_class["metadata"].get("annotations", {})
        assert "runtimeClassName" not in without_class["spec"]
    finally:
        control_plane.admin.delete(at("namespaces", name=openshift))


def test_an_outage_hurts_pods_that_need_a_sandbox_and_nobody_else(
    printed: Printed, chosen: str, control_plane: ControlPlane
) -> None:
    other = control_plane.namespace("outage")
    mirror = {"kubernetes.io/config.mirror": "x"}
    port = free_port()  # nobody listens there
    configuration = printed.registration(printed.sandbox)
    assert configuration is not None
    printed.apply(pointed(configuration, port))
    try:

        def refused() -> bool:
            return create(printed.installation, chosen, pod()).status == 500

        process.wait("the outage", refused, 20)
        kata = create(printed.installation, other, pod(runtimeClassName="kata"))
        assert (kata.status, "kata.sandbox.vestibule.dev" in kata.message) == (500, True)
        assert create(printed.installation, other, pod()).status == 201
        static = pod(annotations=mirror, nodeName="n", runtimeClassName="kata")
        assert create(printed.installation, chosen, static).status == 201
        assert create(printed.installation, "kube-system", pod(runtimeClassName="kata")).status == 201
    finally:
        printed.apply(pointed(configuration, printed.installation.replicas[0].port))
        control_plane.admin.delete(at("namespaces", name=other))


def test_it_is_printed_again_without_a_word_and_taken_as_it_is(printed: Printed) -> None:
    first, again = printed.render(), printed.render()

    assert first.stdout == again.stdout
    # the hall's own namespace and definitions are there already, and ours
    assert [one for one in warnings(first) if not one.startswith("policies limit identities, and")] == []
    assert printed.objections == {}


def test_switched_off_none_is_printed(printed: Printed) -> None:
    where = at("kataconfigs", name="k", api=KATA)
    assert printed.registration(printed.sandbox) is not None
    printed.admin.patch(where, {"spec": {"webhook": {"enabled": False}}}).object  # noqa: B018 - raises
    try:
        general = printed.registration(printed.installation.name)

        assert printed.registration(printed.sandbox) is None
        assert general is not None
        conditions = [one["name"] for one in general["webhooks"][0]["matchConditions"]]
        assert conditions == ["not-a-mirror-pod"]
    finally:
        printed.admin.patch(where, {"spec": {"webhook": {"enabled": True}}}).object  # noqa: B018 - raises
