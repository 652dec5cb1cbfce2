"""Fixtures of the serving tests: a throw-away CA, servers that are always stopped, a mounted Secret."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from tests.serving.authority import Authority, Mount
from tests.serving.live import Live

from vestibule.httpserver.certificate_watcher import CertFiles, CertWatcher
from vestibule.httpserver.tls import TlsHolder

Serve = Callable[..., Live]


@pytest.fixture(scope="session")
def authority() -> Authority:
    return Authority("vestibule test CA")


@pytest.fixture
def mount(tmp_path: Path, authority: Authority) -> Mount:
    """A mounted Secret with a good pair in it."""
    mount = Mount(tmp_path / "secret")
    mount.write_pair(authority.leaf())
    return mount


@pytest.fixture
def files(mount: Mount) -> CertFiles:
    return CertFiles(mount.path / "tls.crt", mount.path / "tls.key")


@pytest.fixture
def holder(files: CertFiles) -> TlsHolder:
    """TLS as in production, with a good pair."""
    holder = TlsHolder()
    CertWatcher(files, holder).load()
    return holder


@pytest.fixture
def serve() -> Iterator[Serve]:
    """Starts servers, with the arguments of Live; all are stopped at the end."""
    started: list[Live] = []

    def start(*args: object, **kwargs: object) -> Live:
        live = Live(*args, **kwargs)  # type: ignore[arg-type]
        started.append(live)
        return live

    yield start
    for live in started:
        live.stop()
