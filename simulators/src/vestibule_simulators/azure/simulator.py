"""The whole double behind one address: which part a call is for, the fault that strikes it, the journal.

Control is at ``/_simulate/``, for callers on this machine only; no fault strikes there and no login is asked.
"""

from __future__ import annotations

import asyncio
import ipaddress
import re
import ssl
import time
from collections.abc import Awaitable, Callable
from typing import Any, Final

import msgspec

from vestibule.checks.http_document import HttpDocument
from vestibule.httpclient import fetch as web
from vestibule_simulators import forward
from vestibule_simulators.azure import responses
from vestibule_simulators.azure.azurite_blobs import AzuriteBlobStore
from vestibule_simulators.azure.blobs import BlobService, BlobStore
from vestibule_simulators.azure.call_log import CallLog
from vestibule_simulators.azure.entra import Entra
from vestibule_simulators.azure.faults import FaultRule, FaultRules
from vestibule_simulators.azure.memory_blobs import MemoryBlobStore
from vestibule_simulators.azure.responses import ArmError
from vestibule_simulators.azure.routes import ArmRouter
from vestibule_simulators.azure.state import SimulatorSettings, SubscriptionState
from vestibule_simulators.azure.vault_data_plane import VaultDataPlane
from vestibule_simulators.https_server import SiteRequest, SiteResponse

CONTROL: Final = "/_simulate/"
_ARM: Final = re.compile(r"/(subscriptions|providers)(/.*)?", re.IGNORECASE)
_SCOPES: Final = (
    "https://management.azure.com",
    "https://management.azure.com/",
    "https://management.core.windows.net",
    "https://management.core.windows.net/",
)


