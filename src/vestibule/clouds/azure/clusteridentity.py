"""An ``AzureClusterIdentity`` as a credential of azure-identity. Secrets stay in it."""

from __future__ import annotations

import base64
import binascii
import json
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from vestibule import errors
from vestibule.clouds.azure.endpoints import AzureEndpoints

if TYPE_CHECKING:
    from azure.core.credentials import TokenCredential


def credential(spec: Mapping[str, Any], secret: Mapping[str, str], cloud: AzureEndpoints) -> TokenCredential:
    """The credential of an identity; ``secret`` is the decoded data of the Secret it names.

    Raises InvalidInput where something is missing, MissingExtra.
    """
    try:
        from azure import identity
    except ModuleNotFoundError as error:
        raise errors.MissingExtra("azure", "azure") from error
    kind = str(spec.get("type") or "")
    client, tenant = str(spec.get("clientID") or ""), str(spec.get("tenantID") or "")
    where: dict[str, Any] = {
        "authority": cloud.authority,
        "disable_instance_discovery": not cloud.known,
    }
    if kind in ("ServicePrincipal", "ManualServicePrincipal"):
        return identity.ClientSecretCredential(tenant, client, _needed(secret, "clientSecret"), **where)
    if kind == "ServicePrincipalCertificate":
        path = str(spec.get("certPath") or "")
        if path:
            return identity.CertificateCredential(tenant, client, path, **where)
        data = _needed(secret, "clientSecret").encode()
        return identity.CertificateCredential(tenant, client, certificate_data=data, **where)
    if kind == "UserAssignedMSI":
        return identity.ManagedIdentityCredential(client_id=client)
    if kind == "WorkloadIdentity":
        return identity.WorkloadIdentityCredential(tenant_id=tenant, client_id=client, **where)
    if kind == "UserAssignedIdentityCredential":
        return _from_file(str(spec.get("userAssignedIdentityCredentialsPath") or ""), where)
    raise errors.InvalidInput(errors.InputProblem("AzureClusterIdentity", "spec.type", f"is {kind!r}"))


def _needed(secret: Mapping[str, str], key: str) -> str:
    if not secret.get(key):
        problem = errors.InputProblem(
            "AzureClusterIdentity", "spec.clientSecret", f"names a Secret without {key!r}"
        )
        raise errors.InvalidInput(problem)
    return secret[key]


def _from_file(path: str, where: dict[str, Any]) -> TokenCredential:
    """The file that a credential provider mounts: a certificate in base64, with whose it is."""
    from azure.identity import CertificateCredential

    about = "spec.userAssignedIdentityCredentialsPath"
    try:
        found = json.loads(Path(path).read_bytes())
        data = base64.b64decode(found["client_secret"], validate=True)
        tenant, client = str(found["tenant_id"]), str(found["client_id"])
    except (OSError, ValueError, KeyError, TypeError, binascii.Error) as error:
        text = (
            f"is {path!r}, want a file with client_id, tenant_id and client_secret ({type(error).__name__})"
        )
        raise errors.InvalidInput(errors.InputProblem("AzureClusterIdentity", about, text)) from error
    return CertificateCredential(tenant, client, certificate_data=data, **where)
