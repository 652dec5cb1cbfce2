"""``vestibule aws``: an issuer and roles on AWS, as ``ccoctl aws`` makes them."""

from __future__ import annotations

import importlib
from typing import Final

import click

_COMMANDS: Final = {
    "create-key-pair": ("key_pair", "Make the keys that sign ServiceAccount tokens."),
    "create-identity-provider": ("issuer", "Publish an issuer in a bucket and let IAM trust it."),
    "create-iam-roles": ("roles", "Make roles for CredentialsRequests."),
    "create-all": ("everything", "All three, one after the other."),
    "delete": ("delete", "Remove what was made, and nothing else."),
}

_EPILOG: Final = """\b
Everything for an OpenShift install, into ./out:
  vestibule aws create-all --name demo1 --region eu-central-1 \\
    --credentials-requests-dir ./requests --output-dir ./out

\b
What would be done, exactly (only reads), and without a login (no call at all):
  vestibule aws create-all … --plan
  vestibule aws create-all … --dry-run

\b
A run that fails or is killed is repeated as it is; it goes on from there.
"""


class _Lazy(click.Group):
    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(_COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in _COMMANDS:
            return None
        module = importlib.import_module("vestibule.cli.aws.commands")
        found: click.Command = getattr(module, _COMMANDS[cmd_name][0])
        return found

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        with formatter.section("Commands"):
            formatter.write_dl([(name, text) for name, (_, text) in _COMMANDS.items()])


@click.group("aws", cls=_Lazy, epilog=_EPILOG)
def command() -> None:
    """Make the trust behind cloud identities on AWS: keys, issuer, IAM provider, roles, manifests."""
