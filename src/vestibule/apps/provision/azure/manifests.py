"""The manifests that an OpenShift install takes on Azure."""

from __future__ import annotations

from pathlib import PurePosixPath
from typing import Final

from vestibule.apps.provision.yamlscalars import scalar
from vestibule.core.kinds.credentials import CredentialsRequest

WEBHOOK: Final = PurePosixPath("manifests/azure-ad-pod-identity-webhook-config.yaml")
UNFINISHED: Final = "POPULATE CLIENT ID AND TENANT ID AND DELETE THIS LINE"
"""Last line of a Secret whose identity does not exist yet: nobody can apply it by accident."""


def webhook(tenant: str) -> str:
    """Switches the identity webhook of the cluster on."""
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
    """What a component logs in with. Without client and tenant it is made so that it cannot be applied."""
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
