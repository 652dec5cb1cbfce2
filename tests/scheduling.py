"""In which order modules run, and which of them share a worker.

A module stays in one worker, as do modules with the same ``xdist_group`` mark: those of ``tests/aro`` share
two control planes, and those with the mark ``waits`` spend most of their time waiting for clocks of the API
server or of a lease. One of the three workers begins with all of the latter, so that they cost no time of the
two cores, and then takes what is left. The longest modules begin first, so that no worker sits with one of
them at the end: by the seconds of the last run, which pytest's cache keeps, or by their ``slow`` marks.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Final

import pytest

BUILT: Final = {"control_plane", "private_control_plane", "helm", "cluster_api", "azurite"}
"""Fixtures with a program that is built or fetched."""
WAITING: Final = "waits"
"""The mark, and the group, of modules that mostly wait."""
_CACHE: Final = "vestibule/module-seconds"
_SLOW_SECONDS: Final = 5.0
"""Of a test with the mark ``slow``, where no run was measured."""


def mark(items: Iterable[pytest.Item]) -> None:
    """Tests on the rig get its mark, and every test a group: that of its module where it has no other."""
    for item in items:
        if BUILT & set(getattr(item, "fixturenames", ())):
            item.add_marker(pytest.mark.rig)
        if item.get_closest_marker(WAITING):
            item.add_marker(pytest.mark.xdist_group(WAITING))
        elif item.get_closest_marker("xdist_group") is None:
            item.add_marker(pytest.mark.xdist_group(item.nodeid.partition("::")[0]))


def longest_first(items: list[pytest.Item], measured: Mapping[str, float]) -> None:
    """What waits, then the groups by their seconds, then those on the rig; the rest as it comes."""
    seconds: dict[str, float] = {}
    on_rig: set[str] = set()
    modules: dict[str, set[str]] = {}
    for item in items:
        group, module = _group(item), item.nodeid.partition("::")[0]
        modules.setdefault(group, set()).add(module)
        if module not in measured and item.get_closest_marker("slow"):
            seconds[group] = seconds.get(group, 0.0) + _SLOW_SECONDS
        if item.get_closest_marker("rig"):
            on_rig.add(group)
    for group, names in modules.items():
        seconds[group] = seconds.get(group, 0.0) + sum(measured.get(name, 0.0) for name in names)

    def place(item: pytest.Item) -> tuple[bool, float, bool]:
        group = _group(item)
        return group != WAITING, -round(seconds[group] / _SLOW_SECONDS), group not in on_rig

    items.sort(key=place)


def _group(item: pytest.Item) -> str:
    found = item.get_closest_marker("xdist_group")
    return str(found.args[0]) if found else ""


class Stopwatch:
    """Measures the modules of a run for the next one."""

    def __init__(self, config: pytest.Config) -> None:
        self._cache: pytest.Cache | None = getattr(config, "cache", None)
        self.before: Mapping[str, float] = (self._cache.get(_CACHE, None) if self._cache else None) or {}
        self._seconds: dict[str, float] = {}

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Setup, call and teardown of every test."""
        module = report.nodeid.partition("::")[0]
        self._seconds[module] = self._seconds.get(module, 0.0) + report.duration

    def pytest_sessionfinish(self, session: pytest.Session) -> None:
        """Written by the process that distributes, once; what did not run keeps its figure."""
        if self._cache is None or hasattr(session.config, "workerinput") or not self._seconds:
            return
        rounded = {name: round(seconds, 1) for name, seconds in self._seconds.items()}
        self._cache.set(_CACHE, {**self.before, **rounded})
