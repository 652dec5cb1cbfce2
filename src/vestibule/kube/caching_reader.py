"""What stands around many pods, read once and remembered for the length of one run.

For commands that go through a whole cluster: namespaces and ServiceAccounts are listed, owners are read when
a pod names them. A webhook must not use it: nothing here ever grows old.
"""

from __future__ import annotations

from typing import Any

from vestibule import errors
from vestibule.api import gvk
from vestibule.api.gvk import Kind
from vestibule.injection import facts
from vestibule.injection.facts import SourceObject
from vestibule.kube import lister
from vestibule.kube.client import Client
from vestibule.kube.live_cluster import LiveCluster
from vestibule.kube.ports import UNKNOWN, Unknown

Object = dict[str, Any]
_Key = tuple[Kind, str, str]


class CachingReader:
    """Fulfils Reader and Cache. The client is the caller's, and closed by the caller."""

    synced = True

    def __init__(self, client: Client) -> None:
        self._client = client
        self._live = LiveCluster(client)
        self._found: dict[_Key, SourceObject | None] = {}
        self._wholes: dict[_Key, Object | None] = {}
        self.labels: dict[str, dict[str, str]] = {}
        """Of the namespaces that were listed."""

    async def fill(self, namespace: str | None = None) -> None:
        """List namespaces and, with ``namespace``, accounts, of that one or of all; where we may not, or are
        not asked to, they are read one by one."""
        accounts = () if namespace is None else ((gvk.SERVICE_ACCOUNT, namespace),)
        for kind, where in ((gvk.NAMESPACE, ""), *accounts):
            try:
                async for page in lister.pages(self._client, kind, where):
                    for thing in page:
                        found = facts.source(thing)
                        self._found[kind, found.namespace, found.name] = found
                        if kind is gvk.NAMESPACE:
                            self.labels[found.name] = thing["metadata"].get("labels") or {}
            except errors.Forbidden:
                continue

    def accounts(self) -> list[SourceObject]:
        """The ServiceAccounts that were listed."""
        return [found for (kind, *_), found in self._found.items() if kind is gvk.SERVICE_ACCOUNT and found]

    async def get(self, kind: Kind, namespace: str, name: str) -> SourceObject | None:
        """See Reader."""
        key = (kind, namespace, name)
        if key not in self._found:
            self._found[key] = await self._live.get(kind, namespace, name)
        return self._found[key]

    def peek(self, kind: Kind, namespace: str, name: str, uid: str = "") -> SourceObject | None | Unknown:
        """See Cache."""
        return self._found.get((kind, namespace, name), UNKNOWN)

    async def whole(self, kind: Kind, namespace: str, name: str) -> Object | None:
        """A whole object; None also when it may not or cannot be read."""
        key = (kind, namespace, name)
        if key not in self._wholes:
            try:
                self._wholes[key] = await lister.one(self._client, *key)
            except (errors.Forbidden, errors.Unavailable):
                self._wholes[key] = None
        return self._wholes[key]

    def __len__(self) -> int:
        return len(self._found) + len(self._wholes)

    def keep_only(self, namespace: str) -> None:
        """Let go of what stands in other namespaces; namespaces themselves stay."""
        for known in (self._found, self._wholes):
            for key in [one for one in known if one[1] not in ("", namespace)]:
                del known[key]

    async def close(self) -> None:
        """The client is not ours to close."""
