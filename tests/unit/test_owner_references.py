"""Owner references are what a pod's author wrote: odd names fail nothing, and many of them cost few reads."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from vestibule.api import gvk
from vestibule.injection import owners
from vestibule.injection.facts import OwnerRef
from vestibule.kube.live_cluster import LiveCluster


class _Client:
    """Fails a test that sends anything."""

    async def send(self, call: Any) -> Any:
        raise AssertionError(f"sent {call}")


@pytest.mark.parametrize("name", ["a/b", "..", "", "a%2fb", "a\nb"])
def test_a_name_that_no_object_has_is_absent_and_not_asked_for(name: str) -> None:
    cluster = LiveCluster(_Client())  # type: ignore[arg-type]

    assert asyncio.run(cluster.get(gvk.REPLICA_SET, "team-a", name)) is None


def test_few_references_are_followed_however_many_there_are() -> None:
    read: list[str] = []

    def absent(kind: Any, namespace: str, name: str, uid: str = "", /) -> None:
        read.append(name)

    owners.by_kind("team-a", [OwnerRef("apps/v1", "ReplicaSet", f"r{n}", "u") for n in range(3000)], absent)

    assert len(read) <= 8
