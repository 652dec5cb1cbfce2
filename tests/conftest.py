"""For every test: a clean environment, property tests with fresh cases in every run (a failure prints how to
get its case again), and the rig's fixtures, imported once so that all folders share one control plane."""

from __future__ import annotations

import os

import hypothesis
import pytest

from tests import scheduling
from tests.azurite import fixtures as azurites
from tests.azurite.fixtures import azurite
from tests.rig import fixtures as rigs
from tests.rig.fixtures import (
    cluster_api,
    control_plane,
    helm,
    hosted_pair,
    namespace,
    private_control_plane,
    pytest_terminal_summary,
)

__all__ = [
    "azurite",
    "cluster_api",
    "control_plane",
    "helm",
    "hosted_pair",
    "namespace",
    "private_control_plane",
    "pytest_terminal_summary",
]

hypothesis.settings.register_profile("ci", deadline=None, max_examples=100, print_blob=True)
hypothesis.settings.register_profile("long", deadline=None, max_examples=20_000)
hypothesis.settings.load_profile(os.environ.get("VESTIBULE_HYPOTHESIS", "ci"))


_STOPWATCH = pytest.StashKey[scheduling.Stopwatch]()


def pytest_configure(config: pytest.Config) -> None:
    """Measure this run for the order of the next."""
    config.stash[_STOPWATCH] = scheduling.Stopwatch(config)
    config.pluginmanager.register(config.stash[_STOPWATCH])


@pytest.hookimpl(tryfirst=True)  # before -m selects by the marks, and before xdist reads the groups
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    scheduling.mark(items)
    scheduling.longest_first(items, config.stash[_STOPWATCH].before)


def pytest_collection_finish(session: pytest.Session) -> None:
    """Build and fetch what the collected tests need."""
    rigs.pytest_collection_finish(session)
    azurites.fetched_when_needed(session)


@pytest.fixture(autouse=True)
def clean_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    """No variable of the machine reaches a test."""
    for name in list(os.environ):
        if (
            name.startswith(("CWII_", "VESTIBULE_", "RUST_LOG", "OTEL_", "KUBE", "AZURE_", "AWS_", "GOOGLE_"))
            and name != "VESTIBULE_REFRESH"
        ):
            monkeypatch.delenv(name)
