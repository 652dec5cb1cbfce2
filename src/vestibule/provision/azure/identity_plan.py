"""The steps of one CredentialsRequest: identity, role, assignments, credentials, Secret. Pure.

They are performed one after the other, because Azure refuses two concurrent writes to one identity. An
identity that exists without our tag is used and not recorded as ours.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from vestibule.api.credentialsrequest import CredentialsRequest
from vestibule.clouds.azure.resources import AzureRole, FederatedCredential, ManagedIdentity, RoleAssignment
from vestibule.errors import InputProblem
from vestibule.provision.azure import actions as do
from vestibule.provision.azure import names as rules
from vestibule.provision.azure.observed import ObservedAzure
from vestibule.provision.azure.request import AzureRequest, roles
from vestibule.provision.steps import OwnedResource, PlannedStep, StepResult, Value


class IdentityPlan:
    """The plan of one CredentialsRequest; its problems are appended to ``problems``."""

    def __init__(
        self,
        desired: AzureRequest,
        observed: ObservedAzure,
        request: CredentialsRequest,
        issuer: Value,
        problems: list[InputProblem],
    ) -> None:
        self.desired, self.observed, self.request = desired, observed, request
        self.issuer, self.problems = issuer, problems
        self.name = desired.names.identity(request)
        self.step = f"identity/{self.name}"
        self.existing: ManagedIdentity | None = observed.identities.get(self.name.lower())
        self.known: dict[str, Mapping[str, str]] = {}
        self.remarks: list[str] = []
        if self.existing is not None:
            self.known[self.step] = result(self.existing)

    def steps(self) -> Iterator[PlannedStep]:
        """All steps, in order."""
        yield from self._identity()
        yield from self._roles()
        yield from self._credentials()
        client, tenant = StepResult(self.step, "client"), StepResult(self.step, "tenant")
        yield PlannedStep(
            f"secret/{self.request.namespace}-{self.request.secret}",
            "write",
            f"Secret {self.request.namespace}/{self.request.secret}",
            do.WriteAzureSecret(self.request, client, tenant),
            (self.step,),
        )

    def _identity(self) -> Iterator[PlannedStep]:
        group, tags = self.desired.names.oidc_group, self.desired.owned
        title = f"managed identity {self.name}"
        needs = (f"group/{group}", f"group/{self.desired.names.installation_group}")
        if self.existing is None:
            action = do.PutIdentity(group, self.name, self.desired.region, tags)
            yield PlannedStep(
                self.step, "create", title, action, needs, OwnedResource("identity", f"{group}/{self.name}")
            )
        elif merged := rules.merged(self.existing.tags, self._tags(self.existing)):
            action = do.PutIdentity(group, self.existing.name, self.existing.location, merged)
            yield PlannedStep(self.step, "update", title, action, needs, why="tags")

    def _tags(self, current: ManagedIdentity) -> Mapping[str, str]:
        if self.desired.names.owned_tag in current.tags:
            return self.desired.owned
        self.remarks.append(
            f"managed identity {self.name} exists without a tag of vestibule: used, and not deleted by delete"
        )
        return self.desired.tags

    def _roles(self) -> Iterator[PlannedStep]:
        requested, _ = roles(self.request)
        role_ids = [(title, one.id) for title in requested.bindings if (one := self._only(title)) is not None]
        needs = [self.step]
        if requested.actions or requested.data_actions:
            step, identifier = self._custom(requested.actions, requested.data_actions)
            if step is not None:
                yield step
                needs.append(step.id)
            role_ids.append((self.name, identifier))
        have = self.observed.assignments.get(self.existing.principal, ()) if self.existing else ()
        mark = rules.ROLE_DESCRIPTION.format(self.desired.names.name)
        needed: set[str] = set()
        last = self.step
        for title, role in role_ids:
            for group in self.desired.names.scopes(self.request):
                scope = f"/subscriptions/{self.desired.subscription}/resourceGroups/{group}"
                current = [
                    one for one in have if rules.same_id(one.scope, scope) and _same_role(one.role, role)
                ]
                needed |= {one.id or one.name for one in current}
                if current:
                    continue
                action = do.Assign(scope, StepResult(self.step, "principal"), role, mark)
                last = f"assignment/{self.name}/{title}/{group}"
                resource = OwnedResource("assignment", f"{scope}|{self.name}|{role}")
                yield PlannedStep(
                    last, "create", f"role {title} in {group} for {self.name}", action, (*needs,), resource
                )
        yield from self._extra(have, needed, mark, last)

    def _extra(
        self, have: tuple[RoleAssignment, ...], needed: set[str], mark: str, last: str
    ) -> Iterator[PlannedStep]:
        """Assignments that no request needs: deleted if we created them, or all if the user asks for it.

        Never inherited ones, those of a group that the identity is in, or ones without properties.
        """
        subscription = f"/subscriptions/{self.desired.subscription}".lower()
        for one in have:
            if (one.id or one.name) in needed or not (one.name and one.scope and one.role):
                continue
            direct = self.existing is not None and one.principal.lower() == self.existing.principal.lower()
            inside = f"{one.scope.lower()}/".startswith(f"{subscription}/")
            ours = one.description == mark
            if not direct or not inside or self.desired.preserve or not (ours or self.desired.prune):
                self.remarks.append(
                    f"{self.name} also has the role {one.role.rpartition('/')[2]} at {one.scope}: left alone"
                    + ("" if direct and inside else ", it is inherited or a group's")
                )
                continue
            title = f"role {one.role.rpartition('/')[2]} at {one.scope} for {self.name}"
            identifier = f"unassign/{self.name}/{one.name}"
            yield PlannedStep(identifier, "delete", title, do.Unassign(one.scope, one.name), (last,))

    def _only(self, title: str) -> AzureRole | None:
        found = self.observed.roles.get(title, ())
        if len(found) == 1:
            return found[0]
        where = f"CredentialsRequest {self.request.name}: spec.providerSpec.roleBindings"
        text = f"names the role {title!r}, of which {len(found)} exist, expected one"
        self.problems.append(InputProblem(self.request.place, where, text))
        return None

    def _custom(self, actions: tuple[str, ...], data: tuple[str, ...]) -> tuple[PlannedStep | None, str]:
        """The step for the custom role, if it is not as it should be, and its id."""
        scope = f"/subscriptions/{self.desired.subscription}"
        found = self.observed.roles.get(self.name, ())
        description = rules.ROLE_DESCRIPTION.format(self.desired.names.name)
        if len(found) > 1:
            text = f"{len(found)} role definitions are called {self.name!r}, expected one"
            self.problems.append(
                InputProblem(self.request.place, f"CredentialsRequest {self.request.name}", text)
            )
        guid = found[0].name if found else rules.role(scope, self.name)
        identifier = f"{scope}/providers/Microsoft.Authorization/roleDefinitions/{guid}"
        if found and found[0].description != description:
            text = (
                f"the role definition {self.name!r} exists and is not ours "
                f"(its description is {found[0].description!r}), want another --name"
            )
            self.problems.append(
                InputProblem(self.request.place, f"CredentialsRequest {self.request.name}", text)
            )
        if found and (found[0].actions, found[0].data_actions) == (actions, data):
            return None, identifier
        action = do.PutRoleDefinition(guid, self.name, description, actions, data)
        step = PlannedStep(
            f"role/{self.name}",
            "update" if found else "create",
            f"custom role {self.name}",
            action,
            (self.step,),
            OwnedResource("role", guid),
            "permissions" if found else "",
        )
        return step, identifier

    def _credentials(self) -> Iterator[PlannedStep]:
        group = self.desired.names.oidc_group
        have = {one.name.lower(): one for one in self.observed.credentials.get(self.name.lower(), ())}
        last = self.step
        desired_names: set[str] = set()
        for account, subject in zip(self.request.accounts, self.request.subjects, strict=True):
            name = rules.credential(account)
            desired_names.add(name.lower())
            action = do.PutCredential(group, self.name, name, self.issuer, subject, (rules.AUDIENCE,))
            current = have.get(name.lower())
            why = _changed(current, action) if current else ""
            if current and not why:
                continue
            step = f"credential/{self.name}/{name}"
            resource = OwnedResource("credential", f"{group}/{self.name}/{name}")
            title = f"federated credential {name} of {self.name}"
            yield PlannedStep(
                step, "update" if current else "create", title, action, (last, self.step), resource, why
            )
            last = step
        for key, stale in have.items():
            if key in desired_names:
                continue
            # a credential whose ServiceAccount is no longer listed would trust it for ever
            if not rules.ours_by_subject(stale.subject, self.request.namespace):
                self.remarks.append(
                    f"{self.name} also trusts {stale.subject!r} of {stale.issuer!r}: left alone"
                )
                continue
            step = f"stale/{self.name}/{stale.name}"
            drop = do.DeleteCredential(group, self.name, stale.name)
            title = f"federated credential {stale.name} of {self.name}"
            yield PlannedStep(
                step, "delete", title, drop, (last, self.step), why="its account is no longer listed"
            )
            last = step


def result(found: ManagedIdentity) -> dict[str, str]:
    """The results of an identity that later steps need."""
    return {"principal": found.principal, "client": found.client, "tenant": found.tenant}


def _same_role(one: str, other: str) -> bool:
    """Role definitions are named by GUID; some responses leave the subscription out of the id."""
    return one.rpartition("/")[2].lower() == other.rpartition("/")[2].lower()


def _changed(current: FederatedCredential, action: do.PutCredential) -> str:
    fields = ("issuer", "subject", "audiences")
    return ", ".join(field for field in fields if getattr(current, field) != getattr(action, field))
