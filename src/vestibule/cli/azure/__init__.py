"""``vestibule azure``: an issuer and identities in Azure, as ``ccoctl azure`` makes them."""

from __future__ import annotations

from typing import Final

import click

from vestibule.cli import lazy

_COMMANDS: Final = {
    "create-key-pair": ("key_pair", "Make the keys that sign ServiceAccount tokens."),
    "create-oidc-issuer": ("issuer", "Publish discovery document and keys in a storage account."),
    "create-managed-identities": ("identities", "Make identities for CredentialsRequests."),
    "create-all": ("everything", "All three, one after the other."),
    "delete": ("delete", "Remove what was made, and nothing else."),
    "role": ("role", "Print the role that a run needs, and no more."),
}
_ALIASES: Final = {"create-identity-provider": "create-oidc-issuer"}

_EPILOG: Final = """\b
Everything for an OpenShift install, into ./out:
  vestibule azure create-all --name demo1 --region eastus --subscription-id S --tenant-id T \\
    --credentials-requests-dir ./requests --output-dir ./out

\b
What would be done, exactly (only reads), and without a login (no call at all):
  vestibule azure create-all … --plan
  vestibule azure create-all … --dry-run

\b
Without Azure, on this machine:
  vestibule simulate azure

\b
A run that fails or is killed is repeated as it is; it goes on from there.
"""


@click.group(
    "azure",
    cls=lazy.Group,
    module="vestibule.cli.azure.commands",
    listed=_COMMANDS,
    aliases=_ALIASES,
    epilog=_EPILOG,
)
def command() -> None:
    """Make the trust behind cloud identities in Azure: keys, issuer, managed identities, manifests."""
