"""The registration for sandboxes: there when a KataConfig asks for it, and so narrow that an outage hurts no
other pod."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from tests.unit.test_sandbox import INJECT, kata, pod
from vestibule.api.settings import schema
from vestibule.diagnose.offline import sandbox_sources as offline
from vestibule.injection.sandbox import decision
from vestibule.kube.memory_cluster import MemoryCluster
from vestibule.kube.sandbox_sources import SandboxSources
from vestibule.manifests import adapt, install
from vestibule.manifests.cluster_facts import ApiServerVersion, ClusterFacts, ServedResource

Json = dict[str, Any]
NAME = "00-vestibule-sandbox"
ENABLED = {"sandbox": {"enabled": True}}
PEER_PODS = ("mutating-webhook-configuration", "peer-pods-webhook-mutating-webhook-configuration")
"""Names under which the operator and the chart register the peer-pods webhook."""


def osc(*rules: Json) -> Json:
    return {
        "apiVersion": "kataconfiguration.openshift.io/v1alpha1",
        "kind": "OSCWebhookConfig",
        "metadata": {"name": "rules"},
        "spec": {"rules": list(rules)},
    }


def gives(name: str, **match: Any) -> Json:
    return {"name": name, "match": match, "mutate": {"runtimeClassName": "kata"}}


def printed(*objects: Json, **data: Any) -> list[Json]:
    settings = schema.parse({**ENABLED, **data}, "test")
    message = asyncio.run(offline.read_sources(settings, MemoryCluster(objects)))
    return install.objects(settings, message.kata_policy)


def named(objects: list[Json], kind: str, name: str) -> Json:
    (found,) = [one for one in objects if (one["kind"], one["metadata"]["name"]) == (kind, name)]
    return found


def entries(*objects: Json, **data: Any) -> dict[str, Json]:
    """The entries of the registration, by the beginning of their names."""
    found = named(printed(*objects, **data), "MutatingWebhookConfiguration", NAME)["webhooks"]
    return {one["name"].removesuffix(".sandbox.vestibule.dev"): one for one in found}


def general(*objects: Json, **data: Any) -> Json:
    """The entry that every pod is held against."""
    found = named(printed(*objects, **data), "MutatingWebhookConfiguration", "vestibule")
    entry: Json = found["webhooks"][0]
    return entry


def conditions(entry: Json) -> dict[str, str]:
    return {one["name"]: one["expression"] for one in entry["matchConditions"]}


NONE: dict[str, tuple[list[Json], Json]] = {
    "without a KataConfig": ([], {}),
    "with a KataConfig that says nothing about the webhook": ([{**kata({}), "spec": {}}], {}),
    "when the KataConfig switches it off": ([kata({**INJECT, "enabled": False})], {}),
    "when the settings switch it off": ([kata(INJECT)], {"sandbox": {"enabled": False}}),
    "while the KataConfig is being deleted": (
        [{**kata(INJECT), "metadata": {"name": "k", "deletionTimestamp": "2026-01-01T00:00:00Z"}}],
        {},
    ),
}


@pytest.mark.parametrize("sentence", NONE)
def test_there_is_none_and_the_general_one_is_as_it_was(sentence: str) -> None:
    objects, data = NONE[sentence]

    manifests = printed(*objects, **data)

    assert manifests == install.objects(schema.parse({**ENABLED, **data}, "test"))
    assert NAME not in [one["metadata"]["name"] for one in manifests]


def test_there_are_two_entries_in_the_order_in_which_they_see_each_other() -> None:
    assert list(entries(kata(INJECT))) == ["class", "kata"]


def test_its_name_sorts_before_the_peer_pods_webhooks_and_our_own() -> None:
    for name in ("vestibule", "zz", "a"):
        ours = f"00-{name}-sandbox"
        named(
            printed(kata(INJECT), install={"name": name, "namespace": "x"}),
            "MutatingWebhookConfiguration",
            ours,
        )
        assert sorted([*PEER_PODS, name, ours])[0] == ours


def test_pods_without_a_class_are_sent_from_the_chosen_namespaces_alone() -> None:
    injection = {
        "enabled": True,
        "namespaceSelector": {
            "matchLabels": {"sandboxed": "true"},
            "matchExpressions": [{"key": "tier", "operator": "In", "values": ["a"]}],
        },
        "podSelector": {"matchLabels": {"trust": "none"}},
        "excludeNamespaces": ["infra-*", "x?"],
    }

    entry = entries(kata({"runtimeClassInjection": injection}))["class"]

    assert entry["namespaceSelector"]["matchLabels"] == {"sandboxed": "true"}
    assert entry["namespaceSelector"]["matchExpressions"][1:] == [
        {"key": "tier", "operator": "In", "values": ["a"]}
    ]
    assert entry["objectSelector"] == {"matchLabels": {"trust": "none"}}
    message = conditions(entry)
    assert message["class"] == "!has(object.spec.runtimeClassName)"
    assert message["not-excluded-from-classes"] == "!request.namespace.matches('^(infra-.*|x.)$')"


def test_pods_with_a_class_are_sent_when_it_is_a_kata_class() -> None:
    assert conditions(entries(kata({}, classes=("kata", "kata-cc")))["kata"])["class"] == (
        "has(object.spec.runtimeClassName) && object.spec.runtimeClassName in ['kata', 'kata-cc']"
    )


def test_rules_that_give_classes_do_not_widen_what_the_injection_chooses() -> None:
    by_label = {"matchLabels": {"trust": "none"}}
    found = entries(
        kata(INJECT),
        osc(
            gives("a", namespaces=["ci-*"]),
            gives("b", namespaces=["lab"]),
            gives("c", namespaceSelector=by_label, podSelector=by_label),
            {"name": "d", "mutate": {"annotations": {"a.example/x": "1"}}},
        ),
    )

    assert list(found) == ["class", "rules-1", "rules-2", "kata"]
    assert found["class"]["namespaceSelector"]["matchLabels"] == {"sandboxed": "true"}
    assert (
        conditions(found["rules-1"])["in-a-namespace-of-the-rules"]
        == "request.namespace.matches('^(ci-.*|lab)$')"
    )
    assert found["rules-2"]["namespaceSelector"]["matchLabels"] == {"trust": "none"}
    assert found["rules-2"]["objectSelector"] == by_label


def test_a_rule_for_every_namespace_is_not_narrowed_by_another() -> None:
    found = entries(kata({}), osc(gives("a", namespaces=["ci"]), gives("b")))

    assert list(found) == ["rules-1", "kata"]
    assert "in-a-namespace-of-the-rules" not in conditions(found["rules-1"])


def test_rules_that_give_no_class_need_no_entry_of_their_own() -> None:
    rule = {"name": "d", "mutate": {"annotations": {"a.example/x": "1"}}}

    assert list(entries(kata({}), osc(rule))) == ["kata"]


def test_the_system_our_own_namespace_and_mirror_pods_are_always_out() -> None:
    data = {
        "install": {"namespace": "hall"},
        "exclude": {"namespaces": ["infra", "net-*"], "hostNetwork": True},
    }

    for entry in entries(kata(INJECT), osc(gives("a")), **data).values():
        out = entry["namespaceSelector"]["matchExpressions"][0]
        assert (out["key"], out["operator"]) == ("kubernetes.io/metadata.name", "NotIn")
        assert set(out["values"]) == {
            "kube-system", "kube-public", "kube-node-lease", "openshift", "hall", "infra",
        }  # fmt: skip
        assert {
            "not-openshift",
            "not-a-mirror-pod",
            "not-an-excluded-namespace",
            "not-on-the-host-network",
        } <= set(conditions(entry))


def test_the_failure_policy_is_the_kataconfigs() -> None:
    for policy in ("Fail", "Ignore"):
        found = entries(kata({**INJECT, "failurePolicy": policy}), webhook={"failurePolicy": "Ignore"})
        assert {one["failurePolicy"] for one in found.values()} == {policy}


def test_it_calls_our_service_and_says_what_a_call_does() -> None:
    for entry in entries(kata(INJECT), gcp={"allowConfigMapWrites": True}).values():
        service = entry["clientConfig"]["service"]
        assert (service["name"], service["path"]) == ("vestibule", "/mutate")
        assert entry["sideEffects"] == "NoneOnDryRun"
        assert entry["reinvocationPolicy"] == "IfNeeded"


def test_the_ca_comes_from_where_that_of_the_general_one_comes_from() -> None:
    for data, field in (
        ({"certificate": "cert-manager"}, "annotations"),
        ({"certificate": "service-ca"}, "annotations"),
        ({"certificate": "secret", "caBundle": "Zm9v"}, ""),
    ):
        objects = printed(kata(INJECT), install=data)
        ours, general_ = (named(objects, "MutatingWebhookConfiguration", one) for one in (NAME, "vestibule"))
        bundles = {one["clientConfig"].get("caBundle") for one in [*ours["webhooks"], *general_["webhooks"]]}
        assert ours["metadata"].get("annotations") == general_["metadata"].get("annotations")
        assert bool(field) == (field in ours["metadata"])
        assert bundles == {data.get("caBundle")}


def test_the_general_webhook_configuration_leaves_out_what_is_sent_for_its_sandbox() -> None:
    condition = conditions(general(kata(INJECT, classes=("kata",))))["not-sent-for-its-sandbox"]

    assert condition == (
        "!(has(object.spec.runtimeClassName) && object.spec.runtimeClassName in ['kata']) || "
        "request.namespace in ['kube-node-lease', 'kube-public', 'kube-system', 'openshift'] || "
        "request.namespace.startsWith('openshift-')"
    )


def test_an_identity_that_holds_pods_up_still_does() -> None:
    """A Kata pod must not slip through an ``Ignore`` without the identity that ``Fail`` stands for."""
    webhook = {**INJECT, "failurePolicy": "Ignore"}

    stricter = general(kata(webhook), webhook={"failurePolicy": "Fail"})
    alike = general(kata(INJECT), webhook={"failurePolicy": "Fail"})

    assert "not-sent-for-its-sandbox" not in conditions(stricter)
    assert "not-sent-for-its-sandbox" in conditions(alike)


def test_a_kataconfig_without_classes_registers_what_it_can_and_is_reported() -> None:
    settings = schema.parse(ENABLED, "test")

    message = asyncio.run(offline.read_sources(settings, MemoryCluster([kata(INJECT, classes=())])))

    assert list(entries(kata(INJECT, classes=()))) == ["class"]
    assert "not-sent-for-its-sandbox" not in conditions(general(kata(INJECT, classes=())))
    assert [text.partition(":")[0] for text in message.warnings] == ["KataConfig"]
    assert "status.runtimeClasses is empty" in message.warnings[0]


def test_a_kataconfig_that_the_settings_do_not_look_at_is_reported() -> None:
    message = asyncio.run(offline.read_sources(schema.Settings(), MemoryCluster([kata(INJECT)])))

    assert message == (None, ["KataConfig k: ignored, sandbox.enabled is false, want true"])


def test_initdata_in_a_config_map_brings_the_right_to_read_it_and_no_other() -> None:
    webhook = {"annotations": {"initdataFrom": {"namespace": "osc", "name": "initdata"}}}

    objects = printed(kata(webhook))

    role = named(objects, "Role", "vestibule-initdata")
    binding = named(objects, "RoleBinding", "vestibule-initdata")
    assert role["metadata"]["namespace"] == binding["metadata"]["namespace"] == "osc"
    assert role["rules"] == [
        {"apiGroups": [""], "resources": ["configmaps"], "resourceNames": ["initdata"], "verbs": ["get"]}
    ]
    assert binding["subjects"][0]["namespace"] == "vestibule-system"
    assert not [one for one in printed(kata({})) if one["metadata"]["name"] == "vestibule-initdata"]


def test_initdata_that_may_not_be_read_hits_only_who_needs_it() -> None:
    webhook = {"annotations": {"initdataFrom": {"namespace": "osc", "name": "initdata"}, "defaultVCPUs": 2}}
    cluster = MemoryCluster([kata(webhook)])
    cluster.fault("GET", "configmaps", "initdata", 403)
    found, problems = SandboxSources(cluster), dict[str, str]()
    asyncio.run(found.look())

    kata_policy = found.kata_policy(schema.parse(ENABLED, "test"), problems)

    assert kata_policy.active
    assert "'vestibule render' prints the right" in problems["ConfigMap osc/initdata"]
    plain, confidential = (
        decision.decide(pod(name), "team-a", {}, kata_policy).refusal for name in ("kata", "kata-cc")
    )
    assert plain is None
    assert confidential is not None
    assert confidential.code.startswith("Initdata")


def test_our_own_certificate_is_trusted_by_every_webhook_configuration_by_name() -> None:
    rules = named(printed(), "ClusterRole", "vestibule-certificates")["rules"]

    assert [
        (one["resources"], one["resourceNames"], one["verbs"]) for one in rules if "resourceNames" in one
    ] == [
        (["mutatingwebhookconfigurations"], ["vestibule", NAME], ["create", "get", "patch"]),
        (["validatingwebhookconfigurations"], ["vestibule"], ["create", "get", "patch"]),
        (["clusterroles"], ["vestibule"], ["get"]),
    ]
    assert [one["kind"] for one in printed(kata(INJECT)) if one["kind"].endswith("WebhookConfiguration")] == [
        "MutatingWebhookConfiguration",
        "MutatingWebhookConfiguration",
        "ValidatingWebhookConfiguration",
    ]


def observed(objects: list[Json], version: ApiServerVersion, *found: Json) -> ClusterFacts:
    served = {(one["apiVersion"], one["kind"]): ServedResource("things", False) for one in objects}
    return ClusterFacts(version, frozenset(), served, found)


def test_a_cluster_without_match_conditions_gets_no_entry_that_would_send_every_pod() -> None:
    settings, manifests = schema.parse(ENABLED, "test"), printed(kata(INJECT))

    adapted = adapt.adapt(manifests, settings, observed(manifests, ApiServerVersion(1, 27)))

    assert NAME not in [one["metadata"]["name"] for one in adapted.objects]
    assert any(
        text.startswith(f"MutatingWebhookConfiguration {NAME}: left out, Kubernetes 1.27")
        for text in adapted.warnings
    )


def test_the_operators_own_definition_stays_its_own() -> None:
    settings, manifests = schema.parse(ENABLED, "test"), printed(kata(INJECT))
    name = "kataconfigs.kataconfiguration.openshift.io"
    theirs = {"kind": "CustomResourceDefinition", "metadata": {"name": name}}

    adapted = adapt.adapt(manifests, settings, observed(manifests, ApiServerVersion(1, 36), theirs))

    definitions = [one["metadata"]["name"] for one in adapted.objects if one["kind"] == theirs["kind"]]
    assert definitions == ["oscwebhookconfigs.kataconfiguration.openshift.io"]
    assert adapted.warnings == [
        f"CustomResourceDefinition {name}: left out, it exists and is not ours: fields that its schema does "
        "not know, such as spec.webhook, are dropped by the API server"
    ]
