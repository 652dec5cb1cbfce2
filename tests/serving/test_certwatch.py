"""The watcher on its own: what it loads, what it keeps out, what it says. Time is a parameter."""

from __future__ import annotations

import logging
import os
import resource
import subprocess
import sys
import time
from pathlib import Path

import pytest
from cryptography.hazmat.primitives import serialization
from tests.serving.authority import Authority, Mount

from vestibule.errors import InvalidSettings
from vestibule.httpserver.certificate_watcher import CertFiles, CertWatcher
from vestibule.httpserver.tls import TlsHolder

DAY = 86_400.0


class Clock:
    """The wall clock, which can be moved on."""

    def __init__(self) -> None:
        self.moved = 0.0

    def __call__(self) -> float:
        return time.time() + self.moved


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def holder() -> TlsHolder:
    return TlsHolder()


@pytest.fixture
def watcher(files: CertFiles, holder: TlsHolder, clock: Clock) -> CertWatcher:
    """A watcher that has loaded a good pair."""
    watcher = CertWatcher(files, holder, now=clock)
    watcher.load()
    return watcher


def test_loading_says_what_is_served(watcher: CertWatcher, clock: Clock) -> None:
    state = watcher.state

    assert (state.generation, state.valid, state.reason, state.last_error) == (1, True, "", "")
    assert state.names == ("localhost", "127.0.0.1", "0:0:0:0:0:0:0:1")
    assert state.not_before == pytest.approx(clock() - DAY, abs=60)
    assert state.not_after == pytest.approx(clock() + 30 * DAY, abs=60)
    assert state.loaded_at == pytest.approx(clock(), abs=60)


def test_nothing_happens_while_nothing_changes(watcher: CertWatcher, holder: TlsHolder) -> None:
    context = holder.current

    assert [watcher.check() for _ in range(3)] == [False, False, False]
    assert holder.current is context


def test_a_swap_by_the_kubelet_is_taken_up(
    watcher: CertWatcher, holder: TlsHolder, mount: Mount, authority: Authority
) -> None:
    before = holder.current
    mount.write_pair(authority.leaf(until=60))

    assert watcher.check()
    assert holder.current is not before
    assert watcher.state.generation == 2
    assert watcher.state.not_after == pytest.approx(time.time() + 60 * DAY, abs=60)
    assert not watcher.check()


def test_files_replaced_in_place_are_taken_up_once_both_are_there(
    tmp_path: Path, authority: Authority, holder: TlsHolder
) -> None:
    files = CertFiles(tmp_path / "tls.crt", tmp_path / "tls.key")
    old, new = authority.leaf(), authority.leaf()
    files.cert.write_bytes(old.cert)
    files.key.write_bytes(old.key)
    watcher = CertWatcher(files, holder)
    watcher.load()
    before = holder.current

    files.cert.write_bytes(new.cert)
    assert not watcher.check()
    assert holder.current is before
    assert "mismatch" in watcher.state.last_error

    files.key.write_bytes(new.key)
    assert watcher.check()
    assert watcher.state.last_error == ""


@pytest.mark.parametrize(
    ("bad", "named", "words"),
    [
        pytest.param({"tls.key": b""}, "tls.key", "cannot be used", id="an empty key"),
        pytest.param({"tls.crt": b""}, "tls.crt", "cannot be used", id="an empty certificate"),
        pytest.param({"tls.crt": b"\xff\xfe garbage"}, "tls.crt", "cannot be used", id="garbage"),
        pytest.param({"tls.key": b"garbage"}, "tls.key", "cannot be used", id="a key of garbage"),
        pytest.param(
            {"tls.crt": b"-----BEGIN CERTIFICATE-----\nMIIB\n-----END CERTIFICATE-----\n"},
            "tls.crt",
            "cannot be used",
            id="a torn certificate",
        ),
    ],
)
def test_a_bad_pair_is_kept_out_and_reported_once(
    watcher: CertWatcher,
    holder: TlsHolder,
    mount: Mount,
    authority: Authority,
    caplog: pytest.LogCaptureFixture,
    bad: dict[str, bytes],
    named: str,
    words: str,
) -> None:
    before = holder.current
    pair = authority.leaf()
    mount.write({"tls.crt": pair.cert, "tls.key": pair.key, **bad})

    with caplog.at_level(logging.INFO):
        assert [watcher.check(), watcher.check()] == [False, False]

    assert holder.current is before
    state = watcher.state
    assert (state.generation, state.errors, state.valid) == (1, 1, True)
    assert state.last_error.startswith(f"{mount.path / named}: {words}")
    assert [record.msg for record in caplog.records] == ["certificate not loaded, keeping the old one"]

    mount.write_pair(authority.leaf())
    assert watcher.check()
    assert (state.last_error, state.errors, state.generation) == ("", 1, 2)


