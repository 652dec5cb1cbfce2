"""Storage accounts and their containers, as ARM manages them; what is in a container is ``blobs``."""

from __future__ import annotations

import re
import secrets
from typing import Final

from vestibule_simulators.azure import responses, state, validation
from vestibule_simulators.azure.operations import Operations
from vestibule_simulators.azure.request import ArmRequest, page
from vestibule_simulators.azure.responses import ArmError, Json, bad
from vestibule_simulators.azure.state import SubscriptionState
from vestibule_simulators.https_server import SiteResponse

_ACCOUNT: Final = re.compile(r"[a-z0-9]{3,24}")
_CONTAINER: Final = re.compile(r"\$web|(?=.{3,63}\Z)[a-z0-9]+(-[a-z0-9]+)*")
RESERVED: Final = frozenset({"subscriptions", "providers", "common", "organizations"})
"""First parts of other paths of the simulator."""
_KINDS: Final = ("StorageV2", "Storage", "BlobStorage", "BlockBlobStorage", "FileStorage")
_PROPERTIES: Final = frozenset(
    {
        "accessTier",
        "allowBlobPublicAccess",
        "allowCrossTenantReplication",
        "allowSharedKeyAccess",
        "defaultToOAuthAuthentication",
        "encryption",
        "minimumTlsVersion",
        "networkAcls",
        "publicNetworkAccess",
        "supportsHttpsTrafficOnly",
        "isHnsEnabled",
    }
)
_FLAGS: Final = ("allowBlobPublicAccess", "allowSharedKeyAccess", "supportsHttpsTrafficOnly")
_ACCESS: Final = ("None", "Blob", "Container")


