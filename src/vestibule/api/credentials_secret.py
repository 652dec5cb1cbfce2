"""Secrets for operators that bring their own identity: a CredentialsRequest that names it becomes a Secret.

Only for clusters whose tokens a cloud takes (mode Manual, an issuer of their own). A request that names
the cluster has no provisioned identity for it; one that names half of it gets a condition about the rest. No
Secret of these holds anything secret.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any, Final, NamedTuple

from vestibule.api import credentialsrequest
from vestibule.api.credentialsrequest import Cloud, CredentialsRequest

LABEL: Final = "cloudcredential.openshift.io/credentials-request"
ANNOTATION: Final = "cloudcredential.openshift.io/credentials-request"
FAILURE: Final = "CredentialsProvisionFailure"
"""Type of the condition that names what is missing."""

_FIELDS: Final[dict[Cloud, tuple[str, ...]]] = {
    "azure": ("azureClientID", "azureTenantID", "azureRegion", "azureSubscriptionID"),
    "aws": ("stsIAMRoleARN",),
    "gcp": ("serviceAccountEmail", "audience"),
}


class BrokeredSecret(NamedTuple):
    """What becomes of a request."""

    secret: Mapping[str, Any] | None = None
    failure: str = ""
    """Why there is none, for the condition; empty with no Secret: there is nothing to do."""


def broker(
    request: CredentialsRequest, cloud: Cloud, *, mode: str, issuer: str, exists: bool = False
) -> BrokeredSecret:
    """The Secret of a request; ``exists``: its Secret is there already."""
    if cloud == "azure" and mode == "Mint":
        return (
            BrokeredSecret(failure="mode Mint is invalid on Azure, want Manual")
            if exists
            else BrokeredSecret()
        )
    if mode != "Manual" or not issuer:
        return BrokeredSecret()
    given = {name: str(credentialsrequest.get(request.spec, name) or "") for name in _FIELDS[cloud]}
    missing = [name for name, value in given.items() if not value]
    if len(missing) == len(given):
        return BrokeredSecret()
    if missing:
        fields = ", ".join(f"spec.providerSpec.{name}" for name in missing)
        return BrokeredSecret(failure=f"{FAILURE}: {fields} missing, want all of {', '.join(given)}")
    data = {"azure": _azure, "aws": _aws, "gcp": _gcp}[cloud](given, request.token_file)
    meta = {
        "name": request.secret,
        "namespace": request.namespace,
        "labels": {LABEL: "true"},
        "annotations": {ANNOTATION: f"openshift-cloud-credential-operator/{request.name}"},
    }
    return BrokeredSecret(
        {"apiVersion": "v1", "kind": "Secret", "metadata": meta, "type": "Opaque", "stringData": data}
    )


def _azure(given: Mapping[str, str], token_file: str) -> dict[str, str]:
    return {
        "azure_client_id": given["azureClientID"],
        "azure_tenant_id": given["azureTenantID"],
        "azure_region": given["azureRegion"],
        "azure_subscription_id": given["azureSubscriptionID"],
        "azure_federated_token_file": token_file,
    }


def _aws(given: Mapping[str, str], token_file: str) -> dict[str, str]:
    return {"credentials": aws_profile(given["stsIAMRoleARN"], token_file)}


def _gcp(given: Mapping[str, str], token_file: str) -> dict[str, str]:
    account = gcp_account(given["audience"], given["serviceAccountEmail"], token_file)
    return {"service_account.json": account}


def aws_profile(role: str, token_file: str) -> str:
    """An AWS configuration that logs in with a token."""
    return (
        "[default]\n"
        "sts_regional_endpoints = regional\n"
        f"role_arn = {role}\n"
        f"web_identity_token_file = {token_file}\n"
    )


def gcp_account(audience: str, email: str, token_file: str, universe: str = "googleapis.com") -> str:
    """A Google configuration that logs in with a token and acts as a service account."""
    return json.dumps(
        {
            "type": "external_account",
            "audience": audience,
            "subject_token_type": "urn:ietf:params:oauth:token-type:jwt",
            "token_url": f"https://sts.{universe}/v1/token",
            "service_account_impersonation_url": (
                f"https://iamcredentials.{universe}/v1/projects/-/serviceAccounts/{email}:generateAccessToken"
            ),
            "credential_source": {"file": token_file, "format": {"type": "text"}},
            **({"universe_domain": universe} if universe != "googleapis.com" else {}),
        }
    )
