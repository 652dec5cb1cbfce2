"""An issuer over real HTTPS, and the file of its authority."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.doctor.issuer import Issuer
from tests.serving.authority import Authority


@pytest.fixture(scope="module")
def authority(tmp_path_factory: pytest.TempPathFactory) -> Authority:
    return Authority("doctor")


@pytest.fixture
def issuer(authority: Authority) -> Iterator[Issuer]:
    with Issuer(authority) as created:
        yield created


@pytest.fixture
def bundle(authority: Authority, tmp_path: Path) -> Path:
    path = tmp_path / "ca.pem"
    path.write_bytes(authority.pem)
    return path
