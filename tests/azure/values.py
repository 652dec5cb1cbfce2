"""Values for tests of ``vestibule azure``: a run's names, requests, and a world in which all of it exists."""

from __future__ import annotations

from typing import Any

from vestibule.api.credentialsrequest import TOKEN_FILE, CredentialsRequest
from vestibule.clouds.azure import endpoints
from vestibule.clouds.azure.resources import (
    AzureRole,
    BlobContainer,
    FederatedCredential,
    ManagedIdentity,
    ResourceGroup,
    RoleAssignment,
    StorageAccount,
)
from vestibule.provision.azure import names as rules
from vestibule.provision.azure.names import AzureNames
from vestibule.provision.azure.observed import ObservedAzure
from vestibule.provision.azure.request import AzureRequest

SUBSCRIPTION = "aaaaaaaa-0000-4000-8000-000000000001"
TENANT = "bbbbbbbb-0000-4000-8000-000000000002"
PRINCIPAL = "cccccccc-0000-4000-8000-000000000003"
CLIENT = "dddddddd-0000-4000-8000-000000000004"
ISSUER = "https://demo1.blob.core.windows.net/demo1"
SCOPE = f"/subscriptions/{SUBSCRIPTION}"
NAMES = AzureNames("demo1", "demo1-oidc", "demo1", "demo1", "demo1")
OWNED = {NAMES.owned_tag: "owned"}
CONTRIBUTOR = AzureRole(
    f"{SCOPE}/providers/Microsoft.Authorization/roleDefinitions/b24988ac-6180-42a0-ab88-20f7382dd24c",
    "b24988ac-6180-42a0-ab88-20f7382dd24c",
    "Contributor",
    "",
)


def request(name: str = "cr1", *, accounts: tuple[str, ...] = ("sa-one",), **spec: Any) -> CredentialsRequest:
    return CredentialsRequest(
        name,
        "ns1",
        "secret1",
        accounts,
        TOKEN_FILE,
        spec or {"roleBindings": [{"role": "Contributor"}]},
        "a.yaml:1",
    )


def wanted(*requests: CredentialsRequest, **more: Any) -> AzureRequest:
    created = AzureRequest(
        NAMES, "eastus", SUBSCRIPTION, TENANT, endpoints.PUBLIC, {}, ISSUER, requests=requests
    )
    return created._replace(**more)


def identity(**more: Any) -> ManagedIdentity:
    name = "demo1-ns1-secret1"
    created = ManagedIdentity(
        f"{SCOPE}/{name}", "demo1-oidc", name, "eastus", OWNED, PRINCIPAL, CLIENT, TENANT
    )
    return created._replace(**more)


def assignment(**more: Any) -> RoleAssignment:
    mark = rules.ROLE_DESCRIPTION.format("demo1")
    created = RoleAssignment("A1", "A1", f"{SCOPE}/resourceGroups/demo1", CONTRIBUTOR.id, PRINCIPAL, mark)
    return created._replace(**more)


def credential(**more: Any) -> FederatedCredential:
    created = FederatedCredential("sa-one", ISSUER, "system:serviceaccount:ns1:sa-one", ("openshift",))
    return created._replace(**more)


def world(**more: Any) -> ObservedAzure:
    """Everything that `wanted(request())` wants."""
    created = ObservedAzure(
        ResourceGroup("demo1-oidc", "eastus", OWNED),
        ResourceGroup("demo1", "eastus", OWNED),
        StorageAccount("demo1-oidc", "demo1", "eastus", OWNED),
        BlobContainer("demo1", "Container"),
        {"demo1-ns1-secret1": identity()},
        {"Contributor": (CONTRIBUTOR,)},
        {PRINCIPAL: (assignment(),)},
        {"demo1-ns1-secret1": (credential(),)},
    )
    return created._replace(**more)
