"""Secrets for operators that bring their own identity."""

from __future__ import annotations

import configparser
import json
from typing import Any

import pytest

from vestibule.api import credentials_secret
from vestibule.api.credentialsrequest import Cloud, CredentialsRequest

AZURE: dict[str, Any] = {
    "azureClientID": "c",
    "azureTenantID": "t",
    "azureRegion": "r",
    "azureSubscriptionID": "s",
}


def broker(
    cloud: Cloud = "azure", *, mode: str = "Manual", exists: bool = False, **spec: Any
) -> credentials_secret.BrokeredSecret:
    request = CredentialsRequest("cr", "ns", "secret", ("sa",), "/var/run/other/token", spec)
    return credentials_secret.broker(request, cloud, mode=mode, issuer="https://i", exists=exists)


def test_a_request_that_names_nothing_was_served_by_who_made_the_cluster() -> None:
    assert broker() == credentials_secret.BrokeredSecret()


def test_half_an_identity_is_reported_with_every_missing_field() -> None:
    failure = broker(azureClientID="c").failure

    assert failure.startswith("CredentialsProvisionFailure")
    assert all(name in failure for name in ("azureTenantID", "azureRegion", "azureSubscriptionID"))


def test_the_secret_of_azure_has_five_keys_no_secret_and_the_requests_own_token_path() -> None:
    secret = broker(**AZURE).secret

    assert secret is not None
    assert secret["stringData"] == {
        "azure_client_id": "c",
        "azure_tenant_id": "t",
        "azure_region": "r",
        "azure_subscription_id": "s",
        "azure_federated_token_file": "/var/run/other/token",
    }
    assert secret["metadata"]["labels"] == {"cloudcredential.openshift.io/credentials-request": "true"}


def test_minting_is_refused_on_azure_only_where_a_secret_exists() -> None:
    assert "invalid" in broker(mode="Mint", exists=True).failure
    assert broker(mode="Mint") == credentials_secret.BrokeredSecret()


@pytest.mark.parametrize(("mode", "issuer"), [("Manual", ""), ("Passthrough", "https://i")])
def test_clusters_whose_tokens_no_cloud_takes_are_left_alone(mode: str, issuer: str) -> None:
    request = CredentialsRequest("cr", "ns", "secret", ("sa",), "/t", AZURE)

    assert (
        credentials_secret.broker(request, "azure", mode=mode, issuer=issuer)
        == credentials_secret.BrokeredSecret()
    )


def test_the_secret_of_aws_is_a_configuration_that_sdks_read() -> None:
    secret = broker("aws", stsIAMRoleARN="arn:aws:iam::1:role/x").secret
    assert secret is not None
    parsed = configparser.ConfigParser()
    parsed.read_string(secret["stringData"]["credentials"])

    assert dict(parsed["default"]) == {
        "sts_regional_endpoints": "regional",
        "role_arn": "arn:aws:iam::1:role/x",
        "web_identity_token_file": "/var/run/other/token",
    }


def test_the_secret_of_google_is_an_external_account() -> None:
    secret = broker("gcp", serviceAccountEmail="a@b", audience="//iam/x").secret
    assert secret is not None
    found = json.loads(secret["stringData"]["service_account.json"])

    assert (found["type"], found["audience"]) == ("external_account", "//iam/x")
    assert found["service_account_impersonation_url"].endswith("/serviceAccounts/a@b:generateAccessToken")
    assert found["credential_source"]["file"] == "/var/run/other/token"
