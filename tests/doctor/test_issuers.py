"""``vestibule doctor`` and issuers over real HTTPS that get things wrong, one at a time."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.doctor import issuer as issuers
from tests.doctor.doctor_command import asked, bad, doctor, statuses
from tests.doctor.issuer import DISCOVERY, KEYS, Issuer, Page
from tests.serving.authority import Authority


@pytest.mark.parametrize(
    ("named", "words"),
    [
        ("{}/", "they differ in the slash at the end"),
        ("{}/other", "they are different addresses"),
        ("HTTPS{}", "they differ in upper and lower case"),
    ],
)
def test_an_issuer_that_names_another_is_found(issuer: Issuer, bundle: Path, named: str, words: str) -> None:
    other = named.format(issuer.url.removeprefix("https") if named.startswith("HTTPS") else issuer.url)
    issuer.publish(other, [issuers.jwk(issuers.rsa_key(), "k1")])

    code, report = doctor(*asked(issuer, bundle))

    assert (code, list(bad(report))) == (3, ["issuer.name"])
    assert words in bad(report)["issuer.name"]


def _large(issuer: Issuer) -> None:
    issuer.pages[KEYS] = Page(b'{"keys":[' + b" " * 2_000_000 + b"]}")


def _plain(issuer: Issuer) -> None:
    document = {"issuer": issuer.url, "jwks_uri": issuer.url.replace("https", "http") + KEYS}
    issuer.pages[DISCOVERY] = Page.of(document)


def _moved(where: str) -> Any:
    def move(issuer: Issuer) -> None:
        issuer.pages["/there"] = issuer.pages[DISCOVERY]
        issuer.pages[DISCOVERY] = Page(b"", 302, {"Location": where.format(issuer.url)})

    return move


def _refused(issuer: Issuer) -> None:
    issuer.pages[DISCOVERY] = Page(b"{}", 403)


def _loop(issuer: Issuer) -> None:
    issuer.pages[DISCOVERY] = Page(b"", 307, {"Location": DISCOVERY})


def _no_key(issuer: Issuer) -> None:
    issuer.publish(issuer.url, [])


def _odd_key(issuer: Issuer) -> None:
    issuer.publish(issuer.url, [issuers.jwk(issuers.rsa_key(), "k1"), {"kty": "oct", "k": "AAAA"}])


def _private_key(issuer: Issuer) -> None:
    good = issuers.jwk(issuers.rsa_key(), "k1")
    issuer.publish(issuer.url, [good, issuers.jwk(issuers.rsa_key(1), "k2", d="AAAA")])


def _small_key(issuer: Issuer) -> None:
    issuer.publish(issuer.url, [issuers.jwk(issuers.rsa_key(2, 1024), "k1")])


def _html(issuer: Issuer) -> None:
    issuer.pages[DISCOVERY] = Page(b"<html>log in</html>")


def _half(issuer: Issuer) -> None:
    issuer.pages[DISCOVERY] = Page.of({"issuer": issuer.url})


WRONG: dict[str, tuple[Any, str, str]] = {
    "keys larger than we take": (_large, "issuer.keys", "is larger than 1048576 bytes"),
    "keys at a plain address": (_plain, "issuer.keys", "jwks_uri is 'http://"),
    "sent down to plain http": (
        _moved("http://127.0.0.1:1/there"),
        "issuer.discovery",
        "sends on to an address that is not https",
    ),
    "sent elsewhere": (_moved("{}/there"), "issuer.discovery", "redirected to https://127.0.0.1:"),
    "sent round and round": (_loop, "issuer.discovery", "sent on and on"),
    "refused to strangers": (_refused, "issuer.discovery", "refused to anonymous requests: status 403"),
    "no key at all": (_no_key, "issuer.keys", "has no key"),
    "a key of a kind that nobody takes": (_odd_key, "issuer.keys", "keys[1] has kty 'oct'"),
    "a private key published": (_private_key, "issuer.keys", "keys[1] holds a private key"),
    "a key too small": (_small_key, "issuer.keys", "has 1024 bits, want 2048"),
    "a log-in page": (_html, "issuer.discovery", "is no JSON object"),
    "half a document": (_half, "issuer.discovery", "has no jwks_uri"),
}


@pytest.mark.parametrize("sentence", WRONG)
def test_an_issuer_with(issuer: Issuer, bundle: Path, sentence: str) -> None:
    spoil, id_, words = WRONG[sentence]
    spoil(issuer)

    _, report = doctor(*asked(issuer, bundle))

    reported = bad(report)
    assert list(reported) == [id_]
    assert words in reported[id_]
    assert all(one["advice"] for one in report["checks"] if one["id"] == id_)


def test_an_issuer_whose_certificate_is_nobodys_is_reported(issuer: Issuer) -> None:
    code, report = doctor("--issuer", issuer.url)

    assert (code, list(bad(report))) == (3, ["issuer.discovery"])
    assert "certificate not trusted" in bad(report)["issuer.discovery"]


def test_an_issuer_that_is_not_there_is_reported(bundle: Path) -> None:
    code, report = doctor("--issuer", "https://127.0.0.1:1", "--ca-bundle", str(bundle))

    assert code == 3
    assert bad(report)["issuer.discovery"].startswith("cannot be read: ")


@pytest.mark.parametrize(
    ("address", "status", "words"),
    [
        ("https://kubernetes.default.svc", "warn", "resolves only inside the cluster"),
        ("https://kubernetes.default.svc.cluster.local", "warn", "resolves only inside the cluster"),
        ("http://oidc.example", "fail", "is no https address"),
        ("https://oidc.example?x=1", "fail", "has a query"),
        ("https://oidc.example:port", "fail", "is no address"),
    ],
)
def test_an_address_that_no_cloud_can_use_is_not_even_called(address: str, status: str, words: str) -> None:
    _, report = doctor("--issuer", address)

    assert statuses(report) == {"issuer.address": status, "issuer.discovery": "skipped"}
    assert words in bad(report)["issuer.address"]


@pytest.mark.parametrize(
    ("ahead", "status", "words"),
    [
        (0.0, "ok", "within a second"),
        (20.0, "ok", "from the local clock"),
        (90.0, "warn", "ahead of"),
        (-90.0, "warn", "behind"),
        (3600.0, "fail", "60 min ahead of"),
        (-86_400.0 * 3, "fail", "3 days behind"),
    ],
)
def test_a_clock_that_is_off_is_reported(
    authority: Authority, bundle: Path, ahead: float, status: str, words: str
) -> None:
    with Issuer(authority, ahead=ahead) as issuer:
        code, report = doctor(*asked(issuer, bundle))

    (clock,) = (one for one in report["checks"] if one["id"] == "clock.issuer")
    assert (clock["status"], words in clock["found"]) == (status, True)
    assert code == (3 if status == "fail" else 0)
