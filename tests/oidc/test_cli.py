"""The commands as people and scripts type them: bytes, words, exit codes, all targets."""

from __future__ import annotations

import json
import os
import stat
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.azurite.server import KEY, Azurite
from tests.contract.gcsdouble import GcsDouble
from tests.contract.stores import S3Place
from tests.doctor.issuer import rsa_key, token
from tests.oidc import making
from tests.oidc.site import Site
from tests.oidc.test_documents import AZURE, ISSUER
from tests.oidc.test_keys import KID, VECTOR
from tests.serving.authority import Authority
from vestibule import errors
from vestibule.clouds.objectstore import destinations
from vestibule.clouds.objectstore.destinations import Destination
from vestibule.clouds.objectstore.directory import Directory
from vestibule.oidc import documents


class Done(subprocess.CompletedProcess[bytes]):
    @property
    def json(self) -> Any:
        return json.loads(self.stdout)

    @property
    def said(self) -> str:
        return self.stderr.decode()


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "vector.pem").write_text(VECTOR)
    for number in range(3):
        (tmp_path / f"{number}.pem").write_text(making.public(number))
        (tmp_path / f"{number}.key").write_text(making.private(number))
    (tmp_path / "ec.pem").write_text(making.spki(making.elliptic()))
    (tmp_path / "small.pem").write_text(making.small())
    (tmp_path / "pkcs1.pem").write_text(making.public(0, making.PKCS1))
    return tmp_path


def run(folder: Path, *words: str, stdin: str = "", **environ: str) -> Done:
    done = subprocess.run(
        [sys.executable, "-m", "vestibule", *words],
        cwd=folder,
        input=stdin.encode(),
        capture_output=True,
        timeout=90,
        check=False,
        env={**os.environ, **environ},
    )
    assert b"Traceback" not in done.stderr
    return Done(done.args, done.returncode, done.stdout, done.stderr)


# ── documents ──────────────────────────────────────────────────────────────────────────────────────────────


def test_jwks_is_what_an_installer_reads(folder: Path) -> None:
    done = run(folder, "oidc", "jwks", "--public-key", "vector.pem")

    assert (done.returncode, len(done.stdout), done.stderr) == (0, 576, b"")
    assert done.json["keys"][0]["kid"] == KID


def test_jwks_of_several_files_with_what_is_known_of_each(folder: Path) -> None:
    words = ["oidc", "jwks", "--public-key", "0.pem,pkcs1.pem", "--public-keys", "ec.pem", "-o", "json"]
    done = run(folder, *words)

    assert [(key["kind"], key["algorithm"], key["bits"]) for key in done.json["keys"]] == [
        ("RSA", "RS256", 2048),
        ("EC", "ES256", 256),
    ]
    assert done.json["keys"][0]["origin"] == "0.pem, block 1 (PUBLIC KEY)"


def test_discovery_is_what_an_installer_reads(folder: Path) -> None:
    done = run(folder, "oidc", "discovery", "--issuer", ISSUER, "--output-file", "openid-configuration")

    assert (done.returncode, done.stdout) == (0, b"")
    written = folder / "openid-configuration"
    assert (written.read_text(), stat.S_IMODE(written.stat().st_mode)) == (AZURE, 0o644)
    listed = run(folder, "oidc", "discovery", "--issuer", ISSUER, "--shape", "aws", "-o", "json").json
    assert listed["jwksUri"] == f"{ISSUER}/keys.json"
    assert run(folder, "oidc", "discovery", "--issuer", ISSUER, "--public-key", "ec.pem").json[
        "id_token_signing_alg_values_supported"
    ] == ["ES256"]


