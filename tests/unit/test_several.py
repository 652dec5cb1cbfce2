"""Several identities of one cloud in one pod."""

from __future__ import annotations

import configparser
import json
from typing import Any

import pytest

from tests.vectors import case
from vestibule.api.settings import schema

ROLE = "arn:aws:iam::123456789012:role/"
GUID = "00000000-0000-0000-0000-00000000000"
PROVIDER = "//iam.googleapis.com/projects/1/locations/global/workloadIdentityPools/p/providers/c"
CONTAINERS = ("app", "worker", "third")


def ask(annotations: dict[str, str], labels: dict[str, str] | None = None, **settings: Any) -> case.Answer:
    account = {
        "apiVersion": "v1",
        "kind": "ServiceAccount",
        "metadata": {"name": "app", "namespace": "team-a", "annotations": annotations},
    }
    pod = {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": "web", **({"labels": labels} if labels else {})},
        "spec": {"serviceAccountName": "app", "containers": [{"name": name} for name in CONTAINERS]},
    }
    cluster = case.cluster_of([account])
    expected = schema.parse(settings, "test")
    answer = case.ask(pod, cluster, expected)
    assert case.ask(answer.pod, cluster, expected).operations == []
    return answer


def value(answer: case.Answer, container: str, variable: str) -> str | None:
    found = next(one for one in answer.pod["spec"]["containers"] if one["name"] == container)
    return next((env.get("value") for env in found.get("env", []) if env["name"] == variable), None)


def test_a_role_for_one_container_beside_the_role_for_the_others() -> None:
    answer = ask(
        {
            "cwii.dev/aws-inject": "true",
            "cwii.dev/aws-role-arn": ROLE + "all",
            "cwii.dev/aws-role-arn.worker": ROLE + "worker",
        }
    )

    assert [value(answer, name, "AWS_ROLE_ARN") for name in CONTAINERS] == [
        ROLE + "all",
        ROLE + "worker",
        ROLE + "all",
    ]
    assert [volume["name"] for volume in answer.pod["spec"]["volumes"]] == ["cwii-aws-token"]
    assert answer.verdict.providers == ("aws",)
    assert answer.response.get("warnings", []) == []


def test_roles_for_some_containers_alone_leave_the_others_untouched() -> None:
    answer = ask({"cwii.dev/aws-inject": "true", "cwii.dev/aws-role-arn.app": ROLE + "app"})

    assert value(answer, "app", "AWS_ROLE_ARN") == ROLE + "app"
    assert answer.pod["spec"]["containers"][1:] == [{"name": "worker"}, {"name": "third"}]


def test_a_container_that_does_not_exist_is_reported_and_gets_no_volume() -> None:
    answer = ask(
        {
            "cwii.dev/gcp-inject": "true",
            "cwii.dev/gcp-audience": PROVIDER,
            "cwii.dev/gcp-service-account.typo": "a@p.iam.gserviceaccount.com",
        }
    )

    assert any("no container is called 'typo'" in warning for warning in answer.response["warnings"])
    assert [volume["name"] for volume in answer.pod["spec"]["volumes"]] == ["cwii-gcp-token"]


def test_client_ids_per_container() -> None:
    answer = ask(
        {
            "cwii.dev/az-inject": "true",
            "cwii.dev/az-tenant-id": GUID + "9",
            "cwii.dev/az-client-id": GUID + "1",
            "cwii.dev/az-client-id.third": GUID + "3",
        }
    )

    assert [value(answer, name, "AZURE_CLIENT_ID") for name in CONTAINERS] == [
        GUID + "1",
        GUID + "1",
        GUID + "3",
    ]


