"""``vestibule simulate azure``."""

from __future__ import annotations

import asyncio
import contextlib
import signal
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

import click

from vestibule import errors
from vestibule.cli import options, printer

if TYPE_CHECKING:
    from vestibule.apps.simulate.azure.running import Running, Wanted

_EPILOG = """\b
In one terminal:
  vestibule simulate azure --dir ./sim

\b
In another, the same commands as for Azure:
  . ./sim/env.sh
  vestibule azure create-all --cloud ./sim/cloud.json --name demo1 --region eastus \\
    --subscription-id $AZURE_SUBSCRIPTION_ID --tenant-id $AZURE_TENANT_ID \\
    --credentials-requests-dir ./requests --output-dir ./out

\b
What if the first two role assignments come too early, and the account's answer is lost?
  curl --cacert ./sim/ca.pem $VESTIBULE_SIMULATOR/_simulate/faults -d '[
    {"on": "PUT */roleAssignments/*", "times": 2, "status": 400, "code": "PrincipalNotFound"},
    {"on": "PUT */storageAccounts/*", "mode": "after", "cut": true}]'

\b
What did it do, and did it wait where it was told to?
  curl --cacert ./sim/ca.pem $VESTIBULE_SIMULATOR/_simulate/calls

\b
The certificates are for this machine and for this run. Nothing leaves it, but for the documents of issuers
that are elsewhere. docs/simulate.md says what is simulated and what is not.
"""


@click.group("simulate")
def command() -> None:
    """Run a double of a cloud on this machine: real HTTPS, strict answers, faults on demand."""


@command.command("azure", epilog=_EPILOG)
@click.option(
    "--addr", default="127.0.0.1:0", show_default=True, help="Where to listen; port 0 is a free one."
)
@click.option(
    "--dir",
    "folder",
    type=click.Path(path_type=Path, file_okay=False),
    help="For env.sh, cloud.json and certificates; default: a new one among the temporary files.",
)
@click.option(
    "--state",
    type=click.Path(path_type=Path, dir_okay=False),
    help="What exists: read at the start when the file is there, written at the end.",
)
@click.option("--faults", type=click.Path(path_type=Path, dir_okay=False), help="JSON list of faults.")
@click.option(
    "--azurite",
    default="",
    metavar="URL",
    help="Keep blobs in this Azurite; default: in memory, saved with the state.",
)
@click.option(
    "--trust",
    type=click.Path(path_type=Path, dir_okay=False),
    help="PEM file of authorities that issuers elsewhere, and Azurite, may have.",
)
@click.option(
    "--subscription-id", "subscription", default="", help="The subscription; default: a made-up one."
)
@click.option("--tenant-id", "tenant", default="", help="The tenant; default: a made-up one.")
@click.option(
    "--data-access/--no-data-access",
    default=True,
    show_default=True,
    help="Whether the login may write blobs; in Azure an owner may not, unless it has a role for data.",
)
@click.option(
    "--expose", is_flag=True, help="Listen where other machines can reach it: whoever can, owns it."
)
@options.output("text", "json")
def azure(
    addr: str,
    folder: Path | None,
    state: Path | None,
    faults: Path | None,
    azurite: str,
    trust: Path | None,
    subscription: str,
    tenant: str,
    data_access: bool,
    expose: bool,
    output: str,
) -> None:
    """Simulate Azure: resource manager, Entra and blobs of one subscription, until it is ended."""
    try:
        from vestibule.apps.simulate.azure import running
        from vestibule.apps.simulate.azure.state import Settings
    except ModuleNotFoundError as error:
        raise errors.MissingExtra("simulate", "cluster,pki") from error

    host, port = _address(addr)
    if not running.loopback(host) and not expose:
        raise click.BadParameter(
            f"is {addr!r}, which other machines can reach, want a loopback address or --expose",
            param_hint="--addr",
        )
    settings = Settings(data_access=data_access)
    settings.subscription = _guid("--subscription-id", subscription) or settings.subscription
    settings.tenant = _guid("--tenant-id", tenant) or settings.tenant
    made = folder or Path(tempfile.mkdtemp(prefix="vestibule-simulate-"))
    wanted = running.Wanted(made.absolute(), host, port, settings, state, faults, azurite, trust)
    asyncio.run(_serve(wanted, output))


async def _serve(wanted: Wanted, output: str) -> None:
    from vestibule.apps.simulate.azure import running

    end = asyncio.Event()
    loop = asyncio.get_running_loop()
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, end.set)
    with contextlib.suppress(asyncio.CancelledError):
        async with running.running(wanted) as found:
            _tell(found, output)
            await end.wait()


def _tell(found: Running, output: str) -> None:
    if output == "json":
        report = {
            "address": found.base,
            "cloudFile": str(found.cloud),
            "caBundle": str(found.bundle),
            "environmentFile": str(found.folder / "env.sh"),
            "subscription": found.simulator.world.settings.subscription,
            "tenant": found.simulator.world.settings.tenant,
        }
        click.echo(printer.json_text(report), nl=False)
        return
    click.echo(f"Azure is simulated at {found.base}; ctrl-C ends it.")
    click.echo(f"  . {found.folder / 'env.sh'}")
    click.echo(f"  vestibule azure … --cloud {found.cloud}")
    click.echo(f"  curl --cacert {found.bundle} {found.base}/_simulate/calls")


def _address(text: str) -> tuple[str, int]:
    host, colon, port = text.rpartition(":")
    if not colon or not port.isdecimal() or int(port) > 65_535:
        raise click.BadParameter(f"is {text!r}, want HOST:PORT", param_hint="--addr")
    return host.removeprefix("[").removesuffix("]"), int(port)


def _guid(flag: str, value: str) -> str:
    from vestibule.apps.simulate.azure import bodies

    if value and not bodies.guid(value):
        raise click.BadParameter(f"is {value!r}, want a GUID", param_hint=flag)
    return value
