"""Places where an issuer can be published, each with its public address: a real blob server, S3 over HTTP
behind HTTPS, a directory behind HTTPS."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.contract.stores import s3_server
from tests.serving.authority import Authority


@pytest.fixture(scope="session")
def authority() -> Authority:
    return Authority("oidc")


@pytest.fixture(scope="session")
def moto() -> Iterator[str]:
    with s3_server() as url:
        yield url
