"""Options that several commands share, spelt and explained the same everywhere."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final, TypeVar

import click

from vestibule.core.kinds import upstream

F = TypeVar("F", bound=Callable[..., Any])
USUAL: Final = Path()
"""``--kubeconfig`` without a path: the one kubectl would use. No path of a file is empty."""


def settings(function: F) -> F:
    """``--settings`` and ``--mode``."""
    mode = click.option(
        "--mode",
        type=click.Choice(["better", "strict"]),
        help="better: fix the defects of what we replace and tell. strict: the same pod and the same answer.",
    )
    file = click.option(
        "--settings",
        "settings_file",
        type=click.Path(path_type=Path),
        envvar="VESTIBULE_SETTINGS",
        help="Settings file: .toml, .json or .yaml. Flags and CWII_* variables override it.",
    )
    return mode(file(function))


def cwii(function: F) -> F:
    """Every flag of cwii, as its own binary takes them."""
    for flag in reversed(upstream.CWII):
        function = click.option(
            f"--{flag.name}", flag.name.replace("-", "_"), help=flag.about, metavar="VALUE"
        )(function)
    return function


def overrides(mode: str | None, given: dict[str, Any]) -> dict[str, Any]:
    """What the command line and the environment say over the settings file."""
    flags = {name.replace("_", "-"): value for name, value in given.items()}
    data = upstream.overrides(flags, os.environ)
    return data if mode is None else {"mode": mode, **data}


def output(*choices: str) -> Callable[[F], F]:
    """``-o``."""
    return click.option(
        "-o",
        "--output",
        type=click.Choice(choices),
        default=choices[0],
        show_default=True,
        help="Form of the result.",
    )


def manifests(function: F) -> F:
    """``-f``, ``--cluster`` and ``--namespace``."""
    namespace = click.option(
        "-n", "--namespace", default="default", show_default=True, help="For objects that name none."
    )
    cluster = _cluster(
        "Directory of manifests that stands for the cluster: namespaces, ServiceAccounts, workloads."
    )
    files = _files("Manifest file, directory, or - for standard input; may be repeated.", required=True)
    return files(cluster(kubeconfig(namespace(function))))


def sandboxes(function: F) -> F:
    """``-f`` and ``--cluster`` where only KataConfigs and OSCWebhookConfigs are read from them."""
    cluster = _cluster("Directory of manifests with the KataConfig and OSCWebhookConfigs of the cluster.")
    files = _files(
        "File with a KataConfig or OSCWebhookConfigs, directory, or - for standard input; may be repeated.",
        required=False,
    )
    return files(cluster(kubeconfig(function)))


def pods(function: F) -> F:
    """``--namespace`` and ``--webhook-configuration`` of commands that go through the pods of a cluster."""
    namespace = click.option("-n", "--namespace", default="", help="Look at the pods of this namespace only.")
    configuration = click.option(
        "--webhook-configuration",
        "configuration",
        default="",
        metavar="NAME",
        help="The MutatingWebhookConfiguration that calls us, where it is not ours by name.",
    )
    return namespace(configuration(function))


def _cluster(about: str) -> Callable[[F], F]:
    return click.option("--cluster", type=click.Path(path_type=Path), help=about)


def _files(about: str, *, required: bool) -> Callable[[F], F]:
    return click.option("-f", "--filename", "files", required=required, multiple=True, help=about)


def kubeconfig(function: F) -> F:
    """``--kubeconfig`` and ``--context``."""
    context = click.option("--context", help="Context of the kubeconfig; default: the current one.")
    file = click.option(
        "--kubeconfig",
        type=click.Path(path_type=Path),
        is_flag=False,
        flag_value=USUAL,
        metavar="[PATH]",
        help="Read a live cluster through this kubeconfig; without a PATH through the one kubectl would use.",
    )
    return file(context(function))