def test_all_bad_keys_are_reported_at_once(folder: Path) -> None:
    words = ["oidc", "jwks"]
    for name in ("0.key", "small.pem", "missing.pem", "0.pem"):
        words += ["--public-key", name]
    done = run(folder, *words)

    assert (done.returncode, done.stdout) == (2, b"")
    assert [line.split(": ")[1] for line in done.said.splitlines()] == ["missing.pem", "0.key", "small.pem"]


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["jwks"], "give either --public-key FILE, or a cluster"),
        (["jwks", "--public-key", "0.pem", "--kubeconfig"], "give either"),
        (["discovery"], "no issuer"),
        (["discovery", "--issuer", "http://x"], "is no https address"),
        (["publish", "--public-key", "0.pem", "--to", "dir:site"], "no issuer"),
        (["publish", "--public-key", "0.pem", "--to", "ftp://x", "--issuer", ISSUER], "want dir:PATH"),
        (
            ["publish", "--public-key", "0.pem", "--to", "dir:x", "--issuer", ISSUER, "--tag", "x"],
            "KEY=VALUE",
        ),
        (["check"], "nothing to check"),
        (["check", "--issuer", ISSUER, "--service-account", "a/b"], "needs a cluster"),
        (["check", "--issuer", ISSUER, "--token", "0.pem"], "want"),
        (["rotate", "--to", "dir:x", "--issuer", ISSUER, "--output-dir", "r", "--kubeconfig"], "go together"),
        (
            ["rotate", "--to", "dir:x", "--issuer", ISSUER, "--output-dir", "r", "--settle", "soon"],
            "a duration",
        ),
        (
            ["rotate", "--to", "dir:x", "--issuer", ISSUER, "--output-dir", "r"],
            "nothing is published there yet",
        ),
        (["check", "--issuer", ISSUER, "--ca-bundle", "missing"], "--ca-bundle: missing: cannot be used"),
    ],
    ids=lambda value: " ".join(value[:4]) if isinstance(value, list) else "",
)
def test_wrong_words_are_reported_and_nothing_is_done(folder: Path, words: list[str], message: str) -> None:
    before = sorted(folder.rglob("*"))
    done = run(folder, "oidc", *words)

    assert (done.returncode, done.stdout) == (2, b"")
    assert message in done.said
    assert [path for path in sorted(folder.rglob("*")) if path not in before and path.name != "r"] == []


@pytest.mark.parametrize(
    "command", ["", "jwks", "discovery", "publish", "check", "rotate", "create-key-pair"]
)
def test_help_teaches_with_examples_and_exit_codes(folder: Path, command: str) -> None:
    done = run(folder, "oidc", *([command] if command else []), "--help")

    assert done.returncode == 0
    assert b"vestibule oidc" in done.stdout
    assert not command or b"Exit codes: 0" in done.stdout


# ── azwi ───────────────────────────────────────────────────────────────────────────────────────────────────


def test_azwi_jwks_as_upstream(folder: Path) -> None:
    done = run(folder, "azwi", "jwks", "--public-keys", "0.pem,ec.pem", "--output-file", "jwks.json")
    shown = run(folder, "azwi", "jwks", "--public-keys=0.pem", "--public-keys=ec.pem")

    assert (done.returncode, done.stdout, shown.returncode) == (0, b"", 0)
    written = folder / "jwks.json"
    assert stat.S_IMODE(written.stat().st_mode) == 0o600
    assert written.read_bytes() == shown.stdout
    expected = [making.key(0).jwk, json.loads(shown.stdout)["keys"][1]]
    assert shown.stdout == json.dumps({"keys": expected}, indent=2).encode()
    assert list(expected[1]) == ["use", "kty", "kid", "crv", "alg", "x", "y"]


def test_azwi_takes_the_public_half_and_keeps_a_mode(folder: Path) -> None:
    (folder / "out").write_text("older and longer" * 100)
    (folder / "out").chmod(0o644)
    done = run(folder, "azwi", "jwks", "--public-keys", "0.key", "--output-file", "out")

    assert done.returncode == 0
    assert json.loads((folder / "out").read_text())["keys"] == [making.key(0).jwk]
    assert stat.S_IMODE((folder / "out").stat().st_mode) == 0o644


@pytest.mark.parametrize(
    ("files", "better", "strict"),
    [("0.pem,0.pem", 1, 2), ("pkcs1.pem", 1, None), ("small.pem", None, 1), ("missing.pem", None, None)],
)
def test_azwi_better_and_strict(folder: Path, files: str, better: int | None, strict: int | None) -> None:
    for mode, expected in (("better", better), ("strict", strict)):
        done = run(folder, "azwi", "jwks", "--public-keys", files, "--mode", mode)
        assert done.returncode == (1 if expected is None else 0)
        assert expected is None or len(done.json["keys"]) == expected


# ── publish ────────────────────────────────────────────────────────────────────────────────────────────────


def publish(folder: Path, to: str, *words: str, issuer: str = ISSUER, **environ: str) -> Done:
    return run(folder, "oidc", "publish", "--to", to, "--issuer", issuer, *words, **environ)


