"""Explanations: every value with its origin, everything added, everything missing."""

from __future__ import annotations

import json
from typing import Any

from tests.offline.scene import AWS, injected, piped

from vestibule.api.settings import schema
from vestibule.diagnose.offline import explain, inject, policy_loader
from vestibule.diagnose.offline.explain import AddedPart, Explanation
from vestibule.kube.memory_cluster import MemoryCluster

Json = dict[str, Any]


def pod(annotations: dict[str, str], **spec: Any) -> str:
    meta = {"name": "p", "namespace": "team-a", "annotations": annotations}
    spec = {"containers": [{"name": "main", "image": "i"}], **spec}
    return json.dumps({"apiVersion": "v1", "kind": "Pod", "metadata": meta, "spec": spec})


def explained(text: str, *objects: dict[str, Any], settings: schema.Settings | None = None) -> Explanation:
    (one,) = explain.explain(injected(text, MemoryCluster(objects), settings))
    return one


def test_a_value_says_where_it_comes_from_and_what_it_shadows() -> None:
    namespace = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "team-a", "annotations": AWS}}
    role = "arn:aws:iam::123456789012:role/mine"

    one = explained(pod({"cwii.dev/aws-role-arn": role}), namespace)
    values = {found.key: found for found in one.values}

    mine = values["cwii.dev/aws-role-arn"]
    assert (role, "pod", "Pod team-a/p") == (mine.value, mine.level, mine.object)
    assert (("Namespace team-a", AWS["cwii.dev/aws-role-arn"]),) == mine.shadowed
    assert values["cwii.dev/aws-inject"].level == "namespace"


def test_everything_in_the_patch_is_listed() -> None:
    inits = [{"name": "setup", "image": "i", "env": [{"name": "X", "value": "1"}]}]

    one = explained(pod(AWS, initContainers=inits))

    path = "/var/run/secrets/cwii.dev/aws"
    assert [
        AddedPart("annotation", "cwii.dev/injected", ""),
        AddedPart("container main env", "AWS_ROLE_ARN", "aws"),
        AddedPart("container main env", "AWS_WEB_IDENTITY_TOKEN_FILE", "aws"),
        AddedPart("container main mount", path, "aws"),
        AddedPart("init container setup env", "AWS_ROLE_ARN", "aws"),
        AddedPart("init container setup env", "AWS_WEB_IDENTITY_TOKEN_FILE", "aws"),
        AddedPart("init container setup mount", path, "aws"),
        AddedPart("volume", "cwii-aws-token", "aws"),
    ] == sorted(one.added)


def test_containers_are_named_right_although_others_were_put_in_front() -> None:
    inits = [{"name": "setup", "image": "i"}]
    requested = {**AWS, "cwii.dev/aws-verify": "true"}

    modes: tuple[schema.Mode, ...] = ("better", "strict")
    for mode in modes:
        one = explained(pod(requested, initContainers=inits), settings=schema.Settings(mode=mode))
        homes = {obj.where.removesuffix(" env") for obj in one.added if obj.where.endswith(" env")}

        assert AddedPart("init container", "cwii-aws-verify", "aws") in one.added
        assert homes <= {"container main", "init container setup"}


def test_what_is_missing_comes_with_advice() -> None:
    one = explained(pod({"cwii.dev/aws-inject": "true"}))

    assert (one.outcome, one.reason) == ("skip", explain.REASONS["unconfigured"])
    assert [(gap.provider, gap.keys) for gap in one.missing] == [("aws", ("cwii.dev/aws-role-arn",))]
    assert "set cwii.dev/aws-role-arn on" in one.missing[0].advice
    assert one.findings != ()


def test_a_refusal_carries_what_the_author_reads() -> None:
    one = explained(pod({"cwii.dev/aws-inject": "true"}), settings=schema.Settings(required=True))

    assert one.outcome == "deny"
    assert "cwii.dev/aws-role-arn is set nowhere" in one.message


def test_a_pod_that_asks_for_nothing_is_reported_why_nothing_happens() -> None:
    one = explained(pod({}))

    assert (one.outcome, one.reason, one.added) == ("skip", explain.REASONS["nothing-asked"], ())


# ── sandboxes ──────────────────────────────────────────────────────────────────────────────────────────────

KATA = "io.katacontainers.config.hypervisor."
CONFIG = "KataConfig example"
RULE = "OSCWebhookConfig tenants, rule untrusted"


def kata_config(annotations: Json, **spec: Any) -> Json:
    injection = {"enabled": True, "namespaceSelector": {"matchLabels": {"sandboxed": "true"}}}
    webhook = {"runtimeClassInjection": injection, "annotations": annotations}
    return {
        "apiVersion": "kataconfiguration.openshift.io/v1",
        "kind": "KataConfig",
        "metadata": {"name": "example"},
        "spec": {"webhook": webhook, **spec},
        "status": {"runtimeClasses": ["kata", "kata-remote"]},
    }


def rules(**mutate: Any) -> Json:
    return {
        "apiVersion": "kataconfiguration.openshift.io/v1alpha1",
        "kind": "OSCWebhookConfig",
        "metadata": {"name": "tenants"},
        "spec": {"rules": [{"name": "untrusted", "mutate": mutate}]},
    }


