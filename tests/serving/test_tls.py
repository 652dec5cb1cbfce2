"""Which TLS peers get in, and as whom."""

from __future__ import annotations

import ssl
from pathlib import Path

import pytest
from tests.serving.authority import Authority, Mount
from tests.serving.conftest import Serve
from tests.serving.live import Live
from tests.serving.wire import Wire, ask, until

from vestibule.httpserver.certificate_watcher import CertFiles, CertWatcher
from vestibule.httpserver.tls import TlsHolder

ONE_POINT_TWO, ONE_POINT_THREE = ssl.TLSVersion.TLSv1_2, ssl.TLSVersion.TLSv1_3


def secure(wire: Wire) -> ssl.SSLSocket:
    assert isinstance(wire.socket, ssl.SSLSocket)
    return wire.socket


@pytest.mark.parametrize(("most", "version"), [(ONE_POINT_TWO, "TLSv1.2"), (ONE_POINT_THREE, "TLSv1.3")])
def test_the_newest_common_version_is_spoken(
    serve: Serve, holder: TlsHolder, authority: Authority, most: ssl.TLSVersion, version: str
) -> None:
    live = serve(tls=holder)
    client = authority.trusting()
    client.maximum_version = most

    with Wire(live.address, tls=client) as wire:
        assert secure(wire).version() == version
        assert wire.ask("POST", "/", b"x" * 100_000).status == 200


def test_tls_1_2_is_refused_where_1_3_is_the_minimum(
    serve: Serve, files: CertFiles, authority: Authority
) -> None:
    holder = TlsHolder(min_version="1.3")
    CertWatcher(files, holder).load()
    live = serve(tls=holder)
    client = authority.trusting()
    client.maximum_version = ONE_POINT_TWO

    with pytest.raises(ssl.SSLError):
        Wire(live.address, tls=client)

    assert until(lambda: live.stats.handshakes_failed == 1)
    assert ask(live.address, tls=authority.trusting()).status == 200


def test_tls_1_2_has_only_forward_secret_authenticated_ciphers(
    serve: Serve, holder: TlsHolder, authority: Authority
) -> None:
    live = serve(tls=holder)
    client = authority.trusting()
    client.maximum_version = ONE_POINT_TWO
    client.set_ciphers("ECDHE+AES+SHA:AESGCM+kRSA")

    with pytest.raises(ssl.SSLError):
        Wire(live.address, tls=client)
    assert until(lambda: live.stats.connections == 0)


def test_a_client_that_offers_http_2_is_given_http_1_1(
    serve: Serve, holder: TlsHolder, authority: Authority
) -> None:
    live = serve(tls=holder)
    client = authority.trusting()
    client.set_alpn_protocols(["h2", "http/1.1"])

    with Wire(live.address, tls=client) as wire:
        assert secure(wire).selected_alpn_protocol() == "http/1.1"
        assert wire.ask().status == 200


def test_no_session_ticket_is_given(serve: Serve, holder: TlsHolder, authority: Authority) -> None:
    live = serve(tls=holder)
    client = authority.trusting()

    with Wire(live.address, tls=client) as wire:
        wire.ask()
        session = secure(wire).session

    assert session is None or not session.has_ticket


def test_ipv6_is_served_over_tls(serve: Serve, holder: TlsHolder, authority: Authority) -> None:
    live = serve(tls=holder, addresses=[("::1", 0)])

    assert ask(live.address, tls=authority.trusting()).status == 200


@pytest.mark.parametrize(
    "raw", [b"GET / HTTP/1.1\r\nHost: x\r\n\r\n", b"\x00" * 500, b"\x16\x03\x01\x01\x00" + b"\xff" * 256]
)
def test_bytes_that_are_no_tls_end_the_connection_and_nothing_else(
    serve: Serve, holder: TlsHolder, authority: Authority, raw: bytes
) -> None:
    live = serve(tls=holder)

    with Wire(live.address) as wire:
        wire.send(raw)
        wire.socket.settimeout(2)
        while wire.socket.recv(100):  # an alert, perhaps
            pass
    assert until(lambda: live.stats.connections == 0)

    assert live.stats.handshakes_failed == 1
    assert ask(live.address, tls=authority.trusting()).status == 200


