"""The commands of ``vestibule azure``: from flags to a request, from the report to the output."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import click

from vestibule.cli.provisioning import flags, run
from vestibule.cli.provisioning.keypair import key_pair

__all__ = ["delete", "everything", "identities", "issuer", "key_pair", "role"]

if TYPE_CHECKING:
    from vestibule.provision.azure.names import AzureNames
    from vestibule.provision.azure.request import AzureRequest

_COMMON: Final = ("--output-dir", "--cloud", "--parallel", "--plan", "--output")
_ACCOUNT: Final = ("--name", "--region", "--subscription-id", "--tenant-id", "--oidc-resource-group-name")
_ISSUER: Final = (
    "--storage-account-name",
    "--blob-container-name",
    "--public-key-file",
    "--issuer-mode",
    "--verify",
    "--issuer-url",
)
_IDENTITIES: Final = (
    "--credentials-requests-dir",
    "--installation-resource-group-name",
    "--dnszone-resource-group-name",
    "--network-resource-group-name",
    "--enable-tech-preview",
    "--preserve-existing-roles",
    "--remove-foreign-roles",
)


@click.command("create-oidc-issuer")
@flags.of("azure", "create-oidc-issuer", (*_ACCOUNT, *_ISSUER, "--user-tags", "--dry-run", *_COMMON))
def issuer(**given: Any) -> None:
    """Publish discovery document and keys in a storage account.

    Keys are merged with those that are published, never replaced: a running cluster keeps its own.
    """
    from vestibule.provision.azure import commands

    flags.require(given, "--name", "--region", "--subscription-id", "--tenant-id")
    desired = _desired(given)
    run.show(commands.issuer(desired, given["public_key"], run.options(given)), given)


@click.command("create-managed-identities")
@flags.of(
    "azure",
    "create-managed-identities",
    (
        "--name",
        "--region",
        "--subscription-id",
        "--issuer-url",
        "--oidc-resource-group-name",
        *_IDENTITIES,
        "--user-tags",
        "--dry-run",
        *_COMMON,
    ),
)
def identities(**given: Any) -> None:
    """Create an identity with its roles, federated credentials and Secret for every CredentialsRequest."""
    from vestibule.provision.azure import commands

    flags.require(
        given, "--name", "--region", "--subscription-id", "--issuer-url", "--credentials-requests-dir"
    )
    found = run.requests(given, "azure")
    desired = _desired(given)._replace(requests=found.requests)
    run.show(commands.identities(desired, run.options(given)), given, found)


@click.command("create-all")
@flags.of("azure", "create-all", (*_ACCOUNT, *_ISSUER, *_IDENTITIES, "--user-tags", "--dry-run", *_COMMON))
def everything(**given: Any) -> None:
    """A key pair (unless --public-key-file is given), the issuer, and the identities."""
    from vestibule.provision.azure import commands

    flags.require(
        given, "--name", "--region", "--subscription-id", "--tenant-id", "--credentials-requests-dir"
    )
    found = run.requests(given, "azure")
    desired = _desired(given)._replace(requests=found.requests)
    run.show(commands.everything(desired, given["public_key"], run.options(given)), given, found)


@click.command("delete")
@flags.of(
    "azure",
    "delete",
    (
        "--name",
        "--region",
        "--subscription-id",
        "--oidc-resource-group-name",
        "--storage-account-name",
        "--delete-oidc-resource-group",
        "--dry-run",
        *_COMMON,
    ),
)
def delete(**given: Any) -> None:
    """Delete what vestibule created: what has its tag or description, or is in the inventory
    of the output directory. Keys and files stay."""
    from vestibule.clouds.azure import endpoints
    from vestibule.errors import InvalidInput
    from vestibule.provision.azure import commands, names

    flags.require(given, "--name", "--subscription-id")
    called = _names(given)
    deletes_account = not given["entire_group"] and (
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
    run.show(
        commands.delete(
            called,
            endpoints.of(given["cloud"]),
            given["subscription"],
            run.options(given),
            entire_group=given["entire_group"],
        ),
        given,
    )


@click.command("role")
@flags.of("azure", "role", ("--for", "--name", "--subscription-id", "--issuer-mode"))
def role(**given: Any) -> None:
    """Print the minimal custom role that a command needs, for `az role definition create`."""
    from vestibule.cli import printer
    from vestibule.provision.azure import installer_role

    flags.require(given, "--name", "--subscription-id")
    definition = installer_role.role(given["command"], given["name"], given["subscription"], given["mode"])
    click.echo(printer.json_text(definition), nl=False)


def _names(given: dict[str, Any]) -> AzureNames:
    from vestibule.provision.azure import names

    name = given["name"]
    return names.AzureNames(
        name,
        given.get("oidc_group") or f"{name}-oidc",
        given.get("installation_group") or name,
        given.get("account") or name,
        given.get("container") or name,
        given.get("dns_group") or "",
        given.get("network_group") or "",
    )


def _desired(given: dict[str, Any]) -> AzureRequest:
    from vestibule.clouds.azure import endpoints
    from vestibule.provision.azure import names, request

    cloud = endpoints.of(given["cloud"])
    called = _names(given)
    mode = given.get("mode", "none")
    url = given.get("issuer_url") or ""
    return request.AzureRequest(
        called,
        given["region"],
        given["subscription"],
        given.get("tenant", ""),
        cloud,
        names.user_tags(given["user_tags"]),
        request.issuer_url(mode, called, cloud, url),
        mode,
        preserve=given.get("preserve", False),
        prune=given.get("prune", False),
    )
