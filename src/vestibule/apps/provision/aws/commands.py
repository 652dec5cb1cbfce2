"""The commands of ``vestibule aws``: check, observe, plan, perform, write. A rerun goes on from there."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from vestibule.adapters.clouds.aws.account import Account
from vestibule.apps.provision import manifests as shared
from vestibule.apps.provision import runner
from vestibule.apps.provision.aws import inputs, names, observed, removal
from vestibule.apps.provision.aws import plan as plans
from vestibule.apps.provision.aws import request as requests
from vestibule.apps.provision.aws.observed import Observed
from vestibule.apps.provision.aws.perform import Performing
from vestibule.apps.provision.aws.request import Wanted
from vestibule.apps.provision.inventory import Inventory
from vestibule.apps.provision.outputs import Output
from vestibule.apps.provision.runner import How
from vestibule.apps.provision.steps import Plan, Ref
from vestibule.core.oidc.keys import PublicKey


class Report(NamedTuple):
    """What was, or would be, done."""

    plan: Plan
    issuer: str = ""
    files: tuple[str, ...] = ()
    provider: str = ""


def issuer(wanted: Wanted, public_key: Path | None, how: How) -> Report:
    """Bucket, documents, IAM provider."""
    requests.check(wanted)
    output = Output(how.output)
    return _issuer(wanted, output.public_key(public_key), output, how)


def roles(wanted: Wanted, how: How) -> Report:
    """Roles for CredentialsRequests."""
    requests.check(wanted)
    return _roles(wanted, Output(how.output), how)


def everything(wanted: Wanted, public_key: Path | None, how: How) -> Report:
    """A key pair unless one is given, the issuer, the roles."""
    requests.check(wanted)
    output = Output(how.output)
    if public_key is None and not how.look:
        output.key_pair()
    keys = output.public_key(public_key) if public_key or not how.look else ()
    first = _issuer(wanted, keys, output, how)
    second = _roles(wanted._replace(provider=first.provider), output, how)
    both = Plan((*first.plan.steps, *second.plan.steps), {}, (*first.plan.remarks, *second.plan.remarks))
    return Report(both, first.issuer, tuple(output.written), first.provider)


def delete(name: str, region: str, how: How) -> Report:
    """Remove what bears our tag."""
    account = Account(region)
    inventory = Inventory(how.output, "aws", name)
    planned = removal.plan(account, name)
    if not (how.dry or how.look):
        runner.run_plan(planned, removal.Removing(account, how.pause), inventory, how)
    return Report(planned)


def _issuer(wanted: Wanted, keys: Sequence[PublicKey], output: Output, how: How) -> Report:
    url = "" if wanted.private else names.issuer(wanted.name, wanted.region)
    if how.dry:
        inputs.issuer(wanted, url, keys, output)
        return Report(plans.issuer(wanted, Observed()), url, tuple(output.written))
    account = Account(wanted.region)
    found = observed.issuer(account, wanted)
    planned = plans.issuer(wanted, found)
    provider = found.provider.arn if found.provider else ""
    if how.look:
        return Report(planned, url, provider=provider)
    inventory = Inventory(how.output, "aws", wanted.name)
    perform = Performing(
        account, wanted, output, keys, known=planned.known, verify=how.verify, pause=how.pause
    )
    results = runner.run_plan(planned, perform, inventory, how)
    url = results["documents"]["issuer"]
    provider = results["provider"]["arn"]
    output.folder("manifests")
    output.write(shared.AUTHENTICATION, shared.authentication(url))
    return Report(planned, url, tuple(output.written), provider)


def _roles(wanted: Wanted, output: Output, how: How) -> Report:
    provider = wanted.provider or Ref("provider", "arn")
    if how.dry:
        inputs.roles(wanted, output)
        return Report(plans.roles(wanted, Observed(), provider), files=tuple(output.written))
    account = Account(wanted.region or "us-east-1")
    found = observed.roles(account, wanted, how.parallel)
    planned = plans.roles(wanted, found, provider)
    if how.look:
        return Report(planned)
    inventory = Inventory(how.output, "aws", wanted.name)
    runner.run_plan(planned, Performing(account, wanted, output, known=planned.known), inventory, how)
    return Report(planned, files=tuple(output.written))
