"""``vestibule aws``: an issuer and roles on AWS, compatible with ``ccoctl aws``."""

from __future__ import annotations

from typing import Final

import click

from vestibule.cli import lazygroup

_COMMANDS: Final = {
    "create-key-pair": ("key_pair", "Create the key pair that signs ServiceAccount tokens."),
    "create-identity-provider": ("issuer", "Publish an issuer in a bucket and let IAM trust it."),
    "create-iam-roles": ("roles", "Create IAM roles for CredentialsRequests."),
    "create-all": ("everything", "All of the above, planned as a whole."),
    "delete": ("delete", "Delete what vestibule created, and nothing else."),
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


@click.group(
    "aws",
    cls=lazygroup.LazyGroup,
    module="vestibule.cli.aws.commands",
    listed=_COMMANDS,
    epilog=_EPILOG,
)
def command() -> None:
    """Create the trust for cloud identities on AWS: keys, issuer, IAM provider, roles, manifests."""
