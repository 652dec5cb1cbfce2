"""The double, a login, a key, requests in files."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.gcp.double import Double
from tests.gcp.stage import REQUESTS
from vestibule.pki import signer


@pytest.fixture
def double(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Double]:
    """Google Cloud; the environment names the login, as a user would."""
    with Double() as running:
        monkeypatch.setenv("GOOGLE_APPLICATION_CREDENTIALS", str(running.key_file(tmp_path / "login.json")))
        monkeypatch.setenv("HOME", str(tmp_path))
        # google-auth asks Google where a login may be used, in the background: not from here
        monkeypatch.setenv("HTTPS_PROXY", "http://127.0.0.1:9")
        yield running


@pytest.fixture(scope="session")
def public_key(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("key") / "pub.pem"
    path.write_text(signer.new(2048).public)
    return path


@pytest.fixture
def requests_dir(tmp_path: Path) -> Path:
    folder = tmp_path / "requests"
    folder.mkdir()
    for name, text in REQUESTS.items():
        (folder / f"{name}.yaml").write_text(text)
    return folder
