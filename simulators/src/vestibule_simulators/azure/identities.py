"""Managed identities and the federated credentials that hang on them."""

from __future__ import annotations

import re
from typing import Final

from vestibule_simulators.azure import responses, state, validation
from vestibule_simulators.azure.request import ArmRequest, page
from vestibule_simulators.azure.responses import ArmError, Json, bad
from vestibule_simulators.azure.state import SubscriptionState
from vestibule_simulators.https_server import SiteResponse

_NAME: Final = re.compile(r"[a-zA-Z0-9][a-zA-Z0-9_-]{2,127}")
_CREDENTIAL: Final = re.compile(r"[a-zA-Z0-9][a-zA-Z0-9_-]{2,119}")
MOST: Final = 20
"""Credentials of one identity."""
LONGEST: Final = 600
"""Characters of an issuer, a subject, an audience."""


class ManagedIdentities:
    """The handlers."""

    def __init__(self, world: SubscriptionState) -> None:
        self._world = world
        self._writing: dict[str, float] = {}
        """Identities with a write of a credential under way, and when it ends."""

    def listed(self, request: ArmRequest) -> SiteResponse:
        """All of a group, or of the subscription."""
        group = request.parts.get("group")
        below = self._world.group(group)["id"] if group else self._world.root
        return page(request, [*self._world.kind(state.IDENTITY, below)], self._world.settings.page_size)

    def get(self, request: ArmRequest) -> SiteResponse:
        """Read one."""
        return responses.document(200, self._identity(request))

    def put(self, request: ArmRequest) -> SiteResponse:
        """Create one or replace its tags."""
        group, name, body = self._world.group(request.parts["group"]), request.parts["identity"], request.body
        validation.named(_NAME, name, "InvalidResourceName", "3 to 128 letters, digits, - and _")
        validation.fields(body, ("location", "tags", "properties", "id", "name", "type"))
        place, tags = validation.location(body), validation.tags(body)
        existing = self._world.get(_id(group, name))
        if existing is not None and existing["location"] != place:
            text = f"The resource '{name}' already exists in location '{existing['location']}'."
            raise ArmError(409, "InvalidResourceLocation", text)
        if existing is not None:
            existing["tags"] = tags
            return responses.document(200, existing)
        principal, client = self._world.new_identity()
        created: Json = {
            "id": _id(group, name),
            "name": name,
            "type": state.IDENTITY,
            "location": place,
            "tags": tags,
            "properties": {
                "tenantId": self._world.settings.tenant,
                "principalId": principal,
                "clientId": client,
            },
        }
        self._world.put(created["id"], created)
        return responses.document(201, created)

    def patch(self, request: ArmRequest) -> SiteResponse:
        """Replace its tags."""
        existing = self._identity(request)
        validation.fields(request.body, ("location", "tags", "properties"))
        if "tags" in request.body:
            existing["tags"] = validation.tags(request.body)
        return responses.document(200, existing)

    def delete(self, request: ArmRequest) -> SiteResponse:
        """Remove one and its credentials; its role assignments stay behind, as in Azure."""
        group = self._world.group(request.parts["group"])
        return responses.nothing(200 if self._world.drop(_id(group, request.parts["identity"])) else 204)

    # ── federated credentials ───────────────────────────────────────────────────────────────────────────────

    def credentials(self, request: ArmRequest) -> SiteResponse:
        """All of an identity."""
        parent = self._parent(request)
        return page(request, self._of(parent), self._world.settings.page_size)

    def credential(self, request: ArmRequest) -> SiteResponse:
        """Read one."""
        found = self._world.get(_credential_id(self._parent(request), request.parts["credential"]))
        if found is None:
            text = "The specified federated identity credential does not exist."
            raise ArmError(404, "NotFound", text)
        return responses.document(200, found)

    def put_credential(self, request: ArmRequest) -> SiteResponse:
        """Write one; never two of an identity at a time, never two for the same subject of an issuer."""
        parent, name = self._parent(request), request.parts["credential"]
        if not self._world.settled(parent["id"], "parent"):
            raise _no_parent(str(parent["name"]))
        validation.named(_CREDENTIAL, name, "BadRequest", "3 to 120 letters, digits, - and _")
        given = _checked(request.body)
        self._alone(parent)
        others = [one for one in self._of(parent) if str(one["name"]).lower() != name.lower()]
        for one in others:
            if all(one["properties"][key] == given[key] for key in ("issuer", "subject")):
                text = "Issuer and subject combination already exists for this Managed Identity."
                raise ArmError(409, "Conflict", text)
        if len(others) >= MOST:
            text = f"The managed identity has {MOST} federated identity credentials, which is the most."
            raise ArmError(400, "BadRequest", text)
        created: Json = {
            "id": _credential_id(parent, name),
            "name": name,
            "type": state.CREDENTIAL,
            "properties": given,
        }
        return responses.document(201 if self._world.put(created["id"], created) else 200, created)

    def delete_credential(self, request: ArmRequest) -> SiteResponse:
        """Remove one."""
        parent = self._parent(request)
        self._alone(parent)
        gone = self._world.drop(_credential_id(parent, request.parts["credential"]))
        return responses.nothing(200 if gone else 204)

    def _alone(self, parent: Json) -> None:
        key, now = str(parent["id"]).lower(), self._world.clock()
        if self._writing.get(key, 0.0) > now:
            text = (
                f"Too many Federated Identity Credentials are written concurrently for the managed identity "
                f"'{parent['name']}'."
            )
            code = "ConcurrentFederatedIdentityCredentialsWritesForSingleManagedIdentity"
            raise ArmError(409, code, text)
        self._writing[key] = now + self._world.settings.write_seconds

    def _of(self, parent: Json) -> list[Json]:
        return [*self._world.kind(state.CREDENTIAL, parent["id"])]

    def _identity(self, request: ArmRequest) -> Json:
        group, name = self._world.group(request.parts["group"]), request.parts["identity"]
        found = self._world.get(_id(group, name))
        if found is None:
            where = f"under resource group '{group['name']}' was not found"
            raise ArmError(404, "ResourceNotFound", f"The Resource '{state.IDENTITY}/{name}' {where}.")
        return found

    def _parent(self, request: ArmRequest) -> Json:
        try:
            return self._identity(request)
        except ArmError as refusal:
            if refusal.code != "ResourceNotFound":
                raise
            raise _no_parent(request.parts["identity"]) from refusal