def test_publish_says_what_it_did_and_what_it_would_do(folder: Path) -> None:
    planned = publish(folder, "dir:site", "--public-key", "0.pem", "--dry-run", "-o", "json").json
    assert not (folder / "site").exists()
    first = publish(folder, "dir:site", "--public-key", "0.pem", "-o", "json").json
    second = publish(folder, "dir:site", "--public-key", "1.pem")
    last = publish(
        folder, "dir:site", "--public-key", "1.pem", "--retire", making.key(0).kid, "-o", "json"
    ).json

    assert planned == {**first, "dryRun": True}
    assert [one["action"] for one in first["documents"]] == ["create", "create"]
    assert f"key {making.key(0).kid}\n" in second.stdout.decode()
    assert f"key {making.key(1).kid} (new)" in second.stdout.decode()
    assert (last["keys"], last["retired"]) == ([making.key(1).kid], [making.key(0).kid])


def test_publish_refuses_what_is_not_ours(folder: Path) -> None:
    publish(folder, "dir:site", "--public-key", "0.pem")

    done = publish(folder, "dir:site", "--public-key", "1.pem", issuer="https://other.example")
    assert (done.returncode, done.stdout) == (2, b"")
    assert "names the issuer" in done.said


def test_publish_to_azure_with_no_login_and_a_key_and_then_check(folder: Path, azurite: Azurite) -> None:
    container = azurite.container()
    issuer, to = f"{azurite.account_url}/{container}", f"azblob:{azurite.account_url}/{container}"
    trust = ["--ca-bundle", azurite.bundle]
    environ = {
        "REQUESTS_CA_BUNDLE": azurite.bundle,
        "AZURE_STORAGE_KEY": KEY,
        "AZURE_TOKEN_CREDENTIALS": "EnvironmentCredential",
    }

    done = publish(
        folder, to, "--public-key", "0.pem", *trust, "--tag", "team=a", "-o", "json", issuer=issuer, **environ
    )
    assert (done.said, done.returncode) == ("", 0)
    assert done.json["verified"] is True
    words = ["oidc", "check", "--issuer", issuer, *trust, "--to", to, "-o", "json"]
    good = run(folder, *words, "--public-key", "0.pem", **environ)
    assert (good.returncode, good.json["status"]) == (0, "ok")
    bad = run(folder, *words, "--public-key", "1.pem", **environ)
    assert bad.returncode == 3
    (fault,) = [one for one in bad.json["checks"] if one["status"] == "fail"]
    assert (fault["id"], fault["about"]) == ("keys.published", "1.pem, block 1 (PUBLIC KEY)")
    assert KEY not in done.said + good.said + bad.said


@pytest.mark.slow
def test_publish_to_s3_and_google(folder: Path, moto: str) -> None:
    place = S3Place(moto)
    environ = {
        "AWS_ENDPOINT_URL_S3": moto,
        "AWS_ACCESS_KEY_ID": "x",
        "AWS_SECRET_ACCESS_KEY": "x",
        "AWS_DEFAULT_REGION": "us-east-1",
    }
    words = ["--public-key", "0.pem", "--no-verify", "--shape", "aws", "-o", "json"]
    done = publish(folder, f"{place.store().where}/c1", *words, **environ)
    assert (done.said, done.returncode) == ("", 0)
    stored = place.store().read("c1/keys.json")
    assert stored is not None
    assert stored.body == documents.key_set([making.key(0)])
    with GcsDouble("bucket-g") as double:
        done = publish(folder, "gs://bucket-g", *words, STORAGE_EMULATOR_HOST=double.url)
        assert (done.said, done.returncode) == ("", 0)
        assert set(double.buckets["bucket-g"]) == {"keys.json", ".well-known/openid-configuration"}


def test_a_bucket_that_does_not_exist_is_reported(folder: Path, moto: str) -> None:
    environ = {"AWS_ENDPOINT_URL_S3": moto, "AWS_ACCESS_KEY_ID": "x", "AWS_SECRET_ACCESS_KEY": "x"}
    done = publish(
        folder, "s3://no-such-bucket", "--public-key", "0.pem", AWS_DEFAULT_REGION="us-east-1", **environ
    )

    assert (done.returncode, done.said) == (1, "error: s3://no-such-bucket: the bucket does not exist\n")


TARGETS = {
    "dir:./site": Destination("dir", "./site"),
    "azblob:acc1/oidc": Destination("azblob", "https://acc1.blob.core.windows.net", "oidc"),
    "azblob:acc1/$web/a/b/": Destination("azblob", "https://acc1.blob.core.windows.net", "$web", "a/b"),
    "azblob:https://acc1.blob.core.usgovcloudapi.net/oidc/a": Destination(
        "azblob", "https://acc1.blob.core.usgovcloudapi.net", "oidc", "a"
    ),
    "azblob:https://127.0.0.1:10000/devstoreaccount1/oidc": Destination(
        "azblob", "https://127.0.0.1:10000/devstoreaccount1", "oidc"
    ),
    "s3://my-bucket": Destination("s3", "my-bucket"),
    "gs://my-bucket/a": Destination("gs", "my-bucket", "", "a"),
}


