"""Sandbox and identity in one verdict, through the handler; and what only ``better`` does."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.vectors import case
from vestibule.api.settings import schema
from vestibule.initdata import document
from vestibule.injection.policy import compile_policy
from vestibule.injection.sandbox import quantities, sandbox_policy
from vestibule.kube.memory_cluster import MemoryCluster
from vestibule.kube.policy_sources import PolicySources
from vestibule.webhook.handler import Handler

Json = dict[str, Any]
PREFIX = "io.katacontainers.config.hypervisor."
INITDATA = document.encode(document.build({"policy.rego": "package agent_policy\n"}).text)
ACCOUNT: Json = {
    "apiVersion": "v1",
    "kind": "ServiceAccount",
    "metadata": {
        "name": "app",
        "namespace": "team-a",
        "annotations": {
            "cwii.dev/aws-inject": "true",
            "cwii.dev/aws-role-arn": "arn:aws:iam::123456789012:role/app",
        },
    },
}


def kata(
    webhook: Json, *, peer_pods: bool = False, classes: tuple[str, ...] = ("kata", "kata-remote", "kata-cc")
) -> Json:
    return {
        "apiVersion": "kataconfiguration.openshift.io/v1",
        "kind": "KataConfig",
        "metadata": {"name": "k"},
        "spec": {"checkNodeEligibility": False, "enablePeerPods": peer_pods, "webhook": webhook},
        "status": {"runtimeClasses": list(classes)},
    }


def namespace(**labels: str) -> Json:
    return {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "team-a", "labels": labels}}


def pod(runtime_class: str = "", annotations: dict[str, str] | None = None, **spec: Any) -> Json:
    created: Json = {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": "web", "namespace": "team-a"},
        "spec": {"serviceAccountName": "app", "containers": [{"name": "c"}], **spec},
    }
    if annotations:
        created["metadata"]["annotations"] = annotations
    if runtime_class:
        created["spec"]["runtimeClassName"] = runtime_class
    return created


def ask(one: Json, *objects: Json, **settings: Any) -> case.Answer:
    """Through the handler, twice; the second pass must be empty."""
    cluster = MemoryCluster(objects)
    expected = schema.parse({"sandbox": {"enabled": True}, **settings}, "test")
    supplements = PolicySources(cluster)
    asyncio.run(supplements.look(expected))
    policy = compile_policy(supplements.applied(expected), (), supplements.kata_policy(expected))
    recorder = case.Recorder()
    handler = Handler(lambda: policy, cluster, cluster, cluster, recorder)
    answer = case.through(handler, recorder, one)
    if answer.response["allowed"]:
        assert case.through(handler, recorder, answer.pod).operations == []
    return answer


def said(answer: case.Answer) -> Json:
    """The annotations of the pod, but for what we leave there for ourselves."""
    found = answer.pod["metadata"].get("annotations") or {}
    return {key: value for key, value in found.items() if not key.startswith("vestibule.dev/")}


INJECT = {
    "runtimeClassInjection": {"enabled": True, "namespaceSelector": {"matchLabels": {"sandboxed": "true"}}}
}


def test_identity_and_sandbox_are_one_patch_and_quiet_together() -> None:
    answer = ask(
        pod(), ACCOUNT, namespace(sandboxed="true"), kata({**INJECT, "annotations": {"defaultVCPUs": 2}})
    )

    assert answer.pod["spec"]["runtimeClassName"] == "kata"
    assert said(answer) == {
        "cwii.dev/injected": "aws",
        f"{PREFIX}default_vcpus": "2",
    }
    assert answer.pod["spec"]["volumes"][0]["name"] == "cwii-aws-token"
    assert answer.verdict.providers == ("aws",)


def test_the_class_follows_the_labels_of_the_namespace() -> None:
    answer = ask(pod(), namespace(sandboxed="false"), kata(INJECT))

    assert answer.operations == []


def test_without_a_kataconfig_or_switched_off_nothing_happens() -> None:
    assert ask(pod(), namespace(sandboxed="true")).operations == []
    assert ask(pod(), namespace(sandboxed="true"), kata({**INJECT, "enabled": False})).operations == []


def test_a_class_that_nobody_made_refuses_with_its_reason() -> None:
    webhook = {"runtimeClassInjection": {"enabled": True, "defaultRuntimeClass": "kata-tdx"}}

    answer = ask(pod(), namespace(), kata(webhook))

    assert answer.response["allowed"] is False
    assert answer.response["status"]["message"] == (
        "Pod team-a/web: KataConfig gives class kata-tdx, which no KataConfig has created "
        "(RuntimeClassUnavailable)"
    )


def test_memory_overhead_is_not_written_where_no_profile_takes_it() -> None:
    plain = ask(pod("kata"), namespace(), kata({"annotations": {"memoryOverheadMB": 512}}))
    taken = ask(
        pod("kata"),
        namespace(),
        kata(
            {
                "annotations": {"memoryOverheadMB": 512},
                "runtimeProfiles": {"kata": {"runtime": "go", "enableAnnotations": ["memory_overhead"]}},
            }
        ),
    )
    strict = ask(pod("kata"), namespace(), kata({"annotations": {"memoryOverheadMB": 512}}), mode="strict")

    assert plain.operations == []
    assert any("memoryOverheadMB is not passed on" in warning for warning in plain.response["warnings"])
    for answer in (taken, strict):
        assert said(answer) == {f"{PREFIX}memory_overhead": "512"}


def test_peer_pods_get_zeros_that_survive_quotas() -> None:
    asks = {"requests": {"cpu": "1500m", "memory": "1Gi"}, "limits": {"cpu": "2"}}
    one = pod(
        "kata-remote",
        containers=[{"name": "c", "resources": asks}],
        initContainers=[{"name": "i", "resources": {"requests": {"cpu": "3"}}}],
    )

    answer = ask(one, namespace(), kata({}, peer_pods=True))

    zero = {"cpu": "0", "memory": "0"}
    slot = {**zero, "kata.peerpods.io/vm": "1"}
    assert answer.pod["spec"]["containers"][0]["resources"] == {"requests": slot, "limits": slot}
    assert answer.pod["spec"]["initContainers"][0]["resources"] == {"requests": zero, "limits": zero}
    assert said(answer) == {
        f"{PREFIX}default_vcpus": "3",
        f"{PREFIX}default_memory": "1024",
    }


@pytest.mark.parametrize("action", ["Replace", "Refuse"])
def test_confidential_namespaces_do_not_take_a_tenants_word(action: str) -> None:
    webhook = {
        "annotations": {"initdata": INITDATA},
        "enforce": {"namespaces": ["team-*"], "action": action},
    }
    own = {f"{PREFIX}cc_init_data": "mine", f"{PREFIX}kernel_params": "agent.debug_console"}

    answer = ask(pod("kata-cc", own), namespace(), kata(webhook))

    if action == "Refuse":
        assert "(Enforced)" in answer.response["status"]["message"]
    else:
        assert said(answer) == {
            f"{PREFIX}cc_init_data": INITDATA,
            f"{PREFIX}kernel_params": "",
        }


def test_initdata_may_stand_in_a_config_map() -> None:
    reference = {"namespace": "osc", "name": "initdata"}
    map_ = {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": {"name": "initdata", "namespace": "osc"},
        "data": {"initdata": INITDATA + "\n"},
    }
    config_ = kata({"annotations": {"initdataFrom": reference}})

    existing = ask(pod("kata-cc"), namespace(), config_, map_)
    gone = ask(pod("kata-cc"), namespace(), config_)

    assert said(existing) == {f"{PREFIX}cc_init_data": INITDATA}
    assert "(InitdataNotGzip)" in gone.response["status"]["message"]


def test_broken_objects_are_left_out_and_reported() -> None:
    rules = [
        {
            "apiVersion": "kataconfiguration.openshift.io/v1alpha1",
            "kind": "OSCWebhookConfig",
            "metadata": {"name": name},
            "spec": {
                "rules": [
                    {"name": "r", "match": match, "mutate": {"annotations": {f"x.example/{name}": "1"}}}
                ]
            },
        }
        for name, match in (("good", {}), ("bad", {"namespaces": ["Team!"]}))
    ]
    cluster = MemoryCluster([*rules, kata({})])
    settings = schema.parse({"sandbox": {"enabled": True}}, "test")
    supplements = PolicySources(cluster)
    asyncio.run(supplements.look(settings))
    supplements.kata_policy(settings)

    assert list(supplements.problems) == ["OSCWebhookConfig bad: spec.rules[0].match.namespaces[0]"]
    assert said(ask(pod("kata"), namespace(), *rules, kata({}))) == {"x.example/good": "1"}


def test_identity_that_is_refused_stays_refused() -> None:
    account = {**ACCOUNT, "metadata": {**ACCOUNT["metadata"], "annotations": {"cwii.dev/aws-inject": "true"}}}

    answer = ask(pod("kata"), account, namespace(), kata({"annotations": {"defaultVCPUs": 1}}), required=True)

    assert answer.response["allowed"] is False


@given(st.text("ab*?", max_size=8), st.text("ab", max_size=8))
def test_globs_match_as_the_textbook_says(pattern: str, text: str) -> None:
    def textbook(p: str, t: str) -> bool:
        if not p:
            return not t
        if p[0] == "*":
            return textbook(p[1:], t) or (bool(t) and textbook(p, t[1:]))
        return bool(t) and p[0] in (t[0], "?") and textbook(p[1:], t[1:])

    assert sandbox_policy.glob(pattern, text) == textbook(pattern, text)


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("1500m", "3/2"),
        ("1Gi", "1073741824"),
        ("1e3", "1000"),
        (".5", "1/2"),
        ("2k", "2000"),
        ("x", "None"),
        ("1Zi", "None"),
    ],
)
def test_quantities(text: str, value: str) -> None:
    assert str(quantities.amount(text)) == value
