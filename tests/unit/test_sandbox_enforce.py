"""Confidential namespaces: what a tenant can try, at creation and afterwards."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tests.unit.test_sandbox import INITDATA, PREFIX, ask, kata, namespace, pod, said
from vestibule.api import kata as kinds
from vestibule.checks import sandboxes as audited
from vestibule.httpserver.server import HttpRequest
from vestibule.injection.sandbox.sandbox_policy import SandboxPolicy
from vestibule.webhook import validating_handler

Json = dict[str, Any]
AGENT_POLICY = "io.katacontainers.config.agent.policy"
LEGACY = "io.katacontainers.config.runtime.cc_init_data"
KEYS = [
    f"{PREFIX}cc_init_data",
    f"{PREFIX}kernel_params",
    f"{PREFIX}kernel_verity_params",
    AGENT_POLICY,
    LEGACY,
]


def enforcing(**more: Any) -> Json:
    enforce = {"namespaces": ["team-*"], **more.pop("enforce", {})}
    return {"annotations": {"initdata": INITDATA}, "enforce": enforce, **more}


@pytest.mark.parametrize("key", KEYS)
def test_every_key_that_decides_about_the_guest_is_the_administrators(key: str) -> None:
    replaced = ask(pod("kata-cc", {key: "mine"}), namespace(), kata(enforcing()))
    refused = ask(pod("kata-cc", {key: "mine"}), namespace(), kata(enforcing(enforce={"action": "Refuse"})))

    assert said(replaced)[key] == (INITDATA if key == KEYS[0] else "")
    assert "(Enforced)" in refused.response["status"]["message"]


def test_a_runtime_profile_does_not_undo_the_replacement() -> None:
    """Left out because nodes would refuse it, the administrator's value would leave the tenant's in place."""
    profile = {"runtimeProfiles": {"kata-cc": {"enableAnnotations": ["default_vcpus"]}}}

    answer = ask(pod("kata-cc", {f"{PREFIX}kernel_params": "x"}), namespace(), kata(enforcing(**profile)))

    assert not answer.response["allowed"]
    assert "(Enforced)" in answer.response["status"]["message"]


@pytest.mark.parametrize(
    ("given", "allowed"), [("kata-cc", True), ("kata", False), ("", False), ("nvidia", False)]
)
def test_allowed_runtime_classes_are_pinned(given: str, allowed: bool) -> None:
    one = pod(given) if given else pod("kata")
    if not given:
        del one["spec"]["runtimeClassName"]

    answer = ask(one, namespace(), kata(enforcing(enforce={"runtimeClasses": ["kata-cc*"]})))

    assert answer.response["allowed"] is allowed
    if not allowed:
        assert answer.response["status"]["message"] == (
            f"Pod team-a/web: runtimeClassName is {given!r}, want kata-cc* in namespace team-a "
            "(RuntimeClassNotAllowed)"
        )


@pytest.mark.parametrize("more", [{"os": {"name": "windows"}}, {"hostNetwork": True}])
def test_no_field_of_the_pod_leads_around_the_pin(more: Json) -> None:
    one = pod("kata", **more)

    answer = ask(one, namespace(), kata(enforcing(enforce={"runtimeClasses": ["kata-cc*"]})))

    assert not answer.response["allowed"]


def test_a_forged_daemon_set_owner_changes_nothing() -> None:
    webhook = {"runtimeClassInjection": {"enabled": True, "defaultRuntimeClass": "kata"}}
    forged = pod("kata")
    del forged["spec"]["runtimeClassName"]
    reference = {"apiVersion": "apps/v1", "kind": "DaemonSet", "name": "d", "uid": "u", "controller": True}
    forged["metadata"]["ownerReferences"] = [reference]
    daemon_set: Json = {
        "apiVersion": "apps/v1",
        "kind": "DaemonSet",
        "metadata": {"name": "d", "namespace": "team-a", "uid": "u"},
    }
    other = {**daemon_set, "metadata": {**daemon_set["metadata"], "uid": "another"}}

    for objects in ([], [other]):
        answer = ask(forged, namespace(), kata(webhook), *objects)
        assert answer.pod["spec"].get("runtimeClassName") == "kata", objects
    real = ask(forged, namespace(), kata(webhook), daemon_set)
    assert "runtimeClassName" not in real.pod["spec"]


def test_the_audit_reports_pods_that_deviate_whatever_their_mark() -> None:
    config = kata(enforcing(enforce={"runtimeClasses": ["kata-cc*"]}))
    kata_policy = SandboxPolicy([kinds.kata_config(config)])
    served = ask(pod("kata-cc"), namespace(), config).pod
    patched = json.loads(json.dumps(served))
    patched["metadata"]["annotations"][f"{PREFIX}kernel_params"] = "agent.debug_console"
    old = json.loads(json.dumps(patched))
    old["metadata"]["annotations"]["vestibule.dev/sandbox"] = "0123456789ab"
    other = pod("kata")

    def found(one: Json) -> list[tuple[str, str]]:
        return [(d.state, d.text) for d in audited.drift(one, "team-a", {}, kata_policy)]

    assert found(served) == []
    reported = f"deviates from what its namespace enforces: {PREFIX}kernel_params is not the administrator's"
    for one in (patched, old):
        assert found(one) == [("refused", reported)]
    assert "want kata-cc*" in found(other)[0][1]


def review(kind: str, old: Json | None, new: Json) -> Json:
    request = {"uid": "u", "operation": "UPDATE", "object": {**new, "kind": kind}, "oldObject": old}
    body = json.dumps({"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview", "request": request})
    response = validating_handler.answer(
        HttpRequest("POST", "/validate", "", body.encode(), "application/json", 0.0)
    )
    found: Json = json.loads(response.body)["response"]
    return found


@pytest.mark.parametrize("key", KEYS)
def test_the_webhook_freezes_enforced_keys_where_the_cluster_has_no_policies(key: str) -> None:
    before = pod("kata-cc", {key: "a", "other": "1"})
    same = pod("kata-cc", {key: "a", "other": "2"})
    changed, removed = pod("kata-cc", {key: "b"}), pod("kata-cc", {"other": "1"})

    assert review("Pod", before, same)["allowed"]
    for after in (changed, removed):
        answer = review("Pod", before, after)
        assert not answer["allowed"]
        assert key in answer["status"]["message"]


def test_policies_are_validated_with_all_problems_and_the_fields_that_were_meant() -> None:
    spec = {"match": {"namespaces": ["Team-*"]}, "limits": {"clouds": ["azure"], "aws": {"roleArn": ["*"]}}}
    policy = {"metadata": {"name": "limits"}, "spec": spec}

    answer = review("IdentityPolicy", None, policy)

    assert answer["status"] == {
        "message": "IdentityPolicy limits: spec.limits.clouds[0] is 'azure', want aws or az or gcp; "
        "spec.limits.aws.roleArn is no known field; did you mean roleArns?; "
        "spec.match.namespaces[0] is 'Team-*', want a name that may contain *; did you mean 'team-*'?",
        "code": 422,
        "reason": "Invalid",
    }
    gone = {**policy, "metadata": {"name": "limits", "deletionTimestamp": "2026-01-01T00:00:00Z"}}
    assert review("IdentityPolicy", None, gone)["allowed"], "a broken policy can be deleted"


TYPOS: dict[str, Json] = {
    "an action in small letters": {"enforce": {"namespaces": ["team-*"], "action": "refuse"}},
    "classes in the singular": {"enforce": {"namespaces": ["team-*"], "runtimeClass": ["kata-cc*"]}},
    "another word for the section": {"enforced": {"namespaces": ["team-*"]}},
    "a namespace in capitals": {"enforce": {"namespaces": ["Team-*"]}},
    "a mistake elsewhere": {"enforce": {"namespaces": ["team-*"]}, "annotations": {"initdata": 7}},
    "no section at all": {"enforce": "team-*"},
}


@pytest.mark.parametrize("typo", TYPOS)
def test_a_kata_config_that_cannot_be_understood_refuses_pods_of_confidential_namespaces(typo: str) -> None:
    """A misspelt word once switched the enforcement off without a word."""
    config_ = kata(TYPOS[typo])

    refused = ask(pod("kata-cc", {f"{PREFIX}kernel_params": "x"}), namespace(), config_)
    plain = pod("kata")
    del plain["spec"]["runtimeClassName"]
    without_class = ask(plain, namespace(), config_)

    for answer in (refused, without_class):
        assert not answer.response["allowed"], typo
        assert "KataConfig" in answer.response["status"]["message"]
        assert "cannot be understood" in answer.response["status"]["message"]
    judged = review("KataConfig", None, config_)
    assert not judged["allowed"], "and it is not stored where the webhook validates"


def test_mistakes_that_enforce_nothing_stop_nobody() -> None:
    answer = ask(pod("kata"), namespace(), kata({"annotation": {"initdata": INITDATA}}))

    assert answer.response["allowed"]
