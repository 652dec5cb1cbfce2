"""Options that several commands share, spelt and explained the same everywhere."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final, TypeVar

import click

from vestibule.compat import cwii_flags

F = TypeVar("F", bound=Callable[..., Any])
USUAL: Final = Path()
"""``--kubeconfig`` without a path: the one kubectl would use. No path of a file is empty."""


def settings(function: F) -> F:
    """``--settings`` and ``--mode``."""
    mode = click.option(
        "--mode",
        type=click.Choice(["better", "strict"]),
        help="strict: same pod and response as the upstream webhook. better: its defects are fixed.",
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
    for flag in reversed(cwii_flags.CWII):
        function = click.option(
            f"--{flag.name}", flag.name.replace("-", "_"), help=flag.about, metavar="VALUE"
        )(function)
    return function


def overrides(mode: str | None, given: dict[str, Any]) -> dict[str, Any]:
    """What the command line and the environment say over the settings file."""
    flags = {name.replace("_", "-"): value for name, value in given.items()}
    data = cwii_flags.overrides(flags, os.environ)
    return data if mode is None else {"mode": mode, **data}


def output(*choices: str) -> Callable[[F], F]:
    """``-o``."""
    return click.option(
        "-o",
        "--output",
        type=click.Choice(choices),
        default=choices[0],
        show_default=True,
        help="Output format.",
    )


def manifests(function: F) -> F:
    """``-f``, ``--cluster`` and ``--namespace``."""
    namespace = click.option(
        "-n", "--namespace", default="default", show_default=True, help="Namespace of objects that name none."
    )
    cluster = _cluster(
        "Directory of manifests to use as the cluster: namespaces, ServiceAccounts, workloads."
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
    namespace = click.option("-n", "--namespace", default="", help="Only pods of this namespace.")
    configuration = click.option(
        "--webhook-configuration",
        "configuration",
        default="",
        metavar="NAME",
        help="Name of the MutatingWebhookConfiguration; default: found by its labels.",
    )
    return namespace(configuration(function))


def _cluster(about: str) -> Callable[[F], F]:
    return click.option("--cluster", type=click.Path(path_type=Path), help=about)


def _files(about: str, *, required: bool) -> Callable[[F], F]:
    return click.option("-f", "--filename", "files", required=required, multiple=True, help=about)


def kubeconfig(function: F) -> F:
    """``--kubeconfig`` and ``--context``."""
    context = click.option("--context", help="Context of the kubeconfig; default: the current context.")
    file = click.option(
        "--kubeconfig",
        type=click.Path(path_type=Path),
        is_flag=False,
        flag_value=USUAL,
        metavar="[PATH]",
        help="Use a live cluster through this kubeconfig; without PATH: the one that kubectl uses.",
    )
    return file(context(function))
