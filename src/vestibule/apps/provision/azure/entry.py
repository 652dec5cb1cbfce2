"""The steps of one CredentialsRequest: identity, role, assignments, credentials, Secret. Pure.

They come one after the other, because Azure refuses two writes to one identity at a time. An identity that
exists without our tag is used and never called ours.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from vestibule.adapters.clouds.azure.values import Assignment, Credential, Identity, Role
from vestibule.apps.provision.azure import actions as do
from vestibule.apps.provision.azure import names as rules
from vestibule.apps.provision.azure.observed import Observed
from vestibule.apps.provision.azure.request import Wanted, roles
from vestibule.apps.provision.steps import Ref, Resource, Step
from vestibule.core.kinds.credentials import CredentialsRequest
from vestibule.errors import Problem


class Entry:
    """One request against what exists; ``problems`` gets what is wrong."""

    def __init__(
        self, wanted: Wanted, found: Observed, request: CredentialsRequest, problems: list[Problem]
    ) -> None:
        self.wanted, self.found, self.request, self.problems = wanted, found, request, problems
        self.name = wanted.names.identity(request)
        self.step = f"identity/{self.name}"
        self.existing: Identity | None = found.identities.get(self.name.lower())
        self.known: dict[str, Mapping[str, str]] = {}
        self.remarks: list[str] = []
        if self.existing is not None:
            self.known[self.step] = result(self.existing)

    def steps(self) -> Iterator[Step]:
        """All of them."""
        yield from self._identity()
        yield from self._roles()
        yield from self._credentials()
        client, tenant = Ref(self.step, "client"), Ref(self.step, "tenant")
        yield Step(
            f"secret/{self.request.namespace}-{self.request.secret}",
            "write",
            f"Secret {self.request.namespace}/{self.request.secret}",
            do.WriteSecret(self.request, client, tenant),
            (self.step,),
        )

    def _identity(self) -> Iterator[Step]:
        group, tags = self.wanted.names.oidc_group, self.wanted.owned
        title = f"managed identity {self.name}"
        needs = (f"group/{group}", f"group/{self.wanted.names.installation_group}")
        if self.existing is None:
            action = do.PutIdentity(group, self.name, self.wanted.region, tags)
            yield Step(
                self.step, "create", title, action, needs, Resource("identity", f"{group}/{self.name}")
            )
        elif merged := rules.merged(self.existing.tags, self._tags(self.existing)):
            action = do.PutIdentity(group, self.existing.name, self.existing.location, merged)
            yield Step(self.step, "update", title, action, needs, why="tags")

    def _tags(self, there: Identity) -> Mapping[str, str]:
        if self.wanted.names.owned_tag in there.tags:
            return self.wanted.owned
        self.remarks.append(f"managed identity {self.name} exists and is not ours: used, and kept by delete")
        return self.wanted.tags

    def _roles(self) -> Iterator[Step]:
        asked, _ = roles(self.request)
        wanted_ids = [(title, one.id) for title in asked.bindings if (one := self._only(title)) is not None]
        needs = [self.step]
        if asked.actions or asked.data_actions:
            step, identifier = self._custom(asked.actions, asked.data_actions)
            if step is not None:
                yield step
                needs.append(step.id)
            wanted_ids.append((self.name, identifier))
        have = self.found.assignments.get(self.existing.principal, ()) if self.existing else ()
        mark = rules.ROLE_DESCRIPTION.format(self.wanted.names.name)
        kept: set[str] = set()
        last = self.step
        for title, role in wanted_ids:
            for group in self.wanted.names.scopes(self.request):
                scope = f"/subscriptions/{self.wanted.subscription}/resourceGroups/{group}"
                there = [
                    one for one in have if rules.same_id(one.scope, scope) and _same_role(one.role, role)
                ]
                kept |= {one.id or one.name for one in there}
                if there:
                    continue
                action = do.Assign(scope, Ref(self.step, "principal"), role, mark)
                last = f"assignment/{self.name}/{title}/{group}"
                made = Resource("assignment", f"{scope}|{self.name}|{role}")
                yield Step(
                    last, "create", f"role {title} in {group} for {self.name}", action, (*needs,), made
                )
        yield from self._extra(have, kept, mark, last)

    def _extra(self, have: tuple[Assignment, ...], kept: set[str], mark: str, last: str) -> Iterator[Step]:
        """Assignments that nobody wants: removed where we made them, or all when asked. Never inherited ones,
        those of a group the identity is in, or ones that Azure lists without telling what they are."""
        subscription = f"/subscriptions/{self.wanted.subscription}".lower()
        for one in have:
            if (one.id or one.name) in kept or not (one.name and one.scope and one.role):
                continue
            direct = self.existing is not None and one.principal.lower() == self.existing.principal.lower()
            inside = f"{one.scope.lower()}/".startswith(f"{subscription}/")
            ours = one.description == mark
            if not direct or not inside or self.wanted.preserve or not (ours or self.wanted.prune):
                self.remarks.append(
                    f"{self.name} also has the role {one.role.rpartition('/')[2]} at {one.scope}: left alone"
                    + ("" if direct and inside else ", it is inherited or a group's")
                )
                continue
            title = f"role {one.role.rpartition('/')[2]} at {one.scope} for {self.name}"
            identifier = f"unassign/{self.name}/{one.name}"
            yield Step(identifier, "delete", title, do.Unassign(one.scope, one.name), (last,))

    def _only(self, title: str) -> Role | None:
        found = self.found.roles.get(title, ())
        if len(found) == 1:
            return found[0]
        where = f"CredentialsRequest {self.request.name}: spec.providerSpec.roleBindings"
        text = f"names the role {title!r}, of which {len(found)} exist, expected one"
        self.problems.append(Problem(self.request.place, where, text))
        return None

    def _custom(self, actions: tuple[str, ...], data: tuple[str, ...]) -> tuple[Step | None, str]:
        """The step for the custom role, if it is not as it should be, and its id."""
        scope = f"/subscriptions/{self.wanted.subscription}"
        found = self.found.roles.get(self.name, ())
        description = rules.ROLE_DESCRIPTION.format(self.wanted.names.name)
        if len(found) > 1:
            text = f"{len(found)} role definitions are called {self.name!r}, expected one"
            self.problems.append(Problem(self.request.place, f"CredentialsRequest {self.request.name}", text))
        guid = found[0].name if found else rules.role(scope, self.name)
        identifier = f"{scope}/providers/Microsoft.Authorization/roleDefinitions/{guid}"
        if found and found[0].description != description:
            text = (
                f"the role definition {self.name!r} exists and is not ours "
                f"(its description is {found[0].description!r}), want another --name"
            )
            self.problems.append(Problem(self.request.place, f"CredentialsRequest {self.request.name}", text))
        if found and (found[0].actions, found[0].data_actions) == (actions, data):
            return None, identifier
        action = do.PutRole(guid, self.name, description, actions, data)
        step = Step(
            f"role/{self.name}",
            "update" if found else "create",
            f"custom role {self.name}",
            action,
            (self.step,),
            Resource("role", guid),
            "permissions" if found else "",
        )
        return step, identifier

    def _credentials(self) -> Iterator[Step]:
        group = self.wanted.names.oidc_group
        have = {one.name.lower(): one for one in self.found.credentials.get(self.name.lower(), ())}
        last = self.step
        wanted_names: set[str] = set()
        for account, subject in zip(self.request.accounts, self.request.subjects, strict=True):
            name = rules.credential(account)
            wanted_names.add(name.lower())
            wanted = Credential(name, self.wanted.issuer_url, subject, (rules.AUDIENCE,))
            there = have.get(name.lower())
            if there is not None and there._replace(name=name) == wanted:
                continue
            step = f"credential/{self.name}/{name}"
            action = do.PutCredential(group, self.name, wanted)
            why = _changed(there, wanted) if there else ""
            made = Resource("credential", f"{group}/{self.name}/{name}")
            title = f"federated credential {name} of {self.name}"
            yield Step(step, "update" if there else "create", title, action, (last, self.step), made, why)
            last = step
        for key, stale in have.items():
            if key in wanted_names:
                continue
            # one whose account is no longer listed lets that account in for ever
            if not rules.ours_by_subject(stale.subject, self.request.namespace):
                self.remarks.append(
                    f"{self.name} also trusts {stale.subject!r} of {stale.issuer!r}: left alone"
                )
                continue
            step = f"stale/{self.name}/{stale.name}"
            drop = do.DropCredential(group, self.name, stale.name)
            title = f"federated credential {stale.name} of {self.name}"
            yield Step(step, "delete", title, drop, (last, self.step), why="its account is no longer listed")
            last = step


def result(found: Identity) -> dict[str, str]:
    """What later steps want to know of an identity."""
    return {"principal": found.principal, "client": found.client, "tenant": found.tenant}


def _same_role(one: str, other: str) -> bool:
    """Definitions are named by GUID; some answers leave the subscription out of the id."""
    return one.rpartition("/")[2].lower() == other.rpartition("/")[2].lower()


def _changed(there: Credential, wanted: Credential) -> str:
    return ", ".join(
        field
        for field in ("issuer", "subject", "audiences")
        if getattr(there, field) != getattr(wanted, field)
    )
