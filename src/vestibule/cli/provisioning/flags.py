"""The flags of ``vestibule azure``, ``aws`` and ``gcp`` in one table, with the names and meanings of ccoctl.

A command lists its flags by name, in the order of its help. A flag that differs between clouds has a row for
each; a row that names a command takes precedence there.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any, Final, Literal, NamedTuple, TypeVar

import click

from vestibule.cli import options
from vestibule.errors import InputProblem, InvalidInput

F = TypeVar("F", bound=Callable[..., Any])
CloudName = Literal["azure", "aws", "gcp"]
_ALL: Final[tuple[CloudName, ...]] = ("azure", "aws", "gcp")
_AZURE: Final[tuple[CloudName, ...]] = ("azure",)
_AWS: Final[tuple[CloudName, ...]] = ("aws",)
_GCP: Final[tuple[CloudName, ...]] = ("gcp",)
_TEXT: Final = click.STRING
_PATH: Final = click.Path(path_type=Path)
_SWITCH: Final = click.BOOL
_COUNT: Final = click.IntRange(1, 32)
EMBEDDED_KEYS: Final = "pool-jwk-file"
_ISSUER_MODES: Final = click.Choice(["blob", "website", "private", "none"])
_KEY_STORAGE: Final = click.Choice(["public-bucket", EMBEDDED_KEYS])
_ROLE_COMMANDS: Final = click.Choice(
    ["create-oidc-issuer", "create-managed-identities", "create-all", "delete"]
)


class ProvisionFlag(NamedTuple):
    """One row of the table."""

    name: str
    """As on the command line; a switch with a negative form has both, separated by a slash."""
    clouds: tuple[CloudName, ...]
    help: str
    type: click.ParamType[Any] = _TEXT
    parameter: str = ""
    """Parameter of the command's function; by default the name with underscores."""
    default: Any = None
    """Shown in the help unless it is empty or a path. A text without one is empty."""
    metavar: str | None = None
    multiple: bool = False
    required: bool = False
    command: str = ""
    """The only command that the row is for."""

    @property
    def key(self) -> str:
        """The name of the parameter."""
        return self.parameter or self.name.partition("/")[0].removeprefix("--").replace("-", "_")

    def option(self) -> Callable[[F], F]:
        """The flag as a decorator of click."""
        attributes: dict[str, Any] = {"help": self.help, "metavar": self.metavar, "required": self.required}
        if self.type is not _SWITCH:
            attributes |= {"type": self.type, "multiple": self.multiple}
        elif self.default is None:
            attributes["is_flag"] = True
        default = "" if self.default is None and self.type is _TEXT and not self.multiple else self.default
        if default is not None:
            shown = default != "" and not isinstance(default, Path)
            attributes |= {"default": default, "show_default": shown}
        return click.option(self.name, self.key, **attributes)


