"""Role definitions and role assignments: names that are unique, and pairs that exist once."""

from __future__ import annotations

import re
from typing import Final

from vestibule_simulators.azure import responses, state, validation
from vestibule_simulators.azure.request import ArmRequest, page
from vestibule_simulators.azure.responses import ArmError, Json, bad
from vestibule_simulators.azure.state import SubscriptionState
from vestibule_simulators.https_server import SiteResponse

_ACTION: Final = re.compile(r"\*|\*/[\w*]+|[\w.*-]+(/[\w.*$-]+)+")
_QUOTED: Final = r"'((?:[^']|'')*)'"
_ROLE_NAME: Final = re.compile(rf"roleName eq {_QUOTED}", re.IGNORECASE)
_ROLE_TYPE: Final = re.compile(rf"type eq {_QUOTED}", re.IGNORECASE)
_ASSIGNED: Final = re.compile(rf"(?:assignedTo\({_QUOTED}\)|principalId eq {_QUOTED})", re.IGNORECASE)
_LISTS: Final = ("actions", "notActions", "dataActions", "notDataActions")


class RoleHandlers:
    """The handlers."""

    def __init__(self, world: SubscriptionState) -> None:
        self._world = world

    # ── definitions ─────────────────────────────────────────────────────────────────────────────────────────

    def definitions(self, request: ArmRequest) -> SiteResponse:
        """All that can be assigned here; by name or by type."""
        found = [
            self._shown(one)
            for one in self._world.kind(state.ROLE)
            if self._world.settled(str(one.get("id")), "role")
        ]
        query = request.query.get("$filter", "")
        if name := _ROLE_NAME.fullmatch(query):
            desired = name[1].replace("''", "'").lower()
            found = [one for one in found if str(_inner(one).get("roleName", "")).lower() == desired]
        elif kind := _ROLE_TYPE.fullmatch(query):
            found = [one for one in found if str(_inner(one).get("type", "CustomRole")) == kind[1]]
        elif query and query.lower() not in ("atscopeandbelow()", "atscope()"):
            raise bad(f"The filter '{query}' is not supported.", "UnsupportedQuery")
        return page(request, found, self._world.settings.page_size)

    def definition(self, request: ArmRequest) -> SiteResponse:
        """Read one."""
        found = self.role(request.parts["name"])
        if found is None:
            text = f"The specified role definition with ID '{request.parts['name']}' does not exist."
            raise ArmError(404, "RoleDefinitionDoesNotExist", text)
        return responses.document(200, self._shown(found))

    def put_definition(self, request: ArmRequest) -> SiteResponse:
        """Write a custom role; its title is unique in the tenant."""
        name = request.parts["name"]
        self._scope(request)
        if not validation.guid(name):
            raise bad(f"The role definition ID '{name}' is not a GUID.", "InvalidRoleDefinitionId")
        validation.fields(request.body, ("properties", "name", "id", "type"))
        given = validation.inner(request.body)
        validation.fields(
            given, ("roleName", "description", "type", "permissions", "assignableScopes"), "properties."
        )
        title = validation.text(given, "roleName", "InvalidRoleDefinitionName")
        if given.get("type", "CustomRole") != "CustomRole":
            raise bad("Only custom roles can be written.", "RoleDefinitionTypeNotSupported")
        if not isinstance(given.get("assignableScopes"), list) or not given["assignableScopes"]:
            raise bad("A role definition needs assignable scopes.", "MissingAssignableScopes")
        _permissions(given.get("permissions"))
        for other in self._world.kind(state.ROLE):
            if str(_inner(other).get("roleName", "")).lower() == title.lower() and other["name"] != name:
                text = f"A custom role with the same name already exists: '{title}'."
                raise ArmError(409, "RoleDefinitionWithSameNameExists", text)
        existing = self.role(name)
        if existing is not None and _inner(existing).get("type") == "BuiltInRole":
            raise ArmError(403, "BuiltInRoleUpdateNotPermitted", "A built-in role cannot be changed.")
        created: Json = {
            "id": existing["id"] if existing else f"{self._world.root}/providers/{state.ROLE}/{name}",
            "name": name,
            "type": state.ROLE,
            "properties": {"description": "", **given, "type": "CustomRole"},
        }
        self._world.put(created["id"], created)
        return responses.document(201, created)  # also for one that was there: the SDKs take nothing else

    def delete_definition(self, request: ArmRequest) -> SiteResponse:
        """Remove a custom role that nobody has."""
        found = self.role(request.parts["name"])
        if found is None:
            return responses.nothing(204)
        if _inner(found).get("type") == "BuiltInRole":
            raise ArmError(403, "BuiltInRoleDeleteNotPermitted", "A built-in role cannot be deleted.")
        for one in self._world.kind(state.ASSIGNMENT):
            if _last(_inner(one).get("roleDefinitionId", "")) == str(found["name"]).lower():
                text = "There are existing role assignments referencing role."
                raise ArmError(400, "RoleDefinitionHasAssignments", text)
        self._world.drop(found["id"])
        return responses.document(200, found)

    # ── assignments ─────────────────────────────────────────────────────────────────────────────────────────

    def assignments(self, request: ArmRequest) -> SiteResponse:
        """All at a scope, below it and above it; of one principal, or of all."""
        query = request.query.get("$filter", "")
        principal = _ASSIGNED.fullmatch(query)
        if query and principal is None and query.lower() not in ("atscope()",):
            raise bad(f"The filter '{query}' is not supported.", "UnsupportedQuery")
        desired = (principal[1] or principal[2] or "").lower() if principal else ""
        scope = request.parts["scope"].lower()
        found = []
        for one in self._assignments():
            message = _inner(one)
            existing = str(message.get("scope", scope)).lower()
            near = f"{existing}/".startswith(f"{scope}/") or f"{scope}/".startswith(f"{existing}/")
            # what says nothing of its principal is listed all the same: Azure has done so
            if near and (not desired or str(message.get("principalId", desired)).lower() == desired):
                found.append(one)
        return page(request, found, self._world.settings.page_size)

    def assignment(self, request: ArmRequest) -> SiteResponse:
        """Read one."""
        found = self._named(request)
        if found is None:
            text = f"The role assignment '{request.parts['name']}' is not found."
            raise ArmError(404, "RoleAssignmentNotFound", text)
        return responses.document(200, found)

    def put_assignment(self, request: ArmRequest) -> SiteResponse:
        """Give a principal a role."""
        name, scope = request.parts["name"], self._scope(request)
        if not validation.guid(name):
            raise bad(
                f"The role assignment ID '{name}' is not valid: want a GUID.", "InvalidRoleAssignmentId"
            )
        validation.fields(request.body, ("properties",))
        given = validation.inner(request.body)
        known = (
            "roleDefinitionId",
            "principalId",
            "principalType",
            "description",
            "condition",
            "conditionVersion",
        )
        validation.fields(given, known, "properties.")
        role, principal = validation.text(given, "roleDefinitionId"), validation.text(given, "principalId")
        if not validation.guid(principal):
            raise bad(f"The principal ID '{principal}' is not a GUID.", "InvalidPrincipalId")
        definition = self.role(_last(role))
        if definition is None or not self._world.settled(definition["id"], "role"):
            text = f"The specified role definition with ID '{_last(role)}' does not exist."
            raise bad(text, "RoleDefinitionDoesNotExist")
        self._principal(principal, given.get("principalType"))
        properties: Json = {
            **{key: value for key, value in given.items() if value is not None},
            "roleDefinitionId": f"{self._world.root}/providers/{state.ROLE}/{definition['name']}",
            "principalType": given.get("principalType") or "ServicePrincipal",
            "scope": scope,
        }
        existing = self._named(request)
        if existing is not None and not _alike(existing, properties):
            text = "Tenant ID, application ID, principal ID, and scope are not allowed to be updated."
            raise ArmError(409, "RoleAssignmentUpdateNotPermitted", text)
        if existing is None and any(_alike(one, properties) for one in self._assignments()):
            raise ArmError(409, "RoleAssignmentExists", "The role assignment already exists.")
        created: Json = {
            "id": f"{scope}/providers/{state.ASSIGNMENT}/{name}",
            "name": name,
            "type": state.ASSIGNMENT,
            "properties": properties,
        }
        return responses.document(201 if self._world.put(created["id"], created) else 200, created)

    def delete_assignment(self, request: ArmRequest) -> SiteResponse:
        """Take a role away."""
        found = self._named(request)
        if found is None:
            return responses.nothing(204)
        for key, one in list(self._world.resources.items()):
            if one is found:
                del self._world.resources[key]
        return responses.document(200, found)

    # ── both ────────────────────────────────────────────────────────────────────────────────────────────────

    def role(self, name: str) -> Json | None:
        """A definition by its GUID."""
        desired = name.lower()
        return next(
            (one for one in self._world.kind(state.ROLE) if str(one["name"]).lower() == desired), None
        )

    def _shown(self, one: Json) -> Json:
        """Built-in roles are listed with the subscription in their id."""
        if one["id"].startswith("/providers/"):
            return {**one, "id": f"{self._world.root}{one['id']}"}
        return one

    def _assignments(self) -> list[Json]:
        return [*self._world.kind(state.ASSIGNMENT)]

    def _named(self, request: ArmRequest) -> Json | None:
        name, scope = request.parts["name"].lower(), request.parts["scope"]
        for one in self._assignments():
            if str(one.get("name", "")).lower() == name and state.same(_inner(one).get("scope", ""), scope):
                return one
        return None

    def _scope(self, request: ArmRequest) -> str:
        """Where, when it exists; spelt as it was asked for."""
        scope = request.parts["scope"]
        match = re.fullmatch(
            r"(/subscriptions/[^/]+)(?:/resourceGroups/([^/]+))?(/.+)?", scope, re.IGNORECASE
        )
        if match is None or not state.same(match[1], self._world.root):
            text = f"The client has no authorization to perform the action over scope '{scope or '/'}'."
            raise ArmError(403, "AuthorizationFailed", text)
        if match[2]:
            self._world.group(match[2])
        if match[3] and self._world.get(scope) is None:
            raise ArmError(404, "ResourceNotFound", f"The Resource '{scope}' was not found.")
        return scope

    def _principal(self, principal: str, kind: object) -> None:
        known = principal == self._world.settings.principal_id
        identity = self._world.identity_of("principalId", principal)
        if kind not in (None, "User", "Group", "ServicePrincipal", "ForeignGroup", "Device"):
            raise bad(f"The principal type '{kind}' is not known.", "InvalidPrincipalType")
        if (known or identity is not None) and kind not in (None, "ServicePrincipal"):
            text = f"The principal '{principal}' is a service principal, and principalType is '{kind}'."
            raise bad(text, "UnmatchedPrincipalType")
        if kind is not None:
            return  # whoever names the type is believed, and nobody is looked up
        if not known and (identity is None or not self._world.settled(identity["id"], "principal")):
            where = f"does not exist in the directory {self._world.settings.tenant}"
            raise bad(f"Principal {principal.replace('-', '')} {where}.", "PrincipalNotFound")


def _permissions(blocks: object) -> None:
    if not isinstance(blocks, list) or not blocks:
        raise bad("A role definition needs permissions.", "MissingPermissions")
    for block in blocks:
        if not isinstance(block, dict):
            raise bad("A permission is no object.")
        validation.fields(block, (*_LISTS, "condition", "conditionVersion"), "permissions.")
        for name in _LISTS:
            for action in block.get(name) or ():
                if not isinstance(action, str) or not _ACTION.fullmatch(action):
                    text = f"'{action}' does not match any of the actions supported by the providers."
                    raise bad(text, "InvalidActionOrNotAction")


def _alike(one: Json, other: Json) -> bool:
    message = _inner(one)
    return (
        state.same(message.get("scope", ""), other["scope"])
        and str(message.get("principalId", "")).lower() == str(other["principalId"]).lower()
        and _last(message.get("roleDefinitionId", "")) == _last(other["roleDefinitionId"])
    )


def _inner(one: Json) -> Json:
    found = one.get("properties")
    return found if isinstance(found, dict) else {}


def _last(identifier: object) -> str:
    return str(identifier).rpartition("/")[2].lower()
