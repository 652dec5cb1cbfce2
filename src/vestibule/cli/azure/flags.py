"""Flags of ``vestibule azure`` alone, named and meant as the original's; ours beside them."""

from __future__ import annotations

from typing import Final

import click

from vestibule.cli.provisioning import flags
from vestibule.errors import InvalidInput, Problem

REGION: Final = click.option("--region", default="", help="Azure region, as `eastus`. Required.")
SUBSCRIPTION: Final = click.option("--subscription-id", "subscription", default="", help="Required.")
TENANT: Final = click.option("--tenant-id", "tenant", default="", help="Tenant of the identities. Required.")
ISSUER_URL: Final = click.option(
    "--issuer-url", default="", metavar="URL", help="Address of the issuer, where it is not the container's."
)
OIDC_GROUP: Final = click.option(
    "--oidc-resource-group-name",
    "oidc_group",
    default="",
    help="Group of account and identities; <name>-oidc.",
)
INSTALLATION_GROUP: Final = click.option(
    "--installation-resource-group-name",
    "installation_group",
    default="",
    help="Group of the cluster, in which identities may act; <name>.",
)
DNS_GROUP: Final = click.option(
    "--dnszone-resource-group-name", "dns_group", default="", help="Group of the DNS zone, for ingress."
)
NETWORK_GROUP: Final = click.option(
    "--network-resource-group-name", "network_group", default="", help="Group of an existing network."
)
ACCOUNT: Final = click.option(
    "--storage-account-name", "account", default="", help="Storage account of the issuer; <name>."
)
CONTAINER: Final = click.option(
    "--blob-container-name", "container", default="", help="Container of the issuer; <name>."
)
USER_TAGS: Final = click.option(
    "--user-tags",
    "user_tags",
    multiple=True,
    metavar="K=V[,K=V]",
    help="Tags for everything that is made; may be repeated.",
)
PRESERVE: Final = click.option(
    "--preserve-existing-roles",
    "preserve",
    is_flag=True,
    help="Remove no role assignment at all; by default those go that a run of ours made and nobody wants.",
)
PRUNE: Final = click.option(
    "--remove-foreign-roles",
    "prune",
    is_flag=True,
    help="Remove every other role assignment of these identities in the subscription, whoever made it.",
)
DRY_RUN: Final = click.option(
    "--dry-run",
    "dry",
    is_flag=True,
    help="Make no call: print the plan for an empty subscription and write local files only.",
)
CLOUD: Final = click.option(
    "--cloud",
    default="AzurePublicCloud",
    show_default=True,
    metavar="NAME|FILE",
    help="AzureUSGovernment, AzureChinaCloud, or a JSON file that describes a cloud (docs/azure.md).",
)
MODE: Final = click.option(
    "--issuer-mode",
    "mode",
    type=click.Choice(["blob", "website", "private", "none"]),
    default="blob",
    show_default=True,
    help="Public container, static website, private account behind a CDN, or documents for another host.",
)
PARALLEL: Final = flags.parallel("Calls at a time; Azure throttles a subscription, not a connection.")


def tags(given: tuple[str, ...]) -> dict[str, str]:
    """``k=v,k2=v2`` as tags; a value may hold ``=``. Raises InvalidInput with every bad one."""
    found: dict[str, str] = {}
    problems = []
    for text in given:
        for pair in text.split(","):
            key, sign, value = pair.partition("=")
            if not sign:
                problems.append(Problem("--user-tags", "", f"{pair!r} must be key=value"))
            else:
                found[key] = value
    if problems:
        raise InvalidInput(*problems)
    return found
