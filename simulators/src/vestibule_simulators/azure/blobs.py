"""The blob plane of every account, path-style: who may come in, which containers there are, properties.

What is kept where is the store's business: ours in memory, or a real Azurite. Refusals are XML, as the
service writes them.
"""

from __future__ import annotations

import hmac
import re
from collections.abc import Awaitable
from typing import Final, Protocol
from urllib.parse import unquote
from xml.sax.saxutils import escape

from vestibule_simulators.azure import authorization, sharedkey, storage
from vestibule_simulators.azure.entra import Entra
from vestibule_simulators.azure.responses import ArmError, Json
from vestibule_simulators.azure.state import SubscriptionState
from vestibule_simulators.https_server import SiteRequest, SiteResponse

_DATA: Final = "Microsoft.Storage/storageAccounts/blobServices/containers/blobs"
_AUDIENCES: Final = ("https://storage.azure.com", "https://storage.azure.com/")
_READING: Final = ("GET", "HEAD")
_WEBSITE: Final = re.compile(
    rb"<StaticWebsite>.*?<Enabled>\s*(true|false)\s*</Enabled>", re.DOTALL | re.IGNORECASE
)
WEB: Final = "$web"


class BlobAddress:
    """What a path names."""

    def __init__(self, path: str) -> None:
        account, _, rest = path.lstrip("/").partition("/")
        self.web = account.endswith(".web")
        """Whether it is asked for as a website."""
        self.account = account.removesuffix(".web").lower()
        self.container, _, self.blob = (WEB, "", rest) if self.web else rest.partition("/")


class BlobStore(Protocol):
    """Where blobs are kept."""

    def answer(self, place: BlobAddress, birth: str, call: SiteRequest) -> Awaitable[SiteResponse]:
        """One call about a blob, or with an empty name about what a container holds. ``birth`` tells a
        container from one of the same name before it. Raises Refusal."""
        ...


