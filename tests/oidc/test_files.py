"""Files: private from birth whatever the umask, never through a link, whole or not at all, and no key in any
word that anybody reads."""

from __future__ import annotations

import os
import resource
import stat
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.oidc import making
from vestibule import atomicfiles, errors
from vestibule.clouds.objectstore.directory import Directory
from vestibule.clouds.objectstore.ports import Content
from vestibule.pki import signer
from vestibule.provision import keypair


def vestibule(
    *words: str, cwd: Path, umask: int = 0o022, largest: int | None = None
) -> subprocess.CompletedProcess[str]:
    def prepare() -> None:
        os.umask(umask)
        if largest is not None:
            resource.setrlimit(resource.RLIMIT_FSIZE, (largest, largest))

    return subprocess.run(
        [sys.executable, "-m", "vestibule", *words],
        cwd=cwd,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
        preexec_fn=prepare,
    )


def modes(folder: Path) -> dict[str, int]:
    return {
        str(path.relative_to(folder)): stat.S_IMODE(path.stat().st_mode) for path in sorted(folder.rglob("*"))
    }


@pytest.fixture
def no_umask() -> Iterator[None]:
    before = os.umask(0)
    yield
    os.umask(before)


@pytest.mark.parametrize("umask", [0o000, 0o022, 0o077], ids=oct)
def test_a_key_pair_is_private_under_any_umask(tmp_path: Path, umask: int) -> None:
    done = vestibule(
        "oidc", "create-key-pair", "--output-dir", "a/b", "--bits", "2048", cwd=tmp_path, umask=umask
    )

    assert (done.returncode, done.stderr) == (0, "")
    assert modes(tmp_path / "a" / "b") == {
        keypair.PRIVATE_NAME: 0o600,
        keypair.PUBLIC_NAME: 0o644 & ~umask,
    }
    assert stat.S_IMODE((tmp_path / "a" / "b").stat().st_mode) == 0o700


