"""Beside other webhooks and policies that mutate: what they add is served, and nothing is there twice."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.apiserver.admitted_pod import AWS, WHOLE, assert_once, created, identity
from tests.apiserver.mutating_policies import ALPHA, GROUP, added, policy, policy_api
from tests.apiserver.neighbour import Neighbour
from tests.apiserver.webhook_installation import WebhookInstallation, installed
from tests.rig.client import at
from tests.rig.controlplane import ControlPlane
from tests.rig.fixtures import Planes

Json = dict[str, Any]
OURS, THEIRS = "pods.vestibule.dev", "neighbour.rig.test"


@pytest.fixture(scope="module")
def installation(
    control_plane: ControlPlane, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[WebhookInstallation]:
    with installed(control_plane, tmp_path_factory.mktemp("installation"), "webhook-neighbours") as made:
        yield made


def sidecar(name: str) -> Json:
    return {"op": "add", "path": "/spec/containers/-", "value": {"name": name, "image": "s"}}


def has(pod: Json, name: str) -> bool:
    return any(container["name"] == name for container in pod["spec"]["containers"])


# ── webhooks ───────────────────────────────────────────────────────────────────────────────────────────────


def test_a_container_that_a_later_webhook_adds_gets_its_identity_in_a_second_pass(
    installation: WebhookInstallation, namespace: str
) -> None:
    with Neighbour(installation.plane, namespace, "zz-after", lambda _: [sidecar("later")]) as neighbour:
        reported = created(installation, namespace)

    assert identity(reported.pod, "app") == identity(reported.pod, "later") == WHOLE
    assert_once(reported.pod)
    assert reported.calls == [(0, OURS, True), (0, THEIRS, True), (1, OURS, True)]
    assert reported.counted == {"inject": 2}
    assert identity(neighbour.asked[0], "app") == WHOLE  # it saw what we had done before
    assert reported.warnings == []


def test_a_later_init_container_and_a_native_sidecar_are_served_too(
    installation: WebhookInstallation, namespace: str
) -> None:
    inits = [{"name": "proxy", "image": "s", "restartPolicy": "Always"}, {"name": "setup", "image": "s"}]
    patch = [{"op": "add", "path": "/spec/initContainers", "value": inits}]

    with Neighbour(installation.plane, namespace, "zz-after", lambda _: patch):
        reported = created(installation, namespace)

    assert [identity(reported.pod, name, "initContainers") for name in ("proxy", "setup")] == [WHOLE, WHOLE]
    assert_once(reported.pod)


def test_every_cloud_and_every_helper_is_there_once_after_a_second_pass(
    installation: WebhookInstallation, namespace: str
) -> None:
    pool = "//iam.googleapis.com/projects/1/locations/global/workloadIdentityPools/p/providers/c"
    guid = "01234567-89ab-4cde-8f01-23456789abcd"
    annotations = {
        **AWS,
        "cwii.dev/aws-verify": "true",
        "cwii.dev/gcp-inject": "true",
        "cwii.dev/gcp-audience": pool,
        "cwii.dev/gcp-delivery": "init-container",
        "cwii.dev/az-inject": "true",
        "cwii.dev/az-client-id": guid,
        "cwii.dev/az-tenant-id": guid,
    }
    with Neighbour(installation.plane, namespace, "zz-after", lambda _: [sidecar("later")]):
        reported = created(installation, namespace, annotations=annotations)

    assert reported.calls == [(0, OURS, True), (0, THEIRS, True), (1, OURS, True)]
    assert reported.annotations["cwii.dev/injected"] == "aws,az,gcp"
    spec = reported.pod["spec"]
    app, later = spec["containers"]
    ours = [[item["name"] for item in one["env"]] for one in (app, later)]
    assert ours[0] == ours[1]
    assert len(ours[0]) == len(set(ours[0])) > 5
    volumes = [volume["name"] for volume in spec["volumes"]]
    assert len(volumes) == len(set(volumes))
    assert sorted(one["name"] for one in spec["initContainers"]) == [
        "cwii-aws-verify",
        "cwii-gcp-creds-writer",
    ]


def test_a_second_pass_over_a_pod_that_needs_nothing_more_changes_nothing(
    installation: WebhookInstallation, namespace: str
) -> None:
    patch = [{"op": "add", "path": "/metadata/annotations/note", "value": "later"}]

    with Neighbour(installation.plane, namespace, "zz-after", lambda _: patch):
        reported = created(installation, namespace)

    assert reported.annotations["note"] == "later"
    assert identity(reported.pod, "app") == WHOLE
    assert_once(reported.pod)
    assert reported.calls == [(0, OURS, True), (0, THEIRS, True), (1, OURS, False)]
    assert reported.counted == {"inject": 1, "skip": 1}


def test_an_earlier_webhook_costs_no_second_pass(installation: WebhookInstallation, namespace: str) -> None:
    patch = [{"op": "add", "path": "/metadata/annotations/note", "value": "earlier"}]

    with Neighbour(installation.plane, namespace, "aa-before", lambda _: patch):
        reported = created(installation, namespace)

    assert reported.annotations["note"] == "earlier"
    assert identity(reported.pod, "app") == WHOLE
    assert_once(reported.pod)
    assert reported.calls == [(0, THEIRS, True), (0, OURS, True)]
    assert reported.counted == {"inject": 1}


def test_a_container_that_an_earlier_webhook_adds_is_served_at_once(
    installation: WebhookInstallation, namespace: str
) -> None:
    with Neighbour(installation.plane, namespace, "aa-before", lambda _: [sidecar("early")]):
        reported = created(installation, namespace)

    assert identity(reported.pod, "app") == identity(reported.pod, "early") == WHOLE
    assert_once(reported.pod)
    # the API server then mounts its own token into the new container, and asks us about that
    assert reported.calls == [(0, THEIRS, True), (0, OURS, True), (1, OURS, False)]
    assert reported.counted == {"inject": 1, "skip": 1}


def test_an_earlier_webhook_that_comes_back_after_us_is_followed(
    installation: WebhookInstallation, namespace: str
) -> None:
    """It waits for our marker, as an injector of proxies for cloud identities does."""

    def react(pod: Json) -> list[Json]:
        marked = "cwii.dev/injected" in pod["metadata"].get("annotations", {})
        return [sidecar("reaction")] if marked and not has(pod, "reaction") else []

    with Neighbour(installation.plane, namespace, "aa-before", react, reinvocationPolicy="IfNeeded"):
        reported = created(installation, namespace)

    assert identity(reported.pod, "app") == identity(reported.pod, "reaction") == WHOLE
    assert_once(reported.pod)
    assert reported.calls == [(0, THEIRS, False), (0, OURS, True), (1, THEIRS, True), (1, OURS, True)]


def test_what_a_later_webhook_takes_away_is_put_back(
    installation: WebhookInstallation, namespace: str
) -> None:
    """It writes containers anew from a template of its own, as some do, and our variables are gone."""

    def forget(pod: Json) -> list[Json]:
        path = "/spec/containers/0/env"
        return [{"op": "remove", "path": path}] if pod["spec"]["containers"][0].get("env") else []

    with Neighbour(installation.plane, namespace, "zz-after", forget):
        reported = created(installation, namespace)

    assert identity(reported.pod, "app") == WHOLE
    assert_once(reported.pod)
    assert reported.calls == [(0, OURS, True), (0, THEIRS, True), (1, OURS, True)]


def test_there_is_no_third_pass(installation: WebhookInstallation, namespace: str) -> None:
    """Who adds a container in the second round, after us, comes too late; the documentation says so."""

    def grow(pod: Json) -> list[Json]:
        return [sidecar("second" if has(pod, "first") else "first")]

    with Neighbour(installation.plane, namespace, "zz-after", grow, reinvocationPolicy="IfNeeded"):
        reported = created(installation, namespace)

    assert identity(reported.pod, "app") == identity(reported.pod, "first") == WHOLE
    assert identity(reported.pod, "second") == []
    assert reported.calls == [(0, OURS, True), (0, THEIRS, True), (1, OURS, True), (1, THEIRS, True)]


# ── policies of the API server ─────────────────────────────────────────────────────────────────────────────


@pytest.fixture
def policed(control_plane: ControlPlane, private_control_plane: Planes) -> ControlPlane:
    """A control plane that serves MutatingAdmissionPolicy: the shared one, or one where it is switched on."""
    if policy_api(control_plane):
        return control_plane
    plane = private_control_plane(controllers=False, flags=ALPHA)
    assert policy_api(plane) == f"{GROUP}/v1alpha1"
    return plane


@pytest.fixture
def met(
    policed: ControlPlane, request: pytest.FixtureRequest, tmp_path: Path
) -> Iterator[tuple[WebhookInstallation, str]]:
    """Our webhook on that control plane, and a namespace there."""
    shared = request.getfixturevalue("control_plane") is policed
    namespace = policed.namespace("policed")
    with contextlib.ExitStack() as held:
        installation = (
            request.getfixturevalue("installation")
            if shared
            else held.enter_context(installed(policed, tmp_path, "webhook-policed"))
        )
        yield installation, namespace
        policed.admin.delete(at("namespaces", name=namespace))


def test_a_container_that_a_policy_adds_gets_its_identity_in_the_first_pass(
    met: tuple[WebhookInstallation, str],
) -> None:
    installation, namespace = met
    add = added("policy")

    with policy(installation.plane, namespace, f"[{add}]"):
        reported = created(installation, namespace)

    assert identity(reported.pod, "app") == identity(reported.pod, "policy") == WHOLE
    assert_once(reported.pod)
    # policies come before webhooks; the second call is about the API server's own token, as above
    assert reported.calls == [(0, OURS, True), (1, OURS, False)]
    assert reported.counted == {"inject": 1, "skip": 1}


def test_a_policy_that_answers_to_our_marker_is_followed(met: tuple[WebhookInstallation, str]) -> None:
    installation, namespace = met
    add = added("reaction")
    marked = "'cwii.dev/injected' in object.metadata.?annotations.orValue({})"
    fresh = "!object.spec.containers.exists(c, c.name == 'reaction')"

    with policy(installation.plane, namespace, f"{marked} && {fresh} ? [{add}] : []", again="IfNeeded"):
        reported = created(installation, namespace)

    assert identity(reported.pod, "app") == identity(reported.pod, "reaction") == WHOLE
    assert_once(reported.pod)
    assert reported.calls == [(0, OURS, True), (1, OURS, True)]
    assert reported.counted == {"inject": 2}


VARIABLES = {
    "a role of its own is kept": ("AWS_ROLE_ARN", WHOLE, "kept, and used with the injected token"),
    "a token of its own is left alone": (
        "AWS_WEB_IDENTITY_TOKEN_FILE",
        ["AWS_WEB_IDENTITY_TOKEN_FILE"],
        "aws identity left to it",
    ),
}


@pytest.mark.parametrize("sentence", VARIABLES)
def test_variables_that_a_policy_sets_count_like_the_users_own(
    met: tuple[WebhookInstallation, str], sentence: str
) -> None:
    installation, namespace = met
    variable, expected, words = VARIABLES[sentence]
    value = f'{{"name": "{variable}", "value": "theirs"}}'  # a list of typed objects makes v1.36.3 panic
    env = f'[JSONPatch{{op: "add", path: "/spec/containers/0/env", value: [{value}]}}]'

    with policy(installation.plane, namespace, env):
        reported = created(installation, namespace)

    (app,) = reported.pod["spec"]["containers"]
    assert {"name": variable, "value": "theirs"} in app["env"]
    assert sorted(identity(reported.pod, "app")) == sorted(expected)
    assert any(f"container app sets {variable} itself: {words}" in warning for warning in reported.warnings)
