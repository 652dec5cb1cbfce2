"""A webhook beside a hosted API server, end to end: two real API servers, the guest's authorities in
HyperShift's shape, and the process started from the container that was rendered.

The objects of the management side are really created there, and the small kubelet reads them back.
"""

from __future__ import annotations

import copy
import datetime
import json
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import jwt
import pytest

from tests.apiserver.sidecar_kubelet import SidecarKubelet
from tests.apiserver.webhook_installation import path_of
from tests.rig.client import at
from tests.rig.controlplane import ControlPlane
from tests.rig.pki import write_private
from tests.vectors import run
from tests.vectors.hypershift_attach import mutated, pod_facts
from tests.vectors.hypershift_given import HOSTED, IMAGES, deployment, secrets
from tests.vectors.hypershift_pki import text
from vestibule.operator.controllers.hosted import (
    desired,
    hypershift_objects,
    hypershift_webhooks,
    platform_table,
)
from vestibule.operator.controllers.hosted.attach_modes import AttachObservation
from vestibule.operator.controllers.hosted.release_image import ReleasePayload
from vestibule.pki import profile
from vestibule.pki.leaf import CertificatePair

pytestmark = pytest.mark.waits

Json = dict[str, Any]
VECTOR = next(one for one in run.load(run.HERE / "hypershift.json") if one["id"] == "HV-33")
CASES: dict[str, Json] = {one["case"]: one for one in VECTOR["input"]["cases"]}
WANTED: dict[str, Json] = {one["case"]: one for one in VECTOR["expect"]["cases"]}
LABELLED, UNLABELLED, DOWN, NO_RIGHTS = CASES
SNI = ("localhost", "kubernetes.default.svc")


def now() -> datetime.datetime:
    return datetime.datetime.now(datetime.UTC)


class Hosted(NamedTuple):
    """A management cluster, a guest, and the control plane's own objects."""

    management: ControlPlane
    guest: ControlPlane
    control_plane: Json
    secrets: dict[str, Json]


@pytest.fixture(scope="module")
def hosted(control_plane: ControlPlane, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Hosted]:
    """The guest's API server serves ``localhost`` with a certificate of the root CA and trusts clients of the
    cluster's signer (and of the root, as flavours with one authority do); the rig's own authority stays
    beside them, for the test's own calls."""
    folder = tmp_path_factory.mktemp("hosted")
    namespace = control_plane.namespace("hosted")
    created = secrets(namespace)
    root, signer = created["root-ca"], created["cluster-signer-ca"]
    leaf = profile.issue(
        CertificatePair(text(root, "ca.crt"), text(root, "ca.key")),
        profile.LeafProfile("kube-apiserver", names=SNI),
        now(),
    )
    (folder / "kas.crt").write_text(leaf.certificate)
    write_private(folder / "kas.key", leaf.key.encode())
    guest = ControlPlane(
        folder / "guest",
        version=control_plane.version,
        prefix=f"/{namespace}",
        etcd=control_plane.etcd,
        controllers=False,
        flags={
            "tls-sni-cert-key": f"{folder}/kas.crt,{folder}/kas.key:{','.join(SNI)}",
            "client-ca-file": str(folder / "client-ca.crt"),
        },
    )
    clients = [guest.authority.pem.decode(), text(signer, "ca.crt"), text(root, "ca.crt")]
    (folder / "client-ca.crt").write_text("".join(clients))
    for secret in created.values():
        control_plane.admin.create(at("secrets", namespace), secret).object  # noqa: B018 - raises
    guest.start()
    control = copy.deepcopy(HOSTED)
    control["metadata"]["namespace"] = namespace
    control["spec"]["networking"] = {"apiServer": {"port": guest.apiserver.port}}
    yield Hosted(control_plane, guest, control, created)
    guest.stop()
    control_plane.admin.delete(at("namespaces", name=namespace))


def applied(plane: ControlPlane, objects: list[Json]) -> None:
    for obj in objects:
        plane.admin.apply(path_of(obj), obj, "hosted", force=True).object  # noqa: B018 - raises


