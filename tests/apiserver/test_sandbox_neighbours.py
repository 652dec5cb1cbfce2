"""Sandbox and identity in one pod, beside other webhooks, policies and a LimitRange: the pod comes out the
same whoever is called first.

Sizes of peer pods are the hard part: what containers ask for is taken away in our first pass, and who comes
after us adds a container that must be counted together with them.
"""

from __future__ import annotations

import contextlib
import http.client
import json
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from tests.apiserver.admitted_pod import AWS, WHOLE, AdmittedPod, assert_once, created, identity
from tests.apiserver.mutating_policies import ALPHA, added, policy, policy_api
from tests.apiserver.neighbour import Neighbour
from tests.apiserver.sandbox_installation import (
    INJECTION,
    PREFIX,
    configure,
    eventually,
    installation_of,
    label,
)
from tests.apiserver.webhook_installation import WebhookInstallation
from tests.rig import process
from tests.rig.client import at
from tests.rig.controlplane import ControlPlane
from tests.rig.fixtures import Planes
from tests.vectors import case

pytestmark = pytest.mark.slow

Json = dict[str, Any]
THEIRS = "neighbour.rig.test"
ORDERS = ("aa-before", "zz-after")
ZERO = {"cpu": "0", "memory": "0"}
SLOT = {"kata.peerpods.io/vm": "1"}
PEERS = {
    "runtimeClassInjection": {**INJECTION, "defaultRuntimeClass": "kata-remote"},
    "annotations": {"defaultVCPUs": 8, "custom": {"example.com/zone": "b"}},
}


def asks(cpu: str, memory: str) -> Json:
    return {part: {"cpu": cpu, "memory": memory} for part in ("requests", "limits")}


APP: Json = {"name": "app", "image": "a", "resources": asks("1500m", "1Gi")}
SIDECAR: Json = {"name": "later", "image": "s", "resources": asks("1200m", "300Mi")}
BARE: Json = {"name": "later", "image": "s"}


