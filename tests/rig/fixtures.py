"""Fixtures and hooks for pytest; one conftest imports them (two would boot two shared control planes).

Nothing here ever skips: what is missing is built after collection, where no test's clock runs. Tests on the
shared control plane work in a namespace of their own; a test that harms a part asks for a private one. The
folder of a control plane goes with it, unless a test failed: then its path is printed at the end.
"""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.rig import build, catalogue, toolchain
from tests.rig.client import at
from tests.rig.controlplane import ControlPlane
from tests.rig.hosted_cluster import Pair, hosted_cluster_of

# read while the plugin is loaded: tests run with a clean environment
VERSION = catalogue.chosen()
FIXTURES = {"control_plane", "private_control_plane", "hosted_pair", "namespace"}
Planes = Callable[..., ControlPlane]
_kept: list[Path] = []


def pytest_collection_finish(session: pytest.Session) -> None:
    """Builds what is missing when a collected test needs the rig, and shows how far it is."""
    if session.config.option.collectonly:
        return
    requested = {name for item in session.items for name in getattr(item, "fixturenames", ())}
    names = [
        *(catalogue.BINARIES[VERSION] if FIXTURES & requested else ()),
        *([catalogue.HELM.name] if catalogue.HELM.name in requested else ()),
        *([catalogue.CLUSTER_API.name] if "cluster_api" in requested else ()),
    ]
    if not names:
        return
    capture = session.config.pluginmanager.getplugin("capturemanager")

    def tell(text: str) -> None:
        with capture.global_and_fixture_disabled():
            build.say(text)

    try:
        build.ensure(names, VERSION, tell)
    except toolchain.CannotBuild as error:
        raise pytest.UsageError(f"the rig cannot be built: {error}") from error


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    for folder in _kept:
        terminalreporter.write_line(f"rig: logs and data of a control plane kept in {folder}")


class _Folder:
    """A folder that goes when no test has failed since it was made."""

    def __init__(self, request: pytest.FixtureRequest, factory: pytest.TempPathFactory, name: str) -> None:
        self._session, self._failed = request.session, request.session.testsfailed
        self.path = factory.mktemp(name)

    def leave(self, *, broken: bool = False) -> None:
        if broken or self._session.testsfailed > self._failed:
            _kept.append(self.path)
        else:
            shutil.rmtree(self.path, ignore_errors=True)


def _started(plane: ControlPlane, folder: _Folder) -> ControlPlane:
    try:
        return plane.start()
    except BaseException:
        folder.leave(broken=True)
        raise


@pytest.fixture(scope="session")
def control_plane(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[ControlPlane]:
    """The shared one: etcd, API server, controllers. Leave it as you found it."""
    folder = _Folder(request, tmp_path_factory, "rig")
    plane = _started(ControlPlane(folder.path, version=VERSION), folder)
    yield plane
    plane.stop()
    folder.leave()


@pytest.fixture(scope="session")
def helm() -> Path:
    """The program; built when a test asks for it."""
    return build.ensure([catalogue.HELM.name])[catalogue.HELM.name]


@pytest.fixture(scope="session")
def cluster_api() -> Path:
    """The core manager of Cluster API; built when a test asks for it."""
    return build.ensure([catalogue.CLUSTER_API.name])[catalogue.CLUSTER_API.name]


@pytest.fixture(scope="session")
def hosted_pair(
    control_plane: ControlPlane, request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Pair]:
    """The shared control plane, and a guest on the same etcd, without controllers."""
    folder = _Folder(request, tmp_path_factory, "rig-guest")
    guest = _started(hosted_cluster_of(control_plane, folder.path), folder)
    yield Pair(control_plane, guest)
    guest.stop()
    folder.leave()


@pytest.fixture
def private_control_plane(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Planes]:
    """Starts control planes, with the arguments of ControlPlane; all are stopped at the end."""
    running: list[tuple[ControlPlane, _Folder]] = []

    def start(**options: Any) -> ControlPlane:
        folder = _Folder(request, tmp_path_factory, "rig-private")
        plane = _started(ControlPlane(folder.path, **{"version": VERSION, **options}), folder)
        running.append((plane, folder))
        return plane

    yield start
    for plane, folder in reversed(running):
        plane.stop()
        folder.leave()


@pytest.fixture
def namespace(control_plane: ControlPlane, request: pytest.FixtureRequest) -> Iterator[str]:
    """A namespace of the test's own on the shared control plane; deleted, not awaited, afterwards."""
    stem = request.node.name.removeprefix("test_")
    name = control_plane.namespace(stem)
    yield name
    control_plane.admin.delete(at("namespaces", name=name))
