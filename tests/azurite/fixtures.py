"""The fixture ``azurite``: one server per session. What is missing is fetched after collection, where no
test's clock runs; what cannot be had fails the run and skips nothing."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from typing import TYPE_CHECKING

import pytest

from tests.azurite import install
from tests.rig import build, toolchain

if TYPE_CHECKING:
    from tests.azurite.server import Azurite


def fetched_when_needed(session: pytest.Session) -> None:
    """Called after collection."""
    if session.config.option.collectonly:
        return
    if not any("azurite" in getattr(item, "fixturenames", ()) for item in session.items):
        return
    capture = session.config.pluginmanager.getplugin("capturemanager")

    def tell(text: str) -> None:
        with capture.global_and_fixture_disabled():
            build.say(text)

    try:
        install.ensure(tell)
    except toolchain.CannotBuild as error:
        raise pytest.UsageError(f"Azurite cannot be had: {error}") from error


@pytest.fixture(scope="session")
def azurite(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Azurite]:
    """The shared one; a test works in a container of its own."""
    from tests.azurite.server import Azurite  # the SDK is for those who need it

    folder = tmp_path_factory.mktemp("azurite")
    server = Azurite(install.ensure(build.say), folder)
    try:
        server.start()
        yield server
    finally:
        server.stop()
    shutil.rmtree(folder, ignore_errors=True)
