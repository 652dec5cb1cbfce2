"""Logins: the operator's, and those of workloads whose tokens are verified against what is published."""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from azure.core.exceptions import ClientAuthenticationError, HttpResponseError
from azure.identity import EnvironmentCredential, WorkloadIdentityCredential

from tests.azure.clients import Clients, clients, guid, refused
from tests.azure.simulator import Simulated
from tests.azure.tokens import AUDIENCE, ISSUER, SUBJECT, Cluster, blobs
from vestibule.oidc import documents

SCOPE = "https://management.azure.com/.default"


class Workload:
    """A pod with a token file, and an identity that trusts its ServiceAccount."""

    def __init__(self, simulator: Simulated, azure: Clients, folder: Path) -> None:
        self._simulator, self._file = simulator, folder / "token"
        self.cluster = Cluster()
        self.cluster.publish(simulator, azure)
        self.azure = azure
        self.identity = azure.identities.user_assigned_identities.create_or_update(
            "rg", "ident", {"location": "eastus"}
        )
        self.trust()

    def trust(self, **other: Any) -> None:
        properties = {"issuer": ISSUER, "subject": SUBJECT, "audiences": [AUDIENCE], **other}
        calls = self.azure.identities.federated_identity_credentials
        calls.create_or_update("rg", "ident", "sa-one", {"properties": properties})

    def login(self, token: str = "", client: str = "") -> WorkloadIdentityCredential:
        """As azure-identity does it in a pod."""
        self._file.write_text(token or self.cluster.token())
        return WorkloadIdentityCredential(
            tenant_id=self._simulator.settings.tenant,
            client_id=client or self.identity.client_id,
            token_file_path=str(self._file),
            authority=self._simulator.base,
            disable_instance_discovery=True,
            connection_verify=self._simulator.bundle,
        )

    def refused(self, code: str, token: str = "", client: str = "") -> None:
        with self.login(token, client) as login, pytest.raises(ClientAuthenticationError) as caught:
            login.get_token(SCOPE)
        assert f"{code}:" in str(caught.value)


@pytest.fixture
def azure(simulator: Simulated) -> Iterator[Clients]:
    with clients(simulator) as created:
        yield created


@pytest.fixture
def workload(simulator: Simulated, azure: Clients, tmp_path: Path) -> Workload:
    return Workload(simulator, azure, tmp_path)


def test_the_operator_logs_in_from_the_environment(simulator: Simulated) -> None:
    with EnvironmentCredential(
        authority=simulator.base, disable_instance_discovery=True, connection_verify=simulator.bundle
    ) as login:
        assert login.get_token(SCOPE).token.count(".") == 2


def test_a_wrong_secret_and_a_wrong_tenant_are_refused(simulator: Simulated) -> None:
    with simulator.credential(secret="wrong") as login, pytest.raises(ClientAuthenticationError) as caught:
        login.get_token(SCOPE)
    assert "AADSTS7000215" in str(caught.value)


def test_arm_takes_its_own_tokens_only_and_while_they_count(simulator: Simulated) -> None:
    class Odd:
        def get_token(self, *_: str, **__: Any) -> Any:
            from azure.core.credentials import AccessToken

            return AccessToken(Cluster().token(), int(time.time()) + 3600)

    with clients(simulator, Odd()) as azure, refused(401, "InvalidAuthenticationToken"):
        azure.groups.resource_groups.get("rg")
    with clients(simulator) as azure:
        with refused(404, "ResourceGroupNotFound"):
            azure.groups.resource_groups.get("rg")
        simulator.pass_time(3700)
        with refused(401, "ExpiredAuthenticationToken"):
            azure.groups.resource_groups.get("rg")


def test_a_token_for_blobs_is_none_for_arm(simulator: Simulated) -> None:
    odd = clients(simulator, credential_scopes=["https://storage.azure.com/.default"])
    with odd as azure, refused(401, "InvalidAuthenticationToken"):
        azure.groups.resource_groups.get("rg")


