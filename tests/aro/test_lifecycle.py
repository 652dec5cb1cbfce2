"""The life of a cluster, from its manifests to nothing."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.aro.stand import Cluster, Operator, Stand


@pytest.fixture(scope="module")
def operator(stand: Stand) -> Iterator[Operator]:
    with Operator(stand) as made:
        yield made


def test_it_is_created_and_deleted(stand: Stand, operator: Operator) -> None:
    cluster = Cluster(stand).create()
    cluster.available()
    cluster.delete()
    cluster.gone()
