"""``vestibule simulate azure``."""

from __future__ import annotations

import asyncio
import contextlib
import signal
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

import click

from vestibule.cli import options, printer

if TYPE_CHECKING:
    from vestibule_simulators.azure.runner import RunningSimulator, SimulatorOptions

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
What if the first two role assignments come too early, and the account's response is lost?
  curl --cacert ./sim/ca.pem $VESTIBULE_SIMULATOR/_simulate/faults -d '[
    {"on": "PUT */roleAssignments/*", "times": 2, "status": 400, "code": "PrincipalNotFound"},
    {"on": "PUT */storageAccounts/*", "mode": "after", "cut": true}]'

\b
What did it do, and did it respect Retry-After?
  curl --cacert ./sim/ca.pem $VESTIBULE_SIMULATOR/_simulate/calls

\b
The certificates are for this machine and for this run. The simulator makes no call to other machines, except
to read the documents of other issuers. docs/simulate.md lists what is simulated and what is not.
"""


@click.group("simulate")
def command() -> None:
    """Run a simulator of a cloud on this machine: real HTTPS, strict checks, faults on request."""


@command.command("azure", epilog=_EPILOG)
@click.option(
    "--addr", default="127.0.0.1:0", show_default=True, help="Address to listen on; port 0 picks a free one."
)
@click.option(
    "--dir",
    "folder",
    type=click.Path(path_type=Path, file_okay=False),
    help="Directory for env.sh, cloud.json and certificates; default: a new temporary one.",
)
@click.option(
    "--state",
    type=click.Path(path_type=Path, dir_okay=False),
    help="State file: read at the start if it exists, written at the end.",
)
@click.option("--faults", type=click.Path(path_type=Path, dir_okay=False), help="JSON list of faults.")
@click.option(
    "--azurite",
    default="",
    metavar="URL",
    help="Store blobs in this Azurite; default: in memory, saved with the state.",
)
@click.option(
    "--trust",
    type=click.Path(path_type=Path, dir_okay=False),
    help="PEM file of CAs to trust for other issuers and for Azurite.",
)
@click.option("--subscription-id", "subscription", default="", help="Subscription; default: a generated one.")
@click.option("--tenant-id", "tenant", default="", help="Tenant; default: a generated one.")
@click.option(
    "--data-access/--no-data-access",
    default=True,
    show_default=True,
    help="Whether the login may write blobs; in Azure an owner may not, unless it has a role for data.",
)
@click.option(
    "--expose",
    is_flag=True,
    help="Listen on other than loopback addresses: anyone who can reach it controls it.",
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
    """Simulate Azure: resource manager, Entra ID and blobs of one subscription."""
    from vestibule_simulators.azure import runner
    from vestibule_simulators.azure.state import SimulatorSettings

    host, port = _address(addr)
    if not runner.loopback(host) and not expose:
        raise click.BadParameter(
            f"is {addr!r}, which other machines can reach, want a loopback address or --expose",
            param_hint="--addr",
        )
    settings = SimulatorSettings(data_access=data_access)
    settings.subscription = _guid("--subscription-id", subscription) or settings.subscription
    settings.tenant = _guid("--tenant-id", tenant) or settings.tenant
    directory = folder or Path(tempfile.mkdtemp(prefix="vestibule-simulate-"))
    simulator_options = runner.SimulatorOptions(
        directory.absolute(), host, port, settings, state, faults, azurite, trust
    )
    asyncio.run(_serve(simulator_options, output))


async def _serve(options: SimulatorOptions, output: str) -> None:
    from vestibule_simulators.azure import runner

    end = asyncio.Event()
    loop = asyncio.get_running_loop()
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, end.set)
    with contextlib.suppress(asyncio.CancelledError):
        async with runner.running(options) as found:
            _print_addresses(found, output)
            await end.wait()


def _print_addresses(found: RunningSimulator, output: str) -> None:
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
    from vestibule_simulators.azure import validation

    if value and not validation.guid(value):
        raise click.BadParameter(f"is {value!r}, want a GUID", param_hint=flag)
    return value