def registered(hosted: Hosted, objects: list[Json], adjacent: SidecarKubelet) -> None:
    """The guest's objects; the registration's port is the one that the container has here."""
    created = json.loads(json.dumps(objects))
    client = created[-1]["webhooks"][0]["clientConfig"]
    rendered = client["url"]
    client["url"] = rendered.replace(":9443/", f":{adjacent.port}/")
    assert client["url"] != rendered
    applied(hosted.guest, created)


def unregistered(hosted: Hosted, objects: list[Json]) -> None:
    for obj in reversed(objects):
        hosted.guest.admin.delete(path_of(obj))


@pytest.fixture
def whole(hosted: Hosted) -> hypershift_objects.HypershiftObjects:
    """What HyperShift's operators would make, by us, written to the management cluster."""
    created = hypershift_objects.all_objects(_given(hosted, {}), now())
    objects = [*created.secrets, created.deployment]
    applied(hosted.management, [_without_owner(one) for one in objects])
    return created


def _given(hosted: Hosted, kept: dict[str, Json]) -> hypershift_objects.HypershiftInputs:
    return hypershift_objects.HypershiftInputs(
        hosted.control_plane,
        _deployment(hosted.control_plane),
        ReleasePayload("4.22.1", IMAGES),
        {**hosted.secrets, **kept},
        text(hosted.secrets["root-ca"], "ca.crt"),
    )


def _deployment(control: Json) -> Json:
    created = deployment(control)
    created["spec"] |= {"replicas": 0, "selector": {"matchLabels": {"app": "kube-apiserver"}}}
    created["spec"]["template"]["metadata"] = {"labels": {"app": "kube-apiserver"}}
    return created


def _without_owner(obj: Json) -> Json:
    """The owner does not exist here, and the garbage collector would take the Secret for an orphan."""
    created: Json = copy.deepcopy(obj)
    created["metadata"].pop("ownerReferences", None)
    return created


@pytest.fixture
def sidecar(
    hosted: Hosted, whole: hypershift_objects.HypershiftObjects, tmp_path: Path
) -> Iterator[SidecarKubelet]:
    """The rendered container, running, and registered in the guest."""
    existing = hosted.management.admin.get(path_of(whole.deployment)).object
    adjacent = SidecarKubelet(
        tmp_path / "pod", hosted.management.admin, existing, hypershift_webhooks.AZURE.name, 9443
    )
    try:
        registered(hosted, list(whole.guest), adjacent)
        adjacent.start()
        adjacent.wait_ready()
        yield adjacent
    finally:
        unregistered(hosted, list(whole.guest))
        adjacent.stop()


@pytest.fixture
def hosted_namespace(hosted: Hosted) -> str:
    namespace = hosted.guest.namespace("ns")
    account = copy.deepcopy(VECTOR["input"]["serviceAccount"])
    account["metadata"]["namespace"] = namespace
    hosted.guest.admin.create(at("serviceaccounts", namespace), account).object  # noqa: B018 - raises
    return namespace


def create(hosted: Hosted, namespace: str, case: Json, **query: str) -> Json:
    pod = copy.deepcopy(case["pod"])
    pod["metadata"]["namespace"] = namespace
    return hosted.guest.admin.create(at("pods", namespace), pod, **query).object


def delete(hosted: Hosted, namespace: str) -> None:
    path = at("pods", namespace, "app")
    hosted.guest.admin.delete(path, gracePeriodSeconds=0)
    hosted.guest.admin.wait_gone(path)


def wait_served(hosted: Hosted, namespace: str, seconds: float = 20.0) -> None:
    """Until the guest's API server has taken up the registration."""
    deadline = time.monotonic() + seconds
    while not mutated(create(hosted, namespace, CASES[LABELLED], dryRun="All")):
        assert time.monotonic() < deadline, "no pod is mutated"
        time.sleep(0.05)