@pytest.mark.parametrize("text", TARGETS)
def test_targets(text: str) -> None:
    assert destinations.parse(text) == TARGETS[text]


@pytest.mark.parametrize(
    "text",
    [
        "", "x", "dir:", "azblob:", "azblob:Acc/oidc", "azblob:acc1", "azblob:acc1/a--b",
        "azblob:acc1/oidc/../x",
        "azblob:https://a.blob.core.windows.net/oidc?sig=SECRET", "s3:bucket", "s3://", "s3://B",
        "gs://b ucket", "https://x",
    ],
)  # fmt: skip
def test_what_is_no_target_is_refused(text: str) -> None:
    with pytest.raises(errors.InvalidInput, match="want"):
        destinations.parse(text)


# ── check ──────────────────────────────────────────────────────────────────────────────────────────────────


def test_check_verifies_a_token_without_a_cluster(folder: Path, authority: Authority) -> None:
    (folder / "ca.pem").write_bytes(authority.pem)
    with Site(authority, Directory(folder / "site")) as site:
        publish(folder, "dir:site", "--public-key", "0.pem", issuer=site.url)
        words = ["oidc", "check", "--issuer", site.url, "--ca-bundle", "ca.pem", "-o", "json", "--token", "-"]
        good = run(folder, *words, stdin=token(site.url, key=rsa_key(0), kid=making.key(0).kid))
        forged = run(folder, *words, stdin=token(site.url, key=rsa_key(1), kid=making.key(0).kid))
        unknown = run(folder, *words, stdin=token(site.url, key=rsa_key(1), kid=making.key(1).kid))

    def failed(done: Done) -> list[str]:
        return [one["id"] for one in done.json["checks"] if one["status"] == "fail"]

    assert (good.returncode, failed(good)) == (0, [])
    assert (forged.returncode, failed(forged)) == (3, ["token.signature"])
    assert (unknown.returncode, failed(unknown)) == (3, ["token.key"])


def test_check_for_people(folder: Path, authority: Authority) -> None:
    (folder / "ca.pem").write_bytes(authority.pem)
    with Site(authority, Directory(folder / "site")) as site:
        publish(folder, "dir:site", "--public-key", "0.pem", issuer=site.url)
        done = run(folder, "oidc", "check", "--issuer", site.url, "--ca-bundle", "ca.pem", "--to", "dir:site")

    assert done.returncode == 0
    assert "store.served" in done.stdout.decode()
    assert done.stdout.decode().endswith("5 ok\n")


# ── rotate ─────────────────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.slow
def test_rotate_in_calls(folder: Path) -> None:
    publish(folder, "dir:site", "--public-key", "0.pem")
    words = ["oidc", "rotate", "--to", "dir:site", "--issuer", ISSUER, "--output-dir", "r", "--settle", "0s"]

    plan = run(folder, *words, "--dry-run", "-o", "json")
    assert len(plan.json["steps"]) == 6
    assert not (folder / "r").exists()
    first = run(folder, *words)
    assert first.returncode == 0
    assert "stage switching" in first.stdout.decode()
    assert "--service-account-signing-key-file" in first.stdout.decode()
    reported = run(folder, *words, "--switched", "-o", "json")
    assert (reported.json["stage"], reported.json["next"]) == ("draining", "wait")
    assert reported.json["until"] > reported.json["switched"]
    left = run(folder, *words, "--dry-run")
    assert "2. retire " in left.stdout.decode()
    kids = run(
        folder,
        "oidc",
        "publish",
        "--to",
        "dir:site",
        "--issuer",
        ISSUER,
        "--public-key",
        "0.pem",
        "-o",
        "json",
    )
    assert kids.json["keys"] == [making.key(0).kid, reported.json["new"]]


def test_rotate_waits_through_what_it_can_wait_for(folder: Path) -> None:
    publish(folder, "dir:site", "--public-key", "0.pem")
    words = ["oidc", "rotate", "--to", "dir:site", "--issuer", ISSUER, "--output-dir", "r"]
    done = run(folder, *words, "--settle", "1s", "--wait")

    lines = done.stdout.decode().splitlines()
    assert (done.returncode, done.said) == (0, "")
    assert [line.split(":")[0] for line in lines if line.startswith("stage")] == [
        "stage published",
        "stage switching",
    ]
    assert lines[-1] == "  3. call again with --switched"
