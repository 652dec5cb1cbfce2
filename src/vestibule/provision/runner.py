"""Performs a plan: each step once, steps without a dependency on each other in parallel.

After a failure no further step is started; running steps are finished and recorded in the inventory. A rerun
observes the cloud again, so steps that succeeded are no longer in its plan.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from pathlib import Path
from typing import NamedTuple, Protocol

from vestibule import errors
from vestibule.provision import steps as plans
from vestibule.provision.inventory import Inventory
from vestibule.provision.steps import PlannedStep, StepPlan

Perform = Callable[[PlannedStep], Mapping[str, str]]
"""Performs a step whose StepResults are resolved; returns the results that other steps need."""


class ProgressReporter(Protocol):
    """Receives the progress of a run."""

    def begun(self, step: PlannedStep) -> None:
        """A step was started."""
        ...

    def done(self, step: PlannedStep, number: int, total: int) -> None:
        """A step succeeded."""
        ...

    def failed(self, step: PlannedStep, error: Exception) -> None:
        """A step failed."""
        ...


class NoProgress:
    """Reports nothing."""

    def begun(self, step: PlannedStep) -> None:
        """Nothing."""

    def done(self, step: PlannedStep, number: int, total: int) -> None:
        """Nothing."""

    def failed(self, step: PlannedStep, error: Exception) -> None:
        """Nothing; the command ends with the error."""


class RunOptions(NamedTuple):
    """How a command is run."""

    output: Path
    progress: ProgressReporter = NoProgress()
    dry_run: bool = False
    """Make no call: plan for an empty account, write local files only. ``delete``: only read."""
    plan_only: bool = False
    """Only read: return the plan, write nothing."""
    parallel: int = 4
    """Maximum number of concurrent calls."""
    verify: bool = True
    """Fetch the issuer from its public address after publishing."""
    pause: Callable[[float], None] = time.sleep

    @property
    def performs(self) -> bool:
        """Whether the command changes the cloud."""
        return not (self.dry_run or self.plan_only)


class StepsFailed(errors.VestibuleError):
    """Some steps failed; those that succeeded are in the inventory, and a rerun continues after them."""

    def __init__(self, failures: Sequence[tuple[PlannedStep, Exception]], done: int, total: int) -> None:
        self.failures = tuple(failures)
        lines = [f"{step}: {error}" for step, error in failures]
        lines.append(f"{done} of {total} steps are done; the same command goes on from there")
        super().__init__("\n".join(lines))


def run(
    steps: Sequence[PlannedStep],
    perform: Perform,
    *,
    known: plans.Results,
    inventory: Inventory | None,
    progress: ProgressReporter,
    parallel: int = 4,
) -> plans.Results:
    """Perform all steps. ``known`` are results of resources that existed before. Raises StepsFailed."""
    waiting = plans.ordered(steps)
    total = len(waiting)
    ids = {step.id for step in waiting}
    results: dict[str, Mapping[str, str]] = dict(known)
    finished: set[str] = set()
    failures: list[tuple[PlannedStep, Exception]] = []
    running: dict[Future[Mapping[str, str]], PlannedStep] = {}
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
        raise StepsFailed(failures, len(finished), total)
    return results


def run_plan(plan: StepPlan, perform: Perform, inventory: Inventory, options: RunOptions) -> plans.Results:
    """Perform a plan. Raises StepsFailed."""
    return run(
        plan.steps,
        perform,
        known=plan.known,
        inventory=inventory,
        progress=options.progress,
        parallel=options.parallel,
    )


def _record(step: PlannedStep, inventory: Inventory | None) -> None:
    if inventory is None or step.resource is None:
        return
    if step.verb == "delete":
        inventory.drop(step.resource)
    elif step.verb == "create":
        inventory.add(step.resource, step.id)
