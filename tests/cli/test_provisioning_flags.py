"""The table of flags: every row is reachable, and every command finds each of its flags once."""

from __future__ import annotations

import importlib

import click
import pytest

from vestibule.cli.provisioning import flags
from vestibule.cli.provisioning.flags import CloudName

CLOUDS: tuple[CloudName, ...] = ("azure", "aws", "gcp")


def commands(cloud: str) -> dict[str, click.Command]:
    group: click.Group = importlib.import_module(f"vestibule.cli.{cloud}").command
    context = click.Context(group)
    found = {name: group.get_command(context, name) for name in group.list_commands(context)}
    return {name: command for name, command in found.items() if command is not None}


@pytest.mark.parametrize("cloud", CLOUDS)
def test_a_flag_means_the_same_parameter_on_every_command(cloud: str) -> None:
    parameters: dict[str, set[str | None]] = {}
    for command in commands(cloud).values():
        for option in command.params:
            for name in option.opts:
                parameters.setdefault(name, set()).add(option.name)

    assert {name: keys for name, keys in parameters.items() if len(keys) > 1} == {}


@pytest.mark.parametrize("cloud", CLOUDS)
def test_every_row_of_the_table_is_a_flag_of_some_command(cloud: CloudName) -> None:
    helps = {
        option.help
        for one in commands(cloud).values()
        for option in one.params
        if isinstance(option, click.Option)
    }

    assert [row.name for row in flags.FLAGS if cloud in row.clouds and row.help not in helps] == []


def test_a_cloud_has_one_row_for_each_name_and_command() -> None:
    keys = [(row.name, cloud, row.command) for row in flags.FLAGS for cloud in row.clouds]

    assert sorted(keys) == sorted({*keys})
