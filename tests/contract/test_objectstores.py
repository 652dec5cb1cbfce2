"""What every place for documents promises, the same for all of them."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.azurite.server import Azurite
from tests.contract.gcsdouble import GcsDouble
from tests.contract.stores import AzuritePlace, DirectoryPlace, GcsPlace, Place, S3Place, s3_server

from vestibule import errors
from vestibule.clouds.objectstore.ports import ABSENT, LARGEST, Content, ObjectStore

NAME = ".well-known/openid-configuration"
KINDS = ["directory", "azure-login", "azure-key", "s3", "gcs"]


@pytest.fixture(scope="module")
def moto() -> Iterator[str]:
    with s3_server() as url:
        yield url


@pytest.fixture(scope="module")
def google() -> Iterator[GcsDouble]:
    with GcsDouble() as double:
        yield double


@pytest.fixture(params=KINDS)
def place(
    request: pytest.FixtureRequest, tmp_path: Path, azurite: Azurite, moto: str, google: GcsDouble
) -> Place:
    kind = request.param
    if kind.startswith("azure"):
        return AzuritePlace(azurite, login=kind == "azure-login")
    if kind == "s3":
        return S3Place(moto)
    return GcsPlace(google) if kind == "gcs" else DirectoryPlace(tmp_path / "site")


@pytest.fixture
def store(place: Place) -> ObjectStore:
    return place.store()


def write(store: ObjectStore, body: bytes, if_match: str | None = None, name: str = NAME) -> str:
    return store.write(name, Content(body, "application/json", "max-age=1"), if_match=if_match)


def test_what_is_written_is_read(store: ObjectStore, place: Place) -> None:
    etag = write(store, b"{}")

    found = store.read(NAME)
    assert found is not None
    assert (found.body, found.etag) == (b"{}", etag)
    if place.keeps_types:
        assert (found.content_type, found.cache_control) == ("application/json", "max-age=1")


def test_nothing_at_all_is_a_document_too(store: ObjectStore) -> None:
    etag = write(store, b"")

    found = store.read(NAME)
    assert found is not None
    assert (found.body, found.etag) == (b"", etag)


def test_what_is_not_there_is_none(store: ObjectStore) -> None:
    assert store.read(NAME) is None
    write(store, b"{}")
    assert store.read("openid/v1/jwks") is None


def test_an_unconditional_write_replaces(store: ObjectStore) -> None:
    first = write(store, b"a longer one")
    second = write(store, b"two")

    found = store.read(NAME)
    assert found is not None
    assert found.body == b"two"
    assert first != second


def test_a_write_for_the_first_time_happens_once(store: ObjectStore) -> None:
    write(store, b"1", ABSENT)

    with pytest.raises(errors.Conflict, match="changed by another writer"):
        write(store, b"2", ABSENT)
    found = store.read(NAME)
    assert found is not None
    assert found.body == b"1"


def test_a_write_under_an_etag_happens_only_when_nobody_wrote_since(store: ObjectStore) -> None:
    first = write(store, b"1")
    second = write(store, b"2", first)

    with pytest.raises(errors.Conflict):
        write(store, b"3", first)
    found = store.read(NAME)
    assert found is not None
    assert (found.body, found.etag) == (b"2", second)


def test_a_write_under_an_etag_makes_nothing_new(store: ObjectStore) -> None:
    etag = write(store, b"1")
    assert store.remove(NAME)

    with pytest.raises(errors.Conflict):
        write(store, b"2", etag)
    assert store.read(NAME) is None


def test_removal(store: ObjectStore) -> None:
    first = write(store, b"1")
    second = write(store, b"2")

    with pytest.raises(errors.Conflict):
        store.remove(NAME, if_match=first)
    assert store.remove(NAME, if_match=second)
    assert store.read(NAME) is None
    assert not store.remove(NAME)


def test_of_many_writers_under_one_etag_one_wins(place: Place) -> None:
    etag = write(place.store(), b"start")
    outcomes: list[str] = []
    gate = threading.Barrier(4)

    def race(number: int) -> None:
        mine = place.store()
        gate.wait(30)
        try:
            write(mine, f"writer {number}".encode(), etag)
            outcomes.append(f"writer {number}")
        except errors.Conflict:
            outcomes.append("lost")

    threads = [threading.Thread(target=race, args=(number,)) for number in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)

    found = place.store().read(NAME)
    assert found is not None
    assert sorted(outcomes)[:3] == ["lost"] * 3
    assert found.body.decode() in outcomes


def test_a_prefix_is_a_place_of_its_own(place: Place) -> None:
    outer, inner = place.store(), place.store("clusters/one")
    write(inner, b"inner")

    assert outer.read(NAME) is None
    found = outer.read(f"clusters/one/{NAME}")
    assert found is not None
    assert found.body == b"inner"
    assert inner.where.endswith("clusters/one")


def test_tags_are_kept_where_there_are_any(store: ObjectStore, place: Place) -> None:
    store.write("keys.json", Content(b"{}", "application/json", tags={"owner": "team a", "k": "v"}))

    found = place.tags("keys.json")
    assert found is None or found == {"owner": "team a", "k": "v"}


@pytest.mark.parametrize("name", ["../x", "/x", "a//b", "a/../b", "", ".", "a\\b", "a b", "a\nb", "é"])
def test_names_that_lead_elsewhere_are_refused(store: ObjectStore, name: str) -> None:
    with pytest.raises(errors.InvalidInput, match="want a relative path"):
        store.read(name)
    with pytest.raises(errors.InvalidInput):
        write(store, b"x", name=name)
    with pytest.raises(errors.InvalidInput):
        store.remove(name)


def test_a_document_that_is_too_large_is_not_read(store: ObjectStore) -> None:
    write(store, b"x" * (LARGEST + 1))

    with pytest.raises(errors.InvalidInput, match="bytes"):
        store.read(NAME)


def test_a_place_that_does_not_exist_is_reported(place: Place) -> None:
    store = place.missing()
    if store is None:
        return

    with pytest.raises(errors.NotFound, match="does not exist"):
        store.read(NAME)
    with pytest.raises(errors.NotFound):
        write(store, b"x")


def test_a_place_that_does_not_answer_is_unavailable(place: Place) -> None:
    store = place.unreachable()
    if store is None:
        return

    with pytest.raises(errors.Unavailable):
        store.read(NAME)
    with pytest.raises(errors.Unavailable):
        write(store, b"x")
