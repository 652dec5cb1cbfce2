"""The webhook beside hosted control planes: choices, entries in other people's objects, certificates, the way
up and down. The cases of the hypershift vectors are not repeated here."""

from __future__ import annotations

import copy
import datetime
import json
from typing import Any

import pytest

from tests.vectors.hypershift_given import HOSTED, NOW, given, secrets
from tests.vectors.hypershift_pki import text
from vestibule import errors
from vestibule.compat import azwi_flags, eks_flags, goflags
from vestibule.operator.controllers.hosted import (
    attach_modes,
    ca_rollover,
    certificates,
    desired,
    hosted_objects,
    hypershift_objects,
    hypershift_webhooks,
    paused,
    platform_table,
    release_image,
    sidecar,
    teardown,
    tlsprofile,
)
from vestibule.operator.controllers.hosted.attach_modes import AttachObservation
from vestibule.operator.controllers.hosted.control_plane import ControlPlane, ForeignEdit
from vestibule.pki import certificate_authority

Json = dict[str, Any]
CONTAINER, VOLUMES = sidecar.ours(sidecar.SidecarSpec(image="i:1")), sidecar.our_volumes()
DAY = datetime.timedelta(days=1)


def thing(platform: str, kind: int = 0, version: str = "v1beta2", **more: Any) -> Json:
    group, name = platform_table.ALL[platform].KINDS[kind]
    meta = {"name": "c1", "namespace": "ns1"}
    return {"apiVersion": f"{group}/{version}", "kind": name, "metadata": meta, "spec": {}, **more}


def target(platform: str, **more: Any) -> ControlPlane:
    return platform_table.ALL[platform].target(thing(platform, **more), [], NOW)


# ── choices ─────────────────────────────────────────────────────────────────────────────────────────────────

CHOICES: dict[str, tuple[str, attach_modes.Asked, AttachObservation, str]] = {
    "HyperShift without a webhook of its own": (
        "hypershift",
        "auto",
        AttachObservation(["kube-apiserver"]),
        "Deployment",
    ),
    "a Deployment of HyperShift is not patched": ("hypershift", "sidecar", AttachObservation(), "Refused"),
    "kamaji by default beside the pod": ("kamaji", "auto", AttachObservation(), "Deployment"),
    "kamaji in the pod, when asked": ("kamaji", "sidecar", AttachObservation(), "Sidecar"),
    "machines of Cluster API reach no Service of ours": (
        "clusterapi",
        "auto",
        AttachObservation(),
        "InGuest",
    ),
    "a static pod only when asked": ("clusterapi", "static-pod", AttachObservation(), "StaticPod"),
    "nothing built in": ("kamaji", "builtin", AttachObservation(), "Refused"),
    "any kubeconfig": ("kubeconfig", "auto", AttachObservation(), "InGuest"),
    "any kubeconfig, nothing beside it": ("kubeconfig", "deployment", AttachObservation(), "Refused"),
    "built in, as far as the guest tells": (
        "hypershift",
        "auto",
        AttachObservation(None, ["aws-pod-identity"]),
        "BuiltIn",
    ),
}


@pytest.mark.parametrize("sentence", CHOICES)
def test_choice(sentence: str) -> None:
    platform, requested, seen, mode = CHOICES[sentence]

    assert attach_modes.choose(requested, target(platform), seen).mode == mode


def test_a_built_in_webhook_without_its_webhook_configuration_is_not_available() -> None:
    choice = attach_modes.choose(
        "auto", target("hypershift"), AttachObservation([hypershift_webhooks.AZURE.name])
    )

    assert (choice.mode, choice.conditions[0]["status"]) == ("BuiltIn", "False")
    assert choice.conditions[0]["reason"] == "RegistrationMissing"


def test_what_a_downgrade_left_behind_is_reported_and_does_not_count_as_built_in() -> None:
    seen = AttachObservation(["kube-apiserver"], [hypershift_webhooks.AZURE.configuration])
    choice = attach_modes.choose("auto", target("hypershift"), seen)

    assert choice.mode == "Deployment"
    assert "a downgrade left it behind" in choice.notes[0]


# ── entries in other people's objects ───────────────────────────────────────────────────────────────────────


def attached(owner: Json, platform: str) -> ForeignEdit:
    edit = platform_table.ALL[platform].attached(owner, CONTAINER, VOLUMES)
    assert edit is not None
    return edit


OWNERS = {
    "kamaji": thing("kamaji"),
    "k0smotron": thing("k0smotron", spec={"patches": [{"target": {"kind": "Service", "component": "x"}}]}),
    "clusterapi": thing(
        "clusterapi", 1, spec={"kubeadmConfigSpec": {"files": [{"path": "/theirs", "content": "x"}]}}
    ),
}


