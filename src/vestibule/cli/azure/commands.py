"""The commands of ``vestibule azure``: flags to values, values to the app, results to people."""

from __future__ import annotations

import time
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import click

from vestibule.cli import options
from vestibule.cli.azure import flags, shown

if TYPE_CHECKING:
    from vestibule.apps.provision.azure.commands import How
    from vestibule.apps.provision.azure.names import Names
    from vestibule.apps.provision.azure.request import Wanted
    from vestibule.apps.provision.credentials_requests import Found

_OUTPUT: Final = options.output("text", "json")
_COMMON: Final = (flags.OUTPUT_DIR, flags.CLOUD, flags.PARALLEL, flags.PLAN, _OUTPUT)
_ISSUER: Final = (flags.ACCOUNT, flags.CONTAINER, flags.PUBLIC_KEY, flags.MODE, flags.VERIFY)
_IDENTITIES: Final = (
    flags.REQUESTS,
    flags.INSTALLATION_GROUP,
    flags.DNS_GROUP,
    flags.NETWORK_GROUP,
    flags.TECH_PREVIEW,
    flags.PRESERVE,
    flags.PRUNE,
)


@click.command("create-key-pair")
@flags.all_of(flags.OUTPUT_DIR, _OUTPUT)
def key_pair(output_dir: Path, output: str) -> None:
    """Make the keys that sign ServiceAccount tokens: 4096-bit RSA, private from birth.

    A private key that exists is kept; its public half and the installer's copy are written if they are
    missing.
    """
    from vestibule.apps.provision.azure.commands import Report
    from vestibule.apps.provision.azure.plan import Plan
    from vestibule.apps.provision.outputs import Output

    files = Output(output_dir)
    made = files.key_pair()
    if not made and output != "json":
        click.echo("the private key exists: kept", err=True)
    shown.report(Report(Plan((), {}), "", tuple(files.written), done=True), output, planned=False)


@click.command("create-oidc-issuer")
@flags.all_of(
    flags.NAME,
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
    _show(commands.issuer(wanted, given["public_key"], _how(given)), given)


@click.command("create-managed-identities")
@flags.all_of(
    flags.NAME,
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
    found = _requests(given)
    wanted = _wanted(given)._replace(requests=found.requests)
    _show(commands.identities(wanted, _how(given)), given, found)


@click.command("create-all")
@flags.all_of(
    flags.NAME,
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
    found = _requests(given)
    wanted = _wanted(given)._replace(requests=found.requests)
    _show(commands.everything(wanted, given["public_key"], _how(given)), given, found)


@click.command("delete")
@flags.all_of(
    flags.NAME,
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
    _show(
        commands.delete(
            called,
            endpoints.of(given["cloud"]),
            given["subscription"],
            _how(given),
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
@flags.all_of(flags.NAME, flags.SUBSCRIPTION, flags.MODE)
def role(command: str, name: str, subscription: str, mode: str) -> None:
    """Print the custom role that a run needs, and no more, as `az role definition create` takes it."""
    from vestibule.apps.provision.azure import rights
    from vestibule.cli import printer

    flags.required({"--name": name, "--subscription-id": subscription})
    click.echo(printer.json_text(rights.role(command, name, subscription, mode)), nl=False)


def _require(given: dict[str, Any], *wanted: str) -> None:
    keys = {
        "--subscription-id": "subscription",
        "--tenant-id": "tenant",
        "--credentials-requests-dir": "requests_dir",
        "--issuer-url": "issuer_url",
    }
    flags.required({flag: given[keys.get(flag, flag.removeprefix("--"))] for flag in wanted})


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


def _requests(given: dict[str, Any]) -> Found:
    from vestibule.apps.provision import credentials_requests

    found = credentials_requests.load(given["requests_dir"], "azure", tech_preview=given["tech_preview"])
    if given["output"] != "json":
        shown.skipped(found.skipped)
    return found


def _how(given: dict[str, Any]) -> How:
    from vestibule.apps.provision.azure.commands import How as Made

    return Made(
        given["output_dir"],
        dry=given.get("dry", False),
        look=given["look"],
        parallel=given["parallel"],
        verify=given.get("verify", True),
        progress=shown.Lines(),
        pause=time.sleep,
    )


def _show(report: Any, given: dict[str, Any], found: Found | None = None) -> None:
    shown.report(
        report,
        given["output"],
        planned=given["look"] or given.get("dry", False),
        skipped=found.skipped if found else (),
    )