@pytest.mark.usefixtures("no_umask")
def test_it_is_private_before_the_first_byte_is_there(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen: list[tuple[int, int]] = []
    make = os.open

    def watched(path: Any, flags: int, mode: int = 0o777, **more: Any) -> int:
        file = make(path, flags, mode, **more)
        if flags & os.O_CREAT:
            created = os.fstat(file)
            seen.append((created.st_size, stat.S_IMODE(created.st_mode)))
        return file

    monkeypatch.setattr(os, "open", watched)
    keypair.create(tmp_path, bits=2048, installer=True)

    assert seen == [(0, 0o600), (0, 0o644), (0, 0o600)]
    assert modes(tmp_path)[keypair.INSTALLER_NAME] == 0o600


def test_nothing_is_overwritten(tmp_path: Path) -> None:
    for name in (keypair.PRIVATE_NAME, keypair.PUBLIC_NAME):
        folder = tmp_path / name
        folder.mkdir()
        (folder / name).write_text("mine")
        done = vestibule("oidc", "create-key-pair", "--output-dir", name, "--bits", "2048", cwd=tmp_path)

        assert (done.returncode, done.stdout) == (2, "")
        assert "exists already" in done.stderr
        assert {path.name: path.read_text() for path in folder.iterdir()} == {name: "mine"}


@pytest.mark.parametrize("dangling", [True, False])
def test_a_link_is_not_followed(tmp_path: Path, dangling: bool) -> None:
    target = tmp_path / "target"
    if not dangling:
        target.write_text("precious")
    folder = tmp_path / "keys"
    folder.mkdir()
    for name in (keypair.PRIVATE_NAME, keypair.PUBLIC_NAME):
        (folder / name).symlink_to(target)
        done = vestibule("oidc", "create-key-pair", "--output-dir", "keys", "--bits", "2048", cwd=tmp_path)

        assert done.returncode == 2
        assert "symbolic link" in done.stderr or "exists already" in done.stderr
        assert target.exists() != dangling
        assert dangling or target.read_text() == "precious"
        (folder / name).unlink()
    assert list(folder.iterdir()) == []


@pytest.mark.parametrize("largest", [0, 100, 1000])
def test_a_full_disk_leaves_no_half_of_a_key(tmp_path: Path, largest: int) -> None:
    done = vestibule(
        "oidc", "create-key-pair", "--output-dir", "keys", "--bits", "2048", cwd=tmp_path, largest=largest
    )

    assert done.returncode == 1
    assert done.stderr.startswith("error: ")
    assert "Traceback" not in done.stderr
    assert modes(tmp_path) == {"keys": 0o700}


def test_a_key_that_is_there_is_used_where_that_is_wanted(tmp_path: Path) -> None:
    (tmp_path / keypair.PRIVATE_NAME).write_text(making.private())

    created = keypair.create(tmp_path, existing="use", installer=True)
    assert (created.created, created.key.kid) == (False, making.key().kid)
    assert (tmp_path / keypair.PUBLIC_NAME).read_text() == making.public()
    assert (tmp_path / keypair.INSTALLER_NAME).read_text() == making.private()
    assert keypair.create(tmp_path, existing="use").key == created.key


def test_a_copy_for_the_installer_has_no_tail_of_an_older_one(tmp_path: Path) -> None:
    (tmp_path / "tls").mkdir()
    (tmp_path / keypair.INSTALLER_NAME).write_text("x" * 10_000)
    (tmp_path / keypair.PRIVATE_NAME).write_text(making.private())

    keypair.create(tmp_path, existing="use", installer=True)
    assert (tmp_path / keypair.INSTALLER_NAME).read_text() == making.private()
    assert modes(tmp_path)[keypair.INSTALLER_NAME] == 0o600


@pytest.mark.parametrize(
    ("private", "public", "message"),
    [
        ("some data", None, "is no private key in PEM"),
        (making.private(), making.public(1), "does not belong to"),
        (making.private(), "words", "has no PEM block"),
        (making.public(), None, "want a PEM RSA private key"),
    ],
    ids=["no key", "another public key", "no public key", "a public key"],
)
def test_a_pair_that_is_none_is_refused(
    tmp_path: Path, private: str, public: str | None, message: str
) -> None:
    (tmp_path / keypair.PRIVATE_NAME).write_text(private)
    if public is not None:
        (tmp_path / keypair.PUBLIC_NAME).write_text(public)

    with pytest.raises(errors.InvalidInput, match=message):
        keypair.create(tmp_path, existing="use")


def test_a_small_key_that_is_there_is_refused(tmp_path: Path) -> None:
    (tmp_path / keypair.PRIVATE_NAME).write_text(signer.new(1024).private)

    with pytest.raises(errors.InvalidInput, match="1024 bits"):
        keypair.create(tmp_path, existing="use")


# ── files that somebody asked for ──────────────────────────────────────────────────────────────────────────


def test_a_file_that_exists_keeps_its_mode_and_a_new_one_gets_ours(tmp_path: Path) -> None:
    (tmp_path / "old").write_text("much longer than what comes")
    (tmp_path / "old").chmod(0o640)
    (tmp_path / "link").symlink_to("old")

    atomicfiles.put(tmp_path / "link", b"new")
    atomicfiles.put(tmp_path / "fresh", b"new")
    assert (tmp_path / "old").read_text() == (tmp_path / "fresh").read_text() == "new"
    assert (tmp_path / "link").is_symlink()
    assert modes(tmp_path) == {"old": 0o640, "link": 0o640, "fresh": 0o600}


def test_a_full_device_is_reported(tmp_path: Path) -> None:
    (tmp_path / "k.pem").write_text(making.public())
    done = vestibule("oidc", "jwks", "--public-key", "k.pem", "--output-file", "/dev/full", cwd=tmp_path)

    assert (done.returncode, done.stdout) == (1, "")
    assert "No space left" in done.stderr


def test_a_full_disk_leaves_the_older_file(tmp_path: Path) -> None:
    (tmp_path / "k.pem").write_text(making.public())
    (tmp_path / "jwks").write_text("older")
    words = ["oidc", "jwks", "--public-key", "k.pem", "--output-file", "jwks"]
    done = vestibule(*words, cwd=tmp_path, largest=100)

    assert done.returncode == 1
    assert (tmp_path / "jwks").read_text() == "older"
    assert sorted(path.name for path in tmp_path.iterdir()) == ["jwks", "k.pem"]


def test_a_full_disk_leaves_the_published_document(tmp_path: Path) -> None:
    (tmp_path / "a.pem").write_text(making.public(0))
    (tmp_path / "b.pem").write_text(making.public(1))
    words = ["oidc", "publish", "--to", "dir:site", "--issuer", "https://x.example", "--public-key"]
    assert vestibule(*words, "a.pem", cwd=tmp_path).returncode == 0
    before = {path: path.read_bytes() for path in (tmp_path / "site").rglob("*") if path.is_file()}

    done = vestibule(*words, "b.pem", cwd=tmp_path, largest=600)
    assert done.returncode == 1
    assert "Traceback" not in done.stderr
    assert {path: path.read_bytes() for path in (tmp_path / "site").rglob("*") if path.is_file()} == before


# ── a directory as a place ─────────────────────────────────────────────────────────────────────────────────


def test_a_link_in_the_directory_leads_nowhere(tmp_path: Path) -> None:
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "jwks").write_text("secret")
    site = tmp_path / "site"
    (site / "openid").mkdir(parents=True)
    (site / "openid" / "v1").symlink_to(outside)
    (site / "keys.json").symlink_to(outside / "jwks")
    store = Directory(site)

    for name in ("openid/v1/jwks", "keys.json"):
        with pytest.raises(errors.Forbidden, match="symbolic link"):
            store.read(name)
        with pytest.raises(errors.Forbidden, match="symbolic link"):
            store.write(name, Content(b"x"))
        with pytest.raises(errors.Forbidden, match="symbolic link"):
            store.remove(name)
    assert (outside / "jwks").read_text() == "secret"
    assert list(outside.iterdir()) == [outside / "jwks"]


