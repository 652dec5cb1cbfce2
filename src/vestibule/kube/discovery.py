"""Which kinds an API server serves, and under which plural: asked when it is first needed.

What is served is believed for long; what is not, for seconds: somebody may be installing it.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Final

import msgspec

from vestibule.api.gvk import Kind
from vestibule.kube import client
from vestibule.kube.api_requests import ApiRequest
from vestibule.kube.client import Client

_GONE_SECONDS: Final = 5.0


class _Version(msgspec.Struct):
    version: str


class _Group(msgspec.Struct, rename="camel"):
    versions: list[_Version] = []
    preferred_version: _Version | None = None


class _Resource(msgspec.Struct):
    name: str
    kind: str
    namespaced: bool = True


class _Resources(msgspec.Struct):
    resources: list[_Resource] = []


class Discovery:
    """The kinds of one cluster. Each is one object, whoever asks: kinds are compared by identity."""

    def __init__(self, asked: Client, clock: Callable[[], float] = time.monotonic) -> None:
        self._client = asked
        self._clock = clock
        self._kinds: dict[tuple[str, str, str], Kind] = {}
        self._made: dict[tuple[str, str, str], Kind] = {}
        """Every kind that was ever served: one that comes back is the one it was."""
        self._missing: dict[tuple[str, str, str], float] = {}

    def known(self, kind: Kind) -> None:
        """A kind that needs no asking."""
        self._kinds[kind.group, kind.version, kind.kind] = kind
        self._kinds.setdefault((kind.group, "", kind.kind), kind)

    def at_hand(self, group: str, version: str, kind: str) -> Kind | None:
        """The kind if it was asked for before."""
        return self._kinds.get((group, version, kind))

    def forget(self, kind: Kind) -> None:
        """It is not served any more."""
        for key, known in list(self._kinds.items()):
            if known is kind:
                del self._kinds[key]

    async def find(self, group: str, version: str, kind: str) -> Kind | None:
        """A kind, in a version or in the preferred one that has it; None when it is not served. Raises
        Forbidden, Unavailable."""
        key = (group, version, kind)
        found = self._kinds.get(key)
        if found is not None:
            return found
        if self._missing.get(key, 0.0) > self._clock():
            return None
        for one in [version] if version else await self._versions(group):
            await self._read(group, one)
            found = self._kinds.get((group, one, kind))
            if found is not None:
                self._kinds[key] = found
                self._missing.pop(key, None)
                return found
        self._missing[key] = self._clock() + _GONE_SECONDS
        return None

    async def _versions(self, group: str) -> list[str]:
        if not group:
            return ["v1"]
        answer = await self._client.send(ApiRequest("GET", f"/apis/{group}"))
        if answer.status == 404:
            return []
        if answer.status != 200:
            client.raise_for(answer, f"reading the versions of {group}")
        found = msgspec.json.decode(answer.body, type=_Group)
        first = found.preferred_version.version if found.preferred_version else ""
        return list(dict.fromkeys(filter(None, (first, *(one.version for one in found.versions)))))

    async def _read(self, group: str, version: str) -> None:
        answer = await self._client.send(
            ApiRequest("GET", f"/apis/{group}/{version}" if group else f"/api/{version}")
        )
        if answer.status == 404:
            return
        if answer.status != 200:
            client.raise_for(answer, f"reading the kinds of {group}/{version}")
        for one in msgspec.json.decode(answer.body, type=_Resources).resources:
            if "/" not in one.name and (group, version, one.kind) not in self._kinds:
                key = (group, version, one.kind)
                made = Kind(group, version, one.kind, one.name, one.namespaced)
                self._kinds[key] = self._made.setdefault(key, made)
