"""``vestibule azure``: an issuer and identities in Azure, compatible with ``ccoctl azure``."""

from __future__ import annotations

from typing import Final

import click

from vestibule.cli import lazygroup

_COMMANDS: Final = {
    "create-key-pair": ("key_pair", "Create the key pair that signs ServiceAccount tokens."),
    "create-oidc-issuer": ("issuer", "Publish discovery document and keys in a storage account."),
    "create-managed-identities": ("identities", "Create managed identities for CredentialsRequests."),
    "create-all": ("everything", "All of the above, planned as a whole."),
    "delete": ("delete", "Delete what vestibule created, and nothing else."),
    "role": ("role", "Print the minimal custom role that a command needs."),
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
    cls=lazygroup.LazyGroup,
    module="vestibule.cli.azure.commands",
    listed=_COMMANDS,
    aliases=_ALIASES,
    epilog=_EPILOG,
)
def command() -> None:
    """Create the trust for cloud identities in Azure: keys, issuer, managed identities, manifests."""
