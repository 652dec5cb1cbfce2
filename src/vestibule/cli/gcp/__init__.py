"""``vestibule gcp``: an issuer and service accounts on Google Cloud, as ``ccoctl gcp`` makes them."""

from __future__ import annotations

import importlib
from typing import Final

import click

_COMMANDS: Final = {
    "create-key-pair": ("key_pair", "Make the keys that sign ServiceAccount tokens."),
    "create-workload-identity-pool": ("pool", "Make a workload identity pool."),
    "create-workload-identity-provider": ("issuer", "Publish an issuer and let the pool trust it."),
    "create-service-accounts": ("accounts", "Make service accounts for CredentialsRequests."),
    "create-all": ("everything", "All four, one after the other."),
    "delete": ("delete", "Remove what was made, and nothing else."),
}

_EPILOG: Final = """\b
Everything for an OpenShift install, into ./out:
  vestibule gcp create-all --name demo1 --project my-project-1 \\
    --credentials-requests-dir ./requests --output-dir ./out

\b
What would be done, exactly (only reads), and without a login (no call at all, scripts for gcloud):
  vestibule gcp create-all … --plan
  vestibule gcp create-all … --dry-run

\b
A run that fails or is killed is repeated as it is; it goes on from there.
"""


class _Lazy(click.Group):
    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(_COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in _COMMANDS:
            return None
        module = importlib.import_module("vestibule.cli.gcp.commands")
        found: click.Command = getattr(module, _COMMANDS[cmd_name][0])
        return found

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        with formatter.section("Commands"):
            formatter.write_dl([(name, text) for name, (_, text) in _COMMANDS.items()])


@click.group("gcp", cls=_Lazy, epilog=_EPILOG)
def command() -> None:
    """Make the trust behind cloud identities on Google Cloud: keys, pool, issuer, accounts, manifests."""
