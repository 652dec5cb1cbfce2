"""``vestibule gcp``: an issuer and service accounts on Google Cloud, as ``ccoctl gcp`` makes them."""

from __future__ import annotations

from typing import Final

import click

from vestibule.cli import lazy

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


@click.group(
    "gcp",
    cls=lazy.Group,
    module="vestibule.cli.gcp.commands",
    listed=_COMMANDS,
    epilog=_EPILOG,
)
def command() -> None:
    """Make the trust behind cloud identities on Google Cloud: keys, pool, issuer, accounts, manifests."""
