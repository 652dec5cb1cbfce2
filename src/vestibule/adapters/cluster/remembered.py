"""What stands around many pods, read once and remembered for the length of one run.

For commands that go through a whole cluster: namespaces and ServiceAccounts are listed, owners are read when
a pod names them. A webhook must not use it: nothing here ever grows old.
"""

from __future__ import annotations

from typing import Any

from vestibule import errors
from vestibule.adapters.cluster import pages
from vestibule.adapters.cluster.client import Client
from vestibule.adapters.cluster.live import LiveCluster
from vestibule.adapters.cluster.ports import UNKNOWN, Unknown
from vestibule.core.kinds import gvk
from vestibule.core.kinds.gvk import Kind
from vestibule.core.mutation import facts
from vestibule.core.mutation.facts import Source

Object = dict[str, Any]
_Key = tuple[Kind, str, str]


class RememberedCluster:
    """Fulfils Reader and Cache. The client is the caller's, and closed by the caller."""

    synced = True

    def __init__(self, client: Client) -> None:
        self._client = client
        self._live = LiveCluster(client)
        self._found: dict[_Key, Source | None] = {}
        self._wholes: dict[_Key, Object | None] = {}
        self.labels: dict[str, dict[str, str]] = {}
        """Of the namespaces that were listed."""

    async def fill(self, namespace: str | None = None) -> None:
        """List namespaces and, with ``namespace``, accounts, of that one or of all; where we may not, or are
        not asked to, they are read one by one."""
        accounts = () if namespace is None else ((gvk.SERVICE_ACCOUNT, namespace),)
        for kind, where in ((gvk.NAMESPACE, ""), *accounts):
            try:
                async for page in pages.pages(self._client, kind, where):
                    for thing in page:
                        found = facts.source(thing)
                        self._found[kind, found.namespace, found.name] = found
                        if kind is gvk.NAMESPACE:
                            self.labels[found.name] = thing["metadata"].get("labels") or {}
            except errors.Forbidden:
                continue

    def accounts(self) -> list[Source]:
        """The ServiceAccounts that were listed."""
        return [found for (kind, *_), found in self._found.items() if kind is gvk.SERVICE_ACCOUNT and found]

    async def get(self, kind: Kind, namespace: str, name: str) -> Source | None:
        """See Reader."""
        key = (kind, namespace, name)
        if key not in self._found:
            self._found[key] = await self._live.get(kind, namespace, name)
        return self._found[key]

    def peek(self, kind: Kind, namespace: str, name: str, uid: str = "") -> Source | None | Unknown:
        """See Cache."""
        return self._found.get((kind, namespace, name), UNKNOWN)

    async def whole(self, kind: Kind, namespace: str, name: str) -> Object | None:
        """A whole object; None also when it may not or cannot be read."""
        key = (kind, namespace, name)
        if key not in self._wholes:
            try:
                self._wholes[key] = await pages.one(self._client, *key)
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