class Simulator:
    """One subscription, its tenant and its blobs. ``answer`` is the handler of a site."""

    def __init__(
        self,
        settings: SimulatorSettings | None = None,
        *,
        azurite: str = "",
        trust: ssl.SSLContext | None = None,
        clock: Callable[[], float] = time.time,
    ) -> None:
        """``trust`` says whose certificates issuers and Azurite may have; None: those of this machine."""
        self._trust, self._clock = trust, clock
        self.ahead = 0.0
        """Seconds that the clock of this cloud is ahead of ours."""
        self.base = ""
        """Its own address, when it is known."""
        self.world = SubscriptionState(settings or SimulatorSettings(), self.now)
        self.faults = FaultRules()
        self.journal = CallLog()
        self._arm = ArmRouter(self.world)
        self._entra = Entra(self.world, self._fetch)
        self._vaults = VaultDataPlane(self.world, self._entra)
        store: BlobStore = AzuriteBlobStore(azurite, self._send) if azurite else MemoryBlobStore(self.world)
        self._blobs = BlobService(self.world, self._entra, store)
        self._control: dict[tuple[str, str], Callable[[SiteRequest], SiteResponse]] = {
            ("GET", "state"): lambda _: responses.document(200, msgspec.Raw(self.world.export())),
            ("PUT", "state"): self._restore,
            ("GET", "faults"): lambda _: responses.document(200, self.faults.rules),
            ("POST", "faults"): self._add_faults,
            ("DELETE", "faults"): self._drop_faults,
            ("GET", "calls"): self._calls,
            ("DELETE", "calls"): self._drop_calls,
            ("PUT", "clock"): self._set_clock,
        }

    def now(self) -> float:
        """The time in this cloud."""
        return self._clock() + self.ahead

    async def answer(self, call: SiteRequest) -> SiteResponse:
        """One call."""
        if call.path.startswith(CONTROL):
            return self._controlled(call)
        self.journal.hear(call, self.now())
        fault = self.faults.take(call)
        principal, reply = await self._faulty(fault, call) if fault is not None else await self._true(call)
        self.journal.note(call, reply, self.now(), principal, _named(fault))
        return reply

    async def _faulty(self, fault: FaultRule, call: SiteRequest) -> tuple[str, SiteResponse]:
        if fault.mode == "before" and fault.answers:
            await asyncio.sleep(fault.delay)
            return "", fault.reply()
        principal, reply = await self._true(call)
        if fault.mode == "partial" and reply.status < 300:
            self._halve(call)
        await asyncio.sleep(fault.delay)
        return principal, fault.reply() if fault.answers else reply

    async def _true(self, call: SiteRequest) -> tuple[str, SiteResponse]:
        base = f"https://{call.host}"
        if self._entra.owns(call.path):
            return "", await self._entra.answer(call, base)
        if _ARM.fullmatch(call.path):
            return self._managed(call, base)
        if self._vaults.owns(call.path):
            return self._vaults.answer(call, base)
        if self._blobs.owns(call.path):
            return "", await self._blobs.answer(call)
        return "", responses.refused(
            ArmError(404, "NotFound", f"Nothing of the simulator is at '{call.path}'.")
        )

    def _managed(self, call: SiteRequest, base: str) -> tuple[str, SiteResponse]:
        principal, wrong = self._entra.principal(call.headers.get("authorization", ""), (*_SCOPES, base))
        try:
            if wrong:
                tenant = f"{base}/{self.world.settings.tenant}"
                header = {"WWW-Authenticate": f'Bearer authorization_uri="{tenant}", error="invalid_token"'}
                code = "ExpiredAuthenticationToken" if "expired" in wrong else "InvalidAuthenticationToken"
                raise ArmError(401, code, wrong, header)
            return principal, self._arm.answer(call, principal, base)
        except ArmError as refusal:
            return principal, responses.refused(refusal)

    def _halve(self, call: SiteRequest) -> None:
        """What was made lacks its tags, and was not finished."""
        created = self.world.get(call.path)
        if created is None:
            return
        if "tags" in created:
            created["tags"] = {}
        inner = created.get("properties") or {}
        inner.pop("description", None)
        if "provisioningState" in inner:
            inner["provisioningState"] = "Failed"

    # ── outside ─────────────────────────────────────────────────────────────────────────────────────────────

    async def _fetch(self, url: str) -> HttpDocument:
        """An issuer's document; accounts of this cloud are at our own address."""
        suffix = re.escape(self.world.settings.blob_suffix)
        match = re.match(rf"https://([a-z0-9]{{3,24}})\.{suffix}(?=/|$)", url)
        here = f"{self.base}/{match[1]}{url[match.end() :]}" if match else url
        return (await web.get(here, self._trust))._replace(url=url)

    def _send(self, method: str, url: str, headers: Any, body: bytes) -> Awaitable[SiteResponse]:
        return forward.send(method, url, headers, body, self._trust)

    # ── control ─────────────────────────────────────────────────────────────────────────────────────────────

    def _controlled(self, call: SiteRequest) -> SiteResponse:
        if not _local(call.peer):
            return responses.refused(ArmError(403, "NotLocal", "Control is for callers on this machine."))
        handler = self._control.get((call.method, call.path.removeprefix(CONTROL)))
        if handler is None:
            known = ", ".join(f"{method} {CONTROL}{name}" for method, name in self._control)
            return responses.refused(ArmError(404, "NotFound", f"want one of {known}"))
        try:
            return handler(call)
        except ValueError as error:
            return responses.refused(ArmError(400, "InvalidControl", str(error)))

    def _restore(self, call: SiteRequest) -> SiteResponse:
        self.world.restore(call.body)
        return responses.nothing(204)

    def _add_faults(self, call: SiteRequest) -> SiteResponse:
        self.faults.add(call.body)
        return responses.nothing(204)

    def _calls(self, _: SiteRequest) -> SiteResponse:
        body = {"calls": list(self.journal.calls), "retryAfterViolations": self.journal.violations}
        return responses.document(200, body)

    def _set_clock(self, call: SiteRequest) -> SiteResponse:
        try:
            self.ahead = float(msgspec.json.decode(call.body, type=dict[str, float])["ahead"])
        except (msgspec.MsgspecError, KeyError):
            raise ValueError('want {"ahead": seconds}') from None
        return responses.nothing(204)

    def _drop_faults(self, _: SiteRequest) -> SiteResponse:
        self.faults.rules.clear()
        return responses.nothing(204)

    def _drop_calls(self, _: SiteRequest) -> SiteResponse:
        self.journal.clear()
        return responses.nothing(204)


def _named(fault: FaultRule | None) -> str:
    return "" if fault is None else f"{fault.mode} {fault.code or fault.status or 'late'}"


def _local(peer: str) -> bool:
    try:
        return ipaddress.ip_address(peer.partition("%")[0]).is_loopback
    except ValueError:
        return False
