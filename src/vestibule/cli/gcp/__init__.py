"""``vestibule gcp``: an issuer and service accounts on Google Cloud, compatible with ``ccoctl gcp``."""

from __future__ import annotations

from typing import Final

import click

from vestibule.cli import lazygroup

_COMMANDS: Final = {
    "create-key-pair": ("key_pair", "Create the key pair that signs ServiceAccount tokens."),
    "create-workload-identity-pool": ("pool", "Create a workload identity pool."),
    "create-workload-identity-provider": ("issuer", "Publish an issuer and let the pool trust it."),
    "create-service-accounts": ("accounts", "Create service accounts for CredentialsRequests."),
    "create-all": ("everything", "All of the above, planned as a whole."),
    "delete": ("delete", "Delete what vestibule created, and nothing else."),
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
    cls=lazygroup.LazyGroup,
    module="vestibule.cli.gcp.commands",
    listed=_COMMANDS,
    epilog=_EPILOG,
)
def command() -> None:
    """Create the trust for cloud identities on Google Cloud: keys, pool, issuer, accounts, manifests."""