def test_a_key_of_another_certificate_is_kept_out(
    watcher: CertWatcher, holder: TlsHolder, mount: Mount, authority: Authority
) -> None:
    before = holder.current
    mount.write({"tls.crt": authority.leaf().cert, "tls.key": authority.leaf().key})

    assert not watcher.check()
    assert holder.current is before
    assert "key values mismatch" in watcher.state.last_error


def test_a_certificate_that_is_not_for_servers_is_kept_out(
    watcher: CertWatcher, mount: Mount, authority: Authority
) -> None:
    mount.write_pair(authority.leaf(client=True))

    assert not watcher.check()
    assert "purpose" in watcher.state.last_error


def test_missing_files_keep_the_old_pair_until_they_are_back(
    watcher: CertWatcher, mount: Mount, authority: Authority
) -> None:
    mount.write({"other": b""})
    assert not watcher.check()
    assert "cannot be read (no such file or directory)" in watcher.state.last_error

    mount.write_pair(authority.leaf())
    assert watcher.check()


def test_an_expired_pair_does_not_replace_a_valid_one(
    watcher: CertWatcher,
    holder: TlsHolder,
    mount: Mount,
    authority: Authority,
    caplog: pytest.LogCaptureFixture,
) -> None:
    before = holder.current
    mount.write_pair(authority.leaf(since=-9, until=-2))

    with caplog.at_level(logging.INFO):
        assert [watcher.check(), watcher.check()] == [False, False]

    assert holder.current is before
    assert watcher.state.valid
    assert watcher.state.last_error == f"{mount.path}/tls.crt: certificate is expired, keeping the old one"
    assert [record.msg for record in caplog.records] == ["certificate held back, keeping the old one"]


def test_a_pair_that_is_not_yet_valid_waits_for_its_day(
    watcher: CertWatcher, mount: Mount, authority: Authority, clock: Clock
) -> None:
    mount.write_pair(authority.leaf(since=3, until=90))
    assert not watcher.check()
    assert "not yet valid" in watcher.state.last_error

    clock.moved = 4 * DAY
    assert watcher.check()
    assert (watcher.state.valid, watcher.state.last_error, watcher.state.generation) == (True, "", 2)


def test_a_waiting_pair_takes_over_when_the_old_one_is_no_better(
    watcher: CertWatcher, mount: Mount, authority: Authority, clock: Clock
) -> None:
    mount.write_pair(authority.leaf(since=40, until=90))
    assert not watcher.check()

    clock.moved = 31 * DAY
    assert watcher.check()
    assert (watcher.state.valid, watcher.state.reason) == (False, "not yet valid")


def test_the_pair_being_served_is_reported_when_it_expires(
    watcher: CertWatcher, clock: Clock, caplog: pytest.LogCaptureFixture
) -> None:
    clock.moved = 31 * DAY
    with caplog.at_level(logging.INFO):
        watcher.check()
        watcher.check()

    assert (watcher.state.valid, watcher.state.reason) == (False, "expired")
    assert [record.msg for record in caplog.records] == ["certificate being served is not valid"]


def test_an_expired_pair_is_better_than_none(
    files: CertFiles, holder: TlsHolder, mount: Mount, authority: Authority
) -> None:
    mount.write_pair(authority.leaf(since=-9, until=-2))
    watcher = CertWatcher(files, holder)
    watcher.load()

    assert holder.current is not None
    assert (watcher.state.valid, watcher.state.reason) == (False, "expired")


