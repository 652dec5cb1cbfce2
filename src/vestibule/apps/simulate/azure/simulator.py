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

from vestibule.adapters.web import fetch as web
from vestibule.adapters.web import relay
from vestibule.adapters.web.site import Call, Reply
from vestibule.apps.simulate.azure import answers
from vestibule.apps.simulate.azure.answers import Refusal
from vestibule.apps.simulate.azure.azurite import AzuriteStore
from vestibule.apps.simulate.azure.blobs import Blobs, Store
from vestibule.apps.simulate.azure.entra import Entra
from vestibule.apps.simulate.azure.faults import Fault, Faults
from vestibule.apps.simulate.azure.journal import Journal
from vestibule.apps.simulate.azure.memory import MemoryStore
from vestibule.apps.simulate.azure.routes import Arm
from vestibule.apps.simulate.azure.state import Settings, World
from vestibule.apps.simulate.azure.vaultplane import VaultPlane
from vestibule.core.doctor.reading import Reading

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
        settings: Settings | None = None,
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
        self.world = World(settings or Settings(), self.now)
        self.faults = Faults()
        self.journal = Journal()
        self._arm = Arm(self.world)
        self._entra = Entra(self.world, self._fetch)
        self._vaults = VaultPlane(self.world, self._entra)
        store: Store = AzuriteStore(azurite, self._send) if azurite else MemoryStore(self.world)
        self._blobs = Blobs(self.world, self._entra, store)
        self._control: dict[tuple[str, str], Callable[[Call], Reply]] = {
            ("GET", "state"): lambda _: answers.document(200, msgspec.Raw(self.world.export())),
            ("PUT", "state"): self._restore,
            ("GET", "faults"): lambda _: answers.document(200, self.faults.rules),
            ("POST", "faults"): self._add_faults,
            ("DELETE", "faults"): self._drop_faults,
            ("GET", "calls"): self._calls,
            ("DELETE", "calls"): self._drop_calls,
            ("PUT", "clock"): self._set_clock,
        }

    def now(self) -> float:
        """The time in this cloud."""
        return self._clock() + self.ahead

    async def answer(self, call: Call) -> Reply:
        """One call."""
        if call.path.startswith(CONTROL):
            return self._controlled(call)
        self.journal.hear(call, self.now())
        fault = self.faults.take(call)
        principal, reply = await self._faulty(fault, call) if fault is not None else await self._true(call)
        self.journal.note(call, reply, self.now(), principal, _named(fault))
        return reply

    async def _faulty(self, fault: Fault, call: Call) -> tuple[str, Reply]:
        if fault.mode == "before" and fault.answers:
            await asyncio.sleep(fault.delay)
            return "", fault.reply()
        principal, reply = await self._true(call)
        if fault.mode == "partial" and reply.status < 300:
            self._halve(call)
        await asyncio.sleep(fault.delay)
        return principal, fault.reply() if fault.answers else reply

    async def _true(self, call: Call) -> tuple[str, Reply]:
        base = f"https://{call.host}"
        if self._entra.owns(call.path):
            return "", await self._entra.answer(call, base)
        if _ARM.fullmatch(call.path):
            return self._managed(call, base)
        if self._vaults.owns(call.path):
            return self._vaults.answer(call, base)
        if self._blobs.owns(call.path):
            return "", await self._blobs.answer(call)
        return "", answers.refused(Refusal(404, "NotFound", f"Nothing of the simulator is at '{call.path}'."))

    def _managed(self, call: Call, base: str) -> tuple[str, Reply]:
        principal, wrong = self._entra.principal(call.headers.get("authorization", ""), (*_SCOPES, base))
        try:
            if wrong:
                tenant = f"{base}/{self.world.settings.tenant}"
                header = {"WWW-Authenticate": f'Bearer authorization_uri="{tenant}", error="invalid_token"'}
                code = "ExpiredAuthenticationToken" if "expired" in wrong else "InvalidAuthenticationToken"
                raise Refusal(401, code, wrong, header)
            return principal, self._arm.answer(call, principal, base)
        except Refusal as refusal:
            return principal, answers.refused(refusal)

    def _halve(self, call: Call) -> None:
        """What was made lacks its tags, and was not finished."""
        made = self.world.get(call.path)
        if made is None:
            return
        if "tags" in made:
            made["tags"] = {}
        inner = made.get("properties") or {}
        inner.pop("description", None)
        if "provisioningState" in inner:
            inner["provisioningState"] = "Failed"

    # ── outside ─────────────────────────────────────────────────────────────────────────────────────────────

    async def _fetch(self, url: str) -> Reading:
        """An issuer's document; accounts of this cloud are at our own address."""
        suffix = re.escape(self.world.settings.blob_suffix)
        match = re.match(rf"https://([a-z0-9]{{3,24}})\.{suffix}(?=/|$)", url)
        here = f"{self.base}/{match[1]}{url[match.end() :]}" if match else url
        return (await web.get(here, self._trust))._replace(url=url)

    def _send(self, method: str, url: str, headers: Any, body: bytes) -> Awaitable[Reply]:
        return relay.send(method, url, headers, body, self._trust)

    # ── control ─────────────────────────────────────────────────────────────────────────────────────────────

    def _controlled(self, call: Call) -> Reply:
        if not _local(call.peer):
            return answers.refused(Refusal(403, "NotLocal", "Control is for callers on this machine."))
        handler = self._control.get((call.method, call.path.removeprefix(CONTROL)))
        if handler is None:
            known = ", ".join(f"{method} {CONTROL}{name}" for method, name in self._control)
            return answers.refused(Refusal(404, "NotFound", f"want one of {known}"))
        try:
            return handler(call)
        except ValueError as error:
            return answers.refused(Refusal(400, "InvalidControl", str(error)))

    def _restore(self, call: Call) -> Reply:
        self.world.restore(call.body)
        return answers.nothing(204)

    def _add_faults(self, call: Call) -> Reply:
        self.faults.add(call.body)
        return answers.nothing(204)

    def _calls(self, _: Call) -> Reply:
        body = {"calls": list(self.journal.calls), "retryAfterViolations": self.journal.violations}
        return answers.document(200, body)

    def _set_clock(self, call: Call) -> Reply:
        try:
            self.ahead = float(msgspec.json.decode(call.body, type=dict[str, float])["ahead"])
        except (msgspec.MsgspecError, KeyError):
            raise ValueError('want {"ahead": seconds}') from None
        return answers.nothing(204)

    def _drop_faults(self, _: Call) -> Reply:
        self.faults.rules.clear()
        return answers.nothing(204)

    def _drop_calls(self, _: Call) -> Reply:
        self.journal.clear()
        return answers.nothing(204)


def _named(fault: Fault | None) -> str:
    return "" if fault is None else f"{fault.mode} {fault.code or fault.status or 'late'}"


def _local(peer: str) -> bool:
    try:
        return ipaddress.ip_address(peer.partition("%")[0]).is_loopback
    except ValueError:
        return False
