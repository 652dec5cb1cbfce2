"""The commands of ``vestibule gcp``: from flags to a request, from the report to the output."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import click

from vestibule.cli.provisioning import flags, run
from vestibule.cli.provisioning.keypair import key_pair

__all__ = ["accounts", "delete", "everything", "issuer", "key_pair", "pool"]

if TYPE_CHECKING:
    from vestibule.clouds.gcp.endpoints import GcpEndpoints
    from vestibule.provision.gcp.request import GcpRequest

_COMMON: Final = (
    "--universe-domain",
    "--endpoints",
    "--dry-run",
    "--plan",
    "--parallel",
    "--output-dir",
    "--output",
)


@click.command("create-workload-identity-pool")
@flags.of("gcp", "create-workload-identity-pool", ("--name", "--project", *_COMMON))
def pool(**given: Any) -> None:
    """Create a workload identity pool; one that was deleted recently is restored."""
    from vestibule.provision.gcp import commands

    flags.require(given, "--name", "--project")
    run.show(commands.pool(_desired(given), run.options(given)), given)


@click.command("create-workload-identity-provider")
@flags.of(
    "gcp",
    "create-workload-identity-provider",
    (
        "--name",
        "--project",
        "--region",
        "--workload-identity-pool",
        "--key-storage-method",
        "--public-key-file",
        "--verify",
        *_COMMON,
    ),
)
def issuer(**given: Any) -> None:
    """Publish keys in a bucket, or store them in the provider, and let a pool trust them.

    Keys are merged with those that are there, never replaced.
    """
    from vestibule.provision.gcp import commands

    flags.require(given, "--name", "--project", "--workload-identity-pool")
    run.show(commands.issuer(_desired(given), given["public_key"], run.options(given)), given)


@click.command("create-service-accounts")
@flags.of(
    "gcp",
    "create-service-accounts",
    (
        "--name",
        "--project",
        "--credentials-requests-dir",
        "--workload-identity-pool",
        "--workload-identity-provider",
        "--enable-tech-preview",
        *_COMMON,
    ),
)
def accounts(**given: Any) -> None:
    """Create a service account with its roles and Secret for every CredentialsRequest."""
    from vestibule.provision.gcp import commands

    flags.require(
        given,
        "--name",
        "--project",
        "--credentials-requests-dir",
        "--workload-identity-pool",
        "--workload-identity-provider",
    )
    found = run.requests(given, "gcp")
    desired = _desired(given)._replace(requests=found.requests)
    run.show(commands.accounts(desired, run.options(given)), given, found)


@click.command("create-all")
@flags.of(
    "gcp",
    "create-all",
    (
        "--name",
        "--project",
        "--region",
        "--credentials-requests-dir",
        "--public-key-file",
        "--key-storage-method",
        "--enable-tech-preview",
        "--verify",
        *_COMMON,
    ),
)
def everything(**given: Any) -> None:
    """A key pair (unless --public-key-file is given), the pool, the issuer, and the service accounts."""
    from vestibule.provision.gcp import commands

    flags.require(given, "--name", "--project", "--credentials-requests-dir")
    found = run.requests(given, "gcp")
    desired = _desired(given)._replace(requests=found.requests)
    run.show(commands.everything(desired, given["public_key"], run.options(given)), given, found)


@click.command("delete")
@flags.of(
    "gcp",
    "delete",
    ("--name", "--project", "--credentials-requests-dir", "--force-delete-custom-roles", *_COMMON),
)
def delete(**given: Any) -> None:
    """Delete what vestibule created, and nothing else. Keys and files stay.

    CredentialsRequests are needed only where the output directory has no inventory: they name the service
    accounts that ccoctl created.
    """
    from vestibule.provision import inventory
    from vestibule.provision.gcp import commands
    from vestibule.provision.gcp.delete_plan import DeleteInputs

    known = (given["output_dir"] / inventory.FILE).exists()
    flags.require(given, "--name", "--project", *([] if known else ["--credentials-requests-dir"]))
    # those of the tech preview too: their resources should be deleted
    found = run.requests({**given, "tech_preview": True}, "gcp") if given["requests_dir"] else None
    unwanted = DeleteInputs(
        given["name"],
        given["project"],
        given["universe"],
        requests=found.requests if found else (),
        roles=given["force"],
        where=_where(given),
    )
    run.show(commands.delete(unwanted, run.options(given)), given, found)


def _desired(given: dict[str, Any]) -> GcpRequest:
    from vestibule.provision.gcp import request

    return request.GcpRequest(
        given["name"],
        given["project"],
        given.get("region", "us"),
        given["universe"],
        pool=given.get("pool", ""),
        provider=given.get("provider", ""),
        embedded=given.get("storage") == flags.EMBEDDED_KEYS,
        where=_where(given),
    )


def _where(given: dict[str, Any]) -> GcpEndpoints:
    from vestibule.clouds.gcp import endpoints

    if given["endpoints"]:
        return endpoints.from_file(given["endpoints"], given["universe"])
    return endpoints.endpoints(given["universe"])