def test_a_hosted_cluster_pod_gets_its_identity_and_its_token_is_the_hosted_clusters(
    hosted: Hosted, sidecar: SidecarKubelet, hosted_namespace: str
) -> None:
    wait_served(hosted, hosted_namespace)

    pod = create(hosted, hosted_namespace, CASES[LABELLED])
    assert list(pod_facts(pod, WANTED[LABELLED])) == []
    volume = next(one for one in pod["spec"]["volumes"] if one["name"] == "azure-identity-token")
    requested = volume["projected"]["sources"][0]["serviceAccountToken"]
    spec = {"audiences": [requested["audience"]], "expirationSeconds": requested["expirationSeconds"]}
    path = at("serviceaccounts", hosted_namespace, "sa1", "token")
    token = hosted.guest.admin.create(path, {"spec": spec}).object["status"]["token"]
    keys = hosted.guest.admin.raw("GET", "/openid/v1/jwks", headers={"Accept": "*/*"}).object
    key = jwt.PyJWKSet.from_dict(keys)[jwt.get_unverified_header(token)["kid"]]
    claims = jwt.decode(
        token, key, algorithms=["RS256"], audience=requested["audience"], issuer=hosted.guest.apiserver.issuer
    )
    assert claims["sub"] == f"system:serviceaccount:{hosted_namespace}:sa1"
    assert hosted.guest.apiserver.issuer != hosted.management.apiserver.issuer


def test_a_pod_without_the_label_never_reaches_the_webhook(
    hosted: Hosted, sidecar: SidecarKubelet, hosted_namespace: str
) -> None:
    wait_served(hosted, hosted_namespace)
    before = sidecar.requests()

    pod = create(hosted, hosted_namespace, CASES[UNLABELLED])

    assert list(pod_facts(pod, WANTED[UNLABELLED])) == []
    assert sidecar.requests() == before


def test_while_the_webhook_is_down_pods_pass_and_afterwards_they_are_served_again(
    hosted: Hosted, sidecar: SidecarKubelet, hosted_namespace: str
) -> None:
    wait_served(hosted, hosted_namespace)
    sidecar.stop()

    pod = create(hosted, hosted_namespace, CASES[DOWN])

    assert list(pod_facts(pod, WANTED[DOWN])) == []
    delete(hosted, hosted_namespace)
    sidecar.start()
    sidecar.wait_ready()
    wait_served(hosted, hosted_namespace)
    assert mutated(create(hosted, hosted_namespace, CASES[DOWN]))


def test_without_permissions_in_the_hosted_cluster_pods_pass_and_are_not_half_served(
    hosted: Hosted, whole: hypershift_objects.HypershiftObjects, hosted_namespace: str, tmp_path: Path
) -> None:
    existing = hosted.management.admin.get(path_of(whole.deployment)).object
    adjacent = SidecarKubelet(
        tmp_path / "pod", hosted.management.admin, existing, hypershift_webhooks.AZURE.name, 9443
    )
    configuration = [one for one in whole.guest if one["kind"] == "MutatingWebhookConfiguration"]
    try:
        registered(hosted, configuration, adjacent)
        adjacent.start()
        deadline = time.monotonic() + 40
        while not adjacent.probe("livenessProbe"):
            assert time.monotonic() < deadline, adjacent.log.read_text()[-2000:]
            time.sleep(0.05)
        while "is forbidden" not in adjacent.log.read_text():  # until it is called and may not read
            assert not mutated(create(hosted, hosted_namespace, CASES[NO_RIGHTS], dryRun="All"))
            assert time.monotonic() < deadline, "it is never called or may read"

        pod = create(hosted, hosted_namespace, CASES[NO_RIGHTS])

        assert list(pod_facts(pod, WANTED[NO_RIGHTS])) == []
    finally:
        unregistered(hosted, configuration)
        adjacent.stop()


