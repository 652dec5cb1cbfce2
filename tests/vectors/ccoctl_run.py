"""One run of our command line for a ccoctl case: a directory, a simulator, a clock that does not wait."""

from __future__ import annotations

import contextlib
import io
import os
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple
from unittest import mock

from tests.azure.simulator import Simulated
from tests.vectors.ccoctl_before import Before, flag, requests
from vestibule.cli import main
from vestibule_simulators.azure.faults import FaultRule
from vestibule_simulators.azure.state import SimulatorSettings

Json = dict[str, Any]
_SWITCHES = (True, "true")


class Run(NamedTuple):
    """What came of it."""

    exit: int
    out: str
    err: str
    folder: Path
    calls: list[Json]
    slept: list[float]
    resources: list[Json]
    before: Before

    @property
    def arm(self) -> list[Json]:
        return [call for call in self.calls if call["path"].lower().startswith("/subscriptions/")]

    @property
    def writes(self) -> list[Json]:
        """Done in ARM; faults apart."""
        return [
            call for call in self.arm if call["method"] in ("PUT", "PATCH", "DELETE") and "fault" not in call
        ]

    @property
    def blobs(self) -> list[Json]:
        return [
            call
            for call in self.calls
            if call not in self.arm and call["path"].startswith(f"/{self.account}/")
        ]

    @property
    def account(self) -> str:
        return self.before.name


@contextlib.contextmanager
def ran(vector: Json, before: Before | None = None, *extra: str, **flags: Any) -> Iterator[Run]:
    """Run the command of a case; ``flags`` replace those of the case (None takes one away)."""
    world = before or Before(vector)
    with tempfile.TemporaryDirectory() as name, _simulated(vector, world, Path(name) / "sim") as simulator:
        folder = Path(name) / "work"
        folder.mkdir()
        given = {**(vector.get("flags") or {}), **{f"--{key.replace('_', '-')}": flags[key] for key in flags}}
        _files(vector, folder)
        slept: list[float] = []
        arguments = [*str(vector["command"]).split(), *_line(given), *extra]
        if "--cloud" not in given and "create-key-pair" not in arguments:
            arguments += ["--cloud", str(simulator.running.cloud)]
        with (
            contextlib.chdir(folder),
            mock.patch.dict(os.environ, simulator.running.variables),
            mock.patch("time.sleep", slept.append),
        ):
            code, out, err = _called(["vestibule", "ccoctl", *arguments])
        yield Run(
            code,
            out,
            err,
            folder,
            simulator.calls,
            slept,
            list(simulator.state.get("resources") or ()),
            world,
        )


def _simulated(vector: Json, world: Before, folder: Path) -> Simulated:
    settings = SimulatorSettings(
        subscription=world.subscription,
        tenant=world.tenant,
        client_id="eeeeeeee-0000-4000-8000-000000000005",
        principal_id="ffffffff-0000-4000-8000-000000000006",
        operation_seconds=0.0,
    )
    created = _Loaded(folder, settings)
    created.content = world.content
    inputs = vector.get("inputs") or {}
    created.faults = [
        _fault(one) for one in [*(inputs.get("faults") or ()), *filter(None, [inputs.get("fault")])]
    ]
    if "create_reply" in inputs:
        created.faults.append(_fault({"on": "PUT roleAssignments", **inputs["create_reply"]}))
    return created


class _Loaded(Simulated):
    content: Json
    faults: list[FaultRule]

    def __enter__(self) -> Simulated:
        created = super().__enter__()
        self.load(**self.content)
        self.running.simulator.faults.rules += self.faults
        return created


def _fault(given: Json) -> FaultRule:
    method, _, what = str(given["on"]).partition(" ")
    pattern = what if what.startswith("/") else f"*/{what}/*"
    return FaultRule(
        on=f"{method} {pattern}",
        times=int(given.get("times", 0)),
        status=int(given["status"]),
        code=str(given.get("error_code", "")),
    )


def _files(vector: Json, folder: Path) -> None:
    inputs = vector.get("inputs") or {}
    for name, content in {**(inputs.get("files") or {}), **(inputs.get("existing_files") or {})}.items():
        path = folder / name
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        path.write_text(content)
    for name in inputs.get("existing_dirs") or ():
        (folder / name).mkdir(mode=0o700, parents=True, exist_ok=True)
    directory = flag(vector, "--credentials-requests-dir")
    if directory:
        (folder / directory).mkdir(parents=True, exist_ok=True)
        for name, content in requests(vector):
            (folder / directory / name).write_text(content)


def _line(flags: Json) -> list[str]:
    line = []
    for name, value in flags.items():
        if value in _SWITCHES:
            line.append(name)
        elif value is not None and value is not False:
            line += [name, str(value)]
    return line


def _called(arguments: list[str]) -> tuple[int, str, str]:
    """The command line as a shell calls it, in this process; its umask is the usual one."""
    out, err, umask = io.StringIO(), io.StringIO(), os.umask(0o022)
    try:
        with (
            mock.patch.object(sys, "argv", arguments),
            contextlib.redirect_stdout(out),
            contextlib.redirect_stderr(err),
        ):
            main.main()
    except SystemExit as end:
        code = end.code if isinstance(end.code, int) else 1 if end.code else 0
    finally:
        os.umask(umask)
    return code, out.getvalue(), err.getvalue()
