"""``vestibule aro``."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from vestibule import errors
from vestibule.cli import main, options, printer

if TYPE_CHECKING:
    from vestibule.apps.aro.reading import Read

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
    """Check, plan and draw ARO HCP clusters before anything is created; nobody in Azure is asked."""


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
    return files(namespace(function))


def _read(files: tuple[str, ...], namespace: str) -> Read:
    from vestibule.apps.aro import reading

    return reading.read(files, sys.stdin.buffer, namespace)


def _read_usable(files: tuple[str, ...], namespace: str) -> Read:
    """The same, and what is not shown because it may not be embedded is told."""
    from vestibule.core.aro import embedded, family

    found = _read(files, namespace)
    for obj in found.objects:
        for one in embedded.refused(obj) if obj.get("kind") in family.ARO else ():
            click.secho(f"not shown: {obj['kind']} {obj['metadata']['name']}: {one}", fg="yellow", err=True)
    return found


@command.command()
@_manifests
@click.option(
    "--aro-kind",
    "kinds",
    multiple=True,
    metavar="GROUP/KIND/PLURAL",
    help="A kind that the operator allows to be embedded besides those that clusters are made of, as its own "
    "--aro-kind; can be given several times.",
)
@options.output("text", "json")
def validate(files: tuple[str, ...], namespace: str, kinds: tuple[str, ...], output: str) -> None:
    """Every rule that the webhook and Azure have for these manifests, all problems at once."""
    from vestibule.apps.aro import reading
    from vestibule.core.kinds import asokinds

    permitted = asokinds.permitted(kinds, "--aro-kind")
    findings = reading.check(_read(files, namespace), permitted)
    if output == "json":
        click.echo(printer.json_text([one._asdict() for one in findings]), nl=False)
    else:
        for one in findings:
            click.secho(str(one), fg="red" if one.severity == "error" else "yellow")
        counts = {name: sum(one.severity == name for one in findings) for name in ("error", "warning")}
        summary = ", ".join(f"{count} {name}{'s' * (count != 1)}" for name, count in counts.items() if count)
        click.echo(summary or "nothing to mend", err=True)
    if any(one.severity == "error" for one in findings):
        sys.exit(main.EXIT_REFUSED)


@command.command()
@_manifests
@click.option(
    "--remove", metavar="KIND/NAME", default="", help="Say what removing this embedded resource would delete."
)
@options.output("text", "json")
def plan(files: tuple[str, ...], namespace: str, remove: str, output: str) -> None:
    """What happens in which order, what waits for what, and which values are added to yours."""
    from vestibule.core.aro import engine, planning

    found = _read_usable(files, namespace)
    if remove:
        _removal(found, remove, output)
        return
    try:
        plans = {family.name: planning.steps(family) for family in found.families}
    except engine.Incompatible as error:
        raise errors.InvalidInput(errors.Problem(", ".join(files), "", str(error))) from error
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


def _removal(found: Read, what: str, output: str) -> None:
    from vestibule.core.aro import planning

    result = planning.removal(found.families, what)
    if result is None:
        known = sorted(
            f"{one['kind']}/{one['metadata']['name']}"
            for family in found.families
            for one in planning.everything(family)
        )
        text = f"is {what!r}, want one of {', '.join(known[:20])}{' ...' * (len(known) > 20)}"
        raise errors.InvalidInput(errors.Problem("--remove", "", text))
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
@options.output("mermaid", "svg", "json")
def graph(files: tuple[str, ...], namespace: str, output: str) -> None:
    """The resources as a picture: who carries what, and what needs what."""
    from vestibule.core.aro import drawing

    shown = drawing.picture(_read_usable(files, namespace).families)
    if output == "json":
        made = {
            "groups": [
                {"owner": label, "resources": list(map(str, members))} for label, members in shown.groups
            ],
            "edges": [
                {"needing": str(one.needing), "needed": str(one.needed), "path": one.path}
                for one in shown.edges
            ],
        }
        click.echo(printer.json_text(made), nl=False)
    else:
        click.echo(drawing.svg(shown) if output == "svg" else drawing.mermaid(shown), nl=False)


@command.command()
@click.option("--name", required=True, help="Of the cluster: up to 15 of a-z, 0-9 and -.")
@click.option("--subscription", required=True, help="GUID of the Azure subscription.")
@click.option("--location", required=True, help="Azure region, such as eastus.")
@click.option("-n", "--namespace", default="default", show_default=True, help="For all objects.")
@click.option("--version", default="4.20", show_default=True, help="Of the control plane, X.Y.")
@click.option("--pool-version", default="4.20.8", show_default=True, help="Of the nodes, X.Y.Z.")
@click.option("--replicas", type=int, default=2, show_default=True, help="Nodes.")
@click.option("--vm-size", default="Standard_D8s_v3", show_default=True, help="Of the nodes.")
@click.option("--vault", default="", help="Name of the Key Vault in Azure; default: made from the name.")
@click.option(
    "--identity",
    default="",
    help="AzureClusterIdentity that finds or makes the key of etcd; without it give --key-version.",
)
@click.option("--key-version", default="", help="Version of the key of etcd that you made in the vault.")
@click.option("--credential", default="", help="Secret with the credentials of Azure Service Operator.")
@click.option("--issuer", default="", help="URL of the OpenID issuer with which people sign in.")
@click.option("--audience", default="", help="With --issuer: the audience of its tokens.")
@click.option("--private", is_flag=True, help="The API server is reached from inside only.")
@click.option(
    "-d",
    "--output-dir",
    type=click.Path(path_type=Path, file_okay=False),
    help="Write a file per object there; default: print all.",
)
def init(output_dir: Path | None, **answers: Any) -> None:
    """Write a complete, current set of manifests: networks, vault, 13 identities and roles, cluster, pool."""
    from vestibule.core.aro import recipe

    made = recipe.manifests(recipe.Answers(**answers))
    if output_dir is None:
        click.echo(printer.yaml_text(made), nl=False)
        return
    there = [name for name in _names(made) if (output_dir / name).exists()]
    if there:
        text = f"holds {', '.join(there)} already: nothing was written, choose another directory"
        raise errors.InvalidInput(errors.Problem(str(output_dir), "", text))
    output_dir.mkdir(parents=True, exist_ok=True)
    for name, obj in zip(_names(made), made, strict=True):
        (output_dir / name).write_text(printer.yaml_text([obj]), "utf-8")
        click.echo(f"wrote {output_dir / name}", err=True)


def _names(made: list[dict[str, Any]]) -> list[str]:
    return [f"{number:02}-{one['kind'].lower()}.yaml" for number, one in enumerate(made, 1)]