def test_the_first_load_names_every_file_that_is_wrong_and_what_is_wanted(
    tmp_path: Path, holder: TlsHolder
) -> None:
    files = CertFiles(tmp_path / "a.crt", tmp_path / "a.key", tmp_path / "ca.crt")
    files.cert.write_text("secret text")

    with pytest.raises(InvalidSettings) as caught:
        CertWatcher(files, holder).load()

    assert [problem.place for problem in caught.value.problems] == [str(files.cert), str(files.client_ca)]
    assert all("want" in problem.text for problem in caught.value.problems)
    assert "secret text" not in str(caught.value)
    assert "..2026" not in str(caught.value)


def test_a_missing_key_is_named(
    files: CertFiles, holder: TlsHolder, mount: Mount, authority: Authority
) -> None:
    mount.write({"tls.crt": authority.leaf().cert})

    with pytest.raises(InvalidSettings, match=r"tls\.key: cannot be read .no such file") as caught:
        CertWatcher(files, holder).load()

    assert len(caught.value.problems) == 1


def test_an_encrypted_key_is_refused_and_no_password_asked(
    files: CertFiles, holder: TlsHolder, mount: Mount, authority: Authority
) -> None:
    pair = authority.leaf()
    key = serialization.load_pem_private_key(pair.key, None)
    locked = key.private_bytes(
        serialization.Encoding.PEM,
        serialization.PrivateFormat.PKCS8,
        serialization.BestAvailableEncryption(b"secret"),
    )
    mount.write({"tls.crt": pair.cert, "tls.key": locked})

    with pytest.raises(InvalidSettings, match="not encrypted"):
        CertWatcher(files, holder).load()


def test_client_names_without_a_client_ca_are_refused(files: CertFiles) -> None:
    with pytest.raises(InvalidSettings, match="without a client CA"):
        CertWatcher(files, TlsHolder(client_names=["kube-apiserver"])).load()


def test_a_chain_with_comments_in_any_encoding_is_loaded(
    files: CertFiles, holder: TlsHolder, mount: Mount, authority: Authority
) -> None:
    pair = authority.leaf()
    chain = "# Prüfstelle\n".encode() + pair.cert + authority.pem
    mount.write({"tls.crt": chain, "tls.key": pair.key})
    watcher = CertWatcher(files, holder)
    watcher.load()

    assert watcher.state.names[0] == "localhost"


def test_a_swap_in_the_middle_of_a_load_never_mixes_two_generations(
    files: CertFiles, mount: Mount, authority: Authority
) -> None:
    """The pair is swapped right after the certificate has been read: the load must start over."""
    swaps = iter([authority.leaf(until=60)])

    class Swapping(TlsHolder):
        def build(self, *args: object) -> object:  # type: ignore[override]
            for pair in swaps:
                mount.write_pair(pair)
            return super().build(*args)  # type: ignore[arg-type]

    watcher = CertWatcher(files, Swapping())
    watcher.load()

    assert watcher.state.not_after == pytest.approx(time.time() + 60 * DAY, abs=60)
    assert not watcher.check()


def test_loading_needs_no_cryptography() -> None:
    """The library would double the size of the process."""
    code = (
        "import sys, vestibule.httpserver.server, vestibule.httpserver.certificate_watcher;"
        "sys.exit('cryptography' in sys.modules)"
    )

    assert subprocess.run([sys.executable, "-c", code], check=False, env=os.environ).returncode == 0


def test_a_pair_that_could_not_be_read_for_want_of_file_descriptors_is_read_again(
    watcher: CertWatcher, mount: Mount, authority: Authority, clock: Clock
) -> None:
    """The files do not change again, so nobody would ever read them; the old certificate would run out."""
    mount.write_pair(authority.leaf())
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (0, hard))
    try:
        assert not watcher.check()
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
    assert "too many open files" in watcher.state.last_error

    clock.moved += 6

    assert watcher.check()
    assert (watcher.state.generation, watcher.state.errors, watcher.state.last_error) == (2, 1, "")
