"""One provisioning command, the same for every cloud: check, observe, plan, show, perform, write outputs.

Nothing is changed before the whole plan is known: a command that cannot be planned makes no call that writes
and leaves no file, and all of its problems are reported at once. A dry run makes no call at all: its plan is
that of an empty account. ``plan_only`` only reads: its plan is exact, and no file is written.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple, Protocol, TypeVar

from vestibule.oidc.keys import PublicKey
from vestibule.provision import keypair, runner, steps
from vestibule.provision.inventory import Inventory
from vestibule.provision.outputs import PUBLIC_KEY, Output
from vestibule.provision.runner import Perform, RunOptions
from vestibule.provision.steps import StepPlan

Observed = TypeVar("Observed")
Keys = Sequence[PublicKey]


class ProvisionReport(NamedTuple):
    """What a command did, or would do."""

    plan: StepPlan
    issuer: str = ""
    files: tuple[str, ...] = ()


class SigningKeys(NamedTuple):
    """Where the public keys of the issuer come from."""

    file: Path | None = None
    """None: the public key in the output directory."""
    create: bool = False
    """Create a key pair in the output directory, unless ``file`` is given or there is one."""

    def read(self, output: Output) -> Keys:
        """The keys that exist; empty if a pair is to be created. Raises InvalidInput."""
        if self.file is not None or not self.create:
            return output.public_key(self.file)
        derived = keypair.existing(output.directory)
        return output.public_key(None) if (output.directory / PUBLIC_KEY).exists() else derived

    def created(self, output: Output) -> Keys:
        """The keys, after a missing pair was created. Raises InvalidInput, OSError."""
        if self.file is None and self.create:
            output.key_pair()
        return self.read(output)


class Provisioning(Protocol[Observed]):
    """A command of one cloud, as the parts that the flow runs in order."""

    @property
    def owner(self) -> tuple[str, str]:
        """Cloud and name, as the inventory knows them."""
        ...

    def check(self) -> None:
        """Raises InvalidInput with every problem that is visible without a call."""
        ...

    def observe(self) -> Observed:
        """Read everything that the plan depends on. Raises VestibuleError."""
        ...

    def assume_empty(self) -> Observed:
        """What a dry run plans for: an account in which nothing of ours exists."""
        ...

    def plan(self, observed: Observed, keys: Keys, inventory: Inventory | None) -> StepPlan:
        """All steps and all problems. No call, no file. ``keys`` is empty if a pair is to be created."""
        ...

    def performer(self, observed: Observed, plan: StepPlan, keys: Keys, output: Output) -> Perform:
        """What performs the steps of the plan."""
        ...

    def write_outputs(self, issuer: str, keys: Keys, output: Output) -> None:
        """Write the files that belong to no step. Raises OSError."""
        ...

    def write_dry_run(self, issuer: str, keys: Keys, output: Output) -> None:
        """Write the files of a dry run. Raises OSError."""
        ...


def run(
    command: Provisioning[Observed], options: RunOptions, signing_keys: SigningKeys | None = None
) -> ProvisionReport:
    """Run a command. Raises InvalidInput before the first change, StepsFailed, VestibuleError, OSError."""
    command.check()
    output = Output(options.output)
    keys = signing_keys.read(output) if signing_keys else ()
    inventory = None if options.dry_run else Inventory(options.output, *command.owner)
    observed = command.assume_empty() if options.dry_run else command.observe()
    plan = command.plan(observed, keys, inventory).accepted()
    issuer = steps.value_of(plan.issuer, plan.known)
    if options.plan_only and not options.dry_run:
        return ProvisionReport(plan, issuer)
    if signing_keys is not None:
        keys = signing_keys.created(output)
        plan = command.plan(observed, keys, inventory).accepted()
    if inventory is None:
        command.write_dry_run(issuer, keys, output)
        return ProvisionReport(plan, issuer, tuple(output.written))
    for step, resource in plan.existing.items():
        inventory.add(resource, step)
    if plan.steps:
        perform = command.performer(observed, plan, keys, output)
        issuer = steps.value_of(plan.issuer, runner.run_plan(plan, perform, inventory, options))
    command.write_outputs(issuer, keys, output)
    return ProvisionReport(plan, issuer, tuple(output.written))


def delete(plan: StepPlan, perform: Perform, inventory: Inventory, options: RunOptions) -> ProvisionReport:
    """Perform a plan that deletes, unless it is only to be shown. Raises StepsFailed."""
    if options.performs:
        runner.run_plan(plan, perform, inventory, options)
    return ProvisionReport(plan)