def sandboxed(text: str, *objects: Json, mode: schema.Mode = "better") -> Explanation:
    """A pod of a chosen namespace, with what these objects say about its sandbox."""
    labels = {"sandboxed": "true"}
    namespace = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "team-a", "labels": labels}}
    cluster, files = MemoryCluster([namespace, *objects]), piped(text)
    policy = policy_loader.policy(
        schema.parse({"sandbox": {"enabled": True}, "mode": mode}, "test"), cluster, files
    )
    (one,) = explain.explain(inject.run(files, cluster, policy))
    return one


def origins(one: Explanation) -> dict[str, tuple[str, str, str]]:
    """Key to value, level and object, without our own marks."""
    return {
        found.key: (found.value, found.level, found.object)
        for found in one.values
        if not found.key.startswith("vestibule.dev/")
    }


def test_each_value_of_a_sandbox_names_its_kataconfig_or_rule() -> None:
    one = sandboxed(
        pod({}),
        kata_config({"defaultVCPUs": 2, "custom": {"a.example/x": "1"}}),
        rules(annotations={"a.example/y": "2"}, labels={"trust": "none"}),
    )

    assert origins(one) == {
        "runtimeClassName": ("kata", "kataconfig", CONFIG),
        "a.example/y": ("2", "rule", RULE),
        f"{KATA}default_vcpus": ("2", "kataconfig", CONFIG),
        "a.example/x": ("1", "kataconfig", CONFIG),
        "label trust": ("none", "rule", RULE),
    }
    assert {
        AddedPart("field", "spec.runtimeClassName", "", CONFIG),
        AddedPart("annotation", "a.example/y", "", RULE),
        AddedPart("annotation", f"{KATA}default_vcpus", "", CONFIG),
        AddedPart("label", "trust", "", RULE),
    } <= set(one.added)


def test_a_class_of_a_rule_shadows_the_kataconfigs() -> None:
    one = sandboxed(pod({}), kata_config({}), rules(runtimeClassName="kata-remote"))

    (found,) = [value for value in one.values if value.key == "runtimeClassName"]
    assert (found.value, found.object) == ("kata-remote", RULE)
    assert found.shadowed == ((CONFIG, "kata"),)


def test_what_the_pod_says_itself_shadows_and_is_shadowed() -> None:
    own = pod({f"{KATA}default_vcpus": "8"}, runtimeClassName="kata")
    replacing = {"defaultVCPUs": 2, "overwritePolicy": "Always"}

    stored, replaced = (
        {found.key: found for found in sandboxed(own, kata_config(annotations)).values}
        for annotations in ({"defaultVCPUs": 2}, replacing)
    )

    assert stored["runtimeClassName"].object == "Pod team-a/p"
    vcpus = stored[f"{KATA}default_vcpus"]
    assert (vcpus.value, vcpus.level, vcpus.object) == ("8", "pod", "Pod team-a/p")
    assert vcpus.shadowed == ((CONFIG, "2"),)
    vcpus = replaced[f"{KATA}default_vcpus"]
    assert (vcpus.value, vcpus.object, vcpus.shadowed) == ("2", CONFIG, (("Pod team-a/p", "8"),))


def test_sizes_come_from_the_pod_and_what_its_containers_lose_from_the_kataconfig() -> None:
    resources = {"requests": {"cpu": "3"}, "limits": {"cpu": "3"}}
    text = pod(
        {},
        runtimeClassName="kata-remote",
        containers=[{"name": "main", "image": "i", "resources": resources}, {"name": "b", "image": "i"}],
        resources={"limits": {"cpu": "4"}},
    )

    modes: tuple[schema.Mode, ...] = ("better", "strict")
    for mode, way in zip(modes, ("Zero", "Strip"), strict=True):
        one = sandboxed(text, kata_config({}, enablePeerPods=True), mode=mode)
        found = origins(one)

        size = ("4", "pod", "Pod team-a/p, resources of its containers")
        assert found[f"{KATA}default_vcpus"] == size
        assert found["resources"] == (way, "kataconfig", CONFIG)
        assert AddedPart("field", "container main.resources", "", CONFIG) in one.added
        assert AddedPart("field", "spec.resources", "", CONFIG) in one.added


def test_identity_and_sandbox_stand_beside_each_other() -> None:
    one = sandboxed(pod(AWS), kata_config({"defaultVCPUs": 2}))
    found = origins(one)

    assert found["cwii.dev/aws-role-arn"] == (AWS["cwii.dev/aws-role-arn"], "pod", "Pod team-a/p")
    assert found[f"{KATA}default_vcpus"][2] == CONFIG
    assert AddedPart("container main env", "AWS_ROLE_ARN", "aws") in one.added


def test_the_json_form_of_a_sandbox_names_its_objects() -> None:
    data = json.loads(json.dumps(explain.as_json([sandboxed(pod({}), kata_config({"defaultVCPUs": 2}))])))[0]

    assert {key: value for key, value in data["values"][0].items() if key != "shadowed"} == {
        "key": "runtimeClassName",
        "value": "kata",
        "level": "kataconfig",
        "from": CONFIG,
    }
    assert {
        "where": "field", "name": "spec.runtimeClassName", "provider": "", "from": CONFIG,
    } in data["added"]  # fmt: skip


def test_the_json_form_is_plain_data() -> None:
    data = explain.as_json([explained(pod(AWS))])

    assert json.loads(json.dumps(data))[0]["values"][0]["from"] == "Pod team-a/p"
