"""Blobs through the real SDK, kept by the simulator itself and by a real Azurite."""

from __future__ import annotations

import ssl
import urllib.error
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from azure.core import MatchConditions
from azure.core.exceptions import HttpResponseError
from azure.storage.blob import ContentSettings, StaticWebsite

from tests.azure.clients import ACCOUNT, Clients, clients
from tests.azure.simulator import Simulated
from tests.azure.tokens import Cluster, blobs
from vestibule_simulators.azure.state import SimulatorSettings

if TYPE_CHECKING:
    from tests.azurite.server import Azurite


@pytest.fixture(params=["memory", pytest.param("azurite", marks=pytest.mark.rig)])
def simulator(
    request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Iterator[Simulated]:
    """One of each kind."""
    expected = {}
    if request.param == "azurite":
        azurite: Azurite = request.getfixturevalue("azurite")
        expected = {"azurite": azurite.account_url, "trust": Path(azurite.bundle)}
    with Simulated(
        tmp_path / "s", SimulatorSettings(operation_seconds=0.0, data_access=False), **expected
    ) as created:
        created.environ(monkeypatch)
        yield created


@pytest.fixture
def azure(simulator: Simulated) -> Iterator[Clients]:
    with clients(simulator) as created:
        created.groups.resource_groups.create_or_update("rg", {"location": "eastus"})
        account = f"demo{abs(hash(simulator.base)) % 10**9}"
        created.storage.storage_accounts.begin_create("rg", account, ACCOUNT).result()
        body = {"properties": {"publicAccess": "Blob"}}
        created.storage.blob_containers.create("rg", account, "docs", body)
        yield created


@pytest.fixture
def account(azure: Clients) -> str:
    (found,) = azure.storage.storage_accounts.list_by_resource_group("rg")
    return str(found.name)


@pytest.fixture
def key(azure: Clients, account: str) -> str:
    return str(azure.storage.storage_accounts.list_keys("rg", account).keys_property[0].value)


def get(simulator: Simulated, path: str) -> tuple[int, bytes]:
    """What nobody in particular sees."""
    trust = ssl.create_default_context(cafile=simulator.bundle)
    try:
        with urllib.request.urlopen(f"{simulator.base}/{path}", context=trust) as answer:  # noqa: S310
            return answer.status, answer.read()
    except urllib.error.HTTPError as error:
        with error:
            return error.code, error.read()


def code(error: BaseException) -> str:
    found = getattr(error, "error_code", "")
    return str(getattr(found, "value", found))


def test_a_blob_is_written_read_and_seen_by_everybody(simulator: Simulated, account: str, key: str) -> None:
    settings = ContentSettings(content_type="application/json", cache_control="max-age=300")
    with blobs(simulator, key, account) as service:
        blob = service.get_blob_client("docs", ".well-known/openid configuration")
        blob.upload_blob(b'{"a": 1}', content_settings=settings, tags={"team": "a b"})
        stream = blob.download_blob()
        content = stream.readall()
        tags = blob.get_blob_tags()
        names = [one.name for one in service.get_container_client("docs").list_blobs()]

    assert content == b'{"a": 1}'
    assert stream.properties.content_settings.content_type == "application/json"
    assert stream.properties.content_settings.cache_control == "max-age=300"
    assert tags == {"team": "a b"}
    assert names == [".well-known/openid configuration"]
    assert get(simulator, f"{account}/docs/.well-known/openid%20configuration") == (200, b'{"a": 1}')
    assert get(simulator, f"{account}/docs?restype=container&comp=list")[0] == 404


def test_conditions_are_kept(simulator: Simulated, account: str, key: str) -> None:
    with blobs(simulator, key, account) as service:
        blob = service.get_blob_client("docs", "jwks")
        first = blob.upload_blob(b"1")["etag"]
        with pytest.raises(HttpResponseError) as exists:
            blob.upload_blob(b"2")
        second = blob.upload_blob(
            b"2", overwrite=True, etag=first, match_condition=MatchConditions.IfNotModified
        )["etag"]
        with pytest.raises(HttpResponseError) as changed:
            blob.upload_blob(b"3", overwrite=True, etag=first, match_condition=MatchConditions.IfNotModified)
        content = blob.download_blob().readall()
        with pytest.raises(HttpResponseError) as stored:
            blob.delete_blob(etag=first, match_condition=MatchConditions.IfNotModified)
        blob.delete_blob()
        with pytest.raises(HttpResponseError) as gone:
            blob.download_blob()

    assert first != second
    assert content == b"2"
    assert [code(one.value) for one in (exists, changed, stored, gone)] == [
        "BlobAlreadyExists",
        "ConditionNotMet",
        "ConditionNotMet",
        "BlobNotFound",
    ]


def test_owning_an_account_gives_no_right_to_its_data(simulator: Simulated, account: str) -> None:
    with (
        simulator.credential() as login,
        blobs(simulator, login, account) as service,
        pytest.raises(HttpResponseError) as caught,
    ):
        service.get_blob_client("docs", "x").upload_blob(b"x")

    assert (caught.value.status_code, code(caught.value)) == (403, "AuthorizationPermissionMismatch")


def test_a_wrong_key_and_forbidden_keys_are_refused(
    simulator: Simulated, azure: Clients, account: str, key: str
) -> None:
    with blobs(simulator, "d3Jvbmc=", account) as service, pytest.raises(HttpResponseError) as wrong:
        service.get_blob_client("docs", "x").upload_blob(b"x")
    properties = {"properties": {"allowSharedKeyAccess": False}}
    azure.storage.storage_accounts.update("rg", account, properties)
    with blobs(simulator, key, account) as service, pytest.raises(HttpResponseError) as forbidden:
        service.get_blob_client("docs", "x").upload_blob(b"x")

    assert code(wrong.value) == "AuthenticationFailed"
    assert code(forbidden.value) == "KeyBasedAuthenticationNotPermitted"


def test_what_is_not_public_is_not_there(
    simulator: Simulated, azure: Clients, account: str, key: str
) -> None:
    with blobs(simulator, key, account) as service:
        service.get_blob_client("docs", "x").upload_blob(b"x")
        service.create_container("private")
        service.get_blob_client("private", "x").upload_blob(b"x")
    before, hidden = (get(simulator, f"{account}/{name}/x")[0] for name in ("docs", "private"))
    properties = {"properties": {"allowBlobPublicAccess": False}}
    azure.storage.storage_accounts.update("rg", account, properties)

    assert (before, hidden) == (200, 404)
    status, body = get(simulator, f"{account}/docs/x")
    assert (status, b"PublicAccessNotPermitted" in body) == (409, True)


def test_a_static_website_serves_what_lies_in_its_container(
    simulator: Simulated, account: str, key: str
) -> None:
    before = get(simulator, f"{account}.web/a.json")[0]
    with blobs(simulator, key, account) as service:
        service.set_service_properties(static_website=StaticWebsite(enabled=True))
        service.get_blob_client("$web", "a.json").upload_blob(b"{}")
        found = service.get_service_properties()["static_website"].enabled

    assert (before, found) == (404, True)
    assert get(simulator, f"{account}.web/a.json") == (200, b"{}")


def test_a_new_container_of_an_old_name_is_empty(
    simulator: Simulated, azure: Clients, account: str, key: str
) -> None:
    with blobs(simulator, key, account) as service:
        service.get_blob_client("docs", "x").upload_blob(b"x")
        azure.storage.blob_containers.delete("rg", account, "docs")
        azure.storage.blob_containers.create("rg", account, "docs", {"properties": {}})

        assert not service.get_blob_client("docs", "x").exists()


def test_a_published_issuer_is_read_from_the_place_where_it_lies(simulator: Simulated) -> None:
    simulator.settings.data_access = True
    simulator.load(settings={**simulator.state["settings"], "dataAccess": True})
    cluster = Cluster()
    with clients(simulator) as azure:
        cluster.publish(simulator, azure)

    assert get(simulator, "demo1/demo1/openid/v1/jwks")[1].count(cluster.public.kid.encode()) == 1
