"""Publishing to real places, beside others who write at the same time, and what the public sees of it."""

from __future__ import annotations

import json
import ssl
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.azurite.server import KEY, Azurite, Login
from tests.contract.stores import AzuritePlace, DirectoryPlace, Place, S3Place
from tests.oidc import making
from tests.oidc.making import Watched
from tests.oidc.site import Answer, Clock, Site
from tests.serving.authority import Authority
from vestibule import errors
from vestibule.clouds import publisher
from vestibule.clouds.objectstore.azure_blob import AzureBlobs
from vestibule.clouds.objectstore.directory import Directory
from vestibule.clouds.objectstore.ports import Content
from vestibule.oidc import documents

ISSUER = "https://id.example.com/c1"
JWKS, CONFIGURATION = "openid/v1/jwks", ".well-known/openid-configuration"


@pytest.fixture(params=["azurite", "s3", "directory"])
def place(request: pytest.FixtureRequest, azurite: Azurite, moto: str, tmp_path: Path) -> Place:
    if request.param == "azurite":
        return AzuritePlace(azurite, login=True)
    return S3Place(moto) if request.param == "s3" else DirectoryPlace(tmp_path / "site")


@pytest.fixture
def site(authority: Authority, tmp_path: Path) -> Iterator[Site]:
    with Site(authority, Directory(tmp_path / "site")) as created:
        yield created


def published(place: Place) -> list[str]:
    stored = place.store().read(JWKS)
    assert stored is not None
    return [key["kid"] for key in json.loads(stored.body)["keys"]]


def test_keys_come_first_and_both_are_json_with_a_short_life(place: Place) -> None:
    order: list[str] = []
    done = publisher.publish(Watched(place.store(), after=order.append), ISSUER, [making.key(0)])

    assert order == [JWKS, CONFIGURATION]
    assert [change.action for change in done.plan.changes] == ["create", "create"]
    for name in order:
        stored = place.store().read(name)
        assert stored is not None
        if place.keeps_types:
            assert (stored.content_type, stored.cache_control) == ("application/json", "public, max-age=300")


def test_a_second_run_writes_nothing(place: Place) -> None:
    publisher.publish(place.store(), ISSUER, [making.key(0)])
    order: list[str] = []

    done = publisher.publish(Watched(place.store(), after=order.append), ISSUER, [making.key(0)])
    assert order == []
    assert [change.action for change in done.plan.changes] == ["keep", "keep"]


def test_another_key_is_added_and_the_old_one_stays(place: Place) -> None:
    publisher.publish(place.store(), ISSUER, [making.key(0)])
    done = publisher.publish(place.store(), ISSUER, [making.key(1)])

    assert published(place) == [making.key(0).kid, making.key(1).kid]
    assert [change.action for change in done.plan.changes] == ["update", "keep"]


def test_what_was_served_as_octets_is_served_as_json(place: Place) -> None:
    if not place.keeps_types:
        return
    store = place.store()
    store.write(JWKS, Content(documents.key_set([making.key(0)]), "application/octet-stream"))
    store.write(CONFIGURATION, Content(documents.configuration(ISSUER), "application/octet-stream"))

    publisher.publish(store, ISSUER, [making.key(0)])
    assert {store.read(name).content_type for name in (JWKS, CONFIGURATION)} == {  # type: ignore[union-attr]
        "application/json"
    }


