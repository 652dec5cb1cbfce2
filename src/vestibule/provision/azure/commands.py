"""The commands of ``vestibule azure`` as parts of the provisioning flow, and ``delete``."""

from __future__ import annotations

import functools
import ssl
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from vestibule.clouds import publisher
from vestibule.clouds.azure.arm import Arm
from vestibule.clouds.azure.endpoints import AzureEndpoints
from vestibule.clouds.azure.login import login
from vestibule.clouds.azure.resources import AzureRole
from vestibule.errors import InputProblem, InvalidInput
from vestibule.oidc.keys import PublicKey
from vestibule.provision import flow
from vestibule.provision import manifests as shared
from vestibule.provision.azure import delete_plan, manifests, plan, request
from vestibule.provision.azure import observed as observing
from vestibule.provision.azure.names import AzureNames
from vestibule.provision.azure.observed import ObservedAzure
from vestibule.provision.azure.perform import AzurePerformer
from vestibule.provision.azure.request import AzureRequest
from vestibule.provision.flow import ProvisionReport, SigningKeys
from vestibule.provision.inventory import Inventory
from vestibule.provision.outputs import Output
from vestibule.provision.runner import RunOptions
from vestibule.provision.steps import StepPlan

if TYPE_CHECKING:
    from azure.core.credentials import TokenCredential


def issuer(desired: AzureRequest, public_key: Path | None, options: RunOptions) -> ProvisionReport:
    """Publish an issuer."""
    command = AzureProvisioning(desired, options, issuer=True)
    return flow.run(command, options, SigningKeys(public_key))


def identities(desired: AzureRequest, options: RunOptions) -> ProvisionReport:
    """Create managed identities for CredentialsRequests."""
    command = AzureProvisioning(desired, options, identities=True)
    if not desired.requests:  # all were skipped, and reported as such
        command.check()
        return ProvisionReport(StepPlan(), desired.issuer_url)
    return flow.run(command, options)


def everything(desired: AzureRequest, public_key: Path | None, options: RunOptions) -> ProvisionReport:
    """Create a key pair unless a key is given, the issuer and the managed identities."""
    command = AzureProvisioning(desired, options, issuer=True, identities=True)
    return flow.run(command, options, SigningKeys(public_key, create=True))


def delete(
    names: AzureNames, cloud: AzureEndpoints, subscription: str, options: RunOptions, *, entire_group: bool
) -> ProvisionReport:
    """Delete what belongs to a name; a dry run only reads."""
    inventory = Inventory(options.output, "azure", names.name)
    credential = login(cloud)
    arm = Arm(credential, subscription, cloud)
    observed = observing.belongings(arm, names.oidc_group, names.account)
    planned = delete_plan.plan(observed, names, inventory, entire_group=entire_group)
    desired = AzureRequest(names, "", subscription, "", cloud, {}, "")
    performer = AzurePerformer(arm, credential, desired, Output(options.output))
    return flow.delete(planned, performer, inventory, options)


class AzureProvisioning:
    """The issuer, the managed identities, or both."""

    def __init__(
        self, desired: AzureRequest, options: RunOptions, *, issuer: bool = False, identities: bool = False
    ) -> None:
        self._desired, self._options, self._issuer, self._identities = desired, options, issuer, identities
        self._publishes = issuer and desired.issuer_mode != "none"
        self.owner = ("azure", desired.names.name)

    @functools.cached_property
    def _credential(self) -> TokenCredential:
        return login(self._desired.cloud)

    @functools.cached_property
    def _arm(self) -> Arm:
        return Arm(self._credential, self._desired.subscription, self._desired.cloud)

    def check(self) -> None:
        """Raises InvalidInput with every problem of names, flags and CredentialsRequests."""
        request.check(self._desired, issuer=self._issuer, identities=self._identities)
        if self._desired.issuer_url:
            return
        if not self._issuer:
            text = "is missing, want the address of the issuer"
            raise InvalidInput(InputProblem("--issuer-url", "", text))
        if self._options.dry_run:
            text = "is missing: the address of the website is known only when its account exists"
            raise InvalidInput(InputProblem("--issuer-url", "", text))

    def observe(self) -> ObservedAzure:
        """Resource groups, and what the issuer and the identities consist of."""
        if not (self._publishes or self._identities):
            return observing.NOTHING
        observed = observing.oidc_group(self._arm, self._desired)
        if self._publishes:
            observed = observing.issuer(self._arm, self._desired, observed)
        if self._identities:
            observed = observing.identities(self._arm, self._desired, self._options.parallel, observed)
        return observed

    def assume_empty(self) -> ObservedAzure:
        """An empty subscription in which every role that a CredentialsRequest names exists."""
        titles = {title for one in self._desired.requests for title in request.roles(one)[0].bindings}
        return ObservedAzure(roles={title: (AzureRole(title, title, title, ""),) for title in titles})

    def plan(
        self, observed: ObservedAzure, keys: Sequence[PublicKey], inventory: Inventory | None
    ) -> StepPlan:
        """The issuer first: no identity trusts an issuer that is not published."""
        desired = self._desired
        planned = plan.issuer(desired, observed) if self._issuer else StepPlan(issuer=desired.issuer_url)
        if not self._identities:
            return planned
        creates_group = self._publishes or self._options.dry_run
        identities = plan.identities(desired, observed, issuer=planned.issuer, oidc_planned=creates_group)
        return planned.then(identities, "documents")

    def performer(
        self, observed: ObservedAzure, plan: StepPlan, keys: Sequence[PublicKey], output: Output
    ) -> AzurePerformer:
        """Performs steps with the login of the user."""
        return AzurePerformer(
            self._arm,
            self._credential,
            self._desired,
            output,
            keys,
            fetch=_fetch(self._desired) if self._options.verify else None,
            pause=self._options.pause,
        )

    def write_outputs(self, issuer: str, keys: Sequence[PublicKey], output: Output) -> None:
        """The documents of an issuer that others publish, and the directories that the installer expects."""
        if self._issuer and not self._publishes:
            manifests.write_issuer(output, issuer, keys, self._desired.tenant)
        output.folder("manifests")
        if self._issuer and self._identities:
            output.folder("tls")

    def write_dry_run(self, issuer: str, keys: Sequence[PublicKey], output: Output) -> None:
        """The documents of the issuer, and Secrets that cannot be applied."""
        desired = self._desired
        if self._issuer:
            manifests.write_issuer(output, issuer, keys, desired.tenant)
        if self._issuer and self._identities:
            output.folder("tls")
        for one in desired.requests if self._identities else ():
            text = manifests.secret(
                one, client="", tenant="", region=desired.region, subscription=desired.subscription
            )
            output.write(shared.secret_path(one), text)


def _fetch(desired: AzureRequest) -> publisher.Fetch:
    """Reads the issuer without a login; in a cloud that a file describes, at the address that it names."""
    fetch = publisher.fetching(ssl.create_default_context())
    account, cloud = desired.names.account, desired.cloud
    if not cloud.public_address:
        return fetch
    issuer = f"https://{account}.{cloud.blob_suffix}"
    address = cloud.public_address.replace("{account}", account)
    return lambda url: fetch(url.replace(issuer, address, 1) if url.startswith(issuer) else url)
