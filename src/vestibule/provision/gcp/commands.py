"""The commands of ``vestibule gcp`` as parts of the provisioning flow, and ``delete``."""

from __future__ import annotations

import functools
from collections.abc import Sequence
from pathlib import Path

from vestibule.clouds.gcp.endpoints import UNIVERSE
from vestibule.clouds.gcp.project import Project
from vestibule.oidc.keys import PublicKey
from vestibule.provision import flow
from vestibule.provision import manifests as shared
from vestibule.provision.flow import ProvisionReport, SigningKeys
from vestibule.provision.gcp import delete_plan, dryrun_files
from vestibule.provision.gcp import observed as observing
from vestibule.provision.gcp import plan as plans
from vestibule.provision.gcp import request as requests
from vestibule.provision.gcp.delete_plan import DeleteInputs
from vestibule.provision.gcp.observed import ObservedGcp
from vestibule.provision.gcp.perform import GcpPerformer
from vestibule.provision.gcp.request import GcpRequest
from vestibule.provision.inventory import Inventory
from vestibule.provision.outputs import Output
from vestibule.provision.runner import RunOptions
from vestibule.provision.steps import StepPlan


def pool(desired: GcpRequest, options: RunOptions) -> ProvisionReport:
    """Create the workload identity pool."""
    return flow.run(GcpProvisioning(desired, options, pool=True), options)


def issuer(desired: GcpRequest, public_key: Path | None, options: RunOptions) -> ProvisionReport:
    """Create bucket, documents and provider in a pool that exists."""
    return flow.run(GcpProvisioning(desired, options, issuer=True), options, SigningKeys(public_key))


def accounts(desired: GcpRequest, options: RunOptions) -> ProvisionReport:
    """Create service accounts for CredentialsRequests and a provider that exists."""
    return flow.run(GcpProvisioning(desired, options, accounts=True), options)


def everything(desired: GcpRequest, public_key: Path | None, options: RunOptions) -> ProvisionReport:
    """Create a key pair unless a key is given, the pool, the issuer and the service accounts."""
    command = GcpProvisioning(desired, options, pool=True, issuer=True, accounts=True)
    return flow.run(command, options, SigningKeys(public_key, create=True))


def delete(unwanted: DeleteInputs, options: RunOptions) -> ProvisionReport:
    """Delete what belongs to a name; a dry run only reads."""
    desired = GcpRequest(unwanted.name, unwanted.project, universe=unwanted.universe, where=unwanted.where)
    requests.check(desired)
    inventory = Inventory(options.output, *_owner(desired))
    project = _project(desired, options)
    left = delete_plan.observe(project, unwanted, inventory.resources)
    planned = delete_plan.plan(unwanted, left, inventory.resources)
    if options.performs:
        for gone in [*delete_plan.forgotten(left, inventory.resources)]:
            inventory.drop(gone)
    return flow.delete(planned, delete_plan.GcpDeleter(project, inventory), inventory, options)


class GcpProvisioning:
    """The pool, the issuer, the service accounts, or all of them."""

    def __init__(
        self,
        desired: GcpRequest,
        options: RunOptions,
        *,
        pool: bool = False,
        issuer: bool = False,
        accounts: bool = False,
    ) -> None:
        self._desired, self._options = desired, options
        self._pool, self._issuer, self._accounts = pool, issuer, accounts
        self.owner = _owner(desired)

    @functools.cached_property
    def _project(self) -> Project:
        return _project(self._desired, self._options)

    def check(self) -> None:
        """Raises InvalidInput with every problem of names, flags and CredentialsRequests."""
        requests.check(self._desired)

    def observe(self) -> ObservedGcp:
        """The pool, and what the issuer and the service accounts consist of."""
        project, desired = self._project, self._desired
        number = project.number() if self._issuer or self._accounts else ""
        observed = observing.pool(project, desired, ObservedGcp(number))
        if self._issuer:
            observed = observing.issuer(project, desired, observed)
        elif self._accounts:
            observed = observed._replace(providers=observing.providers_of(project, observed.pool))
        if self._accounts:
            observed = observing.accounts(project, desired, self._options.parallel, observed)
        return observed

    def assume_empty(self) -> ObservedGcp:
        """An empty project."""
        return ObservedGcp()

    def plan(self, observed: ObservedGcp, keys: Sequence[PublicKey], inventory: Inventory | None) -> StepPlan:
        """Pool, issuer and service accounts; a pool or provider that is not created must exist."""
        desired, planned = self._desired, StepPlan()
        if self._pool:
            known = inventory is not None and inventory.holds("pool", desired.pool_name)
            planned = plans.pool(desired, observed, known)
        elif not self._options.dry_run:
            planned = plans.foreign_pool(desired, observed, provider=not self._issuer)
        if self._issuer:
            planned = planned.then(plans.issuer(desired, observed, keys))
        if self._accounts:
            recorded = inventory.resources if inventory is not None else ()
            ids = frozenset(one.id for one in recorded if one.kind == "account")
            planned = planned.then(plans.accounts(desired, observed, ids))
        return planned

    def performer(
        self, observed: ObservedGcp, plan: StepPlan, keys: Sequence[PublicKey], output: Output
    ) -> GcpPerformer:
        """Performs steps with the login of the user."""
        return GcpPerformer(
            self._project,
            self._desired,
            observed.number,
            keys,
            output,
            verify=self._options.verify,
            pause=self._options.pause,
        )

    def write_outputs(self, issuer: str, keys: Sequence[PublicKey], output: Output) -> None:
        """The manifest that makes the cluster use the issuer."""
        if self._issuer:
            output.folder("manifests")
            output.write(shared.AUTHENTICATION, shared.authentication(issuer))

    def write_dry_run(self, issuer: str, keys: Sequence[PublicKey], output: Output) -> None:
        """Scripts for gcloud and gsutil, and local files."""
        if self._pool:
            dryrun_files.pool(self._desired, output)
        if self._issuer:
            dryrun_files.issuer(self._desired, keys, output)
        if self._accounts:
            dryrun_files.accounts(self._desired, output)


def _owner(desired: GcpRequest) -> tuple[str, str]:
    return "gcp", f"{desired.project}/{desired.name}"


def _project(desired: GcpRequest, options: RunOptions) -> Project:
    universe = desired.universe or UNIVERSE
    return Project(desired.project, desired.where, universe=universe, pause=options.pause)
