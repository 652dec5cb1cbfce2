"""What KataConfigs and OSCWebhookConfigs are told about themselves."""

from __future__ import annotations

from typing import Any

import pytest

from vestibule.api import kata
from vestibule.injection.sandbox.conflicts import conflicts
from vestibule.injection.sandbox.sandbox_policy import SandboxPolicy
from vestibule.operator.controllers.sandbox import status

Json = dict[str, Any]


def config(name: str, created: str, **webhook: Any) -> Json:
    meta = {"name": name, "creationTimestamp": created}
    return {"metadata": meta, "spec": {"webhook": webhook} if webhook else {}}


def rules(name: str, *given: tuple[Json, Json]) -> Json:
    listed = [
        {"name": f"r{number}", "match": match, "mutate": mutate}
        for number, (match, mutate) in enumerate(given)
    ]
    return {"metadata": {"name": name}, "spec": {"rules": listed}}


def found(
    configs: list[Json], sets: list[Json] | None = None, problems: dict[str, str] | None = None
) -> status.SandboxFacts:
    kata_policy = SandboxPolicy(list(map(kata.kata_config, configs)), list(map(kata.rule_set, sets or [])))
    return status.SandboxFacts(kata_policy, problems or {}, tuple(conflicts(kata_policy.rules)))


def test_the_oldest_is_in_force_and_the_others_are_reported() -> None:
    old, new = config("old", "2026-01-01T00:00:00Z", enabled=True), config("new", "2026-02-01T00:00:00Z")
    seen = found([new, old])

    assert [str(one) for one in status.of_config(old, seen)] == [
        "WebhookAccepted=True/AsExpected",
        "WebhookInForce=True/AsExpected",
    ]
    reported = status.of_config(new, seen)[1]
    assert str(reported) == "WebhookInForce=False/OlderInForce"
    assert "KataConfig old is older" in reported.message


@pytest.mark.parametrize(
    ("webhook", "reason"), [({}, "NoWebhook"), ({"enabled": False}, "Disabled")], ids=["none", "disabled"]
)
def test_why_it_is_not_in_force(webhook: Json, reason: str) -> None:
    one = config("k", "2026-01-01T00:00:00Z", **webhook)

    assert status.of_config(one, found([one]))[1].reason == reason


def test_mistakes_and_unread_initdata_are_reported_to_their_object() -> None:
    reference = {"namespace": "a", "name": "b"}
    one = config("k", "2026-01-01T00:00:00Z", annotations={"initdataFrom": reference})
    problems = {
        "KataConfig k: spec.webhook.enforce": "is bad",
        "KataConfig other: spec": "is bad too",
        "ConfigMap a/b": "may not be read",
    }
    reported = status.of_config(one, found([one], problems=problems))[0]

    assert str(reported) == "WebhookAccepted=False/Invalid"
    assert reported.message == "spec.webhook.enforce: is bad; ConfigMap a/b: may not be read"


KEY = "example.com/a"


@pytest.mark.parametrize(
    ("first", "second", "meet"),
    [
        ({}, {}, True),
        ({"namespaces": ["a"]}, {"namespaces": ["b"]}, False),
        ({"namespaces": ["a*"]}, {"namespaces": ["b"]}, True),
        ({"runtimeClasses": ["kata"]}, {"runtimeClasses": ["kata-remote"]}, False),
        (
            {"podSelector": {"matchLabels": {"x": "1"}}},
            {"podSelector": {"matchLabels": {"x": "2"}}},
            False,
        ),
        ({"podSelector": {"matchLabels": {"x": "1"}}}, {"podSelector": {"matchLabels": {"y": "2"}}}, True),
    ],
    ids=["all pods", "other namespaces", "a pattern", "other classes", "other labels", "other keys"],
)
def test_rules_that_disagree_are_reported_unless_they_never_meet(
    first: Json, second: Json, meet: bool
) -> None:
    one = rules("a", (first, {"annotations": {KEY: "1"}}))
    other = rules("b", (second, {"annotations": {KEY: "2"}}))
    reported = status.of_rules(other, found([], [one, other]))[1]

    assert reported.reason == ("EarlierRuleWins" if meet else "AsExpected")
    if meet:
        assert reported.message == (
            f"annotation {KEY}: OSCWebhookConfig a, rule r0 wins over OSCWebhookConfig b, rule r0 "
            "where both match"
        )


def test_rules_that_agree_are_no_conflict() -> None:
    one = rules("a", ({}, {"runtimeClassName": "kata"}), ({}, {"runtimeClassName": "kata"}))

    assert [str(message) for message in status.of_rules(one, found([], [one]))] == [
        "WebhookAccepted=True/AsExpected",
        "Unambiguous=True/AsExpected",
    ]
