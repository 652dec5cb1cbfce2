"""From what is wanted and what exists to steps. Pure: no call, no clock.

Ids are compared without regard to letter case, as Azure does. A resource that exists and does not bear our
tag is used as it is and never called ours. Role assignments are removed only where we made them (they say so
in their description), unless the user asks for more.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from vestibule.adapters.clouds.azure.values import Group
from vestibule.apps.provision.azure import actions as do
from vestibule.apps.provision.azure import names as rules
from vestibule.apps.provision.azure.entry import Entry
from vestibule.apps.provision.azure.observed import Observed
from vestibule.apps.provision.azure.request import Wanted
from vestibule.apps.provision.steps import Plan, Resource, Step
from vestibule.errors import InvalidInput, Problem

WEBSITE_CONTAINER = "$web"


def issuer(wanted: Wanted, found: Observed) -> Plan:
    """Group, account, container, documents. Raises InvalidInput for a group in another region."""
    names = wanted.names
    if wanted.issuer_mode == "none":
        return Plan((), {})
    _same_region(names.oidc_group, found.oidc_group, wanted.region)
    steps: list[Step] = []
    fresh = found.oidc_group is None
    steps += _group(names.oidc_group, found.oidc_group, wanted, wanted.owned if fresh else wanted.tags)
    account_tags = wanted.owned if found.account is None else wanted.tags
    group_step = f"group/{names.oidc_group}"
    account_step = f"account/{names.account}"
    title = f"storage account {names.account}"
    remarks: list[str] = []
    if found.account is None:
        public = wanted.issuer_mode == "blob"
        # the original's body for a public one; behind a front door nothing is public and keys are of no use
        private = wanted.issuer_mode == "private"
        properties = {"allowBlobPublicAccess": public} | ({"allowSharedKeyAccess": False} if private else {})
        action = do.CreateAccount(names.oidc_group, names.account, wanted.region, account_tags, properties)
        made = Resource("account", f"{names.oidc_group}/{names.account}")
        steps.append(Step(account_step, "create", title, action, (group_step,), made))
    elif merged := rules.merged(found.account.tags, wanted.tags):
        action2 = do.TagAccount(names.oidc_group, names.account, merged)
        steps.append(Step(account_step, "update", title, action2, (group_step,), why="tags"))
    if found.account is not None and wanted.issuer_mode == "blob" and not found.account.public:
        remarks.append(
            f"storage account {names.account} forbids public access: nobody can read the issuer until it is "
            "allowed; or use --issuer-mode website or private"
        )
    website = wanted.issuer_mode == "website"
    container = WEBSITE_CONTAINER if website else names.container
    needs: tuple[str, ...] = (group_step, account_step)
    if not website:
        steps += _container(wanted, found, needs)
        needs = (*needs, f"container/{names.container}")
    blob_tags = wanted.owned if fresh or found.account is None else dict(wanted.tags)
    action3 = do.Publish(names.oidc_group, names.account, container, website, blob_tags)
    steps.append(Step("documents", "publish", f"discovery document and keys in {container}", action3, needs))
    return Plan(tuple(steps), {}, tuple(remarks))


def _container(wanted: Wanted, found: Observed, needs: tuple[str, ...]) -> Iterator[Step]:
    names = wanted.names
    public = "Container" if wanted.issuer_mode == "blob" else "None"
    identifier, title = f"container/{names.container}", f"container {names.container}"
    action = do.PutContainer(names.oidc_group, names.account, names.container, public)
    if found.container is None:
        made = Resource("container", f"{names.account}/{names.container}")
        yield Step(identifier, "create", title, action, needs, made)
    elif public == "Container" and found.container.public == "None":
        yield Step(identifier, "update", title, action, needs, why="nobody may read it")


def identities(wanted: Wanted, found: Observed, *, oidc_planned: bool = False) -> Plan:
    """The installation group, then per request: identity, role, assignments, credentials, Secret.

    ``oidc_planned``: the group of the identities is made by steps before these. Raises InvalidInput: a group
    in another region, no such group, a role that does not exist or is not the only one of its name.
    """
    names = wanted.names
    problems: list[Problem] = []
    if found.oidc_group is None and not oidc_planned and wanted.requests:
        text = f"names the group {names.oidc_group!r}, which does not exist, want that of create-oidc-issuer"
        problems.append(Problem("--oidc-resource-group-name", "", text))
    _same_region(names.installation_group, found.installation_group, wanted.region)
    steps: list[Step] = [*_group(names.installation_group, found.installation_group, wanted, wanted.owned)]
    known: dict[str, Mapping[str, str]] = {}
    remarks: list[str] = []
    for request in wanted.requests:
        one = Entry(wanted, found, request, problems)
        steps += one.steps()
        known.update(one.known)
        remarks += one.remarks
    if problems:
        raise InvalidInput(*problems)
    return Plan(tuple(steps), known, tuple(remarks))


def _group(name: str, found: Group | None, wanted: Wanted, tags: Mapping[str, str]) -> Iterator[Step]:
    identifier, title = f"group/{name}", f"resource group {name}"
    if found is None:
        yield Step(
            identifier,
            "create",
            title,
            do.PutGroup(name, wanted.region, wanted.owned),
            made=Resource("group", name),
        )
        return
    if merged := rules.merged(found.tags, tags):
        yield Step(identifier, "update", title, do.PutGroup(name, found.location, merged), why="tags")


def _same_region(name: str, found: Group | None, region: str) -> None:
    if found is not None and not rules.same_region(found.location, region):
        text = f"is {region!r}, and resource group {name} is in {found.location!r}, want the same region"
        raise InvalidInput(Problem("--region", "", text))
