"""The commands of ``vestibule gcp``: check, observe, plan, perform, write. A rerun goes on from there.

``create-all`` observes and plans everything before it does anything, so that whatever is in the way is told
before the first change.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from vestibule.adapters.clouds.gcp.endpoints import UNIVERSE
from vestibule.adapters.clouds.gcp.project import Project
from vestibule.apps.provision import manifests as shared
from vestibule.apps.provision import runner
from vestibule.apps.provision.gcp import observed, removal, scripts
from vestibule.apps.provision.gcp import plan as plans
from vestibule.apps.provision.gcp import request as requests
from vestibule.apps.provision.gcp.observed import Observed
from vestibule.apps.provision.gcp.perform import Performing
from vestibule.apps.provision.gcp.plan import Plan
from vestibule.apps.provision.gcp.removal import Unwanted
from vestibule.apps.provision.gcp.request import Wanted
from vestibule.apps.provision.inventory import Inventory
from vestibule.apps.provision.outputs import PUBLIC_KEY, Output
from vestibule.apps.provision.runner import How
from vestibule.core.oidc.keys import PublicKey


class Report(NamedTuple):
    """What was, or would be, done."""

    plan: Plan
    issuer: str = ""
    files: tuple[str, ...] = ()


def pool(wanted: Wanted, how: How) -> Report:
    """The pool."""
    requests.check(wanted)
    output = Output(how.output)
    if how.dry:
        scripts.pool(wanted, output)
        return Report(plans.pool(wanted, Observed()), files=tuple(output.written))
    project, inventory = _opened(wanted, how)
    found = observed.pool(project, wanted, Observed())
    planned = plans.pool(wanted, found, inventory.holds("pool", wanted.pool_name)).accepted()
    return _performed(planned, wanted, project, inventory, found, (), output, how)


def issuer(wanted: Wanted, public_key: Path | None, how: How) -> Report:
    """Bucket, documents, provider, in a pool that exists."""
    requests.check(wanted)
    output = Output(how.output)
    keys = output.public_key(public_key)
    if how.dry:
        scripts.issuer(wanted, keys, output)
        return Report(plans.issuer(wanted, Observed(), keys), wanted.issuer, tuple(output.written))
    project, inventory = _opened(wanted, how)
    found = observed.pool(project, wanted, Observed(project.number()))
    found = observed.issuer(project, wanted, found)
    planned = plans.foreign_pool(wanted, found, provider=False).then(plans.issuer(wanted, found, keys))
    report = _performed(planned.accepted(), wanted, project, inventory, found, keys, output, how)
    return _described(report, wanted, output, how)


def accounts(wanted: Wanted, how: How) -> Report:
    """Service accounts for CredentialsRequests, for a provider that exists."""
    requests.check(wanted)
    output = Output(how.output)
    if how.dry:
        scripts.accounts(wanted, output)
        return Report(plans.accounts(wanted, Observed()), files=tuple(output.written))
    project, inventory = _opened(wanted, how)
    found = observed.pool(project, wanted, Observed(project.number()))
    found = found._replace(providers=observed.providers_of(project, found.pool))
    found = observed.accounts(project, wanted, how.parallel, found)
    named = plans.foreign_pool(wanted, found, provider=True)
    planned = named.then(plans.accounts(wanted, found, _accounts(inventory))).accepted()
    return _performed(planned, wanted, project, inventory, found, (), output, how)


def everything(wanted: Wanted, public_key: Path | None, how: How) -> Report:
    """A key pair unless one is given, the pool, the issuer, the accounts."""
    requests.check(wanted)
    output = Output(how.output)
    keys: tuple[PublicKey, ...] = ()
    if public_key is not None or (how.look and (how.output / PUBLIC_KEY).exists()):
        keys = output.public_key(public_key)
    if how.dry:
        keys = keys or _new_keys(output)
        scripts.pool(wanted, output)
        scripts.issuer(wanted, keys, output)
        scripts.accounts(wanted, output)
        planned = _whole(wanted, Observed(), keys, None)
        return Report(planned, wanted.issuer, tuple(output.written))
    project, inventory = _opened(wanted, how)
    found = observed.pool(project, wanted, Observed(project.number()))
    found = observed.issuer(project, wanted, found)
    found = observed.accounts(project, wanted, how.parallel, found)
    _whole(wanted, found, keys, inventory).accepted()
    if not how.look:
        keys = keys or _new_keys(output)
    planned = _whole(wanted, found, keys, inventory)
    report = _performed(planned, wanted, project, inventory, found, keys, output, how)
    return _described(report, wanted, output, how)


def delete(unwanted: Unwanted, how: How) -> Report:
    """Remove what is ours."""
    wanted = Wanted(unwanted.name, unwanted.project, universe=unwanted.universe, where=unwanted.where)
    requests.check(wanted)
    project, inventory = _opened(wanted, how)
    left = removal.observe(project, unwanted, inventory.resources)
    planned = removal.plan(unwanted, left, inventory.resources)
    if not (how.dry or how.look):
        for gone in [*removal.forgotten(left, inventory.resources)]:
            inventory.drop(gone)
        runner.run_plan(planned, removal.Removing(project, inventory), inventory, how)
    return Report(planned)


def _whole(wanted: Wanted, found: Observed, keys: Sequence[PublicKey], inventory: Inventory | None) -> Plan:
    known = inventory is not None and inventory.holds("pool", wanted.pool_name)
    first = plans.pool(wanted, found, known).then(plans.issuer(wanted, found, keys))
    return first.then(plans.accounts(wanted, found, _accounts(inventory)))


def _new_keys(output: Output) -> tuple[PublicKey, ...]:
    output.key_pair()
    return output.public_key(None)


def _accounts(inventory: Inventory | None) -> frozenset[str]:
    resources = inventory.resources if inventory is not None else ()
    return frozenset(one.id for one in resources if one.kind == "account")


def _opened(wanted: Wanted, how: How) -> tuple[Project, Inventory]:
    """The inventory first: one that is about something else is told before there is a login."""
    inventory = Inventory(how.output, "gcp", f"{wanted.project}/{wanted.name}")
    universe = wanted.universe or UNIVERSE
    return Project(wanted.project, wanted.where, universe=universe, pause=how.pause), inventory


def _performed(
    planned: Plan,
    wanted: Wanted,
    project: Project,
    inventory: Inventory,
    found: Observed,
    keys: Sequence[PublicKey],
    output: Output,
    how: How,
) -> Report:
    if how.look:
        return Report(planned)
    for step, exists in planned.found.items():
        inventory.add(exists, step)
    perform = Performing(project, wanted, found.number, keys, output, verify=how.verify, pause=how.pause)
    runner.run_plan(planned, perform, inventory, how)
    return Report(planned, files=tuple(output.written))


def _described(report: Report, wanted: Wanted, output: Output, how: How) -> Report:
    """The manifest that tells the cluster its issuer."""
    if not how.look:
        output.folder("manifests")
        output.write(shared.AUTHENTICATION, shared.authentication(wanted.issuer))
    return report._replace(issuer=wanted.issuer, files=tuple(output.written))
