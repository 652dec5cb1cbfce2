"""The stand of all tests here: one for each worker, because its parts are many."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.aro.stand import Stand, stood
from tests.rig.fixtures import VERSION


@pytest.fixture(scope="session")
def stand(cluster_api: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Stand]:
    """Management cluster, Cluster API, guest, and the double of Azure Service Operator."""
    with stood(tmp_path_factory.mktemp("aro"), cluster_api, VERSION) as made:
        yield made
