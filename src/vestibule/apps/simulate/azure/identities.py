"""Managed identities and the federated credentials that hang on them."""

from __future__ import annotations

import re
from typing import Final

from vestibule.adapters.web.site import Reply
from vestibule.apps.simulate.azure import answers, bodies, state
from vestibule.apps.simulate.azure.answers import Json, Refusal, bad
from vestibule.apps.simulate.azure.asked import Asked, page
from vestibule.apps.simulate.azure.state import World

_NAME: Final = re.compile(r"[a-zA-Z0-9][a-zA-Z0-9_-]{2,127}")
_CREDENTIAL: Final = re.compile(r"[a-zA-Z0-9][a-zA-Z0-9_-]{2,119}")
MOST: Final = 20
"""Credentials of one identity."""
LONGEST: Final = 600
"""Characters of an issuer, a subject, an audience."""


class Identities:
    """The handlers."""

    def __init__(self, world: World) -> None:
        self._world = world
        self._writing: dict[str, float] = {}
        """Identities with a write of a credential under way, and when it ends."""

    def listed(self, asked: Asked) -> Reply:
        """All of a group, or of the subscription."""
        group = asked.parts.get("group")
        below = self._world.group(group)["id"] if group else self._world.root
        return page(asked, [*self._world.kind(state.IDENTITY, below)], self._world.settings.page_size)

    def get(self, asked: Asked) -> Reply:
        """Read one."""
        return answers.document(200, self._identity(asked))

    def put(self, asked: Asked) -> Reply:
        """Create one or replace its tags."""
        group, name, body = self._world.group(asked.parts["group"]), asked.parts["identity"], asked.body
        bodies.named(_NAME, name, "InvalidResourceName", "3 to 128 letters, digits, - and _")
        bodies.fields(body, ("location", "tags", "properties", "id", "name", "type"))
        place, tags = bodies.location(body), bodies.tags(body)
        there = self._world.get(_id(group, name))
        if there is not None and there["location"] != place:
            text = f"The resource '{name}' already exists in location '{there['location']}'."
            raise Refusal(409, "InvalidResourceLocation", text)
        if there is not None:
            there["tags"] = tags
            return answers.document(200, there)
        principal, client = self._world.new_identity()
        made: Json = {
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
        self._world.put(made["id"], made)
        return answers.document(201, made)

    def patch(self, asked: Asked) -> Reply:
        """Replace its tags."""
        there = self._identity(asked)
        bodies.fields(asked.body, ("location", "tags", "properties"))
        if "tags" in asked.body:
            there["tags"] = bodies.tags(asked.body)
        return answers.document(200, there)

    def delete(self, asked: Asked) -> Reply:
        """Remove one and its credentials; its role assignments stay behind, as in Azure."""
        group = self._world.group(asked.parts["group"])
        return answers.nothing(200 if self._world.drop(_id(group, asked.parts["identity"])) else 204)

    # ── federated credentials ───────────────────────────────────────────────────────────────────────────────

    def credentials(self, asked: Asked) -> Reply:
        """All of an identity."""
        parent = self._parent(asked)
        return page(asked, self._of(parent), self._world.settings.page_size)

    def credential(self, asked: Asked) -> Reply:
        """Read one."""
        found = self._world.get(_credential_id(self._parent(asked), asked.parts["credential"]))
        if found is None:
            text = "The specified federated identity credential does not exist."
            raise Refusal(404, "NotFound", text)
        return answers.document(200, found)

    def put_credential(self, asked: Asked) -> Reply:
        """Write one; never two of an identity at a time, never two for the same subject of an issuer."""
        parent, name = self._parent(asked), asked.parts["credential"]
        if not self._world.settled(parent["id"], "parent"):
            raise _no_parent(str(parent["name"]))
        bodies.named(_CREDENTIAL, name, "BadRequest", "3 to 120 letters, digits, - and _")
        given = _checked(asked.body)
        self._alone(parent)
        others = [one for one in self._of(parent) if str(one["name"]).lower() != name.lower()]
        for one in others:
            if all(one["properties"][key] == given[key] for key in ("issuer", "subject")):
                text = "Issuer and subject combination already exists for this Managed Identity."
                raise Refusal(409, "Conflict", text)
        if len(others) >= MOST:
            text = f"The managed identity has {MOST} federated identity credentials, which is the most."
            raise Refusal(400, "BadRequest", text)
        made: Json = {
            "id": _credential_id(parent, name),
            "name": name,
            "type": state.CREDENTIAL,
            "properties": given,
        }
        return answers.document(201 if self._world.put(made["id"], made) else 200, made)

    def delete_credential(self, asked: Asked) -> Reply:
        """Remove one."""
        parent = self._parent(asked)
        self._alone(parent)
        gone = self._world.drop(_credential_id(parent, asked.parts["credential"]))
        return answers.nothing(200 if gone else 204)

    def _alone(self, parent: Json) -> None:
        key, now = str(parent["id"]).lower(), self._world.clock()
        if self._writing.get(key, 0.0) > now:
            text = (
                f"Too many Federated Identity Credentials are written concurrently for the managed identity "
                f"'{parent['name']}'."
            )
            code = "ConcurrentFederatedIdentityCredentialsWritesForSingleManagedIdentity"
            raise Refusal(409, code, text)
        self._writing[key] = now + self._world.settings.write_seconds

    def _of(self, parent: Json) -> list[Json]:
        return [*self._world.kind(state.CREDENTIAL, parent["id"])]

    def _identity(self, asked: Asked) -> Json:
        group, name = self._world.group(asked.parts["group"]), asked.parts["identity"]
        found = self._world.get(_id(group, name))
        if found is None:
            where = f"under resource group '{group['name']}' was not found"
            raise Refusal(404, "ResourceNotFound", f"The Resource '{state.IDENTITY}/{name}' {where}.")
        return found

    def _parent(self, asked: Asked) -> Json:
        try:
            return self._identity(asked)
        except Refusal as refusal:
            if refusal.code != "ResourceNotFound":
                raise
            raise _no_parent(asked.parts["identity"]) from refusal


def _no_parent(name: str) -> Refusal:
    text = f"Can not perform requested operation on nested resource. Parent resource '{name}' not found."
    return Refusal(404, "ParentResourceNotFound", text)


def _checked(body: Json) -> Json:
    bodies.fields(body, ("properties", "id", "name", "type"))
    given = bodies.inner(body)
    bodies.fields(given, ("issuer", "subject", "audiences"), "properties.")
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
