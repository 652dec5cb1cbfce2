"""Initdata: known answers by independent tools, round trips, and what must be refused."""

from __future__ import annotations

import base64
import gzip
import hashlib
import json
import shutil
import subprocess
import tomllib
from pathlib import Path

import pytest
from click.testing import CliRunner
from hypothesis import given
from hypothesis import strategies as st

from vestibule.cli.main import cli
from vestibule.initdata import document, lint, measure
from vestibule.initdata.document import InitdataError

FILES = {
    "aa.toml": '[token_configs.kbs]\nurl = "http://kbs.trustee.svc:8080"\n',
    "policy.rego": "package agent_policy\n\ndefault ExecProcessRequest := false\n",
}
text = st.text(st.characters(exclude_categories=("Cc", "Cs")) | st.sampled_from("\n\t'\"\\"), max_size=200)
names = st.from_regex(r"\A[A-Za-z0-9_][A-Za-z0-9_.-]{0,20}\Z")


@given(st.dictionaries(names, text, max_size=5), st.sampled_from(document.ALGORITHMS))
def test_every_directory_comes_back_byte_for_byte(files: dict[str, str], algorithm: str) -> None:
    built = document.build(files, algorithm)

    again = document.decode(document.encode(built.text))

    assert again == built
    assert again.data == files
    assert gzip.decompress(base64.b64decode(document.encode(built.text))).decode() == built.text
    assert tomllib.loads(built.text)["data"] == files


@pytest.mark.parametrize("algorithm", document.ALGORITHMS)
def test_the_digest_is_that_of_independent_tools(algorithm: str, tmp_path: Path) -> None:
    built = document.build(FILES, algorithm)
    tool = shutil.which(f"{algorithm}sum")
    assert tool is not None
    packed = tmp_path / "initdata.gz"
    packed.write_bytes(base64.b64decode(document.encode(built.text)))

    unpacked = subprocess.run(["gzip", "-dc", str(packed)], capture_output=True, check=True).stdout
    summed = subprocess.run([tool], input=unpacked, capture_output=True, check=True).stdout

    found = measure.measured(built)
    assert found.digest == summed.split()[0].decode()
    raw = bytes.fromhex(found.digest)
    assert base64.b64decode(found.snp_host_data) == raw[:32]
    assert base64.b64decode(found.tdx_mr_config_id) == raw[:48].ljust(48, b"\0")
    assert base64.b64decode(found.cca_personalization) == raw[:64].ljust(64, b"\0")
    assert len(base64.b64decode(found.se_user_data)) == 256
    assert found.vtpm_pcr8 == hashlib.sha256(bytes(32) + raw[:32]).hexdigest()


def packed(text_: str) -> str:
    return base64.b64encode(gzip.compress(text_.encode(), mtime=0)).decode()


@pytest.mark.parametrize(
    ("annotation", "code"),
    [
        ("", "InitdataNotGzip"),
        ("not base64!", "InitdataBadBase64"),
        ("SGVsbG8_", "InitdataBadBase64"),
        (base64.b64encode(gzip.compress(b"x" * 5_000_000, mtime=0)).decode(), "InitdataTooLarge"),
        (base64.b64encode(gzip.compress(b"x", mtime=0)[:-4]).decode(), "InitdataNotGzip"),
        (packed('Version = "0.1.0"\nalgorithm = "sha256"\n[data]\n'), "InitdataBadToml"),
        (packed('algorithm = "sha256"\n[data]\n'), "InitdataNoVersion"),
        (packed('version = "0.1.0"\nalgorithm = "sha256"\n[data]\naa.toml = "x"\n'), "InitdataDataNotString"),
        (packed('version = "0.1.0"\nversion = "0.1.0"\n'), "InitdataBadToml"),
        (base64.b64encode(gzip.compress(b"\xff\xfe", mtime=0)).decode(), "InitdataBadToml"),
    ],
)
def test_what_some_parser_would_not_take_is_refused(annotation: str, code: str) -> None:
    with pytest.raises(InitdataError) as caught:
        document.decode(annotation)

    assert caught.value.code == code


@pytest.mark.parametrize(
    ("files", "code"),
    [({"a\nb": ""}, "InitdataBadName"), ({"aa.toml": "x\r\n"}, "InitdataBadContent")],
)
def test_files_that_cannot_be_carried_are_refused(files: dict[str, str], code: str) -> None:
    with pytest.raises(InitdataError) as caught:
        document.build(files)

    assert caught.value.code == code


def test_private_keys_are_refused_and_the_unwise_is_reported() -> None:
    secret = document.build({"aa.toml": "-----BEGIN EC PRIVATE KEY-----\n"})
    odd = document.build({"policy.rego": "package other\n", "mine.txt": "x", "cdh.toml": "= 1"}, "sha512")

    with pytest.raises(InitdataError, match="every user who can read the pod"):
        lint.refuse_secrets(secret)
    assert [warning.code for warning in lint.warnings(odd)] == [
        "PolicyPackage",
        "UnknownEntry",
        "EntryBadToml",
        "DigestCut",
    ]


# ── the command ─────────────────────────────────────────────────────────────────────────────────────────────


def run(*arguments: str, stdin: str = "") -> tuple[int, str, str]:
    result = CliRunner().invoke(cli, ["initdata", *arguments], input=stdin)
    if result.exception is not None and not isinstance(result.exception, SystemExit):
        raise result.exception
    return result.exit_code, result.stdout, result.stderr


@pytest.fixture
def directory(tmp_path: Path) -> Path:
    for name, content in FILES.items():
        (tmp_path / name).write_text(content)
    return tmp_path


def test_build_show_digest_and_verify_agree(directory: Path, tmp_path: Path) -> None:
    _, annotation, _ = run("build", str(directory))
    file = directory.parent / "annotation.txt"
    file.write_text(annotation)

    shown = json.loads(run("show", str(file), "-o", "json")[1])
    by_directory = json.loads(run("digest", str(directory), "-o", "json")[1])
    by_value = json.loads(run("digest", annotation.strip(), "-o", "json")[1])
    by_stdin = json.loads(run("digest", "-", "-o", "json", stdin=annotation)[1])

    assert shown["data"] == FILES
    assert by_directory == by_value == by_stdin
    assert run("verify", str(file), "--digest", by_directory["digest"])[:2] == (
        0,
        f"good: sha256 {by_directory['digest']}\n",
    )
    assert run("verify", str(file), "--digest", "00")[0] == 3
    assert run("build", str(directory), "--toml")[1] == document.build(FILES).text


def test_a_bad_directory_is_reported_whole(tmp_path: Path) -> None:
    from vestibule import errors
    from vestibule.diagnose import initdata_files

    (tmp_path / "a.toml").write_bytes(b"\xff")
    (tmp_path / "b.toml").write_bytes(b"\xfe")

    with pytest.raises(errors.InvalidInput) as caught:
        initdata_files.directory(tmp_path, "sha256")

    assert len(caught.value.problems) == 2
