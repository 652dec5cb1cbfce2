"""The live cluster keeps the contract of the cluster ports: the suite of ``tests/contract``, and what only a
real API server can show."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.apiserver.live_cluster_backend import Live
from tests.contract.backends import Backend
from tests.contract.test_cluster import ClusterContract
from tests.rig.controlplane import ControlPlane
from vestibule.api import gvk
from vestibule.kube.ports import UNKNOWN


@pytest.fixture(scope="module")
def live(control_plane: ControlPlane) -> Iterator[Live]:
    created = Live(control_plane)
    yield created
    created.close()


class TestLive(ClusterContract):
    """A real API server."""

    @pytest.fixture
    def backend(self, live: Live) -> Iterator[Backend]:
        yield live
        live.forget()

    def test_an_object_that_was_never_seen_is_unknown_and_not_none(self, backend: Backend) -> None:
        assert backend.absent is UNKNOWN
        assert [backend.peek(kind, "team-a", "nobody") for kind in gvk.KNOWN] == [UNKNOWN] * len(gvk.KNOWN)