FLAGS: Final = (
    # ── every cloud ─────────────────────────────────────────────────────────────────────────────────────────
    ProvisionFlag(
        "--name", _ALL, "Name that every created resource starts with or is tagged with. Required."
    ),
    ProvisionFlag(
        "--output-dir",
        _ALL,
        "Output directory; created if it is missing.",
        _PATH,
        default=Path(),
        metavar="DIR",
    ),
    ProvisionFlag(
        "--credentials-requests-dir",
        _ALL,
        "Directory with CredentialsRequest manifests (*.yaml, *.yml; not recursive). Required.",
        _PATH,
        "requests_dir",
        metavar="DIR",
    ),
    ProvisionFlag(
        "--enable-tech-preview",
        _ALL,
        "Include CredentialsRequests of the tech preview.",
        _SWITCH,
        "tech_preview",
    ),
    ProvisionFlag(
        "--public-key-file",
        _ALL,
        "Public key that the cluster's tokens are verified with; default: serviceaccount-signer.public.",
        _PATH,
        "public_key",
        metavar="FILE",
    ),
    ProvisionFlag(
        "--verify/--no-verify",
        _ALL,
        "Fetch the issuer from its public address afterwards and compare.",
        _SWITCH,
        default=True,
    ),
    ProvisionFlag(
        "--plan",
        _ALL,
        "Only read: print the exact plan, change and write nothing.",
        _SWITCH,
        "plan_only",
    ),
    ProvisionFlag(
        "--parallel",
        _AZURE,
        "Maximum number of concurrent calls; Azure throttles per subscription.",
        _COUNT,
        default=4,
    ),
    ProvisionFlag("--parallel", ("aws", "gcp"), "Maximum number of concurrent calls.", _COUNT, default=4),
    ProvisionFlag("--region", _AZURE, "Azure region, such as `eastus`. Required."),
    ProvisionFlag("--region", _AWS, "AWS region, such as `eu-central-1`. Required."),
    ProvisionFlag("--region", _GCP, "Location of the bucket, such as `us` or `europe-west1`.", default="us"),
    ProvisionFlag(
        "--dry-run",
        _AZURE,
        "Show what would be deleted, and delete nothing.",
        _SWITCH,
        command="delete",
    ),
    ProvisionFlag(
        "--dry-run",
        _AZURE,
        "Make no call: print the plan for an empty subscription and write local files.",
        _SWITCH,
    ),
    ProvisionFlag(
        "--dry-run",
        _AWS,
        "Make no call: print the plan for an empty account, and write files for the aws command. "
        "With delete: only read.",
        _SWITCH,
    ),
    ProvisionFlag(
        "--dry-run",
        _GCP,
        "Make no call: write scripts for gcloud and gsutil, and local files. With delete: only read.",
        _SWITCH,
    ),
    # ── Azure ───────────────────────────────────────────────────────────────────────────────────────────────
    ProvisionFlag("--subscription-id", _AZURE, "Azure subscription. Required.", parameter="subscription"),
    ProvisionFlag("--tenant-id", _AZURE, "Tenant of the identities. Required.", parameter="tenant"),
    ProvisionFlag(
        "--issuer-url", _AZURE, "Address of the issuer; default: the address of the container.", metavar="URL"
    ),
    ProvisionFlag(
        "--oidc-resource-group-name",
        _AZURE,
        "Resource group of the storage account and identities; default: <name>-oidc.",
        parameter="oidc_group",
    ),
    ProvisionFlag(
        "--installation-resource-group-name",
        _AZURE,
        "Resource group of the cluster, in which identities get their roles; default: <name>.",
        parameter="installation_group",
    ),
    ProvisionFlag(
        "--dnszone-resource-group-name",
        _AZURE,
        "Resource group of the DNS zone, for ingress.",
        parameter="dns_group",
    ),
    ProvisionFlag(
        "--network-resource-group-name",
        _AZURE,
        "Resource group of an existing network.",
        parameter="network_group",
    ),
    ProvisionFlag(
        "--storage-account-name",
        _AZURE,
        "Storage account of the issuer; default: <name>.",
        parameter="account",
    ),
    ProvisionFlag(
        "--blob-container-name",
        _AZURE,
        "Blob container of the issuer; default: <name>.",
        parameter="container",
    ),
    ProvisionFlag(
        "--user-tags",
        _AZURE,
        "Tags for every created resource; may be repeated.",
        metavar="K=V[,K=V]",
        multiple=True,
    ),
    ProvisionFlag(
        "--preserve-existing-roles",
        _AZURE,
        "Never delete role assignments. By default, those that vestibule created and no request needs are "
        "deleted.",
        _SWITCH,
        "preserve",
    ),
    ProvisionFlag(
        "--remove-foreign-roles",
        _AZURE,
        "Delete every other role assignment of these identities in the subscription, also those that "
        "vestibule did not create.",
        _SWITCH,
        "prune",
    ),
    ProvisionFlag(
        "--cloud",
        _AZURE,
        "AzureUSGovernment, AzureChinaCloud, or a JSON file that describes a cloud "
        "(docs/provisioning-azure.md).",
        default="AzurePublicCloud",
        metavar="NAME|FILE",
    ),
    ProvisionFlag(
        "--issuer-mode",
        _AZURE,
        "Public container, static website, private account behind a CDN, or documents for another host.",
        _ISSUER_MODES,
        "mode",
        default="blob",
    ),
    ProvisionFlag(
        "--delete-oidc-resource-group",
        _AZURE,
        "Also delete the OIDC resource group, if it holds nothing else.",
        _SWITCH,
        "entire_group",
    ),
    ProvisionFlag(
        "--for", _AZURE, "Command that the role must allow.", _ROLE_COMMANDS, "command", required=True
    ),
    # ── AWS ─────────────────────────────────────────────────────────────────────────────────────────────────
    ProvisionFlag(
        "--create-private-s3-bucket",
        _AWS,
        "Private bucket behind a CloudFront distribution, whose address is the issuer.",
        _SWITCH,
        "private",
    ),
    ProvisionFlag(
        "--permissions-boundary-arn",
        _AWS,
        "Permissions boundary of every role.",
        parameter="boundary",
        metavar="ARN",
    ),
    ProvisionFlag(
        "--identity-provider-arn",
        _AWS,
        "ARN of the IAM OIDC provider. Required.",
        parameter="provider",
        metavar="ARN",
    ),
    # ── Google Cloud ────────────────────────────────────────────────────────────────────────────────────────
    ProvisionFlag("--project", _GCP, "Id of the Google Cloud project. Required."),
    ProvisionFlag(
        "--workload-identity-pool",
        _GCP,
        "Existing workload identity pool. Required.",
        parameter="pool",
        metavar="ID",
    ),
    ProvisionFlag(
        "--workload-identity-provider",
        _GCP,
        "Provider of the pool. Required.",
        parameter="provider",
        metavar="ID",
    ),
    ProvisionFlag(
        "--key-storage-method",
        _GCP,
        "Store keys in a public bucket, or in the provider itself (nothing is public).",
        _KEY_STORAGE,
        "storage",
        default="public-bucket",
    ),
    ProvisionFlag(
        "--force-delete-custom-roles",
        _GCP,
        "Also delete custom roles of the project, except those that others use.",
        _SWITCH,
        "force",
    ),
    ProvisionFlag(
        "--universe-domain",
        _GCP,
        "Domain of a sovereign Google Cloud.",
        parameter="universe",
        default="googleapis.com",
        metavar="DOMAIN",
    ),
    ProvisionFlag(
        "--endpoints",
        _GCP,
        'JSON file {"iam": URL, "projects": URL, "storage": URL} with other endpoints.',
        _PATH,
        metavar="FILE",
    ),
)
_OUTPUT: Final = options.output("text", "json")


def of(cloud: CloudName | None, command: str, names: Iterable[str]) -> Callable[[F], F]:
    """The flags of a command, in this order in its help; without a cloud, flags that all clouds have."""
    found = [_OUTPUT if name == "--output" else _row(cloud, command, name).option() for name in names]

    def decorate(function: F) -> F:
        for option in reversed(found):
            function = option(function)
        return function

    return decorate


def require(given: Mapping[str, Any], *names: str) -> None:
    """Raises InvalidInput for all flags that are missing or empty, at once."""
    keys = {flag.name: flag.key for flag in FLAGS}
    problems = [
        InputProblem(name, "", "is required, and is missing or empty")
        for name in names
        if not given[keys[name]]
    ]
    if problems:
        raise InvalidInput(*problems)


def _row(cloud: CloudName | None, command: str, name: str) -> ProvisionFlag:
    clouds = _ALL if cloud is None else (cloud,)
    rows = [
        flag
        for flag in FLAGS
        if flag.name.partition("/")[0] == name
        and flag.command in ("", command)
        and {*clouds} <= {*flag.clouds}
    ]
    return max(rows, key=lambda flag: bool(flag.command))
