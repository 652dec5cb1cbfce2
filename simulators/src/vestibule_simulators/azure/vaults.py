"""Key vaults and their keys, as the resource manager shows them: a key that is there is never made anew.

A new version of a key is the vault's own business; ``rotate`` is for who plays it.
"""

from __future__ import annotations

import re
import secrets
from typing import Final

from vestibule_simulators.azure import responses, state, validation
from vestibule_simulators.azure.request import ArmRequest
from vestibule_simulators.azure.responses import ArmError, Json
from vestibule_simulators.azure.state import SubscriptionState
from vestibule_simulators.https_server import SiteResponse

_NAME: Final = re.compile(r"[a-zA-Z](?!.*--)[a-zA-Z0-9-]{1,22}[a-zA-Z0-9]")
_KEY: Final = re.compile(r"[a-zA-Z0-9-]{1,127}")
_SIZES: Final = (2048, 3072, 4096)


class VaultHandlers:
    """The handlers."""

    def __init__(self, world: SubscriptionState) -> None:
        self._world = world

    def get(self, request: ArmRequest) -> SiteResponse:
        """Read one."""
        return responses.document(200, self._vault(request))

    def put(self, request: ArmRequest) -> SiteResponse:
        """Create one, or replace its tags and properties."""
        group, name, body = self._world.group(request.parts["group"]), request.parts["vault"], request.body
        validation.named(_NAME, name, "VaultNameNotValid", "3 to 24 letters, digits and -, a letter first")
        validation.fields(body, ("location", "tags", "properties", "id", "name", "type"))
        place = validation.location(body)
        created: Json = {
            "id": f"{group['id']}/providers/{state.VAULT}/{name}",
            "name": name,
            "type": state.VAULT,
            "location": place,
            "tags": validation.tags(body),
            "properties": {
                **validation.inner(body),
                "vaultUri": f"https://{name}.vault.azure.net/",
                "provisioningState": "Succeeded",
            },
        }
        return responses.document(201 if self._world.put(created["id"], created) else 200, created)

    def delete(self, request: ArmRequest) -> SiteResponse:
        """Remove one with its keys."""
        return responses.nothing(200 if self._world.drop(str(self._vault(request)["id"])) else 204)

    def key(self, asked: ArmRequest) -> SiteResponse:
        """Read a key in its current version."""
        found = self._world.get(self._key_id(asked))
        if found is None:
            text = f"A key with (name/id) {asked.parts['key']} was not found in this key vault."
            raise ArmError(404, "KeyNotFound", text)
        return responses.document(200, found)

    def put_key(self, request: ArmRequest) -> SiteResponse:
        """Make a key; one that is there is answered as it is."""
        vault, name = self._vault(request), request.parts["key"]
        existing = self._world.get(self._key_id(request))
        if existing is not None:
            return responses.document(200, existing)
        validation.named(_KEY, name, "BadParameter", "1 to 127 letters, digits and -")
        validation.fields(request.body, ("properties", "tags"))
        return responses.document(200, made(self._world, vault, name, validation.inner(request.body)))

    def _vault(self, request: ArmRequest) -> Json:
        group, name = self._world.group(request.parts["group"]), request.parts["vault"]
        found = self._world.get(f"{group['id']}/providers/{state.VAULT}/{name}")
        if found is None:
            where = f"under resource group '{group['name']}' was not found"
            raise ArmError(404, "ResourceNotFound", f"The Resource '{state.VAULT}/{name}' {where}.")
        return found

    def _key_id(self, request: ArmRequest) -> str:
        try:
            return f"{self._vault(request)['id']}/keys/{request.parts['key']}"
        except ArmError as refusal:
            if refusal.code != "ResourceNotFound":
                raise
            text = "Can not perform requested operation on nested resource. Parent resource not found."
            raise ArmError(404, "ParentResourceNotFound", text) from refusal


def made(world: SubscriptionState, vault: Json, name: str, wanted: Json) -> Json:
    """A key, or a new version of it. Raises Refusal."""
    size = wanted.get("keySize", wanted.get("key_size", _SIZES[0]))
    if wanted.get("kty") not in ("RSA", "EC", "RSA-HSM", "EC-HSM"):
        raise responses.bad(f"The key type '{wanted.get('kty')}' is not supported.", "BadParameter")
    if "RSA" in wanted["kty"] and size not in _SIZES:
        raise responses.bad(f"The key size '{size}' is not supported.", "BadParameter")
    identifier = f"{vault['id']}/keys/{name}"
    found: Json = {
        "id": identifier,
        "name": name,
        "type": state.KEY,
        "location": vault["location"],
        "properties": {"kty": wanted["kty"], "keySize": size, **_version(world, str(vault["name"]), name)},
    }
    world.put(identifier, found)
    return found


def current(key: Json) -> str:
    """The version of a key that counts."""
    return str(key["properties"]["keyUriWithVersion"]).rpartition("/")[2]


def rotate(world: SubscriptionState, vault: str, key: str) -> str:
    """A new version of a key, as the vault makes it; the version."""
    for one in world.kind(state.KEY):
        if str(one["id"]).lower().endswith(f"/vaults/{vault}/keys/{key}".lower()):
            one["properties"] |= _version(world, vault, key)
            return current(one)
    raise KeyError(f"{vault}/{key}")


def _version(world: SubscriptionState, vault: str, key: str) -> Json:
    uri = f"https://{vault.lower()}.vault.azure.net/keys/{key}"
    instant = int(world.clock())
    return {
        "keyUri": uri,
        "keyUriWithVersion": f"{uri}/{secrets.token_hex(16)}",
        "attributes": {"enabled": True, "created": instant, "updated": instant},
    }
