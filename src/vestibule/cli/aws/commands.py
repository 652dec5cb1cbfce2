"""The commands of ``vestibule aws``: flags to values, values to the app, results to people."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import click

from vestibule.cli.provisioning import flags, runs
from vestibule.cli.provisioning.keypair import key_pair

__all__ = ["delete", "everything", "issuer", "key_pair", "roles"]

if TYPE_CHECKING:
    from vestibule.apps.provision.aws.request import Wanted

_REGION: Final = click.option("--region", default="", help="AWS region, as `eu-central-1`. Required.")
_PRIVATE: Final = click.option(
    "--create-private-s3-bucket",
    "private",
    is_flag=True,
    help="Nobody reads the bucket but a CloudFront distribution, whose address is the issuer.",
)
_BOUNDARY: Final = click.option(
    "--permissions-boundary-arn", "boundary", default="", metavar="ARN", help="Boundary of every role."
)
_PROVIDER: Final = click.option(
    "--identity-provider-arn", "provider", default="", metavar="ARN", help="The IAM provider. Required."
)
_DRY_RUN: Final = click.option(
    "--dry-run",
    "dry",
    is_flag=True,
    help="Make no call: print the plan for an empty account, and write files for the aws command. "
    "With delete: only read.",
)
_COMMON: Final = (_DRY_RUN, flags.PLAN, flags.parallel(), flags.OUTPUT_DIR, flags.OUTPUT)


@click.command("create-identity-provider")
@flags.all_of(flags.NAME, _REGION, flags.PUBLIC_KEY, _PRIVATE, flags.VERIFY, *_COMMON)
def issuer(**given: Any) -> None:
    """Publish discovery document and keys in a bucket, and let IAM trust them.

    Keys are merged with those that are published, never replaced.
    """
    from vestibule.apps.provision.aws import commands

    flags.required({"--name": given["name"], "--region": given["region"]})
    runs.show(commands.issuer(_wanted(given), given["public_key"], runs.how(given)), given)


@click.command("create-iam-roles")
@flags.all_of(flags.NAME, _REGION, flags.REQUESTS, _PROVIDER, _BOUNDARY, flags.TECH_PREVIEW, *_COMMON)
def roles(**given: Any) -> None:
    """Make a role with its permissions and Secret for every CredentialsRequest."""
    from vestibule.apps.provision.aws import commands

    flags.required(
        {
            "--name": given["name"],
            "--credentials-requests-dir": given["requests_dir"],
            "--identity-provider-arn": given["provider"],
        }
    )
    found = runs.requests(given, "aws")
    wanted = _wanted(given)._replace(requests=found.requests)
    runs.show(commands.roles(wanted, runs.how(given)), given, found)


@click.command("create-all")
@flags.all_of(
    flags.NAME,
    _REGION,
    flags.REQUESTS,
    flags.PUBLIC_KEY,
    _PRIVATE,
    _BOUNDARY,
    flags.TECH_PREVIEW,
    flags.VERIFY,
    *_COMMON,
)
def everything(**given: Any) -> None:
    """A key pair (unless --public-key-file is given), the issuer, and the roles."""
    from vestibule.apps.provision.aws import commands

    flags.required(
        {
            "--name": given["name"],
            "--region": given["region"],
            "--credentials-requests-dir": given["requests_dir"],
        }
    )
    found = runs.requests(given, "aws")
    wanted = _wanted(given)._replace(requests=found.requests)
    runs.show(commands.everything(wanted, given["public_key"], runs.how(given)), given, found)


@click.command("delete")
@flags.all_of(flags.NAME, _REGION, *_COMMON)
def delete(**given: Any) -> None:
    """Remove what bears our tag, and nothing else. Keys and files stay."""
    from vestibule.apps.provision.aws import commands

    flags.required({"--name": given["name"], "--region": given["region"]})
    runs.show(commands.delete(given["name"], given["region"], runs.how(given)), given)


def _wanted(given: dict[str, Any]) -> Wanted:
    from vestibule.apps.provision.aws.request import Wanted as Made

    return Made(
        given["name"],
        given["region"],
        private=given.get("private", False),
        boundary=given.get("boundary", ""),
        provider=given.get("provider", ""),
    )