def test_many_writers_at_once_lose_no_key(place: Place) -> None:
    publisher.publish(place.store(), ISSUER, [making.key(0)])
    gate, problems = threading.Barrier(3), []

    def write(number: int) -> None:
        store = place.store()
        gate.wait(30)
        try:
            publisher.publish(store, ISSUER, [making.key(number)])
        except errors.VestibuleError as error:
            problems.append(error)

    threads = [threading.Thread(target=write, args=(number,)) for number in (1, 2, 3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(100)

    assert problems == []
    assert sorted(published(place)) == sorted(making.key(number).kid for number in range(4))


def test_whoever_writes_between_our_read_and_our_write_is_not_overwritten(place: Place) -> None:
    publisher.publish(place.store(), ISSUER, [making.key(0)])
    others = iter([1, 2])

    def intrude(verb: str, name: str) -> None:
        if verb == "write" and name == JWKS and (number := next(others, None)) is not None:
            publisher.publish(place.store(), ISSUER, [making.key(number)])

    clock = Clock()
    publisher.publish(Watched(place.store(), intrude), ISSUER, [making.key(3)], pause=clock.pause)
    assert sorted(published(place)) == sorted(making.key(number).kid for number in range(4))


def test_who_writes_without_end_is_reported(tmp_path: Path) -> None:
    store, number, clock = Directory(tmp_path), iter(range(100)), Clock()

    def intrude(verb: str, name: str) -> None:
        if verb == "write" and name == JWKS:
            store.write(name, Content(b'{"keys":[],"n":%d}' % next(number)))

    with pytest.raises(errors.Conflict, match="changed by another writer"):
        publisher.publish(Watched(store, intrude), ISSUER, [making.key(0)], pause=clock.pause)


def test_documents_of_another_issuer_are_left_alone(place: Place) -> None:
    publisher.publish(place.store(), "https://other.example", [making.key(1)])
    before = published(place)

    with pytest.raises(errors.InvalidInput, match=r"names the issuer 'https://other\.example'"):
        publisher.publish(place.store(), ISSUER, [making.key(0)], adopt=True)
    assert published(place) == before


def test_keys_of_nobody_are_taken_over_only_when_that_is_asked_for(tmp_path: Path) -> None:
    store = Directory(tmp_path)
    store.write(JWKS, Content(documents.key_set([making.key(1)])))

    with pytest.raises(errors.InvalidInput, match="none of them ours"):
        publisher.plan(store, ISSUER, [making.key(0)])
    done = publisher.publish(store, ISSUER, [making.key(0)], adopt=True)
    assert done.plan.kids == (making.key(1).kid, making.key(0).kid)


@pytest.mark.parametrize("issuer", ["", "http://x.example", "https://x.example?a", "https://", "x"])
def test_a_bad_issuer_and_no_key_are_refused_before_the_first_call(issuer: str) -> None:
    def never(*_: str) -> None:
        raise AssertionError("a call was made")

    with pytest.raises(errors.InvalidInput) as caught:
        publisher.publish(Watched(Directory(Path("/nowhere")), never), issuer, [])
    assert [problem.place for problem in caught.value.problems] == ["issuer", "keys"]


def test_a_dry_run_writes_nothing(tmp_path: Path) -> None:
    planned = publisher.plan(Directory(tmp_path / "site"), ISSUER, [making.key(0)])

    assert [change.action for change in planned.changes] == ["create", "create"]
    assert not (tmp_path / "site").exists()


# ── what the public sees ───────────────────────────────────────────────────────────────────────────────────


def test_a_public_container_is_seen_by_everybody(azurite: Azurite) -> None:
    container = azurite.container()
    store = AzureBlobs(azurite.account_url, container, credential=Login(), connection_verify=azurite.bundle)
    fetch = publisher.fetching(ssl.create_default_context(cafile=azurite.bundle))

    issuer = f"{azurite.account_url}/{container}"
    done = publisher.publish(store, issuer, [making.key(0)], fetch=fetch, patience=0)
    assert done.verified


@pytest.mark.parametrize("wrong", ["private", "another container"])
def test_a_container_that_the_public_cannot_read_is_named_with_its_cause(
    azurite: Azurite, wrong: str
) -> None:
    container = azurite.container(public=wrong != "private")
    store = AzureBlobs(
        azurite.account_url, container, shared_key=lambda: KEY, connection_verify=azurite.bundle
    )
    fetch = publisher.fetching(ssl.create_default_context(cafile=azurite.bundle))
    issuer = f"{azurite.account_url}/{container if wrong == 'private' else 'elsewhere'}"

    with pytest.raises(errors.Unavailable, match="the public address does not serve it") as caught:
        publisher.publish(store, issuer, [making.key(0)], fetch=fetch, patience=0)
    assert "container" in str(caught.value)


def test_a_login_without_the_right_falls_back_to_the_key_that_the_caller_gives(azurite: Azurite) -> None:
    container, requested, verify = azurite.container(public=False), [], azurite.bundle

    def key() -> str:
        requested.append(1)
        return KEY

    stranger = Login("https://wrong.example")
    store = AzureBlobs(
        azurite.account_url, container, credential=stranger, shared_key=key, connection_verify=verify
    )
    publisher.publish(store, ISSUER, [making.key(0)])
    assert requested == [1]

    with pytest.raises(errors.Forbidden, match="the login or the key is not that of this account"):
        AzureBlobs(azurite.account_url, container, credential=stranger, connection_verify=verify).read(JWKS)


def test_a_site_of_your_own_before_a_directory(site: Site) -> None:
    done = publisher.publish(site.store, site.url, [making.key(0)], fetch=site.fetch, patience=0)

    assert done.verified


def test_a_cache_that_notices_late_is_waited_for(site: Site) -> None:
    publisher.publish(site.store, site.url, [making.key(0)], fetch=site.fetch)
    clock = Clock(0)
    old = site.store.read(JWKS)
    assert old is not None
    site.answer = lambda name: Answer(200, old.body) if name == JWKS and clock.now < 10 else None

    publisher.publish(site.store, site.url, [making.key(1)], fetch=site.fetch, patience=20, pause=clock.pause)
    assert clock.now == 10
    site.answer = lambda name: Answer(200, old.body) if name == JWKS else None
    with pytest.raises(errors.Unavailable, match=f"lacks {making.key(1).kid}.*an older copy is served"):
        publisher.publish(
            site.store, site.url, [making.key(1)], fetch=site.fetch, patience=20, pause=clock.pause
        )


def xml(code: str) -> bytes:
    return f'<?xml version="1.0"?><Error><Code>{code}</Code><Message>m</Message></Error>'.encode()


ANSWERS = {
    "the account forbids public access": (
        Answer(409, xml("PublicAccessNotPermitted")),
        "forbids public access",
    ),
    "a firewall": (Answer(403, xml("AuthorizationFailure")), "network rules deny public access"),
    "a private container": (Answer(404, xml("ResourceNotFound")), "the container is private"),
    "a wrong container": (Answer(404, xml("ContainerNotFound")), "names a container that does not exist"),
    "a private bucket": (Answer(403, xml("AccessDenied")), "the bucket denies public access"),
    "a wrong bucket": (Answer(404, xml("NoSuchBucket")), "names a bucket that does not exist"),
    "a login page": (Answer(401), "anonymous read access is required"),
    "a site without dots": (Answer(404), "names that begin with a dot"),
    "another page": (Answer(200, b"<html>"), "is no JSON object"),
    "another issuer": (Answer(200, documents.configuration(ISSUER)), "want 'https://127.0.0.1"),
    "a redirect": (Answer(302, location="/elsewhere"), "redirects to"),
    "a broken server": (Answer(500), "status 500"),
}


@pytest.mark.parametrize("case", ANSWERS)
def test_the_cause_is_named(site: Site, case: str) -> None:
    answer, message = ANSWERS[case]
    site.answer = lambda name: Answer(404) if name == "elsewhere" else answer

    with pytest.raises(errors.Unavailable) as caught:
        publisher.publish(site.store, site.url, [making.key(0)], fetch=site.fetch, patience=0)
    assert message in str(caught.value)
    assert str(caught.value).startswith(f"written to {site.store.where}")


def test_a_certificate_of_nobody_is_named(site: Site) -> None:
    with pytest.raises(errors.Unavailable, match="certificate not trusted"):
        publisher.publish(site.store, site.url, [making.key(0)], fetch=publisher.fetching(), patience=0)


def test_a_name_that_is_not_known_is_named(tmp_path: Path) -> None:
    with pytest.raises(errors.Unavailable, match="cannot be read: "):
        publisher.publish(
            Directory(tmp_path),
            "https://no-such-host.invalid",
            [making.key(0)],
            fetch=publisher.fetching(),
            patience=0,
        )
