"""``vestibule oidc check``."""

from __future__ import annotations

import sys
from pathlib import Path

import click

from vestibule import errors
from vestibule.cli import checks as shown
from vestibule.cli import inputs, kubeclient, main, options
from vestibule.cli.oidc import sources

_EPILOG = """\b
What is published against what the cluster signs, with a fresh token of an account:
  vestibule oidc check --kubeconfig --service-account default/default

\b
Without a cluster: keys on disk, a token, and the place behind the address:
  vestibule oidc check --issuer https://id.example.com --public-key sa.pub
  vestibule oidc check --issuer https://id.example.com --token token.jwt --to s3://my-bucket --shape aws

\b
Tokens are requested for ten minutes, checked and discarded; none is shown. Nothing is written.
Exit codes: 0 success, 1 a place cannot be read, 2 the input is wrong, 3 at least one check failed.
Every id is explained in docs/oidc.md.
"""


@click.command(epilog=_EPILOG)
@options.kubeconfig
@click.option("--issuer", default="", metavar="URL", help="The issuer; default: the cluster's.")
@click.option(
    "--service-account",
    metavar="NAMESPACE/NAME",
    help="Request fresh tokens of this account and verify them.",
)
@click.option("--token", "token_file", metavar="FILE", help="A token to verify; - for standard input.")
@sources.public_keys
@sources.target(required=False)
@sources.shape
@sources.ca_bundle
@options.output("table", "json")
def check(
    kubeconfig: Path | None,
    context: str | None,
    issuer: str,
    service_account: str | None,
    token_file: str | None,
    files: tuple[str, ...],
    to: str | None,
    shape_name: str,
    ca_bundle: Path | None,
    output: str,
) -> None:
    """Compare what is published with what a cluster signs, and verify a token."""
    cluster = kubeconfig is not None or context is not None
    if not cluster and not issuer and token_file is None:
        raise click.UsageError("nothing to check: give --kubeconfig, --context, --issuer or --token")
    if service_account is not None and not cluster:
        raise click.UsageError("--service-account needs a cluster: give --kubeconfig or --context")
    tls = inputs.trusting(ca_bundle)
    shape = sources.shaped(shape_name)
    keys = sources.read(files) if files else ()
    from vestibule.clouds import publisher
    from vestibule.oidc import tokens
    from vestibule.provision import check as checking
    from vestibule.provision.cluster_keys import TokenAccount

    token = None
    if token_file is not None:
        place, text = inputs.token(token_file)
        try:
            token = tokens.parse(text)
        except tokens.MalformedToken as error:
            raise errors.InvalidInput(errors.InputProblem(place, "", str(error))) from None
    question = checking.CheckOptions(
        publisher.fetching(tls),
        issuer,
        kubeclient.access(kubeconfig, context) if cluster else None,
        TokenAccount(*inputs.account(service_account)) if service_account is not None else None,
        token,
        keys,
        sources.opened(to) if to is not None else None,
        shape,
    )
    found = checking.run(question)
    shown.show(found, output)
    if any(one.status == "fail" for one in found):
        sys.exit(main.EXIT_REFUSED)
