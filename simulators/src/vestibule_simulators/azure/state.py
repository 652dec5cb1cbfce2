"""What exists in the simulated subscription: resources as ARM shows them, by id without regard to case.

Pure but for the clock that is given: no socket, no file. The rules of each kind of resource are in its own
module; here is only what they share, and the way out and back in as JSON.
"""

from __future__ import annotations

import base64
import secrets
import uuid
from collections.abc import Callable, Iterator
from typing import Any, Final

import msgspec

from vestibule_simulators.azure import builtin_roles
from vestibule_simulators.azure.responses import ArmError, Json

GROUP: Final = "Microsoft.Resources/resourceGroups"
ACCOUNT: Final = "Microsoft.Storage/storageAccounts"
CONTAINER: Final = "Microsoft.Storage/storageAccounts/blobServices/containers"
IDENTITY: Final = "Microsoft.ManagedIdentity/userAssignedIdentities"
CREDENTIAL: Final = "Microsoft.ManagedIdentity/userAssignedIdentities/federatedIdentityCredentials"
VAULT: Final = "Microsoft.KeyVault/vaults"
KEY: Final = "Microsoft.KeyVault/vaults/keys"
ROLE: Final = "Microsoft.Authorization/roleDefinitions"
ASSIGNMENT: Final = "Microsoft.Authorization/roleAssignments"


class Blob(msgspec.Struct, omit_defaults=True, rename="camel"):
    """A blob of the built-in store."""

    body: bytes
    etag: str
    modified: float
    content_type: str = "application/octet-stream"
    cache_control: str = ""
    tags: dict[str, str] = {}
    metadata: dict[str, str] = {}


class SimulatorSettings(msgspec.Struct, rename="camel", omit_defaults=True, forbid_unknown_fields=True):
    """How this cloud behaves; part of its state."""

    subscription: str = "00000000-0000-4000-8000-00000000cafe"
    tenant: str = "00000000-0000-4000-8000-00000000d00d"
    client_id: str = "00000000-0000-4000-8000-0000000000c1"
    """Whoever provisions: a service principal that owns the subscription."""
    client_secret: str = ""
    """Empty: one is made up."""
    principal_id: str = "00000000-0000-4000-8000-0000000000b1"
    data_access: bool = True
    """Whether that principal may also write blobs; owning an account does not give this in Azure."""
    page_size: int = 100
    """Entries of one page of a list."""
    operation_seconds: float = 1.0
    """How long the creation of an account and the removal of a group take; 0: done with the answer."""
    write_seconds: float = 0.0
    """How long a write of a federated credential takes; a second one meanwhile is refused."""
    token_seconds: int = 3600
    """Life of an access token."""
    blob_suffix: str = "blob.core.windows.net"
    """Behind ``<account>.`` in an issuer."""
    replication: dict[str, float] = {}
    """Seconds until other parts know of a new thing: ``principal`` (role assignments), ``role`` (the same,
    and lists of roles), ``parent`` (credentials of a new identity), ``credential`` (logins)."""


class _StateFile(msgspec.Struct, rename="camel", omit_defaults=True):
    settings: SimulatorSettings | None = None
    """None: as they are."""
    resources: list[Json] = []
    account_keys: dict[str, list[str]] = {}
    websites: list[str] = []
    blobs: dict[str, Blob] = {}
    next_identities: list[Json] = []