def test_a_credentials_file_per_container() -> None:
    answer = ask(
        {
            "cwii.dev/gcp-inject": "true",
            "cwii.dev/gcp-audience": PROVIDER,
            "cwii.dev/gcp-service-account": "all@p.iam.gserviceaccount.com",
            "cwii.dev/gcp-service-account.worker": "worker@p.iam.gserviceaccount.com",
        }
    )

    annotations = answer.pod["metadata"]["annotations"]
    own = json.loads(annotations["cwii.dev/gcp-credentials.worker"])
    assert "worker@p" in own["service_account_impersonation_url"]
    assert own["credential_source"]["file"] == "/var/run/secrets/cwii.dev/gcp-worker/token"
    assert "all@p" in annotations["cwii.dev/gcp-credentials"]
    file = value(answer, "worker", "GOOGLE_APPLICATION_CREDENTIALS")
    assert file == "/var/run/secrets/cwii.dev/gcp-worker/credentials.json"
    mounts = answer.pod["spec"]["containers"][1]["volumeMounts"]
    assert [mount["name"] for mount in mounts] == ["cwii-gcp-token-worker"]


def test_profiles_are_a_configuration_file_beside_the_token() -> None:
    answer = ask(
        {
            "cwii.dev/aws-inject": "true",
            "cwii.dev/aws-profile.reports": ROLE + "reports",
            "cwii.dev/aws-profile.billing": ROLE + "billing",
        }
    )

    parsed = configparser.ConfigParser()
    parsed.read_string(answer.pod["metadata"]["annotations"]["cwii.dev/aws-config"])
    assert {name: parsed[name]["role_arn"] for name in parsed.sections()} == {
        "profile billing": ROLE + "billing",
        "profile reports": ROLE + "reports",
    }
    assert value(answer, "app", "AWS_CONFIG_FILE") == "/var/run/secrets/cwii.dev/aws/config"
    assert value(answer, "app", "AWS_ROLE_ARN") is None


@pytest.mark.parametrize(
    ("vocabulary", "annotations", "labels", "variable", "expected"),
    [
        (
            "eks",
            {
                "eks.amazonaws.com/role-arn": ROLE + "all",
                "eks.amazonaws.com/role-arn.worker": ROLE + "worker",
            },
            None,
            "AWS_ROLE_ARN",
            [ROLE + "all", ROLE + "worker", ROLE + "all"],
        ),
        (
            "azwi",
            {
                "azure.workload.identity/client-id": GUID + "1",
                "azure.workload.identity/client-id.worker": GUID + "2",
                "azure.workload.identity/tenant-id": GUID + "9",
            },
            {"azure.workload.identity/use": "true"},
            "AZURE_CLIENT_ID",
            [GUID + "1", GUID + "2", GUID + "1"],
        ),
    ],
)
def test_the_other_dialects_have_it_too(
    vocabulary: str,
    annotations: dict[str, str],
    labels: dict[str, str] | None,
    variable: str,
    expected: list[str],
) -> None:
    answer = ask(annotations, labels, vocabularies=[vocabulary])

    assert [value(answer, name, variable) for name in CONTAINERS] == expected
    assert answer.response.get("warnings", []) == []


def test_two_dialects_that_ask_for_one_cloud_are_reported_and_the_first_is_served() -> None:
    annotations = {
        "cwii.dev/aws-inject": "true",
        "cwii.dev/aws-role-arn": ROLE + "cwii",
        "eks.amazonaws.com/role-arn": ROLE + "eks",
    }

    first, second = (ask(annotations, vocabularies=order) for order in (["cwii", "eks"], ["eks", "cwii"]))

    assert (value(first, "app", "AWS_ROLE_ARN"), value(second, "app", "AWS_ROLE_ARN")) == (
        ROLE + "cwii",
        ROLE + "eks",
    )
    assert (
        "both cwii and eks annotations ask for aws identity: cwii is served" in first.response["warnings"][0]
    )


def test_different_clouds_of_different_dialects_compose() -> None:
    answer = ask(
        {
            "eks.amazonaws.com/role-arn": ROLE + "eks",
            "azure.workload.identity/client-id": GUID + "1",
            "azure.workload.identity/tenant-id": GUID + "9",
            "cwii.dev/gcp-inject": "true",
            "cwii.dev/gcp-audience": PROVIDER,
        },
        {"azure.workload.identity/use": "true"},
        vocabularies=["cwii", "azwi", "eks"],
    )

    assert answer.verdict.providers == ("gcp", "aws", "az")
    assert [volume["name"] for volume in answer.pod["spec"]["volumes"]] == [
        "cwii-gcp-token",
        "aws-iam-token",
        "azure-identity-token",
    ]