class StorageAccounts:
    """The handlers."""

    def __init__(self, world: SubscriptionState, operations: Operations) -> None:
        self._world, self._operations = world, operations

    def listed(self, request: ArmRequest) -> SiteResponse:
        """All accounts of a group."""
        group = self._world.group(request.parts["group"])
        found = [*self._world.kind(state.ACCOUNT, group["id"])]
        return page(request, found, self._world.settings.page_size)

    def get(self, request: ArmRequest) -> SiteResponse:
        """Read one."""
        return responses.document(200, self._account(request))

    def put(self, request: ArmRequest) -> SiteResponse:
        """Create one, which takes a while; or replace what can be replaced."""
        group, name, body = self._world.group(request.parts["group"]), request.parts["account"], request.body
        validation.named(_ACCOUNT, name, "AccountNameInvalid", "3 to 24 lower-case letters and digits")
        validation.fields(
            body, ("sku", "kind", "location", "tags", "properties", "identity", "extendedLocation")
        )
        place, tags = validation.location(body), validation.tags(body)
        sku, kind = validation.inner(body, "sku"), validation.text(body, "kind", "AccountKindMissing")
        validation.text(sku, "name", "InvalidSku")
        if kind not in _KINDS:
            raise bad(
                f"The kind '{kind}' is none of {', '.join(_KINDS)}.", "InvalidValuesForRequestParameters"
            )
        given = _properties(body)
        existing = self._world.account(name)
        desired = f"{group['id']}/providers/{state.ACCOUNT}/{name}"
        if name in RESERVED or (existing is not None and not state.same(existing["id"], desired)):
            text = f"The storage account named {name} is already taken."
            raise ArmError(409, "StorageAccountAlreadyTaken", text)
        if existing is not None and existing["location"] != place:
            text = f"The resource '{name}' already exists in location '{existing['location']}'."
            raise ArmError(409, "InvalidResourceLocation", text)
        created: Json = {
            "id": desired,
            "name": name,
            "type": state.ACCOUNT,
            "location": place,
            "tags": tags,
            "kind": kind,
            "sku": {"name": sku["name"], "tier": str(sku["name"]).partition("_")[0]},
            "properties": {
                **(existing or {}).get("properties", {}),
                "supportsHttpsTrafficOnly": True,
                # of Azure: nothing is public unless it is asked for
                "allowBlobPublicAccess": False,
                **given,
                "provisioningState": "Succeeded",
                "primaryLocation": place,
                "primaryEndpoints": {
                    "blob": f"{request.base}/{name}",
                    "web": f"{request.base}/{name}.web",
                },
            },
        }
        if not self._world.put(desired, created):
            return responses.document(200, created)
        self._world.account_keys[name] = state.new_keys()
        created["properties"]["provisioningState"] = "Creating"

        def finish() -> Json:
            created["properties"]["provisioningState"] = "Succeeded"
            return created

        address = (
            f"{request.base}{self._world.root}/providers/Microsoft.Storage/locations/{place}/asyncoperations"
        )
        return self._operations.begin(address, finish) or responses.document(200, created)

    def patch(self, request: ArmRequest) -> SiteResponse:
        """Change tags or properties."""
        existing, body = self._account(request), request.body
        validation.fields(body, ("sku", "kind", "tags", "properties", "identity"))
        given = _properties(body)
        if "tags" in body:
            existing["tags"] = validation.tags(body)
        existing["properties"].update(given)
        return responses.document(200, existing)

    def delete(self, request: ArmRequest) -> SiteResponse:
        """Remove one with its blobs."""
        group = self._world.group(request.parts["group"])
        gone = self._world.drop(f"{group['id']}/providers/{state.ACCOUNT}/{request.parts['account']}")
        return responses.nothing(200 if gone else 204)

    def keys(self, asked: ArmRequest) -> SiteResponse:
        """Both keys."""
        name = str(self._account(asked)["name"]).lower()
        listed = [
            {"keyName": f"key{number}", "value": value, "permissions": "FULL"}
            for number, value in enumerate(self._world.account_keys[name], 1)
        ]
        return responses.document(200, {"keys": listed})

    def available(self, request: ArmRequest) -> SiteResponse:
        """Whether a name is free."""
        name = validation.text(request.body, "name")
        if not _ACCOUNT.fullmatch(name):
            found: Json = {
                "nameAvailable": False,
                "reason": "AccountNameInvalid",
                "message": f"{name} is no name.",
            }
        elif name in RESERVED or self._world.account(name) is not None:
            found = {"nameAvailable": False, "reason": "AlreadyExists", "message": f"{name} is taken."}
        else:
            found = {"nameAvailable": True}
        return responses.document(200, found)

    # ── containers ──────────────────────────────────────────────────────────────────────────────────────────

    def containers(self, request: ArmRequest) -> SiteResponse:
        """All of an account."""
        found = [*self._world.kind(state.CONTAINER, self._account(request)["id"])]
        return page(request, found, self._world.settings.page_size)

    def container(self, request: ArmRequest) -> SiteResponse:
        """Read one."""
        return responses.document(200, self._container(request))

    def put_container(self, request: ArmRequest) -> SiteResponse:
        """Create one, or say who may read it."""
        account = self._account(request)
        validation.fields(request.body, ("properties",))
        given = validation.inner(request.body)
        validation.fields(given, ("publicAccess", "metadata", "defaultEncryptionScope"), "properties.")
        access = given.get("publicAccess", "None")
        created, new = make_container(self._world, account, request.parts["container"], str(access))
        return responses.document(201 if new else 200, created)

    def delete_container(self, request: ArmRequest) -> SiteResponse:
        """Remove one with its blobs."""
        account = self._account(request)
        name = request.parts["container"]
        gone = self._world.drop(container_id(account, name))
        prefix = f"{str(account['name']).lower()}/{name}/"
        for one in [key for key in self._world.blobs if key.startswith(prefix)]:
            del self._world.blobs[one]
        return responses.nothing(200 if gone else 204)

    def _account(self, request: ArmRequest) -> Json:
        group = self._world.group(request.parts["group"])
        name = request.parts["account"]
        found = self._world.get(f"{group['id']}/providers/{state.ACCOUNT}/{name}")
        if found is None:
            text = (
                f"The Resource '{state.ACCOUNT}/{name}' under resource group '{group['name']}' was not found."
            )
            raise ArmError(404, "ResourceNotFound", text)
        found.setdefault("properties", {})
        return found

    def _container(self, request: ArmRequest) -> Json:
        found = self._world.get(container_id(self._account(request), request.parts["container"]))
        if found is None:
            raise ArmError(404, "ContainerNotFound", "The specified container does not exist.")
        return found


def make_container(world: SubscriptionState, account: Json, name: str, access: str) -> tuple[Json, bool]:
    """A container, from whichever plane; whether it is new. Raises Refusal."""
    validation.named(
        _CONTAINER, name, "InvalidResourceName", "3 to 63 lower-case letters, digits, single dashes"
    )
    if access not in _ACCESS:
        raise bad(
            f"The value '{access}' of publicAccess is none of {', '.join(_ACCESS)}.", "InvalidHeaderValue"
        )
    allowed = account.get("properties", {}).get("allowBlobPublicAccess", True)
    if access != "None" and not allowed:
        text = "Public access is not permitted on this storage account."
        raise ArmError(409, "PublicAccessNotPermitted", text)
    existing = world.get(container_id(account, name)) or {}
    created: Json = {
        "id": container_id(account, name),
        "name": name,
        "type": state.CONTAINER,
        # of this container, not of another of that name before it
        "etag": existing.get("etag") or f'"0x{secrets.token_hex(8).upper()}"',
        "properties": {"publicAccess": access, "hasLegalHold": False, "hasImmutabilityPolicy": False},
    }
    return created, world.put(created["id"], created)


def container_id(account: Json, name: str) -> str:
    """The id of a container."""
    return f"{account['id']}/blobServices/default/containers/{name}"


def _properties(body: Json) -> Json:
    given = validation.inner(body)
    validation.fields(given, _PROPERTIES, "properties.")
    for flag in _FLAGS:
        if not isinstance(given.get(flag, False), bool):
            raise bad(f"The value of '{flag}' is no boolean.")
    return dict(given)
