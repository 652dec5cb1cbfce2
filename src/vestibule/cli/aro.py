"""``vestibule aro``."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from vestibule import errors
from vestibule.cli import main, options, printer

if TYPE_CHECKING:
    from vestibule.diagnose.aro_manifests import AroManifests

_EPILOG = """\b
From nothing to a cluster:
  vestibule aro init --name shop --subscription 00000000-0000-0000-0000-000000000001 \\
      --location eastus --identity capz -d ./shop
  vestibule aro validate -f ./shop
  vestibule aro plan -f ./shop
  kubectl apply -f ./shop

\b
Before a resource is taken out of a list:
  vestibule aro plan -f ./shop --remove VirtualNetwork/shop-vnet

\b
Exit codes: 0 all is well, 2 the input cannot be read, 3 a rule is broken.
"""


@click.group(epilog=_EPILOG)
def command() -> None:
    """Validate, plan and draw ARO HCP clusters before anything is created; no call to Azure is made."""


def _manifests(function: Any) -> Any:
    files = click.option(
        "-f",
        "--filename",
        "files",
        required=True,
        multiple=True,
        help="Manifest file, directory, or - for standard input; may be repeated.",
    )
    namespace = click.option(
        "-n", "--namespace", default="default", show_default=True, help="For objects that name none."
    )
    kinds = click.option(
        "--aro-kind",
        "kinds",
        multiple=True,
        metavar="GROUP/KIND/PLURAL",
        help="A kind that the operator allows to be embedded besides those that clusters are made of, as its "
        "own --aro-kind; can be given several times.",
    )
    return files(namespace(kinds(function)))


_operator_namespace = click.option(
    "--operator-namespace",
    "operator",
    default="vestibule-system",
    show_default=True,
    help="Namespace of the operator: an AzureClusterIdentity there may use the operator's own account and "
    "files.",
)


def _read(files: tuple[str, ...], namespace: str, kinds: tuple[str, ...]) -> AroManifests:
    from vestibule.api import aso
    from vestibule.diagnose import aro_manifests

    permitted = aso.permitted(kinds, "--aro-kind")
    return aro_manifests.read(files, sys.stdin.buffer, namespace, permitted)


def _read_cluster(files: tuple[str, ...], namespace: str, kinds: tuple[str, ...]) -> AroManifests:
    """The same for what can be planned and drawn."""
    from vestibule.diagnose import aro_manifests

    found = _read(files, namespace, kinds)
    aro_manifests.require_cluster(found, files)
    return found


def _exit_if_refused(found: AroManifests, operator: str) -> None:
    """What ``validate`` refuses ends every command with the same code, after the rest was shown."""
    from vestibule.diagnose import aro_manifests

    wrong = [one for one in aro_manifests.check(found, operator) if one.severity == "error"]
    for one in wrong:
        click.secho(str(one), fg="red", err=True)
    if wrong:
        sys.exit(main.EXIT_REFUSED)


@command.command()
@_manifests
@_operator_namespace
@options.output("text", "json")
def validate(
    files: tuple[str, ...], namespace: str, kinds: tuple[str, ...], operator: str, output: str
) -> None:
    """Check manifests against the rules of the webhook, the operator and Azure; all problems at once."""
    from vestibule.diagnose import aro_manifests

    found = _read(files, namespace, kinds)
    findings = aro_manifests.check(found, operator)
    if output == "json":
        click.echo(printer.json_text([one._asdict() for one in findings]), nl=False)
    else:
        for one in findings:
            click.secho(str(one), fg="red" if one.severity == "error" else "yellow")
        counts = {name: sum(one.severity == name for one in findings) for name in ("error", "warning")}
        summary = ", ".join(f"{count} {name}{'s' * (count != 1)}" for name, count in counts.items() if count)
        count = len(found.objects)
        click.echo(summary or f"no problems found in {count} object{'s' * (count != 1)}", err=True)
    if any(one.severity == "error" for one in findings):
        sys.exit(main.EXIT_REFUSED)


@command.command()
@_manifests
@click.option(
    "--remove",
    metavar="KIND/NAME",
    default="",
    help="Show what removing this embedded resource would delete.",
)
@_operator_namespace
@options.output("text", "json")
def plan(
    files: tuple[str, ...], namespace: str, kinds: tuple[str, ...], remove: str, operator: str, output: str
) -> None:
    """Show what happens in which order, what waits for what, and which values are added to yours.

    Entries that validate refuses are not part of it, and end the command with code 3.
    """
    found = _read_cluster(files, namespace, kinds)
    if remove:
        _removal(found, remove, output)
    else:
        _plan(found, files, output)
    _exit_if_refused(found, operator)


def _plan(found: AroManifests, files: tuple[str, ...], output: str) -> None:
    from vestibule.aro import aso_resources, manifest_plan

    try:
        plans = {family.name: manifest_plan.steps(family) for family in found.families}
    except aso_resources.IncompatibleValue as error:
        raise errors.InvalidInput(errors.InputProblem(", ".join(files), "", str(error))) from error
    if output == "json":
        shown = {
            name: [{**one._asdict(), "added": [each._asdict() for each in one.added]} for one in steps]
            for name, steps in plans.items()
        }
        click.echo(printer.json_text(shown), nl=False)
        return
    for name, steps in plans.items():
        click.secho(f"Cluster {name}", bold=True)
        phase = ""
        for number, step in enumerate(steps, 1):
            if step.phase != phase:
                phase = step.phase
                click.secho(f"  {phase}", fg="cyan")
            waits = f"  after {', '.join(step.waits)}" if step.waits else ""
            click.echo(f"  {number:3}. {step.what}{click.style(waits, dim=True)}")
            for added in step.added:
                text = printer.json_text(added.value).strip().replace("\n", " ")
                click.secho(f"         + {added.path} = {' '.join(text.split())}", fg="green")


def _removal(found: AroManifests, what: str, output: str) -> None:
    from vestibule.aro import manifest_plan

    result = manifest_plan.removal(found.families, what)
    if result is None:
        known = sorted(
            f"{one['kind']}/{one['metadata']['name']}"
            for family in found.families
            for one in manifest_plan.everything(family)
        )
        text = f"is {what!r}, want one of {', '.join(known[:20])}{' ...' * (len(known) > 20)}"
        raise errors.InvalidInput(errors.InputProblem("--remove", "", text))
    if output == "json":
        click.echo(printer.json_text(result._asdict()), nl=False)
        return
    click.secho("deleted, in Kubernetes and in Azure:", fg="red")
    for one in result.deleted:
        click.echo(f"  - {one}")
    if result.broken:
        click.secho("left behind without what it refers to:", fg="yellow")
        for one in result.broken:
            click.echo(f"  - {one}")


@command.command()
@_manifests
@_operator_namespace
@options.output("mermaid", "svg", "json")
def graph(files: tuple[str, ...], namespace: str, kinds: tuple[str, ...], operator: str, output: str) -> None:
    """Draw the resources: which object embeds what, and what depends on what.

    Entries that validate refuses are not part of it, and end the command with code 3.
    """
    from vestibule.aro import diagram

    found = _read_cluster(files, namespace, kinds)
    shown = diagram.picture(found.families)
    if output == "json":
        rendered = {
            "groups": [
                {"owner": label, "resources": list(map(str, members))} for label, members in shown.groups
            ],
            "edges": [
                {"needing": str(one.needing), "needed": str(one.needed), "path": one.path}
                for one in shown.edges
            ],
        }
        click.echo(printer.json_text(rendered), nl=False)
    else:
        click.echo(diagram.svg(shown) if output == "svg" else diagram.mermaid(shown), nl=False)
    _exit_if_refused(found, operator)


@command.command()
@click.option("--name", required=True, help="Name of the cluster: up to 15 of a-z, 0-9 and -.")
@click.option("--subscription", required=True, help="GUID of the Azure subscription.")
@click.option("--location", required=True, help="Azure region, such as eastus.")
@click.option("-n", "--namespace", default="default", show_default=True, help="Namespace of all objects.")
@click.option("--version", default="4.20", show_default=True, help="Version of the control plane, X.Y.")
@click.option("--pool-version", default="4.20.8", show_default=True, help="Version of the nodes, X.Y.Z.")
@click.option("--replicas", type=int, default=2, show_default=True, help="Number of nodes.")
@click.option("--vm-size", default="Standard_D8s_v3", show_default=True, help="Size of the nodes.")
@click.option("--vault", default="", help="Name of the Key Vault in Azure; default: derived from --name.")
@click.option(
    "--identity",
    default="",
    help="AzureClusterIdentity that finds or creates the etcd key; without it give --key-version.",
)
@click.option("--key-version", default="", help="Version of the etcd key that you created in the vault.")
@click.option("--credential", default="", help="Secret with the credentials of Azure Service Operator.")
@click.option("--issuer", default="", help="URL of the OpenID issuer with which people sign in.")
@click.option("--audience", default="", help="With --issuer: the audience of its tokens.")
@click.option("--private", is_flag=True, help="The API server is reachable from inside the network only.")
@click.option(
    "-d",
    "--output-dir",
    type=click.Path(path_type=Path, file_okay=False),
    help="Write one file per object to this directory; default: print all.",
)
def init(output_dir: Path | None, **options: Any) -> None:
    """Write a complete, current set of manifests: networks, vault, 13 identities and roles, cluster, pool."""
    from vestibule.aro.scaffold import manifests

    files = manifests.manifests(manifests.ScaffoldAnswers(**options))
    if output_dir is None:
        click.echo(printer.yaml_text(files), nl=False)
        return
    existing = [name for name in _names(files) if (output_dir / name).exists()]
    if existing:
        text = f"holds {', '.join(existing)} already: nothing was written, choose another directory"
        raise errors.InvalidInput(errors.InputProblem(str(output_dir), "", text))
    output_dir.mkdir(parents=True, exist_ok=True)
    for name, obj in zip(_names(files), files, strict=True):
        (output_dir / name).write_text(printer.yaml_text([obj]), "utf-8")
        click.echo(f"wrote {output_dir / name}", err=True)


def _names(files: list[dict[str, Any]]) -> list[str]:
    return [f"{number:02}-{one['kind'].lower()}.yaml" for number, one in enumerate(files, 1)]