@pytest.mark.parametrize("platform", OWNERS)
def test_entries_are_made_once_and_others_stay(platform: str) -> None:
    owner = OWNERS[platform]
    before = copy.deepcopy(owner)
    first = attached(owner, platform)
    second = attached(first.thing, platform)

    assert owner == before
    assert (first.changed, second.changed) == (True, False)
    assert second.thing == first.thing
    if platform == "k0smotron":
        assert first.thing["spec"]["patches"][0] == owner["spec"]["patches"][0]
    if platform == "clusterapi":
        assert first.thing["spec"]["kubeadmConfigSpec"]["files"][0] == {"path": "/theirs", "content": "x"}


@pytest.mark.parametrize("platform", OWNERS)
def test_what_is_attached_can_be_taken_away_without_a_trace(platform: str) -> None:
    existing = attached(OWNERS[platform], platform).thing
    gone = platform_table.ALL[platform].detached(existing, hypershift_webhooks.OURS)

    assert gone is not None
    assert gone.changed
    assert hypershift_webhooks.OURS not in json.dumps(gone.thing)
    again = platform_table.ALL[platform].detached(gone.thing, hypershift_webhooks.OURS)
    assert again is not None
    assert not again.changed
    if platform != "kamaji":  # an empty section of theirs may stay
        assert gone.thing == OWNERS[platform]


@pytest.mark.parametrize("platform", OWNERS)
def test_a_new_image_changes_our_entry_in_its_place(platform: str) -> None:
    first = attached(OWNERS[platform], platform)
    newer = platform_table.ALL[platform].attached(first.thing, {**CONTAINER, "image": "i:2"}, VOLUMES)

    assert newer is not None
    assert newer.changed
    assert "i:1" not in json.dumps(newer.thing)
    assert json.dumps(newer.thing).count("i:2") == 1


def test_k0smotron_before_v1beta2_has_no_place_for_it() -> None:
    assert (
        platform_table.ALL["k0smotron"].attached(thing("k0smotron", version="v1beta1"), CONTAINER, VOLUMES)
        is None
    )


def test_flags_of_our_container_are_flags_of_the_program() -> None:
    for webhook, flags in (
        (hypershift_webhooks.AZURE, azwi_flags.FLAGS),
        (hypershift_webhooks.AWS, eks_flags.FLAGS),
    ):
        created = sidecar.ours(sidecar.SidecarSpec(webhook=webhook, region="eu-central-1"))
        args = [one for one in created["args"][3:] if not one.startswith("--addr=")]

        assert goflags.parse(flags, args)
        assert created["args"][:3] == ["webhook", "--as", webhook.program]


def test_a_sidecar_never_takes_its_api_server_out_of_service() -> None:
    adjacent, own = (sidecar.ours(sidecar.SidecarSpec(local=local)) for local in (True, False))

    assert ("readinessProbe" in adjacent, "readinessProbe" in own) == (False, True)
    assert "--addr=127.0.0.1:9443" in adjacent["args"]


# ── plans ───────────────────────────────────────────────────────────────────────────────────────────────────


def test_a_plan_for_the_hosted_cluster_itself_is_the_ordinary_installation() -> None:
    created = desired.plan(
        desired.HostedRequest(tenant_id="t"), target("clusterapi"), AttachObservation(), [], NOW
    )
    maps = {one["metadata"]["name"]: one["data"] for one in created.guest if one["kind"] == "ConfigMap"}
    settings = maps["vestibule-settings"]["settings.json"]
    # what is missing is restored by the operator, which made it
    assert maps["vestibule-certificates"] == {"registrations.json": "[]\n"}

    assert created.management == []
    assert json.loads(settings)["vocabularies"] == ["azwi"]
    assert json.loads(settings)["azwi"]["tenantId"] == "t"


def test_the_webhook_configuration_is_the_last_object_and_leaves_our_own_namespace_out() -> None:
    created = desired.plan(
        desired.HostedRequest(attach="deployment"), target("kamaji"), AttachObservation(), [], NOW
    )
    configuration = created.guest[-1]

    assert configuration["kind"] == "MutatingWebhookConfiguration"
    (rule,) = configuration["webhooks"][0]["namespaceSelector"]["matchExpressions"]
    assert "vestibule-system" in rule["values"]
    assert configuration["webhooks"][0]["failurePolicy"] == "Ignore"


def test_secrets_of_another_namespace_are_not_taken_for_the_control_planes() -> None:
    far = [{**one, "metadata": {**one["metadata"], "namespace": "far"}} for one in secrets().values()]
    near = platform_table.ALL["hypershift"].target(
        {**HOSTED, "spec": {"platform": {"type": "None"}}}, [], NOW
    )
    created = desired.plan(desired.HostedRequest(), near, AttachObservation(["kube-apiserver"]), far, NOW)

    assert "was not given" in " ".join(created.notes)


# ── certificates ────────────────────────────────────────────────────────────────────────────────────────────