def _no_parent(name: str) -> ArmError:
    text = f"Can not perform requested operation on nested resource. Parent resource '{name}' not found."
    return ArmError(404, "ParentResourceNotFound", text)


def _checked(body: Json) -> Json:
    validation.fields(body, ("properties", "id", "name", "type"))
    given = validation.inner(body)
    validation.fields(given, ("issuer", "subject", "audiences"), "properties.")
    issuer, subject, audiences = (given.get(key) for key in ("issuer", "subject", "audiences"))
    texts = isinstance(audiences, list) and all(isinstance(one, str) and one for one in audiences)
    if not (
        isinstance(issuer, str) and issuer and isinstance(subject, str) and subject and audiences and texts
    ):
        text = "Federated Identity Credential must specify 'issuer', 'subject' and 'audience'."
        raise bad(f"The request format was unexpected. {text}", "BadRequest")
    if len(audiences or ()) != 1:
        raise bad("Federated Identity Credential must have exactly one audience.", "BadRequest")
    if not issuer.startswith("https://"):
        raise bad(f"The issuer '{issuer}' is no https address.", "BadRequest")
    if max(len(issuer), len(subject), len(str((audiences or [""])[0]))) > LONGEST:
        raise bad(f"Issuer, subject and audience have at most {LONGEST} characters.", "BadRequest")
    return {"issuer": issuer, "subject": subject, "audiences": list(audiences or ())}


def _id(group: Json, name: str) -> str:
    return f"{group['id']}/providers/{state.IDENTITY}/{name}"


def _credential_id(parent: Json, name: str) -> str:
    return f"{parent['id']}/federatedIdentityCredentials/{name}"
