"""The commands of ``vestibule gcp``: flags to values, values to the app, results to people."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import click

from vestibule.cli.gcp import flags
from vestibule.cli.provisioning import flags as shared
from vestibule.cli.provisioning import runs
from vestibule.cli.provisioning.keypair import key_pair

__all__ = ["accounts", "delete", "everything", "issuer", "key_pair", "pool"]

if TYPE_CHECKING:
    from vestibule.adapters.clouds.gcp.endpoints import Endpoints
    from vestibule.apps.provision.gcp.request import Wanted

_COMMON: Final = (
    flags.UNIVERSE,
    flags.ENDPOINTS,
    flags.DRY_RUN,
    shared.PLAN,
    shared.parallel(),
    shared.OUTPUT_DIR,
    shared.OUTPUT,
)


@click.command("create-workload-identity-pool")
@shared.all_of(shared.NAME, flags.PROJECT, *_COMMON)
def pool(**given: Any) -> None:
    """Make a workload identity pool; one that was deleted lately is taken back."""
    from vestibule.apps.provision.gcp import commands

    _required(given)
    runs.show(commands.pool(_wanted(given), runs.how(given)), given)


@click.command("create-workload-identity-provider")
@shared.all_of(
    shared.NAME,
    flags.PROJECT,
    flags.REGION,
    flags.POOL,
    flags.STORAGE,
    shared.PUBLIC_KEY,
    shared.VERIFY,
    *_COMMON,
)
def issuer(**given: Any) -> None:
    """Publish keys in a bucket, or keep them in the provider, and let a pool trust them.

    Keys are merged with those that are there, never replaced.
    """
    from vestibule.apps.provision.gcp import commands

    _required(given, **{"--workload-identity-pool": given["pool"]})
    runs.show(commands.issuer(_wanted(given), given["public_key"], runs.how(given)), given)


@click.command("create-service-accounts")
@shared.all_of(
    shared.NAME,
    flags.PROJECT,
    shared.REQUESTS,
    flags.POOL,
    flags.PROVIDER,
    shared.TECH_PREVIEW,
    *_COMMON,
)
def accounts(**given: Any) -> None:
    """Make a service account with its roles and Secret for every CredentialsRequest."""
    from vestibule.apps.provision.gcp import commands

    _required(
        given,
        **{
            "--credentials-requests-dir": given["requests_dir"],
            "--workload-identity-pool": given["pool"],
            "--workload-identity-provider": given["provider"],
        },
    )
    found = runs.requests(given, "gcp")
    wanted = _wanted(given)._replace(requests=found.requests)
    runs.show(commands.accounts(wanted, runs.how(given)), given, found)


@click.command("create-all")
@shared.all_of(
    shared.NAME,
    flags.PROJECT,
    flags.REGION,
    shared.REQUESTS,
    shared.PUBLIC_KEY,
    flags.STORAGE,
    shared.TECH_PREVIEW,
    shared.VERIFY,
    *_COMMON,
)
def everything(**given: Any) -> None:
    """A key pair (unless --public-key-file is given), the pool, the issuer, and the service accounts."""
    from vestibule.apps.provision.gcp import commands

    _required(given, **{"--credentials-requests-dir": given["requests_dir"]})
    found = runs.requests(given, "gcp")
    wanted = _wanted(given)._replace(requests=found.requests)
    runs.show(commands.everything(wanted, given["public_key"], runs.how(given)), given, found)


@click.command("delete")
@shared.all_of(shared.NAME, flags.PROJECT, shared.REQUESTS, flags.FORCE, *_COMMON)
def delete(**given: Any) -> None:
    """Remove what is ours, and nothing else. Keys and files stay.

    CredentialsRequests are needed only where the output directory has no inventory: they tell the accounts
    that the original made.
    """
    from vestibule.apps.provision import inventory
    from vestibule.apps.provision.gcp import commands
    from vestibule.apps.provision.gcp.removal import Unwanted

    known = (given["output_dir"] / inventory.FILE).exists()
    _required(given, **({} if known else {"--credentials-requests-dir": given["requests_dir"]}))
    # those of the tech preview as well: what was made for them should go
    found = runs.requests({**given, "tech_preview": True}, "gcp") if given["requests_dir"] else None
    unwanted = Unwanted(
        given["name"],
        given["project"],
        given["universe"],
        requests=found.requests if found else (),
        roles=given["force"],
        where=_where(given),
    )
    runs.show(commands.delete(unwanted, runs.how(given)), given, found)


def _required(given: dict[str, Any], **more: object) -> None:
    shared.required({"--name": given["name"], "--project": given["project"], **more})


def _wanted(given: dict[str, Any]) -> Wanted:
    from vestibule.apps.provision.gcp.request import Wanted as Made

    return Made(
        given["name"],
        given["project"],
        given.get("region", "us"),
        given["universe"],
        pool=given.get("pool", ""),
        provider=given.get("provider", ""),
        embedded=given.get("storage") == flags.EMBEDDED,
        where=_where(given),
    )


def _where(given: dict[str, Any]) -> Endpoints:
    from vestibule.adapters.clouds.gcp import endpoints

    if given["endpoints"]:
        return endpoints.from_file(given["endpoints"], given["universe"])
    return endpoints.endpoints(given["universe"])
