"""``vestibule render --hosted PLATFORM``: the objects of a webhook for a hosted control plane, from files."""

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
PLATFORMS: Final = ("auto", "hypershift", "kamaji", "k0smotron", "clusterapi", "vcluster", "kubeconfig")
_ATTACH: Final = ("auto", "builtin", "deployment", "sidecar", "static-pod", "in-guest")


class HostedOptions(NamedTuple):
    """What the command line says about a hosted control plane."""

    platform: str
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
                "platform",
                type=click.Choice(PLATFORMS),
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


def run(options: HostedOptions, files: tuple[str, ...], image: str) -> tuple[list[Object], list[str]]:
    """The objects and what a person should know; raises InvalidInput when no control plane is given, or
    several are, or none of what is asked for is possible."""
    from vestibule.diagnose.offline import manifest_files
    from vestibule.operator.controllers.hosted import desired, hypershift_sidecar

    objects: list[Object] = []
    for file in manifest_files.read(files, sys.stdin.buffer) if files else []:
        for document in file.documents:
            value = document.value
            if isinstance(value, dict):
                objects += value.get("items", []) if value.get("kind") == "List" else [value]
    objects = [
        one for one in objects if isinstance(one.get("metadata"), dict) and one["metadata"].get("name")
    ]
    now = datetime.now(UTC)
    target = _target(options, objects, now)
    if target.flavour == "hypershift" and options.attach == "sidecar":
        apiserver = hypershift_sidecar.deployment(target, objects)
        if apiserver is not None:  # else desired.plan says why not
            found = hypershift_sidecar.plan(target, apiserver, objects, now)
            return _part(options.part, found.management, found.guest), [*found.notes, *_state(target)]
    request = desired.HostedRequest(
        program=cast("Any", options.program),  # click has checked both
        attach=cast("Any", options.attach),
        tenant_id=options.tenant_id,
        environment=options.environment,
        region=options.region,
        image=image,
    )
    plan = desired.plan(request, target, _seen(target, objects), objects, now)
    if plan.choice.way is None:
        raise errors.InvalidInput(
            errors.InputProblem("--attach", "", str(plan.choice.conditions[0]["message"]))
        )
    return _chosen(options.part, plan), [*_notes(target, plan), *_tolerated(target, plan, objects)]


def _target(options: HostedOptions, objects: list[Object], now: datetime) -> ControlPlane:
    """The one control plane in the files."""
    from vestibule.operator.controllers.hosted import platform_table

    if options.platform == "auto":
        found = [(platform, one) for one in objects if (platform := platform_table.of(one)) is not None]
    else:
        expected = platform_table.ALL[options.platform]
        found = [(expected, one) for one in objects if platform_table.matches(expected, one)]
    # an owner and what it owns are one control plane: the owner is among the files
    if len({platform.NAME for platform, _ in found}) == 1:
        first = found[0][0].KINDS[0][1]
        found = [(platform, one) for platform, one in found if one["kind"] == first] or found
    if len(found) != 1:
        names = ", ".join(f"{one['kind']} {one['metadata']['name']}" for _, one in found) or "none"
        raise errors.InvalidInput(
            errors.InputProblem(
                "-f", "", f"has {names}, want one control plane of platform {options.platform}"
            )
        )
    platform, owner = found[0]
    return platform.target(owner, [one for one in objects if one is not owner], now)


def _seen(target: ControlPlane, objects: list[Object]) -> Any:
    """The containers of the API server and the webhook configurations, if they are in the files."""
    from vestibule.operator.controllers.hosted.attach_modes import AttachObservation

    kind, _, name = target.workload.partition(" ")
    pods = [
        one["spec"]["template"]["spec"]
        for one in objects
        if (one["kind"], one["metadata"]["name"]) == (kind, name)
        and one["metadata"].get("namespace", "default") == target.namespace
        and one is not target.thing
    ]
    containers = [one["name"] for pod in pods for one in pod["containers"]] if pods else None
    configurations = [
        one["metadata"]["name"] for one in objects if one["kind"] == "MutatingWebhookConfiguration"
    ]
    return AttachObservation(containers, configurations)


def _chosen(part: str, plan: HostedDesired) -> list[Object]:
    return _part(part, [*plan.management, *([plan.edit.thing] if plan.edit is not None else [])], plan.guest)


def _part(part: str, management: list[Object], hosted: list[Object]) -> list[Object]:
    if part == "management":
        return management
    return hosted if part == "guest" else [*management, *hosted]


def _state(target: ControlPlane) -> list[str]:
    found = []
    if target.pause.paused:
        found.append(f"{target}: is paused: it must not be changed")
    if target.deleting:
        found.append(f"{target}: is being deleted")
    return found


def _tolerated(target: ControlPlane, plan: HostedDesired, objects: list[Object]) -> list[str]:
    """HyperShift deletes webhook configurations whose URL begins like a Service of the control plane."""
    from vestibule.operator.controllers.hosted import attach_modes

    services = [
        one
        for one in (*objects, *plan.management)
        if one["kind"] == "Service" and one["metadata"].get("namespace", "default") == target.namespace
    ]
    if target.flavour != "hypershift" or attach_modes.survives(plan.url, services):
        return []
    return [
        f"{target}: HyperShift deletes the MutatingWebhookConfiguration for {plan.url}: a Service name "
        f"without the label {attach_modes.ALLOW_LABEL} is part of it"
    ]


def _notes(target: ControlPlane, plan: HostedDesired) -> list[str]:
    notes = list(plan.notes)
    if plan.choice.way == "builtin":
        notes += [f"{target}: {one['message']}: nothing to apply" for one in plan.choice.conditions]
    notes += _state(target)
    if plan.edit is not None:
        notes.append(
            f"{plan.edit.thing['kind']} {plan.edit.thing['metadata']['name']} is printed whole, with "
            f"{', '.join(plan.edit.entries)}: replace it, and do not apply it server-side, since its lists "
            "have no keys"
        )
    notes += [f"apply MutatingWebhookConfiguration only when: {gate}" for gate in plan.gates]
    return notes
