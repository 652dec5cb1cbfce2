"""Flags of ``vestibule azure``, named and meant as the original's; ours beside them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, Final, TypeVar

import click

from vestibule.errors import InvalidInput, Problem

F = TypeVar("F", bound=Callable[..., Any])
_FILE: Final = click.Path(path_type=Path)


def _option(*names: str, **more: Any) -> Callable[[F], F]:
    return click.option(*names, **more)


OUTPUT_DIR: Final = _option(
    "--output-dir", type=_FILE, default=Path(), metavar="DIR", help="Where files go; made if it is missing."
)
NAME: Final = _option("--name", default="", help="Name of everything that is made. Required.")
REGION: Final = _option("--region", default="", help="Azure region, as `eastus`. Required.")
SUBSCRIPTION: Final = _option("--subscription-id", "subscription", default="", help="Required.")
TENANT: Final = _option("--tenant-id", "tenant", default="", help="Tenant of the identities. Required.")
REQUESTS: Final = _option(
    "--credentials-requests-dir",
    "requests_dir",
    type=_FILE,
    metavar="DIR",
    help="CredentialsRequests: *.yaml and *.yml, not below. Required.",
)
ISSUER_URL: Final = _option(
    "--issuer-url", default="", metavar="URL", help="Address of the issuer, where it is not the container's."
)
PUBLIC_KEY: Final = _option(
    "--public-key-file",
    "public_key",
    type=_FILE,
    metavar="FILE",
    help="Public key that the cluster's tokens are verified with; default: serviceaccount-signer.public.",
)
OIDC_GROUP: Final = _option(
    "--oidc-resource-group-name",
    "oidc_group",
    default="",
    help="Group of account and identities; <name>-oidc.",
)
INSTALLATION_GROUP: Final = _option(
    "--installation-resource-group-name",
    "installation_group",
    default="",
    help="Group of the cluster, in which identities may act; <name>.",
)
DNS_GROUP: Final = _option(
    "--dnszone-resource-group-name", "dns_group", default="", help="Group of the DNS zone, for ingress."
)
NETWORK_GROUP: Final = _option(
    "--network-resource-group-name", "network_group", default="", help="Group of an existing network."
)
ACCOUNT: Final = _option(
    "--storage-account-name", "account", default="", help="Storage account of the issuer; <name>."
)
CONTAINER: Final = _option(
    "--blob-container-name", "container", default="", help="Container of the issuer; <name>."
)
USER_TAGS: Final = _option(
    "--user-tags",
    "user_tags",
    multiple=True,
    metavar="K=V[,K=V]",
    help="Tags for everything that is made; may be repeated.",
)
TECH_PREVIEW: Final = _option(
    "--enable-tech-preview", "tech_preview", is_flag=True, help="Take requests of the tech preview, too."
)
PRESERVE: Final = _option(
    "--preserve-existing-roles",
    "preserve",
    is_flag=True,
    help="Remove no role assignment at all; by default those go that a run of ours made and nobody wants.",
)
PRUNE: Final = _option(
    "--remove-foreign-roles",
    "prune",
    is_flag=True,
    help="Remove every other role assignment of these identities in the subscription, whoever made it.",
)
DRY_RUN: Final = _option(
    "--dry-run",
    "dry",
    is_flag=True,
    help="Make no call: print the plan for an empty subscription and write local files only.",
)
PLAN: Final = _option(
    "--plan", "look", is_flag=True, help="Only read: print exactly what would be done, write nothing."
)
CLOUD: Final = _option(
    "--cloud",
    default="AzurePublicCloud",
    show_default=True,
    metavar="NAME|FILE",
    help="AzureUSGovernment, AzureChinaCloud, or a JSON file that describes a cloud (docs/azure.md).",
)
MODE: Final = _option(
    "--issuer-mode",
    "mode",
    type=click.Choice(["blob", "website", "private", "none"]),
    default="blob",
    show_default=True,
    help="Public container, static website, private account behind a CDN, or documents for another host.",
)
VERIFY: Final = _option(
    "--verify/--no-verify",
    default=True,
    show_default=True,
    help="Fetch the issuer from its public address afterwards and compare.",
)
PARALLEL: Final = _option(
    "--parallel",
    type=click.IntRange(1, 32),
    default=4,
    show_default=True,
    help="Calls at a time; Azure throttles a subscription, not a connection.",
)


def all_of(*options: Callable[[F], F]) -> Callable[[F], F]:
    """The options, in this order in the help."""

    def put(function: F) -> F:
        for option in reversed(options):
            function = option(function)
        return function

    return put


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


def required(values: Mapping[str, object]) -> None:
    """Raises InvalidInput for all flags that are missing or empty, at once."""
    problems = [
        Problem(flag, "", "is required, and is missing or empty")
        for flag, value in values.items()
        if not value
    ]
    if problems:
        raise InvalidInput(*problems)
