"""``vestibule oidc publish``."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from vestibule.cli import inputs, options, printer
from vestibule.cli.oidc import sources

if TYPE_CHECKING:
    from vestibule.clouds.publisher import PublicationPlan

_EPILOG = """\b
Azure blobs with your own login to Entra (az login); no shared key is needed:
  vestibule oidc publish --public-key sa.pub --to azblob:myaccount/oidc \\
      --issuer https://myaccount.blob.core.windows.net/oidc

\b
Public blobs are forbidden: the account's static website, or a CDN or Azure Front Door in front of it:
  vestibule oidc publish --public-key sa.pub --to 'azblob:myaccount/$web' --issuer https://id.example.com

\b
The keys of a running cluster, to S3; and a directory for a web server of your own:
  vestibule oidc publish --kubeconfig --to s3://my-bucket --shape aws
  vestibule oidc publish --public-key sa.pub --to dir:./site --issuer https://id.example.com

\b
What is published stays: new keys are added by their id, and a key goes only when --retire names it.
Documents of another issuer are refused. Afterwards the public address is read and compared.
Exit codes: 0 success, 1 the place or the public address fails, 2 the input is wrong or is refused.
"""


@click.command(epilog=_EPILOG)
@sources.public_keys
@options.kubeconfig
@sources.target(required=True)
@click.option("--issuer", default="", metavar="URL", help="The issuer; default: the cluster's.")
@sources.shape
@click.option("--retire", multiple=True, metavar="KID", help="Remove this key; may be repeated.")
@click.option("--adopt", is_flag=True, help="Take over documents that carry no mark of an owner.")
@click.option(
    "--tag", "tags", multiple=True, metavar="KEY=VALUE", help="Tag of the objects; may be repeated."
)
@click.option(
    "--verify/--no-verify",
    default=None,
    help="Read the public address afterwards; default: yes, except for a directory.",
)
@sources.ca_bundle
@click.option("--dry-run", is_flag=True, help="Show what would be written, and write nothing.")
@options.output("text", "json")
def publish(
    files: tuple[str, ...],
    kubeconfig: Path | None,
    context: str | None,
    to: str,
    issuer: str,
    shape_name: str,
    retire: tuple[str, ...],
    adopt: bool,
    tags: tuple[str, ...],
    verify: bool | None,
    ca_bundle: Path | None,
    dry_run: bool,
    output: str,
) -> None:
    """Publish keys and discovery document; keys that are already published stay."""
    labels = _tags(tags)
    tls = inputs.trusting(ca_bundle)
    keys, own = sources.gathered(files, kubeconfig, context)
    issuer = issuer or own
    if not issuer:
        raise click.UsageError("no issuer: give --issuer, or a cluster with --kubeconfig or --context")
    shape = sources.shaped(shape_name)
    from vestibule.clouds import publisher

    publisher.refuse(issuer, keys)
    store = sources.opened(to)
    if dry_run:
        planned = publisher.plan(store, issuer, keys, shape=shape, retire=retire, adopt=adopt)
        _show(planned, output, verified=False, dry_run=True)
        return
    fetch = publisher.fetching(tls) if (store.served if verify is None else verify) else None
    done = publisher.publish(
        store, issuer, keys, shape=shape, retire=retire, adopt=adopt, tags=labels, fetch=fetch
    )
    _show(done.plan, output, verified=done.verified, dry_run=False)


def _tags(given: tuple[str, ...]) -> dict[str, str]:
    found = {}
    for text in given:
        key, equals, value = text.partition("=")
        if not key or not equals:
            raise click.BadParameter(f"is {text!r}, want KEY=VALUE", param_hint="--tag")
        found[key] = value
    return found


def _show(planned: PublicationPlan, output: str, *, verified: bool, dry_run: bool) -> None:
    if output == "json":
        report = {
            "where": planned.where,
            "issuer": planned.issuer,
            "keys": planned.kids,
            "added": planned.added,
            "retired": planned.retired,
            "documents": [
                {"name": change.name, "action": change.action, "bytes": len(change.body)}
                for change in planned.changes
            ],
            "verified": verified,
            "dryRun": dry_run,
        }
        click.echo(printer.json_text(report), nl=False)
        return
    words = {"create": "would be created", "update": "would be changed", "keep": "would stay"}
    if not dry_run:
        words = {"create": "created", "update": "changed", "keep": "is as it should be"}
    for change in planned.changes:
        click.echo(f"{planned.where}: {change.name} {words[change.action]}, {len(change.body)} bytes")
    for kid in planned.kids:
        click.echo(f"  key {kid}{' (new)' if kid in planned.added else ''}")
    for kid in planned.retired:
        click.echo(f"  key {kid} (retired)")
    if verified:
        click.echo(f"seen at {planned.issuer}")
    elif not dry_run:
        click.echo(
            f"not checked from outside; check later with: vestibule oidc check --issuer {planned.issuer}"
        )
