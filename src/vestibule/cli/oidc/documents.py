"""``vestibule oidc jwks`` and ``vestibule oidc discovery``: the two documents, as bytes."""

from __future__ import annotations

from pathlib import Path

import click

from vestibule.cli import options, printer
from vestibule.cli.oidc import sources

_PUBLIC_MODE = 0o644
_JWKS = """\b
  vestibule oidc jwks --public-key sa.pub
  vestibule oidc jwks --public-key old.pub --public-key new.pub --output-file jwks.json
  vestibule oidc jwks --kubeconfig -o json

\b
Exit codes: 0 success, 1 a file cannot be written or the cluster not be read, 2 a key cannot be used.
"""
_DISCOVERY = """\b
  vestibule oidc discovery --issuer https://myaccount.blob.core.windows.net/oidc
  vestibule oidc discovery --issuer https://id.example.com --shape aws --output-file openid-configuration

\b
Exit codes: 0 success, 1 a file cannot be written or the cluster not be read, 2 the input is wrong.
"""


def _output_file(function: sources.F) -> sources.F:
    return click.option(
        "--output-file",
        type=click.Path(path_type=Path),
        help="Write to this file instead of standard output.",
    )(function)


@click.command(epilog=_JWKS)
@sources.public_keys
@options.kubeconfig
@_output_file
@options.output("document", "json")
def jwks(
    files: tuple[str, ...],
    kubeconfig: Path | None,
    context: str | None,
    output_file: Path | None,
    output: str,
) -> None:
    """Print the JWKS of public keys, or of a running cluster; -o json also shows where each key came from."""
    found, _ = sources.gathered(files, kubeconfig, context)
    from vestibule.oidc import documents

    body = documents.key_set(found)
    if output == "json":
        listed = [
            {
                "kid": key.kid,
                "kind": key.kind,
                "algorithm": key.algorithm,
                "bits": key.bits,
                "origin": key.origin,
            }
            for key in found
        ]
        body = printer.json_text({"keys": listed}).encode()
    sources.write(output_file, body, _PUBLIC_MODE)


@click.command(epilog=_DISCOVERY)
@click.option("--issuer", default="", metavar="URL", help="The issuer; default: the cluster's.")
@sources.public_keys
@options.kubeconfig
@sources.shape
@_output_file
@options.output("document", "json")
def discovery(
    issuer: str,
    files: tuple[str, ...],
    kubeconfig: Path | None,
    context: str | None,
    shape_name: str,
    output_file: Path | None,
    output: str,
) -> None:
    """Print the discovery document of an issuer; its algorithms come from the keys, else RS256."""
    shape = sources.shaped(shape_name)
    from vestibule.clouds import publisher
    from vestibule.oidc import documents

    algorithms: tuple[str, ...] = ("RS256",)
    if files or kubeconfig is not None or context is not None:
        found, own = sources.gathered(files, kubeconfig, context)
        algorithms, issuer = documents.algorithms(found), issuer or own
    if not issuer:
        raise click.UsageError("no issuer: give --issuer, or a cluster with --kubeconfig or --context")
    publisher.refuse(issuer, None)
    body = documents.configuration(issuer, shape, algorithms)
    if output == "json":
        report = {
            "issuer": issuer,
            "jwksUri": documents.keys_address(issuer, shape),
            "algorithms": algorithms,
            "names": [documents.DISCOVERY_NAME, shape.keys_name],
        }
        body = printer.json_text(report).encode()
    sources.write(output_file, body, _PUBLIC_MODE)
