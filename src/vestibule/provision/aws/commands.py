"""The commands of ``vestibule aws`` as parts of the provisioning flow, and ``delete``."""

from __future__ import annotations

import functools
from collections.abc import Sequence
from pathlib import Path

from vestibule.clouds.aws.account import AwsAccount
from vestibule.oidc.keys import PublicKey
from vestibule.provision import flow
from vestibule.provision.aws import delete_plan, dryrun_files
from vestibule.provision.aws import observed as observing
from vestibule.provision.aws import plan as plans
from vestibule.provision.aws import request as requests
from vestibule.provision.aws.observed import ObservedAws
from vestibule.provision.aws.perform import AwsPerformer
from vestibule.provision.aws.request import AwsRequest
from vestibule.provision.flow import ProvisionReport, SigningKeys
from vestibule.provision.inventory import Inventory
from vestibule.provision.outputs import Output
from vestibule.provision.runner import RunOptions
from vestibule.provision.steps import StepPlan

_ANY_REGION = "us-east-1"
"""IAM has no regions, but its client wants one."""


def issuer(desired: AwsRequest, public_key: Path | None, options: RunOptions) -> ProvisionReport:
    """Create bucket, documents and IAM identity provider."""
    return flow.run(AwsProvisioning(desired, options, issuer=True), options, SigningKeys(public_key))


def roles(desired: AwsRequest, options: RunOptions) -> ProvisionReport:
    """Create roles for CredentialsRequests."""
    return flow.run(AwsProvisioning(desired, options, roles=True), options)


def everything(desired: AwsRequest, public_key: Path | None, options: RunOptions) -> ProvisionReport:
    """Create a key pair unless a key is given, the issuer and the roles."""
    command = AwsProvisioning(desired, options, issuer=True, roles=True)
    return flow.run(command, options, SigningKeys(public_key, create=True))


def delete(name: str, region: str, options: RunOptions) -> ProvisionReport:
    """Delete what has our tag; a dry run only reads."""
    account = AwsAccount(region)
    inventory = Inventory(options.output, "aws", name)
    planned = delete_plan.plan(account, name)
    return flow.delete(planned, delete_plan.AwsDeleter(account, options.pause), inventory, options)


class AwsProvisioning:
    """The issuer, the roles, or both."""

    def __init__(
        self, desired: AwsRequest, options: RunOptions, *, issuer: bool = False, roles: bool = False
    ) -> None:
        self._desired, self._options, self._issuer, self._roles = desired, options, issuer, roles
        self.owner = ("aws", desired.name)

    @functools.cached_property
    def _account(self) -> AwsAccount:
        return AwsAccount(self._desired.region or _ANY_REGION)

    def check(self) -> None:
        """Raises InvalidInput with every problem of names, flags and CredentialsRequests."""
        requests.check(self._desired)

    def observe(self) -> ObservedAws:
        """What the issuer consists of, and the roles of the requests."""
        observed = observing.issuer(self._account, self._desired) if self._issuer else ObservedAws()
        if self._roles:
            found = observing.roles(self._account, self._desired, self._options.parallel)
            observed = observed._replace(roles=found)
        return observed

    def assume_empty(self) -> ObservedAws:
        """An empty account."""
        return ObservedAws()

    def plan(self, observed: ObservedAws, keys: Sequence[PublicKey], inventory: Inventory | None) -> StepPlan:
        """The issuer first: no role trusts an issuer that is not published."""
        planned = plans.issuer(self._desired, observed) if self._issuer else StepPlan()
        if not self._roles:
            return planned
        provider = self._desired.provider or plans.provider_arn(observed)
        return planned.then(plans.roles(self._desired, observed, provider), "documents", "provider")

    def performer(
        self, observed: ObservedAws, plan: StepPlan, keys: Sequence[PublicKey], output: Output
    ) -> AwsPerformer:
        """Performs steps with the login of the user."""
        return AwsPerformer(
            self._account,
            self._desired,
            output,
            keys,
            known=plan.known,
            verify=self._options.verify,
            pause=self._options.pause,
        )

    def write_outputs(self, issuer: str, keys: Sequence[PublicKey], output: Output) -> None:
        """Nothing: steps write all files."""

    def write_dry_run(self, issuer: str, keys: Sequence[PublicKey], output: Output) -> None:
        """Files for the ``aws`` command, and Secrets that cannot be applied."""
        if self._issuer:
            dryrun_files.issuer(self._desired, issuer, keys, output)
        if self._roles:
            dryrun_files.roles(self._desired, output)