def test_what_others_wrote_on_a_kept_secret_stays() -> None:
    first = hypershift_objects.all_objects(given(HOSTED), NOW).secrets[0]
    touched = copy.deepcopy(first)
    touched["metadata"] |= {"resourceVersion": "7", "labels": {"theirs": "x"}}
    created = certificates.serving(
        hypershift_webhooks.AZURE, HOSTED, secrets()["root-ca"], touched, NOW + DAY
    )

    assert created.reasons == ()
    assert created.secret == touched


def test_an_authority_that_is_none_is_one_clear_error() -> None:
    with pytest.raises(errors.InvalidInput, match=r"Secret .*data\[ca.crt\]"):
        certificates.serving(
            hypershift_webhooks.AZURE, HOSTED, {"metadata": {"name": "root-ca"}, "data": {}}, None, NOW
        )


def test_a_leaf_is_signed_by_the_authority_that_is_there_now() -> None:
    ca = secrets()["root-ca"]
    created = certificates.serving(hypershift_webhooks.AZURE, HOSTED, ca, None, NOW)

    assert certificate_authority.signed_by(text(created.secret, "tls.crt"), text(ca, "ca.crt"))


def test_annotations_say_how_long_leaves_live() -> None:
    message = {
        "hypershift.openshift.io/certificate-validity": "2400h",
        "hypershift.openshift.io/certificate-renewal": "0.30",
    }

    assert certificates.lives(message) == certificates.HypershiftLifetimes(100 * DAY, 30 * DAY)
    assert (
        certificates.lives({"hypershift.openshift.io/certificate-validity": "x"})
        == certificates.HypershiftLifetimes()
    )


# ── rules ───────────────────────────────────────────────────────────────────────────────────────────────────


def test_a_binding_to_another_role_is_recreated() -> None:
    expected = hosted_objects.binding(hosted_objects.hypershift(hypershift_webhooks.AZURE, "CA"))
    live = {**expected, "roleRef": {**expected["roleRef"], "name": "cluster-admin"}}

    assert hosted_objects.change(live, expected).action == "recreate"
    assert hosted_objects.change(expected, expected).action == "none"


def test_conditions_that_the_hosted_cluster_added_stay() -> None:
    expected = hosted_objects.configuration(hosted_objects.hypershift(hypershift_webhooks.AZURE, "CA"))
    live = copy.deepcopy(expected)
    live["webhooks"][0]["matchConditions"] = [{"name": "theirs", "expression": "true"}]
    live["webhooks"][0]["failurePolicy"] = "Fail"
    created = hosted_objects.change(live, expected)

    assert created.action == "update"
    assert created.thing["webhooks"][0]["matchConditions"] == live["webhooks"][0]["matchConditions"]


def test_the_first_bundle_needs_no_overlap_and_nothing_is_dropped_unseen() -> None:
    fresh = ca_rollover.ObservedTrust([], "new", leaf_is_current=True, endpoints={})
    waiting = ca_rollover.ObservedTrust(
        ["old", "new"], "new", leaf_is_current=True, endpoints={"a": True, "b": False}
    )
    nobody = waiting._replace(endpoints={})

    assert ca_rollover.following(fresh) == ca_rollover.RolloverStep("publish", ("new",))
    assert ca_rollover.following(waiting) == ca_rollover.RolloverStep("confirm", ("old", "new"))
    assert ca_rollover.following(nobody).step == "confirm"


def test_a_hosted_cluster_that_is_silent_for_a_while_is_waited_for() -> None:
    silent = teardown.TeardownObservation(reachable=False, silent_since=NOW - teardown.LIMIT / 2)
    plan_now = teardown.plan(silent, NOW)

    assert plan_now.order == ()
    assert plan_now.retry == teardown.LIMIT / 2


def test_overrides_of_registries_end_where_names_do() -> None:
    overrides = {"quay.io/ocp": "mirror/ocp", "quay.io/ocp/deep": "other"}

    assert release_image.overridden("quay.io/ocp-v4/x@sha256:1", overrides) == "quay.io/ocp-v4/x@sha256:1"
    assert release_image.overridden("quay.io/ocp/deep/x:1", overrides) == "other/x:1"


def test_suites_that_are_dropped_are_named() -> None:
    found = tlsprofile.flags({"type": "Custom", "custom": {"ciphers": ["NONE", "ECDHE-RSA-AES128-SHA"]}})

    assert (found.minimum, found.dropped) == ("", ("NONE",))


def test_a_pause_can_be_on_what_owns_the_control_plane() -> None:
    owner = {"metadata": {"annotations": {"cluster.x-k8s.io/paused": "true"}}}

    assert platform_table.ALL["kamaji"].target(thing("kamaji"), [owner], NOW).pause.paused
    assert paused.until("2026-08-22T12:00:01.123456789+00:00", NOW).seconds == pytest.approx(1.123456)
