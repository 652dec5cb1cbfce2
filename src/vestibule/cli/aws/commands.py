"""The commands of ``vestibule aws``: from flags to a request, from the report to the output."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import click

from vestibule.cli.provisioning import flags, run
from vestibule.cli.provisioning.keypair import key_pair

__all__ = ["delete", "everything", "issuer", "key_pair", "roles"]

if TYPE_CHECKING:
    from vestibule.provision.aws.request import AwsRequest

_COMMON: Final = ("--dry-run", "--plan", "--parallel", "--output-dir", "--output")


@click.command("create-identity-provider")
@flags.of(
    "aws",
    "create-identity-provider",
    ("--name", "--region", "--public-key-file", "--create-private-s3-bucket", "--verify", *_COMMON),
)
def issuer(**given: Any) -> None:
    """Publish discovery document and keys in a bucket, and let IAM trust them.

    Keys are merged with those that are published, never replaced.
    """
    from vestibule.provision.aws import commands

    flags.require(given, "--name", "--region")
    run.show(commands.issuer(_desired(given), given["public_key"], run.options(given)), given)


@click.command("create-iam-roles")
@flags.of(
    "aws",
    "create-iam-roles",
    (
        "--name",
        "--region",
        "--credentials-requests-dir",
        "--identity-provider-arn",
        "--permissions-boundary-arn",
        "--enable-tech-preview",
        *_COMMON,
    ),
)
def roles(**given: Any) -> None:
    """Create a role with its permissions and Secret for every CredentialsRequest."""
    from vestibule.provision.aws import commands

    flags.require(given, "--name", "--credentials-requests-dir", "--identity-provider-arn")
    found = run.requests(given, "aws")
    desired = _desired(given)._replace(requests=found.requests)
    run.show(commands.roles(desired, run.options(given)), given, found)


@click.command("create-all")
@flags.of(
    "aws",
    "create-all",
    (
        "--name",
        "--region",
        "--credentials-requests-dir",
        "--public-key-file",
        "--create-private-s3-bucket",
        "--permissions-boundary-arn",
        "--enable-tech-preview",
        "--verify",
        *_COMMON,
    ),
)
def everything(**given: Any) -> None:
    """A key pair (unless --public-key-file is given), the issuer, and the roles."""
    from vestibule.provision.aws import commands

    flags.require(given, "--name", "--region", "--credentials-requests-dir")
    found = run.requests(given, "aws")
    desired = _desired(given)._replace(requests=found.requests)
    run.show(commands.everything(desired, given["public_key"], run.options(given)), given, found)


@click.command("delete")
@flags.of("aws", "delete", ("--name", "--region", *_COMMON))
def delete(**given: Any) -> None:
    """Delete what has our tag, and nothing else. Keys and files stay."""
    from vestibule.provision.aws import commands

    flags.require(given, "--name", "--region")
    run.show(commands.delete(given["name"], given["region"], run.options(given)), given)


def _desired(given: dict[str, Any]) -> AwsRequest:
    from vestibule.provision.aws import request

    return request.AwsRequest(
        given["name"],
        given["region"],
        private=given.get("private", False),
        boundary=given.get("boundary", ""),
        provider=given.get("provider", ""),
    )
