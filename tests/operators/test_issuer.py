"""Which keys stay published and which retire; and a crash after any write comes to the same."""

from __future__ import annotations

import datetime
import json
from pathlib import Path

import pytest

from tests.oidc import making
from tests.oidc.making import Killed, Watched
from vestibule import errors
from vestibule.api import publishedissuer
from vestibule.api.publishedissuer import PublishedIssuerSpec
from vestibule.clouds.objectstore.azure_blob import AzureBlobs
from vestibule.clouds.objectstore.directory import Directory
from vestibule.oidc import key_retention
from vestibule.operator.controllers.issuer import publisher, status

NOW = datetime.datetime(2026, 5, 1, 12, 0, tzinfo=datetime.UTC)
DAY = 24 * 3600.0
ISSUER = "https://id.example.com/c1"


def test_a_key_of_the_cluster_is_remembered_from_its_first_day() -> None:
    first = key_retention.retain(None, ["a"], DAY, NOW)
    later = key_retention.retain(first.keys, ["a", "b"], DAY, NOW + datetime.timedelta(hours=1))

    assert first == ([{"kid": "a", "since": "2026-05-01T12:00:00Z"}], (), None)
    assert [one["since"] for one in later.keys] == ["2026-05-01T12:00:00Z", "2026-05-01T13:00:00Z"]


def test_a_key_that_left_stays_for_the_retention_and_then_retires() -> None:
    known = [{"kid": "a", "since": "2026-04-01T00:00:00Z"}, {"kid": "b", "since": "2026-05-01T00:00:00Z"}]
    gone = key_retention.retain(known, ["b"], DAY, NOW)
    almost = key_retention.retain(gone.keys, ["b"], DAY, NOW + datetime.timedelta(seconds=DAY - 1))
    over = key_retention.retain(almost.keys, ["b"], DAY, NOW + datetime.timedelta(seconds=DAY))

    assert gone.keys[1] == {"kid": "a", "since": "2026-04-01T00:00:00Z", "left": "2026-05-01T12:00:00Z"}
    assert (gone.retire, gone.due) == ((), DAY)
    assert (almost.retire, almost.due) == ((), 1.0)
    assert (over.retire, [one["kid"] for one in over.keys]) == (("a",), ["b"])


def test_a_key_that_comes_back_is_the_clusters_again() -> None:
    known = [{"kid": "a", "since": "2026-04-01T00:00:00Z", "left": "2026-04-02T00:00:00Z"}]

    assert key_retention.retain(known, ["a"], DAY, NOW).keys == [
        {"kid": "a", "since": "2026-04-01T00:00:00Z"}
    ]


def test_what_cannot_be_read_begins_its_wait_anew() -> None:
    known = [{"kid": "a", "left": "yesterday"}, {}]

    assert key_retention.retain(known, ["b"], DAY, NOW).due == DAY


@pytest.mark.parametrize("fatal", [1, 2])
def test_a_crash_after_any_write_comes_to_the_same(tmp_path: Path, fatal: int) -> None:
    spec = PublishedIssuerSpec(to="dir:x")
    calls = iter(range(1, 100))

    def after(name: str) -> None:
        del name
        if next(calls) == fatal:
            raise Killed

    store = Directory(tmp_path / "site")
    with pytest.raises(Killed):
        publisher.publish(Watched(store, after=after), ISSUER, [making.key(0)], (), spec)
    written: list[str] = []
    publisher.publish(Watched(store, after=written.append), ISSUER, [making.key(0)], (), spec)
    full = {path.name: path.read_bytes() for path in (tmp_path / "site").rglob("*") if path.is_file()}
    publisher.publish(Watched(store, after=written.append), ISSUER, [making.key(0)], (), spec)
    fresh = Directory(tmp_path / "fresh")
    publisher.publish(fresh, ISSUER, [making.key(0)], (), spec)

    assert len(written) == 2 - fatal
    assert {p.name: p.read_bytes() for p in (tmp_path / "fresh").rglob("*") if p.is_file()} == full
    assert {p.name: p.read_bytes() for p in (tmp_path / "site").rglob("*") if p.is_file()} == full


