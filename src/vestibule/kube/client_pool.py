"""Clients of other clusters, from kubeconfigs that Secrets hold: one per cluster, kept while its kubeconfig
stays the same, and impatient, because a guest may be gone."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from typing import Final, NamedTuple

from vestibule import errors
from vestibule.api import stored_kubeconfig
from vestibule.errors import InputProblem
from vestibule.httpclient.address_guard import AddressGuard
from vestibule.kube import stored_access
from vestibule.kube.client import Client

_TIMEOUT: Final = 5.0
"""Seconds for one call; a healthy API server needs milliseconds."""
_CONNECTIONS: Final = 4
_IDLE: Final = 2.0
"""Seconds that a connection outlives its call: a look is many calls and then minutes of none, and every open
connection over TLS holds a quarter of a MiB."""


class KubeconfigSource(NamedTuple):
    """A kubeconfig and where it was read."""

    place: str
    """Object and key, for messages."""
    text: str
    server: str = ""
    """Replaces the address that is written in it; only where its authority stands in it, too, or whoever
    names the address would get the credential."""


class PooledCluster(NamedTuple):
    """A cluster that can be called."""

    client: Client
    authority: str
    """PEM of the authority that its kubeconfig trusts; empty: those of the system."""


class ClientPool:
    """The clients, by key."""

    def __init__(
        self, ending: Callable[[str], None] = lambda key: None, guard: AddressGuard | None = None
    ) -> None:
        """``ending`` is told before a client is closed, so that nobody goes on using it; ``guard`` judges
        what is dialled, and is never left out."""
        self._ending = ending
        self.guard = guard or AddressGuard()
        self._clients: dict[str, tuple[str, PooledCluster]] = {}

    async def known(self, key: str, given: KubeconfigSource) -> PooledCluster:
        """The cluster; a new client when its kubeconfig has changed. Raises InvalidInput with every problem,
        and closes the client of the kubeconfig before."""
        digest = hashlib.sha256(f"{given.server}\n{given.text}".encode()).hexdigest()
        before = self._clients.get(key)
        if before is not None and before[0] == digest:
            return before[1]
        await self.forget(key)
        made = self._made(given)
        self._clients[key] = (digest, made)
        return made

    def _made(self, given: KubeconfigSource) -> PooledCluster:
        found = stored_access.parse(given.text, given.place)
        if given.server:
            wrong = stored_kubeconfig.server_problem(given.server)
            if not wrong and not found.authority:
                wrong = f"is set, and {given.place} has no certificate-authority-data, want it there"
            if wrong:
                raise errors.InvalidInput(InputProblem("", "spec.server", wrong))
            found = found._replace(server=given.server.rstrip("/"))
        access = stored_access.access(found, given.place, self.guard)
        client = Client(access, timeout=_TIMEOUT, connections=_CONNECTIONS, idle=_IDLE)
        return PooledCluster(client, found.authority)

    async def client(self, key: str, given: KubeconfigSource) -> Client:
        """Its client alone; raises as above."""
        return (await self.known(key, given)).client

    async def forget(self, key: str) -> None:
        """Close a client that is not needed any more."""
        known = self._clients.pop(key, None)
        if known is not None:
            self._ending(key)
            await known[1].client.close()

    async def close(self) -> None:
        """Close all."""
        for key in list(self._clients):
            await self.forget(key)