@pytest.fixture(scope="module")
def installation(
    control_plane: ControlPlane, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[WebhookInstallation]:
    with installation_of(control_plane, tmp_path_factory.mktemp("installation"), "webhook-beside") as made:
        yield made


def sandboxed(installation: WebhookInstallation, namespace: str, **webhook: Any) -> None:
    """The namespace gives the class of peer pods, and the policy is in force."""
    label(installation, namespace, sandboxed="true")
    custom = {"example.com/zone": "b", "example.com/mode": webhook.get("resourceMode", "")}
    annotations = {"defaultVCPUs": 8, "custom": custom}
    configure(installation, {**PEERS, "annotations": annotations, **webhook})

    def there(pod: Json) -> bool:
        found = pod["metadata"].get("annotations", {})
        return bool(found.get("example.com/mode", "none") == custom["example.com/mode"])

    eventually(installation, namespace, there)


def container(value: Json, at_: str = "-") -> Callable[[Json], list[Json]]:
    """A neighbour that adds a container, once."""

    def change(pod: Json) -> list[Json]:
        existing = any(one["name"] == value["name"] for one in pod["spec"]["containers"])
        return [] if existing else [{"op": "add", "path": f"/spec/containers/{at_}", "value": value}]

    return change


def in_both_orders(
    installation: WebhookInstallation, namespace: str, change: Callable[[Json], list[Json]], *containers: Json
) -> list[AdmittedPod]:
    """The same pod with the neighbour called before us and after us; all that we may decide is the same, and
    a further pass over either changes nothing."""
    reported = []
    for order in ORDERS:
        with Neighbour(installation.plane, namespace, order, change):
            reported.append(
                created(installation, namespace, AWS, order, {"containers": list(containers or (APP,))})
            )
    first, second = (essence(one.pod) for one in reported)
    assert first == second
    assert [again(installation, namespace, one.pod) for one in reported] == [[], []]
    return reported


def essence(pod: Json) -> Json:
    """A pod without what the API server draws for each, and without its LimitRanger's report."""
    spec, annotations = pod["spec"], pod["metadata"]["annotations"]
    return {
        "annotations": {k: v for k, v in annotations.items() if k != "kubernetes.io/limit-ranger"},
        "labels": pod["metadata"].get("labels"),
        **{key: spec.get(key) for key in ("runtimeClassName", "overhead", "nodeSelector", "tolerations")},
        **{
            field: [
                (one["name"], one["resources"], [item["name"] for item in one.get("env", [])])
                for one in spec.get(field, [])
            ]
            for field in ("containers", "initContainers")
        },
    }


def again(installation: WebhookInstallation, namespace: str, pod: Json) -> list[Json]:
    """What our webhook would still change in a pod."""
    port = installation.replicas[0].port
    body = case.review(pod, namespace=namespace)
    with contextlib.closing(http.client.HTTPSConnection("127.0.0.1", port, context=installation.tls())) as to:
        to.request("POST", "/mutate", body, {"Content-Type": "application/json"})
        answer = json.loads(to.getresponse().read())["response"]
    assert answer["allowed"]
    return case.operations_of(answer)


def sizes(pod: Json) -> tuple[str | None, str | None]:
    found = pod["metadata"]["annotations"]
    return found.get(f"{PREFIX}default_vcpus"), found.get(f"{PREFIX}default_memory")


def left(pod: Json) -> dict[str, Json]:
    """What each container still asks the node for."""
    return {one["name"]: one["resources"] for one in pod["spec"]["containers"]}


def zeros(*, slot: bool = False) -> Json:
    part = {**ZERO, **(SLOT if slot else {})}
    return {"requests": part, "limits": part}


def changed(told: AdmittedPod, number: int) -> bool:
    """Whether we changed the pod in that round."""
    return any(change for round_, who, change in told.calls if who != THEIRS and round_ == number)


# ── webhooks ───────────────────────────────────────────────────────────────────────────────────────────────


def test_a_container_counts_whoever_is_called_first(
    installation: WebhookInstallation, namespace: str
) -> None:
    sandboxed(installation, namespace)

    before, after = in_both_orders(installation, namespace, container(SIDECAR))

    # sums before anything is rounded: 1.5 + 1.2 are 3 vCPUs; one size after the other would have been 4
    assert sizes(after.pod) == ("3", "1324")
    assert left(after.pod) == {"app": zeros(slot=True), "later": zeros()}
    assert identity(after.pod, "app") == identity(after.pod, "later") == WHOLE
    assert_once(after.pod)
    assert after.pod["spec"]["overhead"] == {"cpu": "250m", "memory": "350Mi"}
    assert (changed(before, 0), changed(before, 1)) == (True, False)
    assert (changed(after, 0), changed(after, 1)) == (True, True)
    assert json.loads(after.annotations["vestibule.dev/asked"]) == {
        "containers": {
            "app": {"cpu": "1500m", "memory": "1Gi"},
            "later": {"cpu": "1200m", "memory": "300Mi"},
        }
    }


def test_the_slot_of_the_machine_is_asked_for_once_by_the_first_container(
    installation: WebhookInstallation, namespace: str
) -> None:
    sandboxed(installation, namespace)

    _, after = in_both_orders(installation, namespace, container(SIDECAR, "0"))

    assert left(after.pod) == {"later": zeros(slot=True), "app": zeros()}
    assert sizes(after.pod) == ("3", "1324")


def test_a_size_that_a_neighbour_says_counts_as_the_pods_own_word(
    installation: WebhookInstallation, namespace: str
) -> None:
    sandboxed(installation, namespace)
    key = f"{PREFIX}default_vcpus".replace("/", "~1")

    def say(pod: Json) -> list[Json]:
        del pod
        return [
            {"op": "add", "path": f"/metadata/annotations/{key}", "value": "16"},
            {"op": "add", "path": "/metadata/annotations/note", "value": "theirs"},
        ]

    _, after = in_both_orders(installation, namespace, say)

    assert sizes(after.pod) == ("16", "1024")
    assert after.annotations["note"] == "theirs"
    assert after.annotations["example.com/zone"] == "b"
    assert left(after.pod) == {"app": zeros(slot=True)}


def test_what_a_later_webhook_puts_in_again_is_taken_away_again(
    installation: WebhookInstallation, namespace: str
) -> None:
    """It writes containers anew from a template of its own, as some do; the size stays what it was."""
    sandboxed(installation, namespace)

    def restore(pod: Json) -> list[Json]:
        return [{"op": "add", "path": "/spec/containers/0/resources", "value": APP["resources"]}]

    _, after = in_both_orders(installation, namespace, restore)

    assert sizes(after.pod) == ("2", "1024")
    assert left(after.pod) == {"app": zeros(slot=True)}


# ── a LimitRange and a quota ───────────────────────────────────────────────────────────────────────────────


def limited(installation: WebhookInstallation, namespace: str, **more: Any) -> None:
    """Defaults for containers that say nothing."""
    limits = {"type": "Container", "default": {"cpu": "500m", "memory": "256Mi"}, **more}
    ranges = {"metadata": {"name": "l"}, "spec": {"limits": [limits]}}
    installation.plane.admin.create(at("limitranges", namespace), ranges).object  # noqa: B018 - raises
    probe = {"metadata": {"name": "q"}, "spec": {"containers": [BARE]}}

    def known() -> bool:
        """The size of a bare pod is the default."""
        made = installation.plane.admin.create(at("pods", namespace), probe, dryRun="All").object
        return sizes(made) == ("1", "256")

    process.wait("the LimitRange to count", known, 15)


def test_defaults_of_a_limit_range_count_for_the_pods_own_containers_alone(
    installation: WebhookInstallation, namespace: str
) -> None:
    """When a neighbour is called before us its container has no defaults yet, and zeros keep them away; so
    they do not count when it comes after us either."""
    sandboxed(installation, namespace)
    limited(installation, namespace)

    _, after = in_both_orders(installation, namespace, container(BARE), {"name": "app", "image": "a"})

    assert sizes(after.pod) == ("1", "256")
    assert left(after.pod) == {"app": zeros(slot=True), "later": zeros()}


def test_a_neighbours_own_word_counts_beside_a_limit_range_and_a_quota_is_content(
    installation: WebhookInstallation, namespace: str
) -> None:
    sandboxed(installation, namespace)
    limited(installation, namespace, max={"cpu": "4"})
    admin = installation.plane.admin
    quota = {"metadata": {"name": "q"}, "spec": {"hard": {"requests.cpu": "1", "limits.cpu": "1"}}}
    admin.create(at("resourcequotas", namespace), quota).object  # noqa: B018 - raises
    admin.wait(
        at("resourcequotas", namespace, name="q"), lambda found: found.get("status", {}).get("hard"), 20
    )
    partly = {**BARE, "resources": {"requests": {"cpu": "1200m"}}}

    _, after = in_both_orders(installation, namespace, container(partly))

    assert sizes(after.pod) == ("3", "1024")
    assert left(after.pod) == {"app": zeros(slot=True), "later": zeros()}


def test_stripped_resources_stay_away_and_sizes_right_though_defaults_come_back(
    installation: WebhookInstallation, namespace: str
) -> None:
    sandboxed(installation, namespace, resourceMode="Strip")
    limited(installation, namespace)

    _, after = in_both_orders(installation, namespace, container(SIDECAR))

    assert sizes(after.pod) == ("3", "1324")
    assert left(after.pod) == {"app": {"requests": SLOT, "limits": SLOT}, "later": {}}


# ── policies of the API server ─────────────────────────────────────────────────────────────────────────────


@pytest.fixture
def met(
    control_plane: ControlPlane,
    private_control_plane: Planes,
    request: pytest.FixtureRequest,
    tmp_path_factory: pytest.TempPathFactory,
) -> Iterator[tuple[WebhookInstallation, str]]:
    """Our webhook where MutatingAdmissionPolicy is served: the shared control plane, or one of its own."""
    with contextlib.ExitStack() as held:
        if policy_api(control_plane):
            installation: WebhookInstallation = request.getfixturevalue("installation")
        else:
            plane = private_control_plane(controllers=False, flags=ALPHA)
            installation = held.enter_context(
                installation_of(plane, tmp_path_factory.mktemp("installation"), "webhook-beside")
            )
        namespace = installation.plane.namespace("policed")
        sandboxed(installation, namespace)
        yield installation, namespace
        installation.plane.admin.delete(at("namespaces", name=namespace))


def peer(installation: WebhookInstallation, namespace: str) -> AdmittedPod:
    return created(installation, namespace, spec={"containers": [APP]})


def test_a_container_that_a_policy_adds_counts_in_the_first_pass(
    met: tuple[WebhookInstallation, str],
) -> None:
    installation, namespace = met
    add = added("later", SIDECAR["resources"])

    with policy(installation.plane, namespace, f"[{add}]"):
        reported = peer(installation, namespace)

    assert sizes(reported.pod) == ("3", "1324")
    assert left(reported.pod) == {"app": zeros(slot=True), "later": zeros()}
    assert identity(reported.pod, "later") == WHOLE
    assert (changed(reported, 0), changed(reported, 1)) == (True, False)
    assert again(installation, namespace, reported.pod) == []


def test_a_container_that_a_policy_adds_because_of_the_class_counts_in_the_second(
    met: tuple[WebhookInstallation, str],
) -> None:
    installation, namespace = met
    add = added("later", SIDECAR["resources"])
    remote = "object.spec.?runtimeClassName.orValue('') == 'kata-remote'"
    fresh = "!object.spec.containers.exists(c, c.name == 'later')"

    with policy(installation.plane, namespace, f"{remote} && {fresh} ? [{add}] : []", again="IfNeeded"):
        reported = peer(installation, namespace)

    assert sizes(reported.pod) == ("3", "1324")
    assert left(reported.pod) == {"app": zeros(slot=True), "later": zeros()}
    assert (changed(reported, 0), changed(reported, 1)) == (True, True)
    assert again(installation, namespace, reported.pod) == []


def test_a_class_that_a_policy_sets_is_taken_as_it_is(met: tuple[WebhookInstallation, str]) -> None:
    installation, namespace = met
    sets = 'JSONPatch{op: "add", path: "/spec/runtimeClassName", value: "kata"}'

    with policy(installation.plane, namespace, f"[{sets}]"):
        reported = peer(installation, namespace)

    assert reported.pod["spec"]["runtimeClassName"] == "kata"
    assert left(reported.pod) == {"app": APP["resources"]}
    assert sizes(reported.pod) == ("8", None)
    assert reported.annotations["example.com/zone"] == "b"
