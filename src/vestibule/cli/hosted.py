"""``vestibule render --hosted FLAVOUR``: what a webhook beside a hosted control plane needs, from files."""

from __future__ import annotations

import sys
from collections.abc import Callable
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, Final, NamedTuple, TypeVar, cast

import click

from vestibule import errors

if TYPE_CHECKING:
    from vestibule.operator.controllers.hosted.control_plane import ControlPlane
    from vestibule.operator.controllers.hosted.desired import HostedDesired

F = TypeVar("F", bound=Callable[..., Any])
Object = dict[str, Any]
FLAVOURS: Final = ("auto", "hypershift", "kamaji", "k0smotron", "clusterapi", "vcluster", "kubeconfig")
_ATTACH: Final = ("auto", "builtin", "deployment", "sidecar", "static-pod", "in-guest")


class HostedOptions(NamedTuple):
    """What the command line says about a hosted control plane."""

    flavour: str
    attach: str
    part: str
    program: str
    tenant_id: str
    environment: str
    region: str


def options(function: F) -> F:
    """The options of ``--hosted``."""
    for one in reversed(
        [
            click.option(
                "--hosted",
                "flavour",
                type=click.Choice(FLAVOURS),
                help="For a hosted control plane of this platform, given in a file (-f).",
            ),
            click.option(
                "--attach",
                type=click.Choice(_ATTACH),
                default="auto",
                show_default=True,
                help="With --hosted: how the webhook is attached to the API server.",
            ),
            click.option(
                "--part",
                type=click.Choice(["all", "management", "guest"]),
                default="all",
                show_default=True,
                help="With --hosted: objects of the management cluster, the hosted cluster, or both.",
            ),
            click.option(
                "--program",
                type=click.Choice(["azwi", "eks"]),
                default="azwi",
                show_default=True,
                help="With --hosted: upstream webhook to replace.",
            ),
            click.option(
                "--tenant-id", default="", help="With --hosted: tenant of ServiceAccounts without one."
            ),
            click.option("--azure-environment", default="", help="With --hosted: name of the Azure cloud."),
            click.option("--region", default="", help="With --hosted: AWS region of containers without one."),
        ]
    ):
        function = one(function)
    return function


def run(asked: HostedOptions, files: tuple[str, ...], image: str) -> tuple[list[Object], list[str]]:
    """The objects and what a person should know; raises InvalidInput when no control plane is given, or
    several are, or none of what is asked for is possible."""
    from vestibule.diagnose.offline import manifest_files
    from vestibule.operator.controllers.hosted import desired, hypershift_sidecar

    things: list[Object] = []
    for file in manifest_files.read(files, sys.stdin.buffer) if files else []:
        for document in file.documents:
            value = document.value
            if isinstance(value, dict):
                things += value.get("items", []) if value.get("kind") == "List" else [value]
    things = [one for one in things if isinstance(one.get("metadata"), dict) and one["metadata"].get("name")]
    now = datetime.now(UTC)
    target = _target(asked, things, now)
    if target.flavour == "hypershift" and asked.attach == "sidecar":
        apiserver = hypershift_sidecar.deployment(target, things)
        if apiserver is not None:  # else desired.plan says why not
            found = hypershift_sidecar.plan(target, apiserver, things, now)
            return _part(asked.part, found.management, found.guest), [*found.notes, *_state(target)]
    request = desired.HostedRequest(
        program=cast("Any", asked.program),  # click has checked both
        attach=cast("Any", asked.attach),
        tenant_id=asked.tenant_id,
        environment=asked.environment,
        region=asked.region,
        image=image,
    )
    made = desired.plan(request, target, _seen(target, things), things, now)
    if made.choice.way is None:
        raise errors.InvalidInput(
            errors.InputProblem("--attach", "", str(made.choice.conditions[0]["message"]))
        )
    return _chosen(asked.part, made), [*_told(target, made), *_tolerated(target, made, things)]


def _target(asked: HostedOptions, things: list[Object], now: datetime) -> ControlPlane:
    """The one control plane in the files."""
    from vestibule.operator.controllers.hosted import platform_table

    if asked.flavour == "auto":
        found = [(flavour, one) for one in things if (flavour := platform_table.of(one)) is not None]
    else:
        wanted = platform_table.ALL[asked.flavour]
        found = [(wanted, one) for one in things if platform_table.matches(wanted, one)]
    # an owner and what it owns are one control plane: the owner is looked up beside
    if len({flavour.NAME for flavour, _ in found}) == 1:
        first = found[0][0].KINDS[0][1]
        found = [(flavour, one) for flavour, one in found if one["kind"] == first] or found
    if len(found) != 1:
        names = ", ".join(f"{one['kind']} {one['metadata']['name']}" for _, one in found) or "none"
        raise errors.InvalidInput(
            errors.InputProblem("-f", "", f"has {names}, want one control plane of flavour {asked.flavour}")
        )
    flavour, thing = found[0]
    return flavour.target(thing, [one for one in things if one is not thing], now)


def _seen(target: ControlPlane, things: list[Object]) -> Any:
    """The containers of the API server and the registrations, as far as they are in the files."""
    from vestibule.operator.controllers.hosted.attach_modes import AttachObservation

    kind, _, name = target.workload.partition(" ")
    pods = [
        one["spec"]["template"]["spec"]
        for one in things
        if (one["kind"], one["metadata"]["name"]) == (kind, name)
        and one["metadata"].get("namespace", "default") == target.namespace
        and one is not target.thing
    ]
    containers = [one["name"] for pod in pods for one in pod["containers"]] if pods else None
    registrations = [
        one["metadata"]["name"] for one in things if one["kind"] == "MutatingWebhookConfiguration"
    ]
    return AttachObservation(containers, registrations)


def _chosen(part: str, made: HostedDesired) -> list[Object]:
    return _part(part, [*made.management, *([made.edit.thing] if made.edit is not None else [])], made.guest)


def _part(part: str, management: list[Object], guest: list[Object]) -> list[Object]:
    if part == "management":
        return management
    return guest if part == "guest" else [*management, *guest]


def _state(target: ControlPlane) -> list[str]:
    found = []
    if target.pause.paused:
        found.append(f"{target}: is paused: somebody asks everybody to keep their hands off")
    if target.deleting:
        found.append(f"{target}: is being deleted")
    return found


def _tolerated(target: ControlPlane, made: HostedDesired, things: list[Object]) -> list[str]:
    """HyperShift deletes webhook configurations whose URL begins like a Service of the control plane."""
    from vestibule.operator.controllers.hosted import attach_modes

    services = [
        one
        for one in (*things, *made.management)
        if one["kind"] == "Service" and one["metadata"].get("namespace", "default") == target.namespace
    ]
    if target.flavour != "hypershift" or attach_modes.survives(made.url, services):
        return []
    return [
        f"{target}: HyperShift deletes the MutatingWebhookConfiguration for {made.url}: a Service name "
        f"without the label {attach_modes.ALLOW_LABEL} is part of it"
    ]


def _told(target: ControlPlane, made: HostedDesired) -> list[str]:
    told = list(made.notes)
    if made.choice.way == "builtin":
        told += [f"{target}: {one['message']}: nothing to apply" for one in made.choice.conditions]
    told += _state(target)
    if made.edit is not None:
        told.append(
            f"{made.edit.thing['kind']} {made.edit.thing['metadata']['name']} is printed whole, with "
            f"{', '.join(made.edit.entries)}: replace it, and do not apply it server-side, since its lists "
            "have no keys"
        )
    told += [f"apply MutatingWebhookConfiguration only when: {gate}" for gate in made.gates]
    return told
