"""The manifests of an OpenShift installation on Azure."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import PurePosixPath
from typing import Final

from vestibule.api.credentialsrequest import CredentialsRequest
from vestibule.oidc import documents
from vestibule.oidc.keys import PublicKey
from vestibule.provision import manifests as shared
from vestibule.provision.outputs import CONFIGURATION, KEYS, READABLE, Output
from vestibule.provision.yamlscalars import scalar

WEBHOOK: Final = PurePosixPath("manifests/azure-ad-pod-identity-webhook-config.yaml")
UNFINISHED: Final = "POPULATE CLIENT ID AND TENANT ID AND DELETE THIS LINE"
"""Last line of a Secret whose identity does not exist yet: kubectl refuses it."""


def write_issuer(output: Output, issuer: str, keys: Sequence[PublicKey], tenant: str) -> None:
    """Copies of the published documents, and the manifests that make the cluster use the issuer."""
    output.folder("manifests")
    output.write(CONFIGURATION, documents.configuration(issuer), READABLE)
    output.write(KEYS, documents.key_set(keys), READABLE)
    output.write(shared.AUTHENTICATION, shared.authentication(issuer))
    output.write(WEBHOOK, webhook(tenant))


def webhook(tenant: str) -> str:
    """The Secret that enables the identity webhook of the cluster."""
    return (
        "apiVersion: v1\n"
        "stringData:\n"
        f"  azure_tenant_id: {scalar(tenant)}\n"
        "kind: Secret\n"
        "metadata:\n"
        "  name: azure-credentials\n"
        "  namespace: openshift-cloud-credential-operator\n"
        "type: Opaque"
    )


def secret(request: CredentialsRequest, *, client: str, tenant: str, region: str, subscription: str) -> str:
    """The credentials of a component. Without client and tenant the manifest cannot be applied."""
    finished = bool(client and tenant)
    values = {
        "azure_client_id": client,
        "azure_tenant_id": tenant,
        "azure_region": region,
        "azure_subscription_id": subscription,
        "azure_federated_token_file": request.token_file,
    }
    lines = [f"  {key}: {scalar(value) if value else ''}" for key, value in values.items()]
    return "\n".join(
        [
            "apiVersion: v1",
            "stringData:",
            *lines,
            "kind: Secret",
            "metadata:",
            f"  name: {scalar(request.secret)}",
            f"  namespace: {scalar(request.namespace)}",
            "type: Opaque",
            *([] if finished else [UNFINISHED]),
        ]
    )
