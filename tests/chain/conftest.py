"""The rig, the stages on it, and fresh clouds for every test."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.chain.gateway import Certificates
from tests.chain.issuers import Issuers
from tests.chain.logins import Clouds
from tests.chain.stage import Stages
from tests.rig.controlplane import ControlPlane
from tests.rig.fixtures import control_plane, pytest_collection_finish, pytest_terminal_summary

__all__ = ["control_plane", "pytest_collection_finish", "pytest_terminal_summary"]


@pytest.fixture(scope="session")
def stages(control_plane: ControlPlane, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Stages]:
    made = Stages(control_plane, tmp_path_factory.mktemp("chain"))
    yield made
    made.close()


@pytest.fixture(scope="session")
def certificates(tmp_path_factory: pytest.TempPathFactory) -> Certificates:
    return Certificates(tmp_path_factory.mktemp("gateway"))


@pytest.fixture
def clouds(control_plane: ControlPlane, certificates: Certificates) -> Iterator[Clouds]:
    """Doubles that trust nobody yet. A conversation that breaks is a fault of the test."""
    made = Clouds(Issuers([control_plane]), certificates)
    with made.gateway:
        yield made
    assert made.gateway.broken == []
