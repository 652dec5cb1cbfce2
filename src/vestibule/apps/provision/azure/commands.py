"""The commands: read, check, observe, plan, perform, write. Each may be repeated; a rerun goes on.

Everything that can be wrong with flags, keys and requests is found before the first call and before the first
file. ``dry`` makes no call at all: the plan is that of an empty subscription, and Secrets are written so that
they cannot be applied. ``look`` only reads: the plan is exact, and nothing is written anywhere.
"""

from __future__ import annotations

import ssl
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from vestibule.adapters.clouds import publication
from vestibule.adapters.clouds.azure.arm import Arm
from vestibule.adapters.clouds.azure.endpoints import Endpoints
from vestibule.adapters.clouds.azure.login import login
from vestibule.adapters.clouds.azure.values import Role
from vestibule.apps.provision import manifests as shared
from vestibule.apps.provision import runner
from vestibule.apps.provision.azure import manifests, observed, plan, removal, request
from vestibule.apps.provision.azure.names import Names
from vestibule.apps.provision.azure.perform import Performer
from vestibule.apps.provision.azure.request import Wanted
from vestibule.apps.provision.inventory import Inventory
from vestibule.apps.provision.outputs import CONFIGURATION, KEYS, READABLE, Output
from vestibule.apps.provision.runner import How
from vestibule.apps.provision.steps import Plan
from vestibule.core.oidc import documents
from vestibule.core.oidc.keys import PublicKey
from vestibule.errors import InvalidInput, Problem

if TYPE_CHECKING:
    from azure.core.credentials import TokenCredential


class Report(NamedTuple):
    """What was, or would be, done."""

    plan: Plan
    issuer: str = ""
    files: tuple[str, ...] = ()
    done: bool = False


def issuer(wanted: Wanted, public_key: Path | None, how: How) -> Report:
    """Publish an issuer."""
    request.check(wanted, issuer=True, identities=False)
    output = Output(how.output)
    keys = output.public_key(public_key)
    return _issuer(wanted, keys, output, how)


def identities(wanted: Wanted, how: How) -> Report:
    """Identities for CredentialsRequests."""
    request.check(wanted, issuer=False, identities=True)
    if not wanted.issuer_url:
        raise InvalidInput(Problem("--issuer-url", "", "is missing, want the address of the issuer"))
    if not wanted.requests:
        return Report(Plan((), {}), wanted.issuer_url, done=True)  # all were passed over, and told
    return _identities(wanted, Output(how.output), how, oidc_planned=False)


def everything(wanted: Wanted, public_key: Path | None, how: How) -> Report:
    """A key pair unless one is given, the issuer, the identities."""
    request.check(wanted, issuer=True, identities=True)
    output = Output(how.output)
    if public_key is None and not how.look:
        output.key_pair()
    keys = output.public_key(public_key) if public_key or not how.look else ()
    if not how.look:
        output.folder("tls")
        output.folder("manifests")
    first = _issuer(wanted, keys, output, how)
    wanted = wanted._replace(issuer_url=first.issuer)
    second = _identities(wanted, output, how, oidc_planned=not first.done)
    both = Plan(
        (*first.plan.steps, *second.plan.steps),
        second.plan.known,
        (*first.plan.remarks, *second.plan.remarks),
    )
    return Report(both, first.issuer, tuple(output.written), second.done)


def delete(names: Names, cloud: Endpoints, subscription: str, how: How, *, whole_group: bool) -> Report:
    """Remove what is ours; ``dry`` and ``look`` only say what that is."""
    inventory = Inventory(how.output, "azure", names.name)
    arm, credential = _opened(cloud, subscription)
    found = observed.belongings(arm, names.oidc_group, names.account)
    planned = removal.plan(found, names, inventory, whole_group=whole_group)
    if how.dry or how.look:
        return Report(planned)
    wanted = Wanted(names, "", subscription, "", cloud, {}, "")
    runner.run_plan(planned, Performer(arm, credential, wanted, Output(how.output)), inventory, how)
    return Report(planned, done=True)


def _issuer(wanted: Wanted, keys: Sequence[PublicKey], output: Output, how: How) -> Report:
    url = wanted.issuer_url
    if how.dry or wanted.issuer_mode == "none":
        if not url:
            text = "is missing: the address of the website is known only when its account exists"
            raise InvalidInput(Problem("--issuer-url", "", text))
        planned = plan.issuer(wanted, observed.NOTHING)
        _documents(wanted, url, keys, output)
        return Report(planned, url, tuple(output.written), done=wanted.issuer_mode == "none")
    arm, credential = _opened(wanted.cloud, wanted.subscription)
    found = observed.issuer(arm, wanted)
    planned = plan.issuer(wanted, found)
    if how.look:
        return Report(planned, url or (found.account.web if found.account else ""))
    inventory = Inventory(how.output, "azure", wanted.names.name)
    fetch = _fetching(wanted) if how.verify else None
    performer = Performer(arm, credential, wanted, output, keys, fetch=fetch, pause=how.pause)
    results = runner.run_plan(planned, performer, inventory, how)
    url = results["documents"]["issuer"]
    _documents(wanted, url, keys, output)
    return Report(planned, url, tuple(output.written), done=True)


def _documents(wanted: Wanted, url: str, keys: Sequence[PublicKey], output: Output) -> None:
    output.folder("manifests")
    output.write(CONFIGURATION, documents.configuration(url), READABLE)
    output.write(KEYS, documents.key_set(keys), READABLE)
    output.write(shared.AUTHENTICATION, shared.authentication(url))
    output.write(manifests.WEBHOOK, manifests.webhook(wanted.tenant))


def _identities(wanted: Wanted, output: Output, how: How, *, oidc_planned: bool) -> Report:
    if how.dry:
        planned = plan.identities(wanted, _imagined(wanted), oidc_planned=True)
        for one in wanted.requests:
            text = manifests.secret(
                one, client="", tenant="", region=wanted.region, subscription=wanted.subscription
            )
            output.write(shared.secret_path(one), text)
        return Report(planned, wanted.issuer_url, tuple(output.written))
    arm, credential = _opened(wanted.cloud, wanted.subscription)
    found = observed.identities(arm, wanted, how.parallel)
    planned = plan.identities(wanted, found, oidc_planned=oidc_planned and how.look)
    if how.look:
        return Report(planned, wanted.issuer_url)
    output.folder("manifests")
    inventory = Inventory(how.output, "azure", wanted.names.name)
    performer = Performer(arm, credential, wanted, output, pause=how.pause)
    runner.run_plan(planned, performer, inventory, how)
    return Report(planned, wanted.issuer_url, tuple(output.written), done=True)


def _imagined(wanted: Wanted) -> observed.Observed:
    """An empty subscription in which every role that is named exists."""
    titles = {title for one in wanted.requests for title in request.roles(one)[0].bindings}
    return observed.Observed(roles={title: (Role(title, title, title, ""),) for title in titles})


def _opened(cloud: Endpoints, subscription: str) -> tuple[Arm, TokenCredential]:
    credential = login(cloud)
    return Arm(credential, subscription, cloud), credential


def _fetching(wanted: Wanted) -> publication.Fetch:
    """Reads the issuer as nobody; in a cloud of the user's own, at the address that stands for it there."""
    fetch = publication.fetching(ssl.create_default_context())
    account, cloud = wanted.names.account, wanted.cloud
    if not cloud.public_address:
        return fetch
    issuer, there = (
        f"https://{account}.{cloud.blob_suffix}",
        cloud.public_address.replace("{account}", account),
    )
    return lambda url: fetch(url.replace(issuer, there, 1) if url.startswith(issuer) else url)
