"""For every test: a clean environment, property tests that give the same cases on every machine, and the
rig's fixtures, imported once so that all folders share one control plane."""

from __future__ import annotations

import os

import hypothesis
import pytest

from tests.azurite import fixtures as azurites
from tests.azurite.fixtures import azurite
from tests.rig import fixtures as rigs
from tests.rig.fixtures import (
    cluster_api,
    control_plane,
    guest_pair,
    helm,
    namespace,
    private_control_plane,
    pytest_terminal_summary,
)

__all__ = [
    "azurite",
    "cluster_api",
    "control_plane",
    "guest_pair",
    "helm",
    "namespace",
    "private_control_plane",
    "pytest_terminal_summary",
]

hypothesis.settings.register_profile("ci", derandomize=True, deadline=None, max_examples=100, print_blob=True)
hypothesis.settings.register_profile("long", deadline=None, max_examples=20_000)
hypothesis.settings.load_profile(os.environ.get("VESTIBULE_HYPOTHESIS", "ci"))


_LONGEST = (
    "apiserver/test_rollouts.py",
    "apiserver/test_operator_crashes.py",
    "image/test_image.py",
    "chart/test_release.py",
    "aro/test_trouble.py",
    "aro/test_crashes.py",
    "aro/test_lifecycle.py",
    "gcp/test_faults.py",
    "chain/test_logins_own.py",
    "chain/test_logins_foreign.py",
    "oidc/test_rotation.py",
    "apiserver/test_idle.py",
    "apiserver/test_faults.py",
    "azure/test_lost_answers.py",
    "azure/test_faults.py",
    "apiserver/test_operator_leaders.py",
    "apiserver/test_rig.py",
    "apiserver/test_sandbox_change.py",
    "apiserver/test_audit.py",
    "apiserver/test_issuer.py",
    "apiserver/test_hosted.py",
    "apiserver/test_hosted_operator.py",
)
"""Files that take longest, which begin first, so that no worker sits with one of them at the end."""
_ON_PLANES = ("apiserver", "aro", "chart")


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """The longest files first, then the other ones on control planes; the rest as it comes."""
    rank = {name: number for number, name in enumerate(_LONGEST)}

    def place(item: pytest.Item) -> int:
        name = "/".join(item.path.parts[-2:])
        return rank.get(name, len(rank) + (item.path.parent.name not in _ON_PLANES))

    items.sort(key=place)


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
