"""``vestibule oidc rotate``."""

from __future__ import annotations

import time
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from vestibule import errors
from vestibule.cli import inputs, kubeclient, options, printer
from vestibule.cli.oidc import sources

if TYPE_CHECKING:
    from vestibule.provision.rotation import RotationProgress, RotationSetup

_EPILOG = """\b
  vestibule oidc rotate --to azblob:myaccount/oidc --issuer https://myaccount.blob.core.windows.net/oidc \\
      --output-dir ./rotation --kubeconfig --service-account default/default --dry-run

\b
Run it without --dry-run, and again until it is done; or once with --wait. Each run does what can be done
now, prints what comes next, and may be interrupted at any time. The stages:
  prepared   there is a new key, in --output-dir
  published  both keys are published; caches get time to notice
  switching  let the cluster sign with the new key now
  draining   the new key signs; tokens of the old one still live
  retiring   the old key can go
  done       the new key alone is published

\b
With --kubeconfig and --service-account the switch is detected in fresh tokens. Without them give --switched.
A key that the cluster signs with is never retired.
Exit codes: 0 it went on or waits, 1 something failed, 2 the input is wrong.
"""
_POLL_SECONDS = 15.0
"""Seconds between two polls with --wait."""


class _Duration(click.ParamType[float]):
    name = "duration"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> float:
        from vestibule import gostrconv

        seconds = value if isinstance(value, float) else gostrconv.duration(str(value))
        if seconds is None:
            self.fail(f"is {value!r}, want a duration such as 90m or 24h", param, ctx)
        return seconds


@click.command(epilog=_EPILOG)
@sources.target(required=True)
@click.option("--issuer", required=True, metavar="URL", help="The issuer.")
@click.option(
    "--output-dir",
    type=click.Path(path_type=Path),
    required=True,
    help="Directory for this rotation only: its state and the new key pair.",
)
@sources.shape
@click.option(
    "--public-key",
    "file",
    metavar="FILE",
    help="New public key, if its private key is stored elsewhere; default: a key pair is created.",
)
@click.option("--old", multiple=True, metavar="KID", help="Key to retire; default: the cluster's, or all.")
@click.option(
    "--settle",
    type=_Duration(),
    default="15m",
    show_default=True,
    help="Time for caches to notice a new key.",
)
@click.option(
    "--longest-token",
    type=_Duration(),
    default="24h",
    show_default=True,
    help="Longest lifetime of a token that a cloud receives.",
)
@options.kubeconfig
@click.option(
    "--service-account", metavar="NAMESPACE/NAME", help="Detect the switch in fresh tokens of this account."
)
@click.option(
    "--switched",
    is_flag=True,
    help="Skip detection: assume that the API server already signs with the new key.",
)
@click.option(
    "--wait", is_flag=True, help="Wait until the rotation is done; may be interrupted and run again."
)
@click.option(
    "--verify/--no-verify",
    default=None,
    help="Read the public address; default: yes, except for a directory.",
)
@sources.ca_bundle
@click.option("--dry-run", is_flag=True, help="Show what would be done, and do nothing.")
@options.output("text", "json")
def rotate(
    to: str,
    issuer: str,
    output_dir: Path,
    shape_name: str,
    file: str | None,
    old: tuple[str, ...],
    settle: float,
    longest_token: float,
    kubeconfig: Path | None,
    context: str | None,
    service_account: str | None,
    switched: bool,
    wait: bool,
    verify: bool | None,
    ca_bundle: Path | None,
    dry_run: bool,
    output: str,
) -> None:
    """Rotate the signing key in stages that can be watched, interrupted and resumed."""
    cluster = kubeconfig is not None or context is not None
    if cluster != (service_account is not None):
        raise click.UsageError("--kubeconfig or --context and --service-account go together")
    if cluster and switched:
        raise click.UsageError("--switched is for those who cannot look: leave it out with --kubeconfig")
    tls = inputs.trusting(ca_bundle)
    shape = sources.shaped(shape_name)
    key = _one(file) if file is not None else None
    from vestibule.clouds import publisher
    from vestibule.provision import rotation
    from vestibule.provision.cluster_keys import TokenAccount

    store = sources.opened(to)
    setup = rotation.RotationSetup(
        store,
        to,
        issuer,
        output_dir,
        shape,
        key,
        old,
        settle,
        longest_token,
        access=kubeclient.access(kubeconfig, context) if cluster else None,
        account=TokenAccount(*inputs.account(service_account)) if service_account is not None else None,
        fetch=publisher.fetching(tls) if (store.served if verify is None else verify) else None,
    )
    if dry_run:
        _outlook(setup, output)
        return
    progress = rotation.advance(setup, switched=switched)
    _show(progress, setup, output)
    while wait and progress.next.do != "nothing" and (cluster or progress.next.do != "switch"):
        left = progress.next.until - time.time() if progress.next.until else _POLL_SECONDS
        time.sleep(min(_POLL_SECONDS, max(0.1, left)))
        stage = progress.stage
        try:
            progress = rotation.advance(setup)
        except errors.Unavailable as error:
            click.echo(f"warning: {error}; trying again", err=True)
            continue
        if progress.stage != stage or progress.did:
            _show(progress, setup, output)


def _one(file: str) -> Any:
    found = sources.read([file])
    if len(found) != 1:
        raise errors.InvalidInput(errors.InputProblem(file, "", f"has {len(found)} keys, want one"))
    return found[0]


def _outlook(setup: RotationSetup, output: str) -> None:
    from vestibule.oidc import rotation as stages
    from vestibule.provision import rotation

    state, steps = rotation.outlook(setup)
    stage = "none" if state is None else stages.stage(state, setup.clock())
    if output == "json":
        click.echo(printer.json_text({"dryRun": True, "stage": stage, "steps": steps}), nl=False)
        return
    click.echo(f"stage {stage}; would:" if steps else f"stage {stage}; nothing is left to do")
    for number, step in enumerate(steps, 1):
        click.echo(f"  {number}. {step}")


def _show(progress: RotationProgress, setup: RotationSetup, output: str) -> None:
    state, following = progress.state, progress.next
    if output == "json":
        report = {
            "stage": progress.stage,
            "new": state.new,
            "old": state.old,
            "did": progress.did,
            "signs": progress.signs,
            "next": following.do,
            "why": following.why,
            "until": _when(following.until) if following.until else None,
            "began": _when(state.began),
            "published": _when(state.published) if state.published else None,
            "switched": _when(state.switched) if state.switched else None,
            "retired": _when(state.retired) if state.retired else None,
        }
        click.echo(printer.json_text(report), nl=False)
        return
    for text in progress.did:
        click.echo(f"done: {text}")
    click.echo(f"stage {progress.stage}: {following.why}")
    if following.until:
        click.echo(f"next: call again after {_when(following.until)}")
    if following.do == "switch":
        for line in _instructions(setup):
            click.echo(line)


def _instructions(setup: RotationSetup) -> list[str]:
    from vestibule.provision import keypair

    public = setup.folder / keypair.PUBLIC_NAME
    private = setup.folder / keypair.PRIVATE_NAME
    signer = f"the key {private}" if setup.public_key is None else "the private half of the new key"
    seen = "call again" if setup.access is not None else "call again with --switched"
    return [
        f"  1. every API server must accept both first: add --service-account-key-file={public}",
        f"  2. then let every API server sign with {signer}: --service-account-signing-key-file",
        "     (and the controller manager: --service-account-private-key-file)",
        f"  3. {seen}",
    ]


def _when(seconds: float) -> str:
    return datetime.fromtimestamp(seconds, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
