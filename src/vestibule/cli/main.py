"""The entry point: finds the command, turns errors into messages and exit codes.

Commands are imported when they are called or asked for help, so that ``vestibule --help`` stays quick.
"""

from __future__ import annotations

import importlib
import sys
from typing import Any, Final, NoReturn

import click

from vestibule import __version__, errors

EXIT_FAILED: Final = 1
EXIT_INPUT: Final = 2
EXIT_REFUSED: Final = 3

_COMMANDS: Final = {
    "webhook": "Serve admission reviews over HTTPS.",
    "certificates": "Issue and rotate the webhook's serving certificate.",
    "operator": "Reconcile VestibuleWebhook, HostedWebhook, PublishedIssuer and ARO resources.",
    "inject": "Inject identities into the pods of manifests, offline.",
    "explain": "Show what a pod gets, from which annotation on which object, and what is missing.",
    "lint": "Check manifests for mistakes before they are applied.",
    "doctor": "Diagnose why a pod has no identity: issuer, token, clock, webhook, pods.",
    "audit": "List pods that lack their identity or sandbox, with the cause; optionally evict them.",
    "migrate": "Report what changes when a cluster moves from another identity webhook.",
    "initdata": "Build and check the initdata of confidential pods.",
    "render": "Print the manifests that install the webhook or the operator.",
    "aro": "Validate, plan and draw ARO HCP clusters before anything is created.",
    "oidc": "Create, publish, check and rotate the keys of a cluster's issuer.",
    "azwi": "Commands of the Azure Workload Identity CLI (azwi).",
    "azure": "Create an issuer and identities in Azure, compatible with ccoctl.",
    "aws": "Create an issuer and roles on AWS, compatible with ccoctl.",
    "gcp": "Create an issuer and service accounts on Google Cloud, compatible with ccoctl.",
    "broker": "Print the Secrets of CredentialsRequests that name their own identity.",
    "ccoctl": "Accept command lines of ccoctl unchanged.",
    "simulate": "Run a simulator of Azure on this machine, with faults on request.",
}

EXTRAS: Final = {
    "webhook": "webhook",
    "certificates": "operator",
    "operator": "operator",
    **dict.fromkeys(("inject", "explain", "lint", "initdata", "broker"), "offline"),
    **dict.fromkeys(("doctor", "audit", "migrate", "render", "aro", "oidc", "azwi"), "cli"),
    "azure": "azure",
    "aws": "aws",
    "gcp": "gcp",
    "ccoctl": "azure,aws,gcp",
    "simulate": "simulate",
}
"""The extra with which a command is complete, but for ``OPTIONAL``."""

OPTIONAL: Final = {"aiohttp": "cluster", "yarl": "cluster"}
"""Modules that commands with the extra ``offline`` need only for a live cluster, and their extra."""

_COMPAT: Final = ("azwi", "ccoctl")
"""Commands that accept the command lines of other programs."""

_EPILOG = """\b
Exit codes:
  0  success
  1  something failed (a port in use, a file that cannot be written)
  2  the input is wrong: flags, settings, manifests; every problem is listed
  3  a pod would be refused, or a check failed

\b
Try:
  vestibule explain -f pod.yaml --cluster ./manifests
  vestibule inject  -f deploy.yaml --cluster ./manifests -o diff
"""


class _LazyCommands(click.Group):
    """Knows the names of all commands and imports one when it is used."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(_COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in _COMMANDS:
            return None
        folder = "vestibule.cli.compat" if cmd_name in _COMPAT else "vestibule.cli"
        try:
            module = importlib.import_module(f"{folder}.{cmd_name}")
        except ModuleNotFoundError as error:
            raise _missing(cmd_name, error) from error
        command: click.Command = module.command
        return command

    def invoke(self, ctx: click.Context) -> Any:
        try:
            return super().invoke(ctx)
        except ModuleNotFoundError as error:
            raise _missing(str(ctx.invoked_subcommand), error) from error

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        with formatter.section("Commands"):
            formatter.write_dl(list(_COMMANDS.items()))


def _missing(command: str, error: ModuleNotFoundError) -> Exception:
    """The error for a library that is not installed; a missing module of our own is a defect."""
    module = (error.name or "").partition(".")[0]
    if module == "vestibule":
        return error
    extra = EXTRAS[command]
    return errors.MissingExtra(command, OPTIONAL.get(module, extra) if extra == "offline" else extra)


@click.group(
    cls=_LazyCommands,
    epilog=_EPILOG,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 110},
)
@click.version_option(__version__, prog_name="vestibule")
def cli() -> None:
    """Workload identity and sandbox injection for Kubernetes pods."""


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