def test_a_key_that_retires_twice_is_no_fault(tmp_path: Path) -> None:
    store, spec = Directory(tmp_path), PublishedIssuerSpec(to="dir:x")
    old, new = making.key(0), making.key(1)
    publisher.publish(store, ISSUER, [old, new], (), spec)
    for expected in ((old.kid,), ()):
        assert publisher.publish(store, ISSUER, [new], (old.kid,), spec).plan.retired == expected

    stored = store.read("openid/v1/jwks")
    assert stored is not None
    assert [key["kid"] for key in json.loads(stored.body)["keys"]] == [new.kid]


def test_faults_degrade_after_five_minutes_and_mistakes_at_once() -> None:
    passing = status.problem(errors.Unavailable("no answer"))
    lasting = status.problem(errors.Forbidden("no right"))

    def said(wrong: status.IssuerProblem | None, seconds: float) -> list[str]:
        return [str(one) for one in status.conditions(wrong, seconds)]

    assert said(None, 0) == ["Published=True/AsExpected", "Degraded=False/AsExpected"]
    assert said(passing, 10) == ["Published=False/Unavailable", "Degraded=False/AsExpected"]
    assert said(passing, 301) == ["Published=False/Unavailable", "Degraded=True/Unavailable"]
    assert said(lasting, 0) == ["Published=False/Forbidden", "Degraded=True/Forbidden"]


def test_every_problem_of_an_object_is_reported() -> None:
    obj = {"metadata": {"name": "c"}, "spec": {"to": "s3://b", "retention": "9m", "interval": "soon"}}

    with pytest.raises(errors.InvalidInput) as caught:
        publishedissuer.parse(obj)
    assert [str(one) for one in caught.value.problems] == [
        "PublishedIssuer c: spec.retention: is '9m', want a duration of at least 10m",
        "PublishedIssuer c: spec.interval: is 'soon', want a duration of at least 1s",
    ]
    with pytest.raises(errors.InvalidInput, match="spec: Object missing required field `to`"):
        publishedissuer.parse({"metadata": {"name": "c"}, "spec": {}})


@pytest.mark.parametrize(
    "to",
    [
        "azblob:https://attacker.example/oidc",
        "azblob:https://blob.core.windows.net.attacker.example/oidc",
        "azblob:https://attacker.example:443/oidc",
        "azblob:https://127.0.0.1:10000/devstoreaccount1/oidc",
    ],
)
def test_our_login_is_sent_to_azure_and_to_named_hosts_alone(
    to: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("AZURE_STORAGE_KEY", raising=False)
    spec = PublishedIssuerSpec(to=to)

    with pytest.raises(errors.InvalidInput, match=r"PublishedIssuer i: spec\.to: .*--issuer-host"):
        publisher.opened("i", spec)


def test_a_signature_by_the_accounts_key_is_enough_for_a_double(monkeypatch: pytest.MonkeyPatch) -> None:
    """It tells nobody the key, and no token goes with it."""
    monkeypatch.setenv("AZURE_STORAGE_KEY", "a2V5")
    found = publisher.opened(
        "i", PublishedIssuerSpec(to="azblob:https://127.0.0.1:10000/devstoreaccount1/oidc")
    )

    assert isinstance(found, AzureBlobs)
    assert found._credential is None


@pytest.mark.parametrize(
    ("to", "hosts"),
    [
        ("azblob:myaccount/oidc", []),
        ("azblob:https://myaccount.blob.core.usgovcloudapi.net/oidc", []),
        ("azblob:https://id.example.com/oidc", ["id.example.com"]),
    ],
)
def test_and_there_it_is(to: str, hosts: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("AZURE_STORAGE_KEY", raising=False)
    monkeypatch.setenv("AZURE_TOKEN_CREDENTIALS", "EnvironmentCredential")
    found = publisher.opened("i", PublishedIssuerSpec(to=to), hosts)

    assert isinstance(found, AzureBlobs)
    assert found._credential is not None
