"""The steps from the observed to the desired state. Pure: no call, no clock.

Ids are compared without regard to letter case, as Azure does. A resource that exists without our tag is used
and not recorded as ours. Role assignments are deleted only if their description says that we created them,
unless the user asks for more.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from vestibule.clouds.azure.resources import ResourceGroup
from vestibule.errors import InputProblem
from vestibule.provision.azure import actions as do
from vestibule.provision.azure import names as rules
from vestibule.provision.azure.identity_plan import IdentityPlan
from vestibule.provision.azure.observed import ObservedAzure
from vestibule.provision.azure.request import AzureRequest
from vestibule.provision.steps import OwnedResource, PlannedStep, StepPlan, StepResult, Value

WEBSITE_CONTAINER = "$web"


def issuer(desired: AzureRequest, observed: ObservedAzure) -> StepPlan:
    """Group, account, container, documents. Problem: a group in another region."""
    names = desired.names
    if desired.issuer_mode == "none":
        return StepPlan(issuer=desired.issuer_url)
    address: Value = desired.issuer_url or (observed.account.web if observed.account else "")
    steps: list[PlannedStep] = []
    fresh = observed.oidc_group is None
    steps += _group(names.oidc_group, observed.oidc_group, desired, desired.owned if fresh else desired.tags)
    account_tags = desired.owned if observed.account is None else desired.tags
    group_step = f"group/{names.oidc_group}"
    account_step = f"account/{names.account}"
    title = f"storage account {names.account}"
    remarks: list[str] = []
    if observed.account is None:
        public = desired.issuer_mode == "blob"
        # ccoctl's body for a public one; behind Azure Front Door nothing is public and keys are unused
        private = desired.issuer_mode == "private"
        properties = {"allowBlobPublicAccess": public} | ({"allowSharedKeyAccess": False} if private else {})
        action = do.CreateStorageAccount(
            names.oidc_group, names.account, desired.region, account_tags, properties
        )
        resource = OwnedResource("account", f"{names.oidc_group}/{names.account}")
        steps.append(PlannedStep(account_step, "create", title, action, (group_step,), resource))
    elif merged := rules.merged(observed.account.tags, desired.tags):
        action2 = do.TagAccount(names.oidc_group, names.account, merged)
        steps.append(PlannedStep(account_step, "update", title, action2, (group_step,), why="tags"))
    if observed.account is not None and desired.issuer_mode == "blob" and not observed.account.public:
        remarks.append(
            f"storage account {names.account} forbids public access: the issuer cannot be read until it is "
            "allowed; or use --issuer-mode website or private"
        )
    website = desired.issuer_mode == "website"
    container = WEBSITE_CONTAINER if website else names.container
    needs: tuple[str, ...] = (group_step, account_step)
    if not website:
        steps += _container(desired, observed, needs)
        needs = (*needs, f"container/{names.container}")
    blob_tags = desired.owned if fresh or observed.account is None else dict(desired.tags)
    action3 = do.PublishToBlobs(names.oidc_group, names.account, container, website, blob_tags)
    steps.append(
        PlannedStep("documents", "publish", f"discovery document and keys in {container}", action3, needs)
    )
    return StepPlan(
        tuple(steps),
        {},
        tuple(remarks),
        tuple(_other_region(names.oidc_group, observed.oidc_group, desired.region)),
        issuer=address or StepResult("documents", "issuer"),
    )


def _container(
    desired: AzureRequest, observed: ObservedAzure, needs: tuple[str, ...]
) -> Iterator[PlannedStep]:
    names = desired.names
    public = "Container" if desired.issuer_mode == "blob" else "None"
    identifier, title = f"container/{names.container}", f"container {names.container}"
    action = do.PutContainer(names.oidc_group, names.account, names.container, public)
    if observed.container is None:
        resource = OwnedResource("container", f"{names.account}/{names.container}")
        yield PlannedStep(identifier, "create", title, action, needs, resource)
    elif public == "Container" and observed.container.public == "None":
        yield PlannedStep(identifier, "update", title, action, needs, why="public reads are denied")


def identities(
    desired: AzureRequest, observed: ObservedAzure, *, issuer: Value = "", oidc_planned: bool = False
) -> StepPlan:
    """The installation group, then per request: identity, role, assignments, credentials, Secret.

    ``issuer``: its URL, if that is not in ``desired``. ``oidc_planned``: the group of the identities is
    created by steps before these. Problems: a group in another region, no such group, a role that does not
    exist or is not the only one of its name.
    """
    names = desired.names
    problems: list[InputProblem] = []
    if observed.oidc_group is None and not oidc_planned and desired.requests:
        text = f"names the group {names.oidc_group!r}, which does not exist, want that of create-oidc-issuer"
        problems.append(InputProblem("--oidc-resource-group-name", "", text))
    problems += _other_region(names.installation_group, observed.installation_group, desired.region)
    steps: list[PlannedStep] = [
        *_group(names.installation_group, observed.installation_group, desired, desired.owned)
    ]
    known: dict[str, Mapping[str, str]] = {}
    remarks: list[str] = []
    for request in desired.requests:
        one = IdentityPlan(desired, observed, request, issuer or desired.issuer_url, problems)
        steps += one.steps()
        known.update(one.known)
        remarks += one.remarks
    return StepPlan(tuple(steps), known, tuple(remarks), tuple(problems))


def _group(
    name: str, existing: ResourceGroup | None, desired: AzureRequest, tags: Mapping[str, str]
) -> Iterator[PlannedStep]:
    identifier, title = f"group/{name}", f"resource group {name}"
    if existing is None:
        yield PlannedStep(
            identifier,
            "create",
            title,
            do.PutGroup(name, desired.region, desired.owned),
            resource=OwnedResource("group", name),
        )
        return
    if merged := rules.merged(existing.tags, tags):
        yield PlannedStep(
            identifier, "update", title, do.PutGroup(name, existing.location, merged), why="tags"
        )


def _other_region(name: str, existing: ResourceGroup | None, region: str) -> Iterator[InputProblem]:
    if existing is not None and not rules.same_region(existing.location, region):
        text = f"is {region!r}, and resource group {name} is in {existing.location!r}, want the same region"
        yield InputProblem("--region", "", text)