def test_a_renewed_certificate_is_served_without_a_restart(
    hosted: Hosted,
    whole: hypershift_objects.HypershiftObjects,
    sidecar: SidecarKubelet,
    hosted_namespace: str,
) -> None:
    """A leaf that is made anew reaches the process through its Secret; not one pod is missed meanwhile."""
    wait_served(hosted, hosted_namespace)
    before = sidecar.serial()
    given = _given(hosted, {one["metadata"]["name"]: one for one in whole.secrets})
    assert hypershift_objects.all_objects(given, now()).secrets == whole.secrets
    soon = hypershift_objects.all_objects(given, now() + datetime.timedelta(days=340))
    assert soon.reasons == ("it ends soon", "it ends soon")

    fresh = hypershift_objects.all_objects(_given(hosted, {}), now()).secrets[0]
    applied(hosted.management, [_without_owner(fresh)])
    sidecar.lay_out()

    deadline = time.monotonic() + 30
    while sidecar.serial() == before:
        assert mutated(create(hosted, hosted_namespace, CASES[LABELLED], dryRun="All"))
        assert time.monotonic() < deadline, "the old certificate is served on"
    assert mutated(create(hosted, hosted_namespace, CASES[LABELLED], dryRun="All"))


def test_a_sidecar_of_our_own_serves_the_hosted_cluster_of_a_tenant_control_plane(
    hosted: Hosted, hosted_namespace: str, tmp_path: Path
) -> None:
    """Kamaji's way: our container among the tenant's, an authority of our own, a client certificate of the
    tenant's; started while the guest does not let it read anything yet."""
    namespace = hosted.control_plane["metadata"]["namespace"]
    tenant: Json = {
        "apiVersion": "kamaji.clastix.io/v1alpha1",
        "kind": "TenantControlPlane",
        "metadata": {"name": "t1", "namespace": namespace},
        "spec": {"networkProfile": {"port": hosted.guest.apiserver.port}},
    }
    authority = copy.deepcopy(hosted.secrets["root-ca"])
    authority["metadata"]["name"] = "t1-ca"
    target = platform_table.ALL["kamaji"].target(tenant, [], now())
    request = desired.HostedRequest(attach="sidecar", tenant_id="11111111-2222-3333-4444-555555555555")
    created = desired.plan(request, target, AttachObservation(), [authority], now())
    assert created.edit is not None
    assert created.notes == ()
    applied(hosted.management, created.management)
    fields = created.edit.thing["spec"]["controlPlane"]["deployment"]
    pod = {"containers": fields["additionalContainers"], "volumes": fields["additionalVolumes"]}
    workload = {"metadata": {"namespace": namespace}, "spec": {"template": {"spec": pod}}}
    adjacent = SidecarKubelet(
        tmp_path / "pod", hosted.management.admin, workload, hypershift_webhooks.OURS, 9443
    )
    try:
        adjacent.start()
        adjacent.wait_ready()
        registered(hosted, created.guest, adjacent)
        wait_served(hosted, hosted_namespace, 40)

        pod = create(hosted, hosted_namespace, CASES[LABELLED])
        assert list(pod_facts(pod, WANTED[LABELLED])) == []
    finally:
        unregistered(hosted, created.guest)
        adjacent.stop()


def test_a_deployment_of_our_own_is_taken_by_both_clusters_and_is_the_same_a_second_time(
    hosted: Hosted,
) -> None:
    """A platform without a built-in webhook; there is no Service network here to call it through."""
    control = copy.deepcopy(hosted.control_plane)
    control["spec"]["platform"] = {"type": "KubeVirt"}
    target = platform_table.ALL["hypershift"].target(control, [], now())
    request = desired.HostedRequest(attach="deployment", tenant_id="11111111-2222-3333-4444-555555555555")
    created = desired.plan(
        request, target, AttachObservation(["kube-apiserver"]), list(hosted.secrets.values()), now()
    )
    for obj in created.management:
        answer = hosted.management.admin.apply(path_of(obj), obj, "hosted", force=True, dryRun="All")
        assert answer.status in (200, 201), answer.message
    for obj in created.guest:
        if obj["kind"] != "ServiceAccount":  # its namespace is not there in a dry run
            answer = hosted.guest.admin.apply(path_of(obj), obj, "hosted", force=True, dryRun="All")
            assert answer.status in (200, 201), answer.message

    again = desired.plan(
        request,
        target,
        AttachObservation(["kube-apiserver"]),
        [*hosted.secrets.values(), *created.management],
        now(),
    )
    assert (again.management, again.guest) == (created.management, created.guest)