class BlobService:
    """The plane."""

    def __init__(self, state: SubscriptionState, entra: Entra, store: BlobStore) -> None:
        self._world, self._entra, self._store = state, entra, store

    def owns(self, path: str) -> bool:
        """Whether a path is about an account that exists, or one that could."""
        first = path.lstrip("/").partition("/")[0]
        return bool(re.fullmatch(r"[a-z0-9]{3,24}(\.web)?", first)) and first not in storage.RESERVED

    async def answer(self, call: SiteRequest) -> SiteResponse:
        """Do it."""
        try:
            return await self._answer(call)
        except ArmError as refusal:
            return error(refusal, head=call.method == "HEAD")

    async def _answer(self, call: SiteRequest) -> SiteResponse:
        place = BlobAddress(unquote(call.raw_path))
        account = self._world.account(place.account)
        if account is None:
            raise ArmError(404, "ResourceNotFound", f"The account {place.account} does not exist.")
        account.setdefault("properties", {})
        if place.web:
            return await self._website(place, account, call)
        who = self._who(account, call)
        if not place.container:
            return self._service(account, call, who)
        found = self._world.get(storage.container_id(account, place.container))
        if call.query.get("restype") == "container" and "comp" not in call.query:
            return self._container(account, place.container, found, call, who)
        if found is None:
            missing = "ContainerNotFound" if who else "ResourceNotFound"
            raise ArmError(404, missing, "The specified container does not exist.")
        if not who:
            _public(account, found, listing=not place.blob, reading=call.method in _READING)
        elif who != "key":
            self._demand(who, found, call)
        if call.query.get("comp") == "acl" and not place.blob:
            return self._access(account, place.container, call)
        return await self._store.answer(place, str(found.get("etag", "")), call)

    # ── who ─────────────────────────────────────────────────────────────────────────────────────────────────

    def _who(self, account: Json, call: SiteRequest) -> str:
        """``key``, a principal, or nobody. Raises Refusal for proof that is none."""
        given = call.headers.get("authorization", "")
        if not given:
            return ""
        scheme, _, rest = given.partition(" ")
        if scheme == "SharedKey":
            if account["properties"].get("allowSharedKeyAccess") is False:
                text = "Key based authentication is not permitted on this storage account."
                raise ArmError(403, "KeyBasedAuthenticationNotPermitted", text)
            name = str(account["name"]).lower()
            shown = rest.rpartition(":")[2]
            for key in self._world.account_keys.get(name, ()):
                want = sharedkey.signature(key, name, call.method, call.raw_path, call.query, call.headers)
                if hmac.compare_digest(want, shown):
                    return "key"
            raise ArmError(403, "AuthenticationFailed", "Server failed to authenticate the request.")
        principal, wrong = self._entra.principal(given, _AUDIENCES)
        if wrong:
            raise ArmError(401, "InvalidAuthenticationInfo", wrong)
        return principal

    def _demand(self, principal: str, where: Json, call: SiteRequest) -> None:
        verb = "read" if call.method in _READING else "delete" if call.method == "DELETE" else "write"
        if not authorization.allowed(self._world, principal, f"{_DATA}/{verb}", where["id"], data=True):
            text = "This request is not authorized to perform this operation using this permission."
            raise ArmError(403, "AuthorizationPermissionMismatch", text)

    def _trusted(self, account: Json, call: SiteRequest, who: str) -> None:
        """The service and its containers are for those who may write data, too."""
        if not who:
            raise ArmError(401, "NoAuthenticationInformation", "Server failed to authenticate the request.")
        if who != "key":
            self._demand(who, account, call)

    # ── what ────────────────────────────────────────────────────────────────────────────────────────────────

    def _service(self, account: Json, call: SiteRequest, who: str) -> SiteResponse:
        self._trusted(account, call, who)
        name = str(account["name"]).lower()
        what = (call.method, call.query.get("restype"), call.query.get("comp"))
        if what == ("PUT", "service", "properties"):
            if match := _WEBSITE.search(call.body):
                if match[1].lower() == b"true":
                    self._world.websites.add(name)
                    if self._world.get(storage.container_id(account, WEB)) is None:
                        storage.make_container(self._world, account, WEB, "None")
                else:
                    self._world.websites.discard(name)
            return _xml(202, "")
        if what == ("GET", "service", "properties"):
            on = "true" if name in self._world.websites else "false"
            site = f"<StaticWebsite><Enabled>{on}</Enabled></StaticWebsite>"
            return _xml(200, f"<StorageServiceProperties><Cors/>{site}</StorageServiceProperties>")
        if what == ("GET", None, "list"):
            found = self._world.kind(
                "Microsoft.Storage/storageAccounts/blobServices/containers", account["id"]
            )
            listed = "".join(
                f"<Container><Name>{escape(str(one['name']))}</Name><Properties/></Container>"
                for one in found
            )
            return _xml(
                200,
                f"<EnumerationResults><Containers>{listed}</Containers><NextMarker/></EnumerationResults>",
            )
        raise ArmError(400, "InvalidQueryParameterValue", "The simulator does not do this to an account.")

    def _container(
        self, account: Json, name: str, found: Json | None, call: SiteRequest, who: str
    ) -> SiteResponse:
        self._trusted(account, call, who)
        if call.method == "PUT":
            if found is not None:
                raise ArmError(409, "ContainerAlreadyExists", "The specified container already exists.")
            storage.make_container(self._world, account, name, _level(call))
            return _xml(201, "")
        if found is None:
            raise ArmError(404, "ContainerNotFound", "The specified container does not exist.")
        if call.method == "DELETE":
            self._world.drop(found["id"])
            for key in [one for one in self._world.blobs if one.startswith(f"{account['name']}/{name}/")]:
                del self._world.blobs[key]
            return _xml(202, "")
        return SiteResponse(200, b"", {"ETag": '"0x1"', "Last-Modified": "Thu, 01 Jan 2026 00:00:00 GMT"})

    def _access(self, account: Json, name: str, call: SiteRequest) -> SiteResponse:
        if call.method == "PUT":
            storage.make_container(self._world, account, name, _level(call))
        return _xml(200, "<SignedIdentifiers/>" if call.method == "GET" else "")

    async def _website(self, place: BlobAddress, account: Json, call: SiteRequest) -> SiteResponse:
        if call.method not in _READING or place.account not in self._world.websites:
            raise ArmError(404, "WebContentNotFound", "The requested content does not exist.")
        existing = self._world.get(storage.container_id(account, WEB)) or {}
        return await self._store.answer(place, str(existing.get("etag", "")), call)


def _public(account: Json, container: Json, *, listing: bool, reading: bool) -> None:
    """Whether nobody in particular may do this. Raises Refusal."""
    if not reading:
        raise ArmError(401, "NoAuthenticationInformation", "Server failed to authenticate the request.")
    if account["properties"].get("allowBlobPublicAccess") is False:
        text = "Public access is not permitted on this storage account."
        raise ArmError(409, "PublicAccessNotPermitted", text)
    # a container that does not say so is as it was made: private; states of before may leave it out
    level = str((container.get("properties") or {}).get("publicAccess", "Container"))
    if level == "None" or (listing and level != "Container"):
        raise ArmError(404, "ResourceNotFound", "The specified resource does not exist.")


def _level(call: SiteRequest) -> str:
    return call.headers.get("x-ms-blob-public-access", "none").capitalize()


def error(refusal: ArmError, *, head: bool = False) -> SiteResponse:
    """A refusal as the service writes it."""
    body = (
        '<?xml version="1.0" encoding="utf-8"?>'
        f"<Error><Code>{escape(refusal.code)}</Code><Message>{escape(refusal.text)}</Message></Error>"
    )
    headers = {"Content-Type": "application/xml", "x-ms-error-code": refusal.code, **refusal.headers}
    return SiteResponse(refusal.status, b"" if head else body.encode(), headers)


def _xml(status: int, body: str) -> SiteResponse:
    content = f'<?xml version="1.0" encoding="utf-8"?>{body}'.encode() if body else b""
    return SiteResponse(status, content, {"Content-Type": "application/xml"} if content else {})
