"""A fault at every single call of ``create-all`` and ``delete``; then the same command again; the same end.

Calls are counted in an undisturbed run. One worker at a time, so that the number of a call means the same
call in every run.
"""

from __future__ import annotations

import copy
import shutil
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from typing import get_args

import pytest

from tests.gcp.answers import Json
from tests.gcp.double import PROJECT, Double, Kind
from vestibule import errors
from vestibule.cli.provisioning import plan_format
from vestibule.provision import credentials_requests
from vestibule.provision.gcp import commands
from vestibule.provision.gcp.delete_plan import DeleteInputs
from vestibule.provision.gcp.request import GcpRequest
from vestibule.provision.runner import RunOptions

KINDS: tuple[Kind, ...] = get_args(Kind)
HEALED: tuple[Kind, ...] = ("done, and the line cut", "throttled")


class Stage:
    """A run in one process, without waiting between attempts."""

    def __init__(self, double: Double, folder: Path, requests: Path, key: Path, *, embedded: bool) -> None:
        self.double, self.out, self._key = double, folder / "out", key
        self._how = RunOptions(
            self.out,
            plan_format.ProgressLines(),
            parallel=1,
            verify=False,
            pause=lambda _: None,
        )
        found = credentials_requests.load(requests, "gcp").requests
        self._wanted = GcpRequest("demo1", PROJECT, embedded=embedded, requests=found, where=double.endpoints)

    def create(self) -> None:
        commands.everything(self._wanted, self._key, self._how)

    def delete(self) -> None:
        unwanted = DeleteInputs("demo1", PROJECT, "googleapis.com", roles=True, where=self.double.endpoints)
        commands.delete(unwanted, self._how)

    def files(self) -> Json:
        return {str(one.name): one.read_bytes() for one in (self.out / "manifests").iterdir()}


@contextmanager
def staged(
    tmp: Path, requests: Path, key: Path, monkeypatch: pytest.MonkeyPatch, *, embedded: bool
) -> Iterator[Stage]:
    folder = tmp / f"{len([*tmp.iterdir()])}"
    folder.mkdir()
    with Double() as double:
        monkeypatch.setenv("GOOGLE_APPLICATION_CREDENTIALS", str(double.key_file(folder / "login.json")))
        monkeypatch.setenv("HOME", str(folder))
        monkeypatch.setenv("HTTPS_PROXY", "http://127.0.0.1:9")
        yield Stage(double, folder, requests, key, embedded=embedded)


def attempted(do: Callable[[], None]) -> str:
    try:
        do()
    except errors.VestibuleError as error:
        return str(error)
    return ""


@pytest.mark.slow
@pytest.mark.parametrize(
    ("kind", "embedded", "every"),
    [
        ("refused", False, 1),
        ("done, and the line cut", False, 1),
        ("done, and the run dies", False, 1),
        ("throttled", False, 4),
        ("refused", True, 3),
        ("done, and the run dies", True, 1),
    ],
)
def test_a_fault_at_every_call_then_a_rerun_and_a_delete(
    kind: Kind,
    embedded: bool,
    every: int,
    tmp_path: Path,
    requests_dir: Path,
    public_key: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def fresh() -> AbstractContextManager[Stage]:
        return staged(tmp_path, requests_dir, public_key, monkeypatch, embedded=embedded)

    with fresh() as clean:
        clean.create()
        count, created, files = len(clean.double.calls), clean.double.left(), clean.files()
        clean.delete()
        rest = clean.double.left()
    assert count > 20

    for number in range(0, count, every):
        with fresh() as stage:
            stage.double.fault(number, kind)
            message = attempted(stage.create)
            stage.double.heal()
            # what passes by itself heals within the run; a refusal is told, unless nobody needed the answer
            reported = "" if kind in HEALED else message
            assert message == reported, f"call {number} {kind}: {message}"
            assert message == "" or "Injected" in message or "no permission for" in message, message
            stage.create()

            assert stage.double.left() == created, f"call {number} {kind}: {message}"
            assert stage.files() == files, f"call {number} {kind}: {message}"
            if number % 5 == 0:
                stage.delete()
                assert stage.double.left() == rest, f"call {number} {kind}: {message}"


@pytest.mark.slow
@pytest.mark.parametrize("kind", KINDS)
def test_a_fault_at_every_call_of_delete_then_a_rerun(
    kind: Kind,
    tmp_path: Path,
    requests_dir: Path,
    public_key: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def fresh() -> AbstractContextManager[Stage]:
        return staged(tmp_path, requests_dir, public_key, monkeypatch, embedded=False)

    with fresh() as clean:
        clean.create()
        created = copy.deepcopy((clean.double.iam, clean.double.storage))
        shutil.copytree(clean.out, tmp_path / "made")
        clean.double.calls = []
        clean.delete()
        count, rest = len(clean.double.calls), clean.double.left()
        inventory = (clean.out / ".vestibule" / "inventory.json").read_bytes()
    assert count > 10

    for number in range(0, count, 4 if kind == "throttled" else 1):
        with fresh() as stage:
            stage.double.iam, stage.double.storage = copy.deepcopy(created)
            shutil.copytree(tmp_path / "made", stage.out)
            stage.double.fault(number, kind)
            message = attempted(stage.delete)
            stage.double.heal()
            stage.delete()

            assert stage.double.left() == rest, f"call {number} {kind}: {message}"
            stored = (stage.out / ".vestibule" / "inventory.json").read_bytes()
            assert stored == inventory, f"call {number} {kind}: {message}"
