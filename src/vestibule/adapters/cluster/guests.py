"""Clients of other clusters, from kubeconfigs that Secrets hold: one per cluster, kept while its kubeconfig
stays the same, and impatient, because a guest may be gone."""

from __future__ import annotations

import base64
import hashlib
import os
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Final

from vestibule.adapters.cluster import kubeconfig
from vestibule.adapters.cluster.access import Access
from vestibule.adapters.cluster.client import Client

_TIMEOUT: Final = 5.0
"""Seconds for one call; a healthy API server needs milliseconds."""
_CONNECTIONS: Final = 4
_IDLE: Final = 2.0
"""Seconds that a connection outlives its call: a look is many calls and then minutes of none, and every open
connection over TLS holds a quarter of a MiB."""


def access(text: str, server: str = "") -> Access:
    """The access that a kubeconfig in a text stands for; raises InvalidSettings. ``server`` replaces the
    address that is written there."""
    with tempfile.TemporaryDirectory(prefix="vestibule-guest-") as folder:
        file = Path(folder) / "kubeconfig"
        descriptor = os.open(file, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        with os.fdopen(descriptor, "w") as opened:
            opened.write(text)
        found = kubeconfig.load([file])
    return found._replace(server=server) if server else found


def authority(text: str) -> str:
    """PEM of the authority that a kubeconfig trusts, where it holds it; empty when it does not."""
    import yaml  # noqa: PLC0415 - only who has guests pays for it

    try:
        whole = yaml.load(text, Loader=getattr(yaml, "CSafeLoader", yaml.SafeLoader))  # noqa: S506
        named = {one["name"]: one["context"] for one in whole["contexts"]}
        clusters = {one["name"]: one["cluster"] for one in whole["clusters"]}
        cluster = clusters[named[whole["current-context"]]["cluster"]]
        return base64.b64decode(cluster["certificate-authority-data"], validate=True).decode()
    except (yaml.YAMLError, KeyError, TypeError, ValueError):
        return ""


class Guests:
    """The clients, by key."""

    def __init__(self, ending: Callable[[str], None] = lambda key: None) -> None:
        """``ending`` is told before a client is closed, so that nobody goes on using it."""
        self._ending = ending
        self._clients: dict[str, tuple[str, Client]] = {}

    async def client(self, key: str, text: str, server: str = "") -> Client:
        """The client of a guest; a new one when its kubeconfig has changed. Raises InvalidSettings."""
        digest = hashlib.sha256(f"{server}\n{text}".encode()).hexdigest()
        known = self._clients.get(key)
        if known is not None and known[0] == digest:
            return known[1]
        made = Client(access(text, server), timeout=_TIMEOUT, connections=_CONNECTIONS, idle=_IDLE)
        await self.forget(key)
        self._clients[key] = (digest, made)
        return made

    async def forget(self, key: str) -> None:
        """Close a client that is not needed any more."""
        known = self._clients.pop(key, None)
        if known is not None:
            self._ending(key)
            await known[1].close()

    async def close(self) -> None:
        """Close all."""
        for key in list(self._clients):
            await self.forget(key)