def test_what_is_no_file_is_not_read(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "keys.json")

    with pytest.raises(errors.Unavailable, match="no regular file"):
        Directory(tmp_path).read("keys.json")


def test_documents_can_be_read_by_a_web_server(tmp_path: Path) -> None:
    Directory(tmp_path / "site").write("a/b", Content(b"x"))

    assert modes(tmp_path) == {"site": 0o755, "site/a": 0o755, "site/a/b": 0o644}


# ── no word holds a key ────────────────────────────────────────────────────────────────────────────────────


def test_no_output_holds_a_piece_of_a_private_key(tmp_path: Path) -> None:
    secret = making.private()
    pieces = secret.splitlines()[9:-2]  # behind the modulus, which is public
    (tmp_path / "k").write_text(secret)
    (tmp_path / "broken").write_text(secret.replace(pieces[0], "!" * 64))
    (tmp_path / "site").mkdir()
    issuer = ["--issuer", "https://x.example"]
    lines = [
        ["oidc", "jwks", "--public-key", "k"],
        ["oidc", "jwks", "--public-key", "broken", "-o", "json"],
        ["oidc", "publish", "--public-key", "k", "--to", "dir:site", *issuer],
        ["oidc", "check", "--public-key", "k", *issuer],
        ["oidc", "check", "--token", "k", *issuer],
        ["oidc", "rotate", "--public-key", "k", "--to", "dir:site", "--output-dir", "r", *issuer],
        ["oidc", "publish", "--public-key", "x", "--to", f"azblob:{pieces[0]}", *issuer],
        ["azwi", "jwks", "--public-keys", "k"],
        ["azwi", "jwks", "--public-keys", "broken"],
        ["azwi", "jwks", "--public-keys", "k", "--output-file", "site/jwks"],
        ["oidc", "create-key-pair", "--output-dir", "fresh", "--bits", "2048", "-o", "json"],
    ]
    message = ""
    for words in lines:
        done = vestibule(*words, cwd=tmp_path)
        message += done.stdout + done.stderr
        assert "Traceback" not in done.stderr, words
    message += (tmp_path / "site" / "jwks").read_text()
    pieces += (tmp_path / "fresh" / keypair.PRIVATE_NAME).read_text().splitlines()[9:-2]

    assert making.key().kid in message
    assert [piece for piece in pieces[1:] if piece in message] == []
