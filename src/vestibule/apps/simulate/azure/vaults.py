"""Key vaults and their keys, as the resource manager shows them: a key that is there is never made anew.

A new version of a key is the vault's own business; ``rotate`` is for who plays it.
"""

from __future__ import annotations

import re
import secrets
from typing import Final

from vestibule.adapters.web.site import Reply
from vestibule.apps.simulate.azure import answers, bodies, state
from vestibule.apps.simulate.azure.answers import Json, Refusal
from vestibule.apps.simulate.azure.asked import Asked
from vestibule.apps.simulate.azure.state import World

_NAME: Final = re.compile(r"[a-zA-Z](?!.*--)[a-zA-Z0-9-]{1,22}[a-zA-Z0-9]")
_KEY: Final = re.compile(r"[a-zA-Z0-9-]{1,127}")
_SIZES: Final = (2048, 3072, 4096)


class Vaults:
    """The handlers."""

    def __init__(self, world: World) -> None:
        self._world = world

    def get(self, asked: Asked) -> Reply:
        """Read one."""
        return answers.document(200, self._vault(asked))

    def put(self, asked: Asked) -> Reply:
        """Create one, or replace its tags and properties."""
        group, name, body = self._world.group(asked.parts["group"]), asked.parts["vault"], asked.body
        bodies.named(_NAME, name, "VaultNameNotValid", "3 to 24 letters, digits and -, a letter first")
        bodies.fields(body, ("location", "tags", "properties", "id", "name", "type"))
        place = bodies.location(body)
        made: Json = {
            "id": f"{group['id']}/providers/{state.VAULT}/{name}",
            "name": name,
            "type": state.VAULT,
            "location": place,
            "tags": bodies.tags(body),
            "properties": {
                **bodies.inner(body),
                "vaultUri": f"https://{name}.vault.azure.net/",
                "provisioningState": "Succeeded",
            },
        }
        return answers.document(201 if self._world.put(made["id"], made) else 200, made)

    def delete(self, asked: Asked) -> Reply:
        """Remove one with its keys."""
        return answers.nothing(200 if self._world.drop(str(self._vault(asked)["id"])) else 204)

    def key(self, asked: Asked) -> Reply:
        """Read a key in its current version."""
        found = self._world.get(self._key_id(asked))
        if found is None:
            text = f"A key with (name/id) {asked.parts['key']} was not found in this key vault."
            raise Refusal(404, "KeyNotFound", text)
        return answers.document(200, found)

    def put_key(self, asked: Asked) -> Reply:
        """Make a key; one that is there is answered as it is."""
        vault, name = self._vault(asked), asked.parts["key"]
        there = self._world.get(self._key_id(asked))
        if there is not None:
            return answers.document(200, there)
        bodies.named(_KEY, name, "BadParameter", "1 to 127 letters, digits and -")
        bodies.fields(asked.body, ("properties", "tags"))
        return answers.document(200, made(self._world, vault, name, bodies.inner(asked.body)))

    def _vault(self, asked: Asked) -> Json:
        group, name = self._world.group(asked.parts["group"]), asked.parts["vault"]
        found = self._world.get(f"{group['id']}/providers/{state.VAULT}/{name}")
        if found is None:
            where = f"under resource group '{group['name']}' was not found"
            raise Refusal(404, "ResourceNotFound", f"The Resource '{state.VAULT}/{name}' {where}.")
        return found

    def _key_id(self, asked: Asked) -> str:
        try:
            return f"{self._vault(asked)['id']}/keys/{asked.parts['key']}"
        except Refusal as refusal:
            if refusal.code != "ResourceNotFound":
                raise
            text = "Can not perform requested operation on nested resource. Parent resource not found."
            raise Refusal(404, "ParentResourceNotFound", text) from refusal


def made(world: World, vault: Json, name: str, wanted: Json) -> Json:
    """A key, or a new version of it. Raises Refusal."""
    size = wanted.get("keySize", wanted.get("key_size", _SIZES[0]))
    if wanted.get("kty") not in ("RSA", "EC", "RSA-HSM", "EC-HSM"):
        raise answers.bad(f"The key type '{wanted.get('kty')}' is not supported.", "BadParameter")
    if "RSA" in wanted["kty"] and size not in _SIZES:
        raise answers.bad(f"The key size '{size}' is not supported.", "BadParameter")
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


def rotate(world: World, vault: str, key: str) -> str:
    """A new version of a key, as the vault makes it; the version."""
    for one in world.kind(state.KEY):
        if str(one["id"]).lower().endswith(f"/vaults/{vault}/keys/{key}".lower()):
            one["properties"] |= _version(world, vault, key)
            return current(one)
    raise KeyError(f"{vault}/{key}")


def _version(world: World, vault: str, key: str) -> Json:
    uri = f"https://{vault.lower()}.vault.azure.net/keys/{key}"
    moment = int(world.clock())
    return {
        "keyUri": uri,
        "keyUriWithVersion": f"{uri}/{secrets.token_hex(16)}",
        "attributes": {"enabled": True, "created": moment, "updated": moment},
    }
