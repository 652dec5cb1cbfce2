"""The image: the same bytes twice, nothing in it that is not needed, and it runs where nothing can be
written."""

from __future__ import annotations

import contextlib
import gzip
import hashlib
import http.client
import marshal
import os
import re
import shutil
import signal
from pathlib import Path

import pytest
from scripts.images import wheels

from tests.image.unpacked import COPIED, ROOT, Image, build, copied, enter
from tests.rig import process
from tests.rig.process import free_port
from vestibule import __version__

pytestmark = pytest.mark.rig

EXTRAS = "webhook,operator,cluster,offline,pki"
LOCK = ROOT / "requirements" / "runtime.txt"
SHELLS = re.compile(r"(^|/)(sh|bash|dash|ash|zsh|ksh|busybox|toybox|env|apt|apk|dpkg|rpm|curl|wget)$")


@pytest.fixture(scope="module")
def sources(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """What the recipe copies, and nothing else: so the image needs nothing else."""
    folder = tmp_path_factory.mktemp("sources")
    copied(ROOT, folder)
    return folder


@pytest.fixture(scope="module")
def image(sources: Path, tmp_path_factory: pytest.TempPathFactory) -> Image:
    folder = tmp_path_factory.mktemp("image")
    ran = build(folder, "--extras", EXTRAS, source=sources)
    assert ran.returncode == 0, ran.stderr
    path, digest = ran.stdout.split()
    created = Image(Path(path), folder)
    assert created.digest == digest
    return created


@pytest.mark.slow
def test_two_builds_give_the_same_bytes(image: Image, sources: Path, tmp_path: Path) -> None:
    """From another folder, with other temporary files, seed, language and time zone."""
    elsewhere, other = tmp_path / "elsewhere", tmp_path / "a longer path to other sources"
    elsewhere.mkdir()
    copied(sources, other)
    odd = {"TMPDIR": str(elsewhere), "PYTHONHASHSEED": "7", "LANG": "C", "TZ": "Asia/Tokyo"}
    ran = build(tmp_path, "--extras", EXTRAS, source=other, **odd)
    assert ran.returncode == 0, ran.stderr
    again = Path(ran.stdout.split()[0])

    assert again.read_bytes() == image.path.read_bytes()


def test_the_layout_is_whole(image: Image) -> None:
    assert (image.layout / "oci-layout").read_text() == '{"imageLayoutVersion":"1.0.0"}'
    layers = image.manifest["layers"]
    plain = [hashlib.sha256(gzip.decompress(image.blob(one["digest"]))).hexdigest() for one in layers]

    assert [f"sha256:{one}" for one in plain] == image.config["rootfs"]["diff_ids"]
    assert len(image.config["history"]) == len(layers) == 3
    blobs = {path.name for path in (image.layout / "blobs" / "sha256").iterdir()}
    named = {image.digest, image.manifest["config"]["digest"], *(one["digest"] for one in layers)}
    assert {f"sha256:{name}" for name in blobs} == named


def test_how_it_is_run(image: Image) -> None:
    how = image.config["config"]

    assert how["User"] == "65532:65532"
    assert how["Entrypoint"] == ["/usr/local/bin/vestibule"]
    assert "PYTHONDONTWRITEBYTECODE=1" in how["Env"]
    assert how["Labels"]["org.opencontainers.image.version"] == __version__
    assert how["Labels"]["org.opencontainers.image.licenses"] == "Apache-2.0"


def test_no_shell_no_package_manager_and_no_way_up(image: Image) -> None:
    assert [name for name in image.entries if SHELLS.search(name)] == []
    assert [name for name in image.entries if re.search(r"(^|/)(pip|ensurepip|setuptools)(/|$)", name)] == []
    for name, entry in image.entries.items():
        assert (entry.uid, entry.gid, entry.mtime) == (0, 0, 0), name
        assert not entry.mode & 0o6000, name
        if name != "tmp" and not entry.issym():
            assert not entry.mode & 0o022, name
        assert entry.isreg() or entry.isdir() or entry.issym(), name
    assert image.entries["tmp"].mode == 0o1777


def test_every_module_has_bytecode_with_the_paths_of_the_image(image: Image) -> None:
    modules = list(image.root.rglob("*.py"))
    assert len(modules) > 1000
    for path in modules:
        cached = path.parent / "__pycache__" / f"{path.stem}.cpython-311.pyc"
        found = list(path.parent.glob(f"__pycache__/{path.stem}.cpython-*.pyc"))
        assert found, f"{path} has no bytecode, not even {cached.name}"
    main = next((image.root / "opt/vestibule/vestibule/cli/__pycache__").glob("main.*.pyc"))
    content = main.read_bytes()

    assert int.from_bytes(content[4:8], "little") == 0b01  # by hash, and not looked at again
    assert marshal.loads(content[16:]).co_filename == "/opt/vestibule/vestibule/cli/main.py"  # noqa: S302 - ours


def test_no_secret_and_no_test_is_inside(image: Image) -> None:
    key = re.compile(rb"-----BEGIN [A-Z ]*PRIVATE KEY-----\r?\n[A-Za-z0-9+/]{40}")
    for path in image.root.rglob("*"):
        if path.is_file() and not path.is_symlink():
            assert not key.search(path.read_bytes()), path
    assert not (image.root / "opt/vestibule/tests").exists()
    assert not (image.root / "usr/local/lib/python3.11/test").exists()


def test_only_what_the_extras_need_is_inside(image: Image) -> None:
    existing = {path.name for path in (image.root / "opt/vestibule").iterdir()}

    assert {"vestibule", "aiohttp", "uvloop", "cryptography", "yaml", "certifi"} <= existing
    assert {"boto3", "azure", "google", "grpc"}.isdisjoint(existing)


def test_it_runs_on_a_read_only_root(image: Image) -> None:
    started = image.start("--version")
    message, _ = started.communicate(timeout=60)

    assert (started.returncode, message) == (0, f"vestibule, version {__version__}\n")


def test_the_webhook_gets_ready_and_answers(image: Image) -> None:
    port, plain = free_port(), free_port()
    running = image.start(
        *("webhook", "--cluster", "/tmp/cluster", "--self-signed"),
        *("--addr", f"127.0.0.1:{port}", "--metrics-addr", f"127.0.0.1:{plain}"),
    )
    try:

        def ready() -> bool:
            assert running.poll() is None, running.stdout.read() if running.stdout else ""
            with contextlib.closing(http.client.HTTPConnection("127.0.0.1", plain, timeout=5)) as requested:
                try:
                    requested.request("GET", "/readyz")
                except OSError:
                    return False
                return requested.getresponse().status == 200

        process.wait("readiness", ready, 60)
        status = Path(f"/proc/{running.pid}/status").read_text()
        if os.geteuid() == 0:
            assert re.search(r"^Uid:\s+65532\s+65532\s+65532\s+65532$", status, re.MULTILINE)
    finally:
        running.send_signal(signal.SIGTERM)
        message, _ = running.communicate(timeout=60)
    assert running.returncode == 0, message
    assert "Traceback" not in message


def test_nothing_was_written_into_it(image: Image) -> None:
    """After the runs above; mount points are the container engine's."""
    existing = {path.relative_to(image.root).as_posix() for path in image.root.rglob("*")}

    assert existing - image.entries.keys() <= {"proc", "dev"}


def test_a_wheel_that_is_not_the_locked_one_is_refused(tmp_path: Path) -> None:
    folder = tmp_path / "wheels"
    shutil.copytree(wheels.fetch(LOCK, wheels.cache(LOCK)), folder)
    victim = next(folder.glob("click-*.whl"))
    victim.write_bytes(victim.read_bytes() + b"\0")
    ran = build(tmp_path, "--wheels", str(folder))

    assert ran.returncode == 1
    assert re.fullmatch(
        rf"image: {victim.name} \(sha256 [0-9a-f]{{64}}\) is not in runtime\.txt\n", ran.stderr
    )
    assert list(tmp_path.glob("*.oci.tar")) == []


def test_an_unknown_extra_is_refused(tmp_path: Path) -> None:
    ran = build(tmp_path, "--extras", "webhok")

    assert ran.returncode == 1
    assert "--extras: webhok: want some of" in ran.stderr


@pytest.mark.slow
def test_the_tree_for_the_recipe_has_the_packages_for_clouds(sources: Path, tmp_path: Path) -> None:
    ran = build(tmp_path, "--tree", str(tmp_path / "tree"), source=sources)
    assert ran.returncode == 0, ran.stderr
    code = "import azure.identity, boto3, google.cloud.storage, grpc, vestibule.cli.main; print('all there')"
    python = ["/usr/local/bin/python3", "-c", code]
    started = enter(tmp_path / "tree", recipe(), python)
    message, _ = started.communicate(timeout=120)

    assert (started.returncode, message) == (0, "all there\n")


def recipe() -> dict[str, str]:
    """The variables of the last stage."""
    text = (ROOT / "Containerfile").read_text().partition("FROM ${RUNTIME_IMAGE}")[2]
    return dict(re.findall(r"^(?:ENV|   ) ([A-Z_]+)=(\S+)", text, re.MULTILINE))


def test_the_recipe_names_no_host_and_ends_without_a_shell() -> None:
    text = (ROOT / "Containerfile").read_text()
    lines = [line for line in text.splitlines() if line and not line.startswith("#")]

    assert [line for line in lines if line.startswith("FROM")] == [
        "FROM ${PYTHON_IMAGE} AS build",
        "FROM ${RUNTIME_IMAGE}",
    ]
    assert "ARG PYTHON_IMAGE" in lines
    assert "ARG RUNTIME_IMAGE=scratch" in lines
    assert not re.search(r"\b[a-z0-9-]+\.(io|com|dev|org|net)/", text)
    assert "USER 65532:65532" in lines
    assert 'ENTRYPOINT ["/usr/local/bin/vestibule"]' in lines
    assert '"--require-hashes"' in text
    for line in lines:
        if line.startswith("RUN"):
            assert line.startswith('RUN ["python3", ')
    taken = [
        word
        for line in lines
        if line.startswith("COPY") and "--from" not in line
        for word in line.split()[1:-1]
    ]
    assert sorted(taken) == sorted(COPIED)


def test_the_recipe_and_the_script_say_the_same(image: Image) -> None:
    assert recipe() == dict(line.split("=", 1) for line in image.config["config"]["Env"])
