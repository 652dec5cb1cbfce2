"""The stand of all tests here, and the operator on it: one of each for a worker, because parts are many."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.aro.environment import Environment, stood
from tests.aro.operators import Azure, Operators
from tests.azure.simulator import Simulated
from tests.rig.fixtures import VERSION


@pytest.fixture(scope="package")
def environment(cluster_api: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Environment]:
    """Management cluster, Cluster API, guest, and the double of Azure Service Operator."""
    with stood(tmp_path_factory.mktemp("aro"), cluster_api, VERSION) as created:
        yield created


@pytest.fixture(scope="package")
def azure(environment: Environment, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Azure]:
    """The vaults of Azure, simulated, and an identity to log in with."""
    with Simulated(tmp_path_factory.mktemp("azure")) as simulated:
        yield Azure(simulated, environment)


@pytest.fixture(scope="package")
def operators(
    environment: Environment, azure: Azure, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Operators]:
    created = Operators(environment, azure, tmp_path_factory.mktemp("operators"))
    yield created
    created.stop()


@pytest.fixture
def operator(environment: Environment, operators: Operators) -> Operators:
    """``vestibule operator --aro`` runs, and the double does as it always does."""
    environment.aso.release()
    environment.aso.never_delete()
    operators.ensure()
    return operators


@pytest.fixture
def no_operator(environment: Environment, operators: Operators) -> Operators:
    """It does not run, until the test starts it."""
    environment.aso.release()
    environment.aso.never_delete()
    operators.stop()
    return operators
