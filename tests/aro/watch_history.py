"""What happened in a namespace, in the order of the API server's own resource versions."""

from __future__ import annotations

import concurrent.futures
import json
from collections.abc import Callable
from typing import Any

from tests.aro import manifests
from tests.aro.environment import Cluster, said

Json = dict[str, Any]


class WatchHistory:
    """Begins now; reads afterwards."""

    def __init__(self, cluster: Cluster) -> None:
        self._cluster = cluster
        listed = cluster.admin.get(manifests.path("Secret", cluster.namespace)).object
        self._since = str(listed["metadata"]["resourceVersion"])
        self._read: dict[str, list[tuple[int, Json]]] = {}

    def states(self, kind: str) -> list[tuple[int, Json]]:
        """Every state of the objects of a kind until now, with its version; read once."""
        if kind in self._read:
            return self._read[kind]
        path = manifests.path(kind, self._cluster.namespace)
        answer = self._cluster.admin.get(
            path, watch=True, resourceVersion=self._since, timeoutSeconds=1, allowWatchBookmarks=False
        )
        assert answer.status == 200, answer.body
        events = [json.loads(line) for line in answer.body.splitlines()]
        found = [one["object"] for one in events if one["type"] in ("ADDED", "MODIFIED")]
        self._read[kind] = [(int(one["metadata"]["resourceVersion"]), one) for one in found]
        return self._read[kind]

    def read(self, *kinds: str) -> None:
        """Several kinds at once: a watch that is over takes a second."""
        with concurrent.futures.ThreadPoolExecutor(len(kinds)) as pool:
            list(pool.map(self.states, kinds))

    def first(self, kind: str, holds: Callable[[Json], object]) -> int:
        """The version in which something held for the first time."""
        for version, obj in self.states(kind):
            if holds(obj):
                return version
        raise AssertionError(f"never so for any {kind}")


def condition(kind: str) -> Callable[[Json], bool]:
    """Whether a condition is True."""
    return lambda obj: said(obj, kind).get("status") == "True"
