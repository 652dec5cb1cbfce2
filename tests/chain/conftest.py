"""The rig, the stages on it, and fresh clouds for every test."""

from __future__ import annotations

import shlex
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.chain import gcloud
from tests.chain.gateway import Certificates
from tests.chain.issuers import Issuers
from tests.chain.logins import Clouds
from tests.chain.sdks import Sdks
from tests.chain.stage import Stages
from tests.rig.controlplane import ControlPlane


@pytest.fixture(scope="module")
def stages(control_plane: ControlPlane, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Stages]:
    """Gone after each file: others on the same control plane count what is registered."""
    created = Stages(control_plane, tmp_path_factory.mktemp("chain"))
    yield created
    created.close()


@pytest.fixture(scope="session")
def tools(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the programs that images have and this machine has not."""
    folder = tmp_path_factory.mktemp("tools")
    program = folder / "gcloud"
    program.write_text(f'#!/bin/sh\nexec {shlex.join([sys.executable, "-I", str(gcloud.__file__)])} "$@"\n')
    program.chmod(0o755)
    return folder


@pytest.fixture(scope="session")
def certificates(tmp_path_factory: pytest.TempPathFactory) -> Certificates:
    return Certificates(tmp_path_factory.mktemp("gateway"))


@pytest.fixture(scope="session")
def sdks(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Sdks]:
    with Sdks(tmp_path_factory.mktemp("sdks")) as running:
        yield running


@pytest.fixture
def clouds(control_plane: ControlPlane, certificates: Certificates, sdks: Sdks) -> Iterator[Clouds]:
    """Doubles that trust nobody yet. A conversation that breaks is a fault of the test."""
    created = Clouds(Issuers([control_plane]), certificates, sdks)
    with created.gateway:
        yield created
    assert created.gateway.broken == []