def test_a_workload_gets_a_token_and_only_the_permissions_of_its_roles(
    workload: Workload, simulator: Simulated
) -> None:
    with workload.login() as login, clients(simulator, login) as mine:
        with refused(403, "AuthorizationFailed"):
            mine.groups.resource_groups.get("rg")
        reader = "acdd72a7-3385-48ef-bd42-f606fba81ae7"
        definition = f"{simulator.root}/providers/Microsoft.Authorization/roleDefinitions/{reader}"
        principal = workload.identity.principal_id
        body = {"properties": {"roleDefinitionId": definition, "principalId": principal}}
        workload.azure.roles.role_assignments.create(f"{simulator.root}/resourceGroups/rg", guid(), body)

        assert mine.groups.resource_groups.get("rg").name == "rg"
        with refused(403, "AuthorizationFailed"):
            mine.groups.resource_groups.create_or_update("rg", {"location": "eastus"})
        with refused(403, "AuthorizationFailed"):
            mine.groups.resource_groups.get("other")


def test_issuer_subject_and_audience_are_compared_byte_for_byte(workload: Workload) -> None:
    token = workload.cluster.token
    workload.refused("AADSTS700211", token(iss=f"{ISSUER}/"))
    workload.refused("AADSTS700213", token(sub=SUBJECT.upper()))
    workload.refused("AADSTS700212", token(aud=["api://AzureADTokenExchange"]))


def test_tokens_of_nobody_are_refused(workload: Workload) -> None:
    workload.refused("AADSTS700016", client=guid())
    workload.refused("AADSTS50027", "no token")
    workload.refused("AADSTS700024", workload.cluster.token(exp=int(time.time()) - 1000))
    workload.refused("AADSTS700027", workload.cluster.token(kid="other"))
    workload.refused("AADSTS700027", Cluster().token(kid=workload.cluster.public.kid))


def test_an_identity_that_trusts_nobody_says_so(workload: Workload) -> None:
    workload.azure.identities.federated_identity_credentials.delete("rg", "ident", "sa-one")

    workload.refused("AADSTS70021")


def test_an_issuer_that_cannot_be_read_is_reported(workload: Workload, simulator: Simulated) -> None:
    body = {"properties": {"publicAccess": "None"}}
    workload.azure.storage.blob_containers.update("rg", "demo1", "demo1", body)
    workload.refused("AADSTS50166")
    workload.azure.storage.storage_accounts.update(
        "rg", "demo1", {"properties": {"allowBlobPublicAccess": False}}
    )
    workload.refused("AADSTS50166")


def test_an_issuer_that_names_another_is_not_believed(workload: Workload, simulator: Simulated) -> None:
    with blobs(simulator, simulator.credential()) as service:
        content = documents.configuration("https://other.example/x")
        service.get_blob_client("demo1", documents.DISCOVERY_NAME).upload_blob(content, overwrite=True)

    workload.refused("AADSTS50166")


def test_a_rotated_key_counts_when_it_is_published(workload: Workload, simulator: Simulated) -> None:
    workload.cluster, before = Cluster(), workload.cluster
    workload.refused("AADSTS700027")
    with blobs(simulator, simulator.credential()) as service:
        content = documents.key_set([before.public, workload.cluster.public])
        service.get_blob_client("demo1", documents.AZURE.keys_name).upload_blob(content, overwrite=True)

    with workload.login() as login:
        assert login.get_token(SCOPE).token


def test_new_credentials_take_their_time(workload: Workload, simulator: Simulated) -> None:
    simulator.settings.replication = {"credential": 60}
    workload.refused("AADSTS70021")
    simulator.pass_time(61)
    with workload.login() as login:
        assert login.get_token(SCOPE).token


def test_data_needs_a_role_of_its_own(workload: Workload, simulator: Simulated) -> None:
    with (
        workload.login() as login,
        blobs(simulator, login) as service,
        pytest.raises(HttpResponseError) as caught,
    ):
        service.get_blob_client("demo1", "x").upload_blob(b"x")
    assert caught.value.error_code == "AuthorizationPermissionMismatch"  # type: ignore[attr-defined]
