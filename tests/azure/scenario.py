"""One fault at every call of ``create-all`` in turn; then the same command again, and sometimes a delete.

Calls are counted in an undisturbed run. One worker at a time, so that the number of a call means the same
call in every run.
"""

from __future__ import annotations

import functools
import itertools
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from typing import Any

import pytest

from tests.azure.provisioning_run import Stage
from tests.azure.simulator import Simulated
from vestibule import errors

FAULTS: dict[str, dict[str, Any]] = {
    "refused": {"status": 403, "code": "Injected"},
    "done, and the line cut": {"mode": "after", "cut": True},
    "done, and answered 503": {"mode": "after", "status": 503, "retry_after": 1},
    "throttled": {"status": 429, "retry_after": 1},
}


Fresh = Callable[[], AbstractContextManager[Stage]]


@pytest.fixture
def fresh(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Fresh]:
    """A subscription with nothing in it and a folder of its own, for each trial; one simulator serves all."""
    metrics = itertools.count()
    with Simulated(tmp_path / "simulator") as simulator:
        simulator.environ(monkeypatch)
        empty = simulator.state

        @contextmanager
        def made() -> Iterator[Stage]:
            folder = tmp_path / str(next(metrics))
            folder.mkdir()
            simulator.renew(**empty)
            yield Stage(folder, simulator)

        yield made


def calls(stage: Stage) -> int:
    """Calls of ARM and of the data so far; logins are not counted, they are the SDK's own."""
    return sum(
        "/oauth2/" not in call["path"] and "openid" not in call["path"] for call in stage.simulator.calls
    )


def attempt(do: Callable[[], object]) -> str:
    try:
        do()
    except errors.VestibuleError as error:
        return str(error)
    return ""


def at_every_call(kind: str, fresh: Fresh, step: int = 1) -> None:
    """The scenario, at every ``step``-th call."""
    with fresh() as clean:
        clean.create(parallel=1)
        count = sum(call["path"].startswith(("/subscriptions", "/demo1")) for call in clean.simulator.calls)
        created, files = clean.left(), clean.files()
        clean.delete(parallel=1)
        rest = clean.left()
    assert count > 20

    for number in range(0, count, step):
        with fresh() as stage:
            # /subscriptions… and /demo1…, not the login
            stage.simulator.fault(on="* /[sd][ue]*", skip=number, **FAULTS[kind])
            message = attempt(functools.partial(stage.create, parallel=1))
            assert message == "" or "goes on from there" in message or "Injected" in message, message
            stage.create(parallel=1)

            assert stage.left() == created, f"call {number} {kind}: {message}"
            assert stage.files() == files, f"call {number} {kind}: {message}"
            assert stage.simulator.violations == []
            if number % 6 == 0:
                stage.delete(parallel=1)
                assert stage.left() == rest