class SubscriptionState:
    """The subscription."""

    def __init__(self, settings: SimulatorSettings, clock: Callable[[], float]) -> None:
        self.clock = clock
        self.settings = settings
        self.resources: dict[str, Json] = {}
        self.born: dict[str, float] = {}
        self.account_keys: dict[str, list[str]] = {}
        self.websites: set[str] = set()
        """Accounts whose static website is on."""
        self.blobs: dict[str, Blob] = {}
        """By ``account/container/name``; empty when Azurite keeps them."""
        self.next_identities: list[Json] = []
        """``principalId`` and ``clientId`` of identities to come; made up when there are none."""
        self.load(_StateFile(settings))

    # ── resources ───────────────────────────────────────────────────────────────────────────────────────────

    @property
    def root(self) -> str:
        """The subscription's id."""
        return f"/subscriptions/{self.settings.subscription}"

    def get(self, identifier: str) -> Json | None:
        """The resource of this id."""
        return self.resources.get(_key(identifier))

    def put(self, identifier: str, body: Json) -> bool:
        """Keep a resource; whether it is new."""
        key = _key(identifier)
        new = key not in self.resources
        if new:
            self.born[key] = self.clock()
        self.resources[key] = body
        return new

    def drop(self, identifier: str) -> bool:
        """Remove a resource and everything below it; whether there was one."""
        key = _key(identifier)
        below = [one for one in self.resources if one == key or one.startswith(f"{key}/")]
        for one in below:
            gone = self.resources.pop(one)
            self.born.pop(one, None)
            if gone.get("type") == ACCOUNT:
                self._forget(str(gone.get("name", "")).lower())
        return bool(below)

    def _forget(self, account: str) -> None:
        self.account_keys.pop(account, None)
        self.websites.discard(account)
        for name in [one for one in self.blobs if one.startswith(f"{account}/")]:
            del self.blobs[name]

    def kind(self, kind: str, below: str = "") -> Iterator[Json]:
        """The resources of a type, at or below an id, in the order in which they came."""
        prefix = f"{_key(below)}/" if below else ""
        for key, one in list(self.resources.items()):
            if one.get("type") == kind and (not prefix or key.startswith(prefix)):
                yield one

    def settled(self, identifier: str, what: str) -> bool:
        """Whether the other parts of the cloud have heard of a resource by now."""
        born = self.born.get(_key(identifier))
        return born is None or self.clock() >= born + self.settings.replication.get(what, 0.0)

    def group(self, name: str) -> Json:
        """A resource group. Raises ResourceGroupNotFound."""
        found = self.get(f"{self.root}/resourceGroups/{name}")
        if found is None:
            text = f"Resource group '{name}' could not be found."
            raise ArmError(404, "ResourceGroupNotFound", text)
        return found

    def account(self, name: str) -> Json | None:
        """A storage account by name; names are unique in the whole cloud."""
        return next(
            (one for one in self.kind(ACCOUNT) if str(one.get("name", "")).lower() == name.lower()), None
        )

    def identity_of(self, field: str, value: str) -> Json | None:
        """The identity with this ``principalId`` or ``clientId``."""
        return next(
            (one for one in self.kind(IDENTITY) if one.get("properties", {}).get(field) == value), None
        )

    def new_identity(self) -> tuple[str, str]:
        """Principal and client of an identity to be."""
        if self.next_identities:
            given = self.next_identities.pop(0)
            return str(given["principalId"]), str(given["clientId"])
        return str(uuid.uuid4()), str(uuid.uuid4())

    # ── in and out ──────────────────────────────────────────────────────────────────────────────────────────

    def export(self) -> bytes:
        """Everything, as JSON; the keys in it open nothing but this simulator."""
        mine = {**self.resources}
        for key in builtin_roles.resources():
            mine.pop(key, None)
        content = _StateFile(
            self.settings,
            list(mine.values()),
            self.account_keys,
            sorted(self.websites),
            self.blobs,
            self.next_identities,
        )
        return msgspec.json.format(msgspec.json.encode(content), indent=2)

    def restore(self, data: bytes) -> None:
        """The opposite; what was there is gone. Raises ValueError."""
        try:
            self.load(msgspec.json.decode(data, type=_StateFile))
        except (msgspec.MsgspecError, UnicodeDecodeError) as error:
            raise ValueError(f"is no state of a simulator: {error}") from None

    def load(self, content: _StateFile) -> None:
        """Take over a content."""
        secret = self.settings.client_secret
        self.settings = content.settings or self.settings
        self.settings.client_secret = self.settings.client_secret or secret or secrets.token_urlsafe(24)
        self.resources = dict(builtin_roles.resources())
        self.born = {}
        for number, one in enumerate([*self._owner(), *content.resources]):
            # Azure has been seen to list assignments that lack nearly everything
            self.resources[_key(str(one.get("id") or f"odd/{number}"))] = one
        self.account_keys = {name.lower(): keys for name, keys in content.account_keys.items()}
        for one in self.kind(ACCOUNT):
            self.account_keys.setdefault(str(one.get("name", "")).lower(), new_keys())
        self.websites = set(content.websites)
        self.blobs = dict(content.blobs)
        self.next_identities = list(content.next_identities)

    def _owner(self) -> Iterator[Json]:
        """The assignments of whoever provisions."""
        roles = [
            builtin_roles.OWNER,
            *([builtin_roles.BLOB_CONTRIBUTOR] if self.settings.data_access else []),
        ]
        for role in roles:
            name = str(uuid.uuid5(uuid.NAMESPACE_URL, f"{self.root}/{role}"))
            yield {
                "id": f"{self.root}/providers/{ASSIGNMENT}/{name}",
                "name": name,
                "type": ASSIGNMENT,
                "properties": {
                    "scope": self.root,
                    "principalId": self.settings.principal_id,
                    "principalType": "ServicePrincipal",
                    "roleDefinitionId": f"{self.root}/providers/{ROLE}/{role}",
                },
            }


def new_keys() -> list[str]:
    """Two keys of a storage account."""
    return [base64.b64encode(secrets.token_bytes(64)).decode() for _ in range(2)]


def _key(identifier: str) -> str:
    return identifier.rstrip("/").lower()


def same(one: Any, other: Any) -> bool:
    """Whether two ids name one thing."""
    return _key(str(one)) == _key(str(other))
