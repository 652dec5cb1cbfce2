"""``vestibule oidc``: keys, documents, publication and rotation of a cluster's issuer."""

from __future__ import annotations

import click

from vestibule.cli.oidc import check, documents, keypair, publish, rotate

_EPILOG = """\b
From nothing to an issuer that clouds can read:
  vestibule oidc create-key-pair --output-dir ./keys
  vestibule oidc publish --public-key ./keys/serviceaccount-signer.public \\
      --to azblob:myaccount/oidc --issuer https://myaccount.blob.core.windows.net/oidc
  vestibule oidc check --kubeconfig --service-account default/default

\b
A running cluster whose API server is not public, to a web site of your own:
  vestibule oidc publish --kubeconfig --to s3://my-bucket --shape aws

\b
Rotate the signing key in stages; run it again until it is done:
  vestibule oidc rotate --to s3://my-bucket --issuer https://id.example.com --output-dir ./rotation
"""


@click.group(epilog=_EPILOG)
def command() -> None:
    """Keys and documents of a cluster's issuer: create, publish, check, rotate."""


command.add_command(documents.jwks)
command.add_command(documents.discovery)
command.add_command(publish.publish)
command.add_command(check.check)
command.add_command(rotate.rotate)
command.add_command(keypair.create_key_pair)
