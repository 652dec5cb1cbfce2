"""IdentityPolicies: mapping, locks, limits, and broken ones."""

from __future__ import annotations

from typing import Any

import pytest

from tests.vectors import case
from vestibule import errors
from vestibule.api import identitypolicy
from vestibule.api.settings import schema

ROLE = "arn:aws:iam::{account}:role/{namespace}-{serviceaccount}"
MAP = {
    "name": "teams",
    "match": {"namespaces": ["team-*"]},
    "identities": {"aws": {"roleArn": ROLE, "region": "eu-west-1"}},
    "variables": {"account": "123456789012"},
}
POD: dict[str, Any] = {
    "apiVersion": "v1",
    "kind": "Pod",
    "metadata": {"name": "web"},
    "spec": {"serviceAccountName": "app", "containers": [{"name": "app"}]},
}


def ask(*policies: dict[str, Any], annotations: dict[str, str] | None = None, **more: Any) -> case.Answer:
    account = {
        "apiVersion": "v1",
        "kind": "ServiceAccount",
        "metadata": {"name": "app", "namespace": "team-a", "annotations": annotations or {}},
    }
    settings = schema.parse({"policies": list(policies), **more}, "test")
    return case.ask(POD, case.cluster_of([account]), settings)


def env(answer: case.Answer) -> dict[str, str]:
    return {one["name"]: one.get("value", "") for one in answer.pod["spec"]["containers"][0].get("env", [])}


def test_a_policy_gives_an_identity_without_a_word_in_the_workload() -> None:
    answer = ask(MAP)

    assert env(answer)["AWS_ROLE_ARN"] == "arn:aws:iam::123456789012:role/team-a-app"
    assert env(answer)["AWS_REGION"] == "eu-west-1"
    found = {value.key: value for value in answer.verdict.values}
    assert (found["cwii.dev/aws-role-arn"].level, found["cwii.dev/aws-role-arn"].object) == (
        "policy",
        "IdentityPolicy teams",
    )


def test_annotations_beat_a_policy_and_a_locked_policy_beats_annotations() -> None:
    own = {"cwii.dev/aws-role-arn": "arn:aws:iam::999999999999:role/own"}

    open_, locked = ask(MAP, annotations=own), ask({**MAP, "locked": True}, annotations=own)

    assert env(open_)["AWS_ROLE_ARN"] == "arn:aws:iam::999999999999:role/own"
    assert env(locked)["AWS_ROLE_ARN"] == "arn:aws:iam::123456789012:role/team-a-app"
    shadowed = next(v for v in locked.verdict.values if v.key == "cwii.dev/aws-role-arn").shadowed
    assert shadowed == (("ServiceAccount team-a/app", own["cwii.dev/aws-role-arn"]),)


def test_the_highest_priority_counts_then_the_name() -> None:
    other = {**MAP, "name": "zz", "variables": {"account": "000000000000"}}

    assert "123456789012" in env(ask(other, MAP))["AWS_ROLE_ARN"]
    assert "000000000000" in env(ask({**other, "priority": 1}, MAP))["AWS_ROLE_ARN"]


def test_accounts_that_no_policy_matches_get_nothing() -> None:
    assert ask({**MAP, "match": {"namespaces": ["other"]}}).operations == []
    assert ask({**MAP, "match": {"serviceAccounts": ["ap"]}}).operations == []


LIMITED = {
    "name": "fence",
    "match": {"namespaces": ["team-a"]},
    "limits": {"clouds": ["aws"], "aws": {"roleArns": ["arn:aws:iam::123456789012:role/team-a-*"]}},
}


@pytest.mark.parametrize(
    ("annotations", "text"),
    [
        (
            {"cwii.dev/aws-inject": "true", "cwii.dev/aws-role-arn": "arn:aws:iam::1:role/admin"},
            "IdentityPolicy fence: ServiceAccount team-a/app may not ask for role arn "
            "'arn:aws:iam::1:role/admin'; allowed: arn:aws:iam::123456789012:role/team-a-*",
        ),
        (
            {
                "cwii.dev/az-inject": "true",
                "cwii.dev/az-client-id": "00000000-0000-0000-0000-000000000000",
                "cwii.dev/az-tenant-id": "00000000-0000-0000-0000-000000000000",
            },
            "IdentityPolicy fence: ServiceAccount team-a/app may not ask for az identity; allowed: aws",
        ),
    ],
)
def test_a_pod_that_asks_for_more_than_a_policy_allows_is_refused_by_name(
    annotations: dict[str, str], text: str
) -> None:
    answer = ask(LIMITED, annotations=annotations)

    assert answer.response["allowed"] is False
    assert answer.response["status"] == {"message": text, "code": 403, "reason": "Forbidden"}


def test_limits_hold_for_every_dialect() -> None:
    answer = ask(
        LIMITED,
        annotations={"eks.amazonaws.com/role-arn": "arn:aws:iam::123456789012:role/admin"},
        vocabularies=["cwii", "eks"],
    )

    assert "may not ask for role arn" in answer.response["status"]["message"]


def test_what_a_policy_allows_passes() -> None:
    answer = ask(MAP, LIMITED)

    assert answer.response["allowed"] is True
    assert env(answer)["AWS_ROLE_ARN"] == "arn:aws:iam::123456789012:role/team-a-app"


def test_every_problem_of_every_policy_is_reported_and_the_good_ones_work() -> None:
    broken: list[Any] = [
        {**MAP, "name": "a", "match": {"namespaces": ["Team A", "Team-*"]}, "locked": "yes"},
        {**MAP, "name": "b", "variables": {"acount": "1"}},
        {"name": "c", "identity": {}, "limits": {"clouds": ["azure"], "aws": {"roleArn": ["*"]}}},
        "no policy at all",
    ]

    loaded = identitypolicy.load([*broken, MAP], [{"metadata": {"name": "d"}, "spec": {"priority": "high"}}])

    assert [policy.name for policy in loaded.policies] == ["teams"]
    assert [str(problem) for problem in loaded.problems] == [
        "policies[0]: locked: is 'yes', want true or false",
        "policies[0]: match.namespaces[0]: is 'Team A', want a name that may contain *",
        "policies[0]: match.namespaces[1]: is 'Team-*', want a name that may contain *; "
        "did you mean 'team-*'?",
        "policies[1]: identities.aws.roleArn: has {account}, want one of acount, namespace, serviceaccount "
        "(variables may add to them); did you mean acount?",
        "policies[2]: identity: is no known field; did you mean identities?",
        "policies[2]: limits.clouds[0]: is 'azure', want aws or az or gcp",
        "policies[2]: limits.aws.roleArn: is no known field; did you mean roleArns?",
        "policies[3]: is 'no policy at all', want an object",
        "IdentityPolicy d: priority: is 'high', want a whole number",
    ]


def test_settings_with_a_broken_policy_are_not_loaded() -> None:
    with pytest.raises(errors.InvalidSettings) as caught:
        schema.parse({"policies": [MAP, {**MAP, "limit": {}, "locked": 1}]}, "settings.yaml")

    assert [str(problem) for problem in caught.value.problems] == [
        "settings.yaml: policies[1].limit: is no known field; did you mean limits?",
        "settings.yaml: policies[1].locked: is 1, want true or false",
    ]
