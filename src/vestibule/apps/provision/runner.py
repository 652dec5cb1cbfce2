"""Performs a plan: each step once, those that need nothing of each other side by side, every result kept.

A step that fails stops those that need it and everything not yet begun; what is running is finished and
recorded. A rerun observes anew, so what is done is no longer in its plan.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from pathlib import Path
from typing import NamedTuple, Protocol

from vestibule import errors
from vestibule.apps.provision import steps as plans
from vestibule.apps.provision.inventory import Inventory
from vestibule.apps.provision.steps import Step

Perform = Callable[[Step], Mapping[str, str]]
"""Does a step whose Refs are resolved; gives what it found out."""


class Progress(Protocol):
    """Who is told."""

    def begun(self, step: Step) -> None:
        """A step begins."""
        ...

    def done(self, step: Step, number: int, total: int) -> None:
        """A step is done."""
        ...

    def failed(self, step: Step, error: Exception) -> None:
        """A step failed."""
        ...


class Silent:
    """Nobody is told."""

    def begun(self, step: Step) -> None:
        """Nothing."""

    def done(self, step: Step, number: int, total: int) -> None:
        """Nothing."""

    def failed(self, step: Step, error: Exception) -> None:
        """Nothing; the error itself ends the command."""


class How(NamedTuple):
    """How a command is to be done."""

    output: Path
    progress: Progress = Silent()
    dry: bool = False
    """Make no call at all."""
    look: bool = False
    """Only read: plan, and write nothing."""
    parallel: int = 4
    verify: bool = True
    """Fetch the issuer from its public address after publishing."""
    pause: Callable[[float], None] = time.sleep


class Planned(Protocol):
    """A plan of any cloud."""

    @property
    def steps(self) -> Sequence[Step]:
        """What to do."""
        ...

    @property
    def known(self) -> plans.Results:
        """Results of what existed before."""
        ...


class Failed(errors.VestibuleError):
    """Some steps failed; what was done is recorded, and a rerun goes on from there."""

    def __init__(self, failures: Sequence[tuple[Step, Exception]], done: int, total: int) -> None:
        self.failures = tuple(failures)
        lines = [f"{step}: {error}" for step, error in failures]
        lines.append(f"{done} of {total} steps are done; the same command goes on from there")
        super().__init__("\n".join(lines))


def run(
    steps: Sequence[Step],
    perform: Perform,
    *,
    known: plans.Results,
    inventory: Inventory | None,
    progress: Progress,
    parallel: int = 4,
) -> plans.Results:
    """Do everything. ``known`` are results of what existed before. Raises Failed."""
    waiting = plans.ordered(steps)
    total = len(waiting)
    ids = {step.id for step in waiting}
    results: dict[str, Mapping[str, str]] = dict(known)
    finished: set[str] = set()
    failures: list[tuple[Step, Exception]] = []
    running: dict[Future[Mapping[str, str]], Step] = {}
    with ThreadPoolExecutor(parallel, thread_name_prefix="provision") as pool:
        while waiting or running:
            ready = [step for step in waiting if not (set(step.after) & ids) - finished]
            for step in ready[: parallel - len(running)] if not failures else ():
                waiting.remove(step)
                progress.begun(step)
                action = plans.resolved(step.action, results)
                running[pool.submit(perform, step._replace(action=action))] = step
            if not running:
                break
            for future in wait(running, return_when=FIRST_COMPLETED).done:
                step = running.pop(future)
                error = future.exception()
                if error is None:
                    results[step.id] = future.result()
                    _record(step, inventory)
                    finished.add(step.id)
                    progress.done(step, len(finished), total)
                elif isinstance(error, errors.VestibuleError | OSError):
                    failures.append((step, error))
                    progress.failed(step, error)
                else:
                    raise error
    if failures:
        raise Failed(failures, len(finished), total)
    return results


def run_plan(planned: Planned, perform: Perform, inventory: Inventory, how: How) -> plans.Results:
    """Do a plan as the command is to be done. Raises Failed."""
    return run(
        planned.steps,
        perform,
        known=planned.known,
        inventory=inventory,
        progress=how.progress,
        parallel=how.parallel,
    )


def _record(step: Step, inventory: Inventory | None) -> None:
    if inventory is None or step.made is None:
        return
    if step.verb == "delete":
        inventory.drop(step.made)
    elif step.verb == "create":
        inventory.add(step.made, step.id)
