"""Performs steps: one call each, repeated while a new resource is not yet known everywhere in Azure."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Final

from vestibule.clouds import publisher, retry
from vestibule.clouds.azure import blobs
from vestibule.clouds.azure.arm import Arm
from vestibule.clouds.azure.errors import AzureCallError
from vestibule.clouds.azure.resources import FederatedCredential
from vestibule.oidc.keys import PublicKey
from vestibule.provision import manifests as shared
from vestibule.provision.azure import actions as do
from vestibule.provision.azure import identity_plan, manifests, names
from vestibule.provision.azure.request import AzureRequest
from vestibule.provision.outputs import Output
from vestibule.provision.steps import PlannedStep

if TYPE_CHECKING:
    from azure.core.credentials import TokenCredential

Result = Mapping[str, str]
NOTHING: Final[Result] = {}


class AzurePerformer:
    """Performs the steps of plans that create and of plans that delete."""

    def __init__(
        self,
        arm: Arm,
        credential: TokenCredential,
        desired: AzureRequest,
        output: Output,
        keys: Sequence[PublicKey] = (),
        *,
        fetch: publisher.Fetch | None = None,
        pause: Callable[[float], None] = time.sleep,
    ) -> None:
        self._arm, self._credential, self._desired, self._output = arm, credential, desired, output
        self._keys, self._fetch, self._pause = keys, fetch, pause

    def __call__(self, step: PlannedStep) -> Result:
        """Perform a step; the results that other steps need. Raises VestibuleError, OSError."""
        arm = self._arm
        match step.action:
            case do.PutGroup(name, location, tags):
                arm.put_group(name, location, tags)
            case do.CreateStorageAccount(group, name, location, tags, properties):
                arm.create_account(group, name, location, tags, **properties)
            case do.TagAccount(group, name, tags):
                arm.tag_account(group, name, tags)
            case do.PutContainer(group, account, name, public):
                arm.put_container(group, account, name, public)
            case do.PublishToBlobs() as publish:
                return self._publish(publish)
            case do.PutIdentity(group, name, location, tags):
                return identity_plan.result(arm.put_identity(group, name, location, tags))
            case do.PutRoleDefinition() as role:
                self._role(role)
            case do.Assign() as assign:
                self._assign(assign)
            case do.Unassign(scope, name):
                arm.unassign(scope, name)
            case do.PutCredential() as credential:
                self._federate(credential)
            case do.DeleteCredential(group, identity, name):
                arm.delete_credential(group, identity, name)
            case do.WriteAzureSecret() as secret:
                self._secret(secret)
            case do.DeleteRole(name):
                arm.delete_role(name)
            case do.DeleteIdentity(group, name):
                arm.delete_identity(group, name)
            case do.DeleteAccount(group, name):
                arm.delete_account(group, name)
            case do.DeleteGroup(name):
                arm.delete_group(name)
            case other:
                raise AssertionError(f"no such action: {type(other).__name__}")
        return NOTHING

    def _patiently(self, call: Callable[[], None], *passing: str) -> None:
        retry.patiently(call, passing=passing, pause=self._pause)

    def _publish(self, action: do.PublishToBlobs) -> Result:
        cloud = self._desired.cloud
        issuer = self._desired.issuer_url

        def shared_key() -> str:
            return self._arm.account_key(action.group, action.account)

        if action.website:
            blobs.enable_website(cloud, action.account, self._credential, shared_key)
            if not issuer:
                account = self._arm.account(action.group, action.account)
                issuer = account.web if account else ""
        store = blobs.store(cloud, action.account, action.container, self._credential, shared_key)
        publisher.publish(
            store, issuer, self._keys, tags=dict(action.tags), fetch=self._fetch, pause=self._pause
        )
        manifests.write_issuer(self._output, issuer, self._keys, self._desired.tenant)
        return {"issuer": issuer}

    def _federate(self, action: do.PutCredential) -> None:
        credential = FederatedCredential(action.name, str(action.issuer), action.subject, action.audiences)
        self._patiently(
            lambda: self._arm.put_credential(action.group, action.identity, credential),
            "ParentResourceNotFound",
        )

    def _role(self, action: do.PutRoleDefinition) -> None:
        """Write a role. The list of roles lags: one that exists although it was not observed is updated if it
        is ours."""
        name = action.name

        def put() -> None:
            nonlocal name
            try:
                self._arm.put_role(
                    name, action.title, action.description, action.actions, action.data_actions
                )
            except AzureCallError as fault:
                if fault.code != "RoleDefinitionWithSameNameExists":
                    raise
                found = self._arm.roles_called(action.title)
                if len(found) == 1 and found[0].description == action.description:
                    name = found[0].name
                raise

        self._patiently(put, "RoleDefinitionWithSameNameExists")

    def _assign(self, action: do.Assign) -> None:
        principal = str(action.principal)
        name = names.assignment(action.scope, principal, action.role)

        def put() -> None:
            try:
                self._arm.assign(action.scope, name, principal, action.role, action.description)
            except AzureCallError as fault:
                if fault.code != "RoleAssignmentExists":
                    raise

        self._patiently(put, "PrincipalNotFound", "RoleDefinitionDoesNotExist")

    def _secret(self, action: do.WriteAzureSecret) -> None:
        text = manifests.secret(
            action.request,
            client=str(action.client),
            tenant=str(action.tenant),
            region=self._desired.region,
            subscription=self._desired.subscription,
        )
        self._output.write(shared.secret_path(action.request), text)
