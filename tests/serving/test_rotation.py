"""A new certificate under load: nobody notices, and everybody new gets it."""

from __future__ import annotations

import ssl
import threading
from collections.abc import Callable
from pathlib import Path

import pytest
from tests.serving.authority import Authority, Mount
from tests.serving.conftest import Serve
from tests.serving.live import Live
from tests.serving.wire import Wire, ask, until

from vestibule.httpserver.certificate_watcher import CertFiles, CertWatcher
from vestibule.httpserver.tls import TlsHolder


class Clients:
    """Threads that ask until they are stopped, and note what went wrong."""

    def __init__(self, live: Live, client: ssl.SSLContext) -> None:
        self._live = live
        self._client = client
        self._stopped = threading.Event()
        self._threads: list[threading.Thread] = []
        self.failures: list[str] = []
        self.answered = 0
        self.serials: set[int] = set()
        """Certificates seen by new connections."""

    def start(self, work: Callable[[], None], number: int) -> None:
        def run() -> None:
            try:
                while not self._stopped.is_set():
                    work()
            except Exception as error:  # noqa: BLE001 - the test fails with whatever it was
                self.failures.append(repr(error))

        for _ in range(number):
            self._threads.append(threading.Thread(target=run, daemon=True))
            self._threads[-1].start()

    def stop(self) -> None:
        self._stopped.set()
        for thread in self._threads:
            thread.join(5)
            assert not thread.is_alive()

    def keep(self) -> None:
        """One connection for the whole time."""
        with Wire(self._live.address, tls=self._client) as wire:
            while not self._stopped.is_set():
                self._ask(wire)

    def come_and_go(self) -> None:
        with Wire(self._live.address, tls=self._client) as wire:
            assert isinstance(wire.socket, ssl.SSLSocket)
            shown = wire.socket.getpeercert()
            assert shown is not None
            self.serials.add(int(str(shown["serialNumber"]), 16))
            self._ask(wire)

    def _ask(self, wire: Wire) -> None:
        assert wire.ask("POST", "/mutate?timeout=10s", b"x" * 5000).status == 200
        self.answered += 1


def test_a_certificate_is_swapped_under_load_without_a_failed_request(
    serve: Serve, mount: Mount, files: CertFiles, authority: Authority
) -> None:
    holder = TlsHolder()
    watcher = CertWatcher(files, holder, interval=0.02)
    watcher.load()
    live = serve(tls=holder, watcher=watcher)
    clients = Clients(live, authority.trusting())
    clients.start(clients.keep, 4)
    clients.start(clients.come_and_go, 2)

    try:
        assert until(lambda: clients.answered > 100)
        for turn in range(3):
            pair = authority.leaf()
            mount.write_pair(pair)
            assert until(lambda serial=pair.serial: serial in clients.serials)  # type: ignore[misc]
            mount.write({"tls.crt": authority.leaf().cert, "tls.key": b"half writ"})
            assert until(lambda errors=turn + 1: watcher.state.errors == errors)  # type: ignore[misc]
    finally:
        clients.stop()

    assert clients.failures == []
    assert watcher.state.generation == 4
    assert live.stats.handshakes_failed == 0


def test_a_client_ca_is_swapped_with_the_pair(
    serve: Serve, mount: Mount, authority: Authority, tmp_path: Path
) -> None:
    successor = Authority("successor")
    mount.write_pair(authority.leaf(), client_ca=authority.pem)
    holder = TlsHolder()
    files = CertFiles(mount.path / "tls.crt", mount.path / "tls.key", mount.path / "ca.crt")
    watcher = CertWatcher(files, holder, interval=0.02)
    watcher.load()
    live = serve(tls=holder, watcher=watcher)
    old = authority.client(tmp_path, authority.leaf("a", client=True))
    new = authority.client(tmp_path, successor.leaf("b", client=True))

    with Wire(live.address, tls=old) as wire:
        assert wire.ask().status == 200
        mount.write_pair(authority.leaf(), client_ca=successor.pem)
        assert until(lambda: watcher.state.generation == 2)

        assert ask(live.address, tls=new).status == 200
        with pytest.raises((OSError, EOFError)):
            ask(live.address, tls=old)
        assert wire.ask().status == 200  # who is in stays in


def test_a_client_ca_that_is_no_certificate_keeps_the_old_one(
    mount: Mount, authority: Authority, tmp_path: Path, serve: Serve
) -> None:
    mount.write_pair(authority.leaf(), client_ca=authority.pem)
    holder = TlsHolder()
    watcher = CertWatcher(
        CertFiles(mount.path / "tls.crt", mount.path / "tls.key", mount.path / "ca.crt"), holder
    )
    watcher.load()
    live = serve(tls=holder)
    mount.write_pair(authority.leaf(), client_ca=b"")

    assert not watcher.check()
    assert watcher.state.last_error.startswith(f"{mount.path}/ca.crt: cannot be used")
    client = authority.client(tmp_path, authority.leaf("a", client=True))
    assert ask(live.address, tls=client).status == 200
