"""The door itself: finds the command, turns errors into sentences and exit codes.

Commands are imported when they are called or asked for help, so that ``vestibule --help`` stays quick.
"""

from __future__ import annotations

import importlib
import sys
from typing import Final, NoReturn

import click

from vestibule import __version__, errors

EXIT_FAILED: Final = 1
EXIT_INPUT: Final = 2
EXIT_REFUSED: Final = 3

_COMMANDS: Final = {
    "webhook": "Serve admission reviews over HTTPS.",
    "certificates": "Issue the certificate of the webhook and keep it trusted.",
    "operator": "Install the webhook that objects ask for, and keep it.",
    "inject": "Give the pods in manifests their identity, offline.",
    "explain": "Say what a pod gets, from which annotation on which object, and why not.",
    "lint": "Find what is wrong with manifests before a cluster does.",
    "doctor": "Find out why a pod has no identity: issuer, token, clock, webhook, pods.",
    "audit": "List pods that the webhook missed, and why; evict them if you wish.",
    "migrate": "Say what changes for a cluster that uses another identity webhook.",
    "initdata": "Build and check the initdata of confidential pods.",
    "render": "Print what a cluster needs to run the webhook.",
    "aro": "Check, plan and draw ARO HCP clusters before anything is created.",
    "oidc": "Publish, check and rotate the keys of a cluster's issuer.",
    "azwi": "Commands of the Azure Workload Identity CLI, as they are.",
    "azure": "Make an issuer and identities in Azure, as ccoctl does.",
    "aws": "Make an issuer and roles on AWS, as ccoctl does.",
    "gcp": "Make an issuer and service accounts on Google Cloud, as ccoctl does.",
    "broker": "Print the Secrets of CredentialsRequests that name their own identity.",
    "ccoctl": "Take command lines of ccoctl as they are.",
    "simulate": "Run a double of Azure on this machine, with faults on demand.",
}

_EPILOG = """\b
Exit codes:
  0  all is well
  1  something failed (a port in use, a file that cannot be written)
  2  the input is wrong: flags, settings, manifests; every problem is listed
  3  a pod would be refused, or a check failed

\b
Try:
  vestibule explain -f pod.yaml --cluster ./manifests
  vestibule inject  -f deploy.yaml --cluster ./manifests -o diff
"""


class _Lazy(click.Group):
    """Knows the names of its commands, and loads one when it is wanted."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(_COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in _COMMANDS:
            return None
        module = importlib.import_module(f"vestibule.cli.{cmd_name}")
        command: click.Command = module.command
        return command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        with formatter.section("Commands"):
            formatter.write_dl(list(_COMMANDS.items()))


@click.group(
    cls=_Lazy,
    epilog=_EPILOG,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 110},
)
@click.version_option(__version__, prog_name="vestibule")
def cli() -> None:
    """Every pod that enters a cluster leaves this hall with its cloud identity."""


def main() -> NoReturn:
    """Run the command line; never returns."""
    try:
        code = cli.main(standalone_mode=False)
    except click.exceptions.Abort:
        code = 130
    except click.ClickException as error:
        error.show()
        code = EXIT_INPUT
    except errors.InvalidInput as error:
        for problem in error.problems:
            click.echo(f"error: {problem}", err=True)
        code = EXIT_INPUT
    except (errors.VestibuleError, OSError) as error:
        click.echo(f"error: {error}", err=True)
        code = EXIT_FAILED
    sys.exit(code if isinstance(code, int) else 0)