@pytest.fixture
def guarded(serve: Serve, mount: Mount, authority: Authority) -> Live:
    """A server that wants a client certificate with one of two names."""
    mount.write_pair(authority.leaf(), client_ca=authority.pem)
    holder = TlsHolder(client_names=("kube-apiserver", "front-proxy"))
    CertWatcher(
        CertFiles(mount.path / "tls.crt", mount.path / "tls.key", mount.path / "ca.crt"), holder
    ).load()
    return serve(tls=holder)


def test_a_client_with_the_right_name_is_served(guarded: Live, authority: Authority, tmp_path: Path) -> None:
    client = authority.client(tmp_path, authority.leaf("kube-apiserver", client=True))

    assert ask(guarded.address, tls=client).status == 200


def test_a_client_without_a_certificate_is_refused_in_the_handshake(
    guarded: Live, authority: Authority
) -> None:
    with pytest.raises((OSError, EOFError)):
        ask(guarded.address, tls=authority.trusting())

    assert until(lambda: guarded.stats.handshakes_failed == 1)
    assert guarded.stats.requests == 0


def test_a_client_of_another_ca_is_refused_in_the_handshake(
    guarded: Live, authority: Authority, tmp_path: Path
) -> None:
    stranger = Authority("another").leaf("kube-apiserver", client=True)

    with pytest.raises((OSError, EOFError)):
        ask(guarded.address, tls=authority.client(tmp_path, stranger))

    assert until(lambda: guarded.stats.handshakes_failed == 1)
    assert guarded.stats.requests == 0


def test_a_client_with_another_name_is_answered_403_before_its_body_is_read(
    guarded: Live, authority: Authority, tmp_path: Path
) -> None:
    client = authority.client(tmp_path, authority.leaf("somebody", client=True))

    with Wire(guarded.address, tls=client) as wire:
        wire.send(b"POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 1000\r\n\r\n")
        answer = wire.answer()

        assert (answer.status, answer.headers["connection"]) == (403, "close")
        assert wire.ended()
    assert guarded.stats.requests == 0


def test_a_head_the_server_knows_does_not_let_a_client_with_another_name_in(
    guarded: Live, authority: Authority, tmp_path: Path
) -> None:
    right = authority.client(tmp_path, authority.leaf("kube-apiserver", client=True))
    wrong = authority.client(tmp_path, authority.leaf("somebody", client=True))

    statuses = [
        ask(guarded.address, "POST", "/", b"x", tls=client).status for client in (right, right, wrong)
    ]

    assert statuses == [200, 200, 403]


def test_a_client_may_be_known_by_a_subject_alternative_name(
    serve: Serve, mount: Mount, authority: Authority, tmp_path: Path
) -> None:
    mount.write_pair(authority.leaf(), client_ca=authority.pem)
    holder = TlsHolder(client_names=["localhost"])
    CertWatcher(
        CertFiles(mount.path / "tls.crt", mount.path / "tls.key", mount.path / "ca.crt"), holder
    ).load()
    client = authority.client(tmp_path, authority.leaf("whoever", client=True))

    assert ask(serve(tls=holder).address, tls=client).status == 200


def test_without_names_every_certificate_of_the_client_ca_will_do(
    serve: Serve, mount: Mount, authority: Authority, tmp_path: Path
) -> None:
    mount.write_pair(authority.leaf(), client_ca=authority.pem)
    holder = TlsHolder()
    CertWatcher(
        CertFiles(mount.path / "tls.crt", mount.path / "tls.key", mount.path / "ca.crt"), holder
    ).load()
    client = authority.client(tmp_path, authority.leaf("somebody", client=True))

    assert ask(serve(tls=holder).address, tls=client).status == 200


def test_serving_before_a_certificate_is_loaded_is_a_mistake_of_ours() -> None:
    with pytest.raises(RuntimeError, match="no certificate"):
        _ = TlsHolder().current
