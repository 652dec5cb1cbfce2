"""AWS as moto plays it: a real HTTP server, forgotten after each test."""

from __future__ import annotations

import http.client
from collections.abc import Iterator

import pytest
from moto.server import ThreadedMotoServer


@pytest.fixture(scope="session")
def server() -> Iterator[tuple[str, int]]:
    running = ThreadedMotoServer(ip_address="127.0.0.1", port=0, verbose=False)
    running.start()
    yield running.get_host_and_port()
    running.stop()


@pytest.fixture
def aws(server: tuple[str, int], monkeypatch: pytest.MonkeyPatch) -> str:
    """The address; the environment names it, as a user would."""
    connection = http.client.HTTPConnection(*server, timeout=10)
    connection.request("POST", "/moto-api/reset")
    assert connection.getresponse().status == 200
    connection.close()
    url = f"http://{server[0]}:{server[1]}"
    monkeypatch.setenv("AWS_ENDPOINT_URL", url)
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "testing")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "testing")
    return url
