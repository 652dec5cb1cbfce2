"""The commands of ``vestibule azure``: flags to values, values to the app, results to people."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import click

from vestibule.cli.azure import flags
from vestibule.cli.provisioning import flags as shared
from vestibule.cli.provisioning import runs
from vestibule.cli.provisioning.keypair import key_pair

__all__ = ["delete", "everything", "identities", "issuer", "key_pair", "role"]

if TYPE_CHECKING:
    from vestibule.apps.provision.azure.names import Names
    from vestibule.apps.provision.azure.request import Wanted

_COMMON: Final = (shared.OUTPUT_DIR, flags.CLOUD, flags.PARALLEL, shared.PLAN, shared.OUTPUT)
_ISSUER: Final = (flags.ACCOUNT, flags.CONTAINER, shared.PUBLIC_KEY, flags.MODE, shared.VERIFY)
_IDENTITIES: Final = (
    shared.REQUESTS,
    flags.INSTALLATION_GROUP,
    flags.DNS_GROUP,
    flags.NETWORK_GROUP,
    shared.TECH_PREVIEW,
    flags.PRESERVE,
    flags.PRUNE,
)


@click.command("create-oidc-issuer")
@shared.all_of(
    shared.NAME,
    flags.REGION,
    flags.SUBSCRIPTION,
    flags.TENANT,
    flags.OIDC_GROUP,
    *_ISSUER,
    flags.ISSUER_URL,
    flags.USER_TAGS,
    flags.DRY_RUN,
    *_COMMON,
)
def issuer(**given: Any) -> None:
    """Publish discovery document and keys in a storage account.

    Keys are merged with those that are published, never replaced: a running cluster keeps its own.
    """
    from vestibule.apps.provision.azure import commands

    _require(given, "--name", "--region", "--subscription-id", "--tenant-id")
    wanted = _wanted(given)
    runs.show(commands.issuer(wanted, given["public_key"], runs.how(given)), given)


@click.command("create-managed-identities")
@shared.all_of(
    shared.NAME,
    flags.REGION,
    flags.SUBSCRIPTION,
    flags.ISSUER_URL,
    flags.OIDC_GROUP,
    *_IDENTITIES,
    flags.USER_TAGS,
    flags.DRY_RUN,
    *_COMMON,
)
def identities(**given: Any) -> None:
    """Make an identity with its roles, federated credentials and Secret for every CredentialsRequest."""
    from vestibule.apps.provision.azure import commands

    _require(given, "--name", "--region", "--subscription-id", "--issuer-url", "--credentials-requests-dir")
    found = runs.requests(given, "azure")
    wanted = _wanted(given)._replace(requests=found.requests)
    runs.show(commands.identities(wanted, runs.how(given)), given, found)


@click.command("create-all")
@shared.all_of(
    shared.NAME,
    flags.REGION,
    flags.SUBSCRIPTION,
    flags.TENANT,
    flags.OIDC_GROUP,
    *_ISSUER,
    flags.ISSUER_URL,
    *_IDENTITIES,
    flags.USER_TAGS,
    flags.DRY_RUN,
    *_COMMON,
)
def everything(**given: Any) -> None:
    """A key pair (unless --public-key-file is given), the issuer, and the identities."""
    from vestibule.apps.provision.azure import commands

    _require(given, "--name", "--region", "--subscription-id", "--tenant-id", "--credentials-requests-dir")
    found = runs.requests(given, "azure")
    wanted = _wanted(given)._replace(requests=found.requests)
    runs.show(commands.everything(wanted, given["public_key"], runs.how(given)), given, found)


@click.command("delete")
@shared.all_of(
    shared.NAME,
    flags.REGION,
    flags.SUBSCRIPTION,
    flags.OIDC_GROUP,
    flags.ACCOUNT,
    click.option(
        "--delete-oidc-resource-group",
        "whole_group",
        is_flag=True,
        help="Delete the OIDC group, too, if nothing but ours is in it.",
    ),
    click.option("--dry-run", "dry", is_flag=True, help="Say what would be deleted, and delete nothing."),
    *_COMMON,
)
def delete(**given: Any) -> None:
    """Remove what was made, and nothing else: what bears our tag or description, or stands in the inventory
    of the output directory. Keys and files stay."""
    from vestibule.adapters.clouds.azure import endpoints
    from vestibule.apps.provision.azure import commands, names
    from vestibule.errors import InvalidInput

    _require(given, "--name", "--subscription-id")
    called = _names(given)
    deletes_account = not given["whole_group"] and (
        given["account"] or not names.account_flaw(called.account)
    )
    if not deletes_account:
        called = called._replace(account="" if names.account_flaw(called.account) else called.account)
    problems = [
        *names.problems(called, account=bool(called.account), identities=False),
        *names.guid_problem("--subscription-id", given["subscription"]),
    ]
    if problems:
        raise InvalidInput(*problems)
    runs.show(
        commands.delete(
            called,
            endpoints.of(given["cloud"]),
            given["subscription"],
            runs.how(given),
            whole_group=given["whole_group"],
        ),
        given,
    )


@click.command("role")
@click.option(
    "--for",
    "command",
    type=click.Choice(["create-oidc-issuer", "create-managed-identities", "create-all", "delete"]),
    required=True,
    help="The command that is to be run.",
)
@shared.all_of(shared.NAME, flags.SUBSCRIPTION, flags.MODE)
def role(command: str, name: str, subscription: str, mode: str) -> None:
    """Print the custom role that a run needs, and no more, as `az role definition create` takes it."""
    from vestibule.apps.provision.azure import rights
    from vestibule.cli import printer

    shared.required({"--name": name, "--subscription-id": subscription})
    click.echo(printer.json_text(rights.role(command, name, subscription, mode)), nl=False)


def _require(given: dict[str, Any], *wanted: str) -> None:
    keys = {
        "--subscription-id": "subscription",
        "--tenant-id": "tenant",
        "--credentials-requests-dir": "requests_dir",
        "--issuer-url": "issuer_url",
    }
    shared.required({flag: given[keys.get(flag, flag.removeprefix("--"))] for flag in wanted})


def _names(given: dict[str, Any]) -> Names:
    from vestibule.apps.provision.azure.names import Names as Made

    name = given["name"]
    return Made(
        name,
        given.get("oidc_group") or f"{name}-oidc",
        given.get("installation_group") or name,
        given.get("account") or name,
        given.get("container") or name,
        given.get("dns_group") or "",
        given.get("network_group") or "",
    )


def _wanted(given: dict[str, Any]) -> Wanted:
    from vestibule.adapters.clouds.azure import endpoints
    from vestibule.apps.provision.azure import request

    cloud = endpoints.of(given["cloud"])
    called = _names(given)
    mode = given.get("mode", "none")
    url = given.get("issuer_url") or ""
    return request.Wanted(
        called,
        given["region"],
        given["subscription"],
        given.get("tenant", ""),
        cloud,
        flags.tags(given["user_tags"]),
        request.issuer_url(mode, called, cloud, url),
        mode,
        preserve=given.get("preserve", False),
        prune=given.get("prune", False),
    )
