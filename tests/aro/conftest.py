"""The stand of all tests here, and the operator on it: one of each for a worker, because parts are many."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.aro.operators import Azure, Operators
from tests.aro.stand import Stand, stood
from tests.azure.simulator import Simulated
from tests.rig.fixtures import VERSION


@pytest.fixture(scope="package")
def stand(cluster_api: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Stand]:
    """Management cluster, Cluster API, guest, and the double of Azure Service Operator."""
    with stood(tmp_path_factory.mktemp("aro"), cluster_api, VERSION) as made:
        yield made


@pytest.fixture(scope="package")
def azure(stand: Stand, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Azure]:
    """The vaults of Azure, simulated, and an identity to log in with."""
    with Simulated(tmp_path_factory.mktemp("azure")) as simulated:
        yield Azure(simulated, stand)


@pytest.fixture(scope="package")
def operators(stand: Stand, azure: Azure, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Operators]:
    made = Operators(stand, azure, tmp_path_factory.mktemp("operators"))
    yield made
    made.stop()


@pytest.fixture
def operator(stand: Stand, operators: Operators) -> Operators:
    """``vestibule operator --aro`` runs, and the double does as it always does."""
    stand.aso.release()
    stand.aso.never_delete()
    operators.ensure()
    return operators


@pytest.fixture
def no_operator(stand: Stand, operators: Operators) -> Operators:
    """It does not run, until the test starts it."""
    stand.aso.release()
    stand.aso.never_delete()
    operators.stop()
    return operators
