"""Does steps: one call each, repeated where Azure needs time to tell all of its parts."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Final

from vestibule.adapters.clouds import publication, retry
from vestibule.adapters.clouds.azure import blobs
from vestibule.adapters.clouds.azure.arm import Arm
from vestibule.adapters.clouds.azure.faults import CloudFault
from vestibule.apps.provision import manifests as shared
from vestibule.apps.provision.azure import actions as do
from vestibule.apps.provision.azure import entry, manifests, names
from vestibule.apps.provision.azure.request import Wanted
from vestibule.apps.provision.outputs import Output
from vestibule.apps.provision.steps import Step
from vestibule.core.oidc.keys import PublicKey

if TYPE_CHECKING:
    from azure.core.credentials import TokenCredential

Result = Mapping[str, str]
NOTHING: Final[Result] = {}


class Performer:
    """Everything that a step may need."""

    def __init__(
        self,
        arm: Arm,
        credential: TokenCredential,
        wanted: Wanted,
        output: Output,
        keys: Sequence[PublicKey] = (),
        *,
        fetch: publication.Fetch | None = None,
        pause: Callable[[float], None] = time.sleep,
    ) -> None:
        self._arm, self._credential, self._wanted, self._output = arm, credential, wanted, output
        self._keys, self._fetch, self._pause = keys, fetch, pause

    def __call__(self, step: Step) -> Result:
        """Do it; what it found out."""
        arm = self._arm
        match step.action:
            case do.PutGroup(name, location, tags):
                arm.put_group(name, location, tags)
            case do.CreateAccount(group, name, location, tags, properties):
                arm.create_account(group, name, location, tags, **properties)
            case do.TagAccount(group, name, tags):
                arm.tag_account(group, name, tags)
            case do.PutContainer(group, account, name, public):
                arm.put_container(group, account, name, public)
            case do.Publish() as publish:
                return self._publish(publish)
            case do.PutIdentity(group, name, location, tags):
                return entry.result(arm.put_identity(group, name, location, tags))
            case do.PutRole() as role:
                self._role(role)
            case do.Assign() as assign:
                self._assign(assign)
            case do.Unassign(scope, name):
                arm.unassign(scope, name)
            case do.PutCredential(group, identity, wanted):
                self._patiently(lambda: arm.put_credential(group, identity, wanted), "ParentResourceNotFound")
            case do.DropCredential(group, identity, name):
                arm.delete_credential(group, identity, name)
            case do.WriteSecret() as secret:
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

    def _publish(self, wanted: do.Publish) -> Result:
        cloud = self._wanted.cloud
        issuer = self._wanted.issuer_url

        def shared_key() -> str:
            return self._arm.account_key(wanted.group, wanted.account)

        if wanted.website:
            blobs.enable_website(cloud, wanted.account, self._credential, shared_key)
            if not issuer:
                found = self._arm.account(wanted.group, wanted.account)
                issuer = found.web if found else ""
        store = blobs.store(cloud, wanted.account, wanted.container, self._credential, shared_key)
        publication.publish(
            store, issuer, self._keys, tags=dict(wanted.tags), fetch=self._fetch, pause=self._pause
        )
        return {"issuer": issuer}

    def _role(self, wanted: do.PutRole) -> None:
        """One that exists although it was not listed: the list lagged; it is found in the end, and written
        if it is ours."""
        name = wanted.name

        def put() -> None:
            nonlocal name
            try:
                self._arm.put_role(
                    name, wanted.title, wanted.description, wanted.actions, wanted.data_actions
                )
            except CloudFault as fault:
                if fault.code != "RoleDefinitionWithSameNameExists":
                    raise
                found = self._arm.roles_called(wanted.title)
                if len(found) == 1 and found[0].description == wanted.description:
                    name = found[0].name
                raise

        self._patiently(put, "RoleDefinitionWithSameNameExists")

    def _assign(self, wanted: do.Assign) -> None:
        principal = str(wanted.principal)
        name = names.assignment(wanted.scope, principal, wanted.role)

        def put() -> None:
            try:
                self._arm.assign(wanted.scope, name, principal, wanted.role, wanted.description)
            except CloudFault as fault:
                if fault.code != "RoleAssignmentExists":
                    raise

        self._patiently(put, "PrincipalNotFound", "RoleDefinitionDoesNotExist")

    def _secret(self, wanted: do.WriteSecret) -> None:
        text = manifests.secret(
            wanted.request,
            client=str(wanted.client),
            tenant=str(wanted.tenant),
            region=self._wanted.region,
            subscription=self._wanted.subscription,
        )
        self._output.write(shared.secret_path(wanted.request), text)
