"""The requirements of the sandbox proposal, one test each, named after them. Latency (NFR1) is a figure of
``make bench``; here stands that the work does not grow with what does not concern a pod."""

from __future__ import annotations

from typing import Any

from tests.unit.test_sandbox import ACCOUNT, INITDATA, INJECT, PREFIX, ask, kata, namespace, pod, said
from vestibule.api import kata as kinds
from vestibule.api.settings import schema
from vestibule.injection.sandbox.sandbox_policy import SandboxPolicy
from vestibule.manifests import sandbox_webhooks

Json = dict[str, Any]


def rules(*rules_: Json) -> Json:
    return {
        "apiVersion": "kataconfiguration.openshift.io/v1alpha1",
        "kind": "OSCWebhookConfig",
        "metadata": {"name": "rules"},
        "spec": {"rules": list(rules_)},
    }


def test_fr1_kata_annotations_are_injected() -> None:
    webhook = {
        "annotations": {"memoryOverheadMB": 512, "defaultVCPUs": 2, "custom": {"team.example/x": "y"}},
        "runtimeProfiles": {"kata": {"enableAnnotations": ["memory_overhead", "default_vcpus"]}},
    }

    assert said(ask(pod("kata"), namespace(), kata(webhook))) == {
        f"{PREFIX}memory_overhead": "512",
        f"{PREFIX}default_vcpus": "2",
        "team.example/x": "y",
    }


def test_fr2_initdata_is_injected_for_confidential_pods() -> None:
    config = kata({"annotations": {"initdata": INITDATA}})

    assert said(ask(pod("kata-cc"), namespace(), config)) == {f"{PREFIX}cc_init_data": INITDATA}
    assert said(ask(pod("kata"), namespace(), config)) == {}


def test_fr3_pods_of_chosen_namespaces_get_a_runtime_class() -> None:
    chosen = ask(pod(), namespace(sandboxed="true"), kata(INJECT))
    other = ask(pod(), namespace(), kata(INJECT))

    assert chosen.pod["spec"]["runtimeClassName"] == "kata"
    assert "runtimeClassName" not in other.pod["spec"]


def test_fr4_every_runtime_class_of_a_kataconfig_is_served() -> None:
    config = kata(
        {"annotations": {"custom": {"a.example/x": "1"}}}, classes=("kata", "kata-remote", "kata-cc-tdx")
    )

    for name in ("kata", "kata-remote", "kata-cc-tdx"):
        assert said(ask(pod(name), namespace(), config)) == {"a.example/x": "1"}
    assert said(ask(pod("gvisor"), namespace(), config)) == {}


def test_fr5_the_kataconfig_switches_it_off() -> None:
    webhook = {**INJECT, "enabled": False, "annotations": {"defaultVCPUs": 2}}

    answer = ask(
        pod(),
        namespace(sandboxed="true"),
        kata(webhook),
        rules({"name": "r", "mutate": {"runtimeClassName": "kata"}}),
    )

    assert answer.operations == []


def test_fr6_rules_choose_by_namespace_and_label() -> None:
    by_label = {
        "name": "l",
        "match": {"podSelector": {"matchLabels": {"size": "large"}}},
        "mutate": {"annotations": {"a.example/l": "1"}},
    }
    by_name = {
        "name": "n",
        "match": {"namespaces": ["team-*"]},
        "mutate": {"annotations": {"a.example/n": "1"}},
    }
    large = pod("kata")
    large["metadata"]["labels"] = {"size": "large"}

    assert said(ask(large, namespace(), kata({}), rules(by_label, by_name))) == {
        "a.example/l": "1",
        "a.example/n": "1",
    }
    assert said(ask(pod("kata"), namespace(), kata({}), rules(by_label, by_name))) == {"a.example/n": "1"}


def test_fr7_what_the_pod_says_is_kept_unless_configured() -> None:
    own = {f"{PREFIX}default_vcpus": "8"}
    keeps = kata({"annotations": {"defaultVCPUs": 2}})
    replaces = kata({"annotations": {"defaultVCPUs": 2, "overwritePolicy": "Always"}})

    assert said(ask(pod("kata", own), namespace(), keeps)) == own
    assert said(ask(pod("kata", own), namespace(), replaces)) == {f"{PREFIX}default_vcpus": "2"}


def test_nfr1_pods_that_no_rule_can_concern_are_not_even_decoded() -> None:
    found = SandboxPolicy([kinds.kata_config(kata({"annotations": {"defaultVCPUs": 2}}))])

    assert not found.gives_classes
    assert "gvisor" not in found.kata_classes


def test_nfr2_an_outage_can_hurt_only_pods_that_need_us() -> None:
    settings = schema.parse({"sandbox": {"enabled": True}, "install": {"namespace": "own"}}, "test")
    expected = sandbox_webhooks.desired(settings, SandboxPolicy([kinds.kata_config(kata(INJECT))]))
    assert expected is not None
    first, second = expected["webhooks"]

    assert first["namespaceSelector"]["matchLabels"] == {"sandboxed": "true"}
    assert first["matchConditions"][0]["expression"] == "!has(object.spec.runtimeClassName)"
    assert second["matchConditions"][0]["expression"].startswith("has(object.spec.runtimeClassName) && ")
    for entry in expected["webhooks"]:
        out = entry["namespaceSelector"]["matchExpressions"][0]
        assert {"kube-system", "own"} <= set(out["values"])
        assert {
            "name": "not-openshift",
            "expression": "!request.namespace.startsWith('openshift-')",
        } in entry["matchConditions"]


def test_nfr3_every_decision_is_in_the_answer_and_its_audit_annotations() -> None:
    answer = ask(pod(hostNetwork=True), ACCOUNT, namespace(sandboxed="true"), kata(INJECT))

    assert "Kata has no host network" in answer.response["warnings"][0]
    assert "Kata has no host network" in answer.response["auditAnnotations"]["findings"]


def test_nfr4_a_class_that_a_policy_engine_has_set_is_taken_as_it_is() -> None:
    answer = ask(
        pod("kata-remote"), namespace(sandboxed="true"), kata({**INJECT, "annotations": {"defaultVCPUs": 2}})
    )

    assert answer.pod["spec"]["runtimeClassName"] == "kata-remote"
    assert said(answer) == {f"{PREFIX}default_vcpus": "2"}
