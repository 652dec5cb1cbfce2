"""``vestibule doctor`` without a cluster: a token, and what is wrong with it."""

from __future__ import annotations

import json
import subprocess
import sys
import time
from pathlib import Path

import pytest
from click.testing import CliRunner

from tests.doctor import issuer as issuers
from tests.doctor.doctor_command import Json, asked, bad, doctor, statuses
from tests.doctor.issuer import DISCOVERY, KEYS, Issuer
from vestibule.cli.main import cli


def test_a_good_token_of_a_good_issuer_has_nothing_against_it(issuer: Issuer, bundle: Path) -> None:
    code, report = doctor(*asked(issuer, bundle, "--token", "-"), stdin=issuers.token(issuer.url) + "\n")

    assert (code, report["status"], bad(report)) == (0, "ok", {})
    assert statuses(report) == dict.fromkeys(
        [
            "issuer.address", "issuer.discovery", "issuer.name", "issuer.keys", "clock.issuer", "token.form",
            "token.algorithm", "token.key", "token.signature", "token.issuer", "token.subject", "token.times",
            "aws.audience",
        ],
        "ok",
    ) | {"issuer.same-keys": "skipped"}  # fmt: skip
    assert report["counts"] == {"fail": 0, "warn": 0, "skipped": 1, "ok": 13}


def test_the_issuer_of_the_token_is_looked_at_when_none_is_named(issuer: Issuer, bundle: Path) -> None:
    words = ["--token", "-", "--ca-bundle", str(bundle)]

    code, report = doctor(*words, stdin=issuers.token(issuer.url))

    assert (code, bad(report)) == (0, {})
    assert issuer.asked == [DISCOVERY, KEYS]


NOW = int(time.time())
TOKENS: dict[str, tuple[Json, tuple[str, ...], str, str]] = {
    "of another key": ({"key": issuers.rsa_key(1)}, (), "token.signature", "does not match key k1"),
    "of a key that is not published": ({"kid": "k2"}, (), "token.key", "kid is 'k2', published are k1"),
    "without a key id": ({"kid": ""}, (), "token.key", "the header has no kid"),
    "that has ended": ({"exp": NOW - 90}, (), "token.times", "expired at"),
    "that is about to end": ({"exp": NOW + 45}, (), "token.times", "expires in"),
    "of the future": ({"iat": NOW + 900, "nbf": NOW + 900}, (), "token.times", "not valid before"),
    "without an end": ({"exp": None}, (), "token.times", "exp missing"),
    "of a user": ({"sub": "alice"}, (), "token.subject", "sub is 'alice'"),
    "of another account": (
        {},
        ("--subject", "system:serviceaccount:team-a:App"),
        "token.subject",
        "differs in case only; case matters",
    ),
    "for the API server": (
        {"aud": ["https://kubernetes.default.svc"]},
        (),
        "token.audience",
        "aud is https:",
    ),
    "for another cloud": ({}, ("--cloud", "az"), "az.audience", "aud is sts.amazonaws.com"),
    "for Azure in other letters": (
        {"aud": ["api://azureadtokenexchange"]},
        ("--cloud", "az"),
        "az.audience",
        "case matters",
    ),
    "for the agent": ({"aud": ["pods.eks.amazonaws.com"]}, (), "aws.audience", "aud is pods."),
    "for Google, by a name of one's own": ({"aud": "sts.googleapis.com"}, (), "gcp.audience", "aud is sts."),
    "with a subject too long for Google": (
        {"sub": f"system:serviceaccount:{'n' * 60}:{'s' * 60}"},
        ("--cloud", "gcp", "--audience", "sts.amazonaws.com"),
        "gcp.subject",
        "sub has 143 bytes",
    ),
    "that lives too long for Google": (
        {"exp": NOW + 90_000},
        ("--cloud", "gcp", "--audience", "sts.amazonaws.com"),
        "gcp.life",
        "is valid for 25.0 h",
    ),
    "with another audience than the cloud was told": (
        {},
        ("--cloud", "aws", "--audience", "sts.amazonaws.com/"),
        "aws.audience",
        "(nearly)",
    ),
}


@pytest.mark.parametrize("sentence", TOKENS)
def test_a_token(issuer: Issuer, bundle: Path, sentence: str) -> None:
    claims, words, id_, found = TOKENS[sentence]
    late = int(time.time()) - NOW  # the table was made when the tests were collected
    times = {name: claims[name] + late for name in ("exp", "iat", "nbf") if claims.get(name) is not None}
    text = issuers.token(issuer.url, **{**claims, **times})

    code, report = doctor(*asked(issuer, bundle, "--token", "-", *words), stdin=text)

    reported = bad(report)
    assert list(reported) == [id_]
    assert found in reported[id_]
    failed = next(one for one in report["checks"] if one["id"] == id_)
    assert failed["want"]
    assert code == (3 if failed["status"] == "fail" else 0)


def test_google_wants_the_full_name_of_the_provider(issuer: Issuer, bundle: Path) -> None:
    provider = "//iam.googleapis.com/projects/1/locations/global/workloadIdentityPools/p/providers/c"
    for audience in (provider, f"https:{provider}"):
        text = issuers.token(issuer.url, aud=[audience])

        code, report = doctor(*asked(issuer, bundle, "--token", "-"), stdin=text)

        assert (code, bad(report), statuses(report)["gcp.audience"]) == (0, {}, "ok")


def test_a_token_signed_with_a_curve_pleases_all_but_azure(issuer: Issuer, bundle: Path) -> None:
    issuer.publish(issuer.url, [issuers.jwk(issuers.ec_key(), "e1")])
    text = issuers.token(issuer.url, key=issuers.ec_key(), kid="e1", algorithm="ES256")

    clouds = ["--cloud", "aws", "--cloud", "gcp", "--cloud", "az"]
    _, report = doctor(*asked(issuer, bundle, "--token", "-", *clouds), stdin=text)

    assert statuses(report)["token.signature"] == "ok"
    assert [one for one in bad(report) if one.endswith("algorithm")] == ["az.algorithm"]


def test_a_token_with_a_slash_too_many_is_reported_as_such(issuer: Issuer, bundle: Path) -> None:
    code, report = doctor(*asked(issuer, bundle, "--token", "-"), stdin=issuers.token(issuer.url + "/"))

    assert (code, list(bad(report))) == (3, ["token.issuer"])
    assert "they differ in the slash at the end" in bad(report)["token.issuer"]


FORMS = {
    "empty": ("", "is empty"),
    "no token": ("hello", "has 1 parts between dots"),
    "encrypted": ("a.b.c.d.e", "is encrypted"),
    "not base64": ("!!.!!.!!", "its header is no base64url text"),
    "not JSON": ("AAAA.AAAA.AAAA", "its header is no JSON object"),
    "huge": ("a" * 70_000, "has 70000 characters"),
}


@pytest.mark.parametrize("sentence", FORMS)
def test_what_is_no_token_is_reported_without_showing_it(tmp_path: Path, sentence: str) -> None:
    text, words = FORMS[sentence]
    file = tmp_path / "token"
    file.write_text(text)

    code, report = doctor("--token", str(file))

    (form,) = (one for one in report["checks"] if one["id"] == "token.form")
    assert (code, form["status"], form["about"]) == (3, "fail", f"token {file}")
    assert words in form["found"]
    assert not text or len(text) < 6 or text not in json.dumps(report)


@pytest.mark.parametrize("output", ["table", "json"])
def test_no_piece_of_a_token_is_ever_shown(issuer: Issuer, bundle: Path, output: str) -> None:
    text = issuers.token(issuer.url, kid="k2")  # fails, so that every word about it is said
    words = asked(issuer, bundle, "--token", "-", "--cloud", "gcp", "-o", output)

    result = CliRunner().invoke(cli, ["doctor", *words], input=text, catch_exceptions=False)

    assert result.exit_code == 3
    shown = result.stdout + result.stderr
    assert [part for part in text.split(".") if part in shown or part[:24] in shown] == []


def test_people_read_what_is_wrong_and_what_to_do(issuer: Issuer, bundle: Path) -> None:
    issuer.publish(issuer.url + "/", [issuers.jwk(issuers.rsa_key(), "k1")])
    command = [sys.executable, "-m", "vestibule", "doctor", *asked(issuer, bundle)]

    done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)

    assert (done.returncode, done.stderr) == (3, "")
    lines = done.stdout.splitlines()
    position = next(index for index, line in enumerate(lines) if line.startswith("fail"))
    assert lines[position].split()[1] == "issuer.name"
    assert lines[position + 1].strip() == f"want: {issuer.url!r}, byte for byte"
    assert lines[position + 2].strip().startswith("do:   publish the document")
    assert lines[-1] == "1 fail, 1 skipped, 4 ok"


USAGE = {
    "nothing to look at": ([], "nothing to check: give --kubeconfig"),
    "an account without a cluster": (
        ["--issuer", "https://a.example", "--service-account", "a/b"],
        "--service-account needs a cluster",
    ),
    "an account without a namespace": (
        ["--issuer", "https://a.example", "--service-account", "app"],
        "is 'app', want NAMESPACE/NAME",
    ),
    "one audience for two clouds": (
        ["--token", "-", "--cloud", "aws", "--cloud", "az", "--audience", "x"],
        "'x' cannot be that of 2 clouds",
    ),
    "a cloud that there is not": (["--token", "-", "--cloud", "ibm"], "is 'ibm', want aws, az or gcp"),
    "a token that is not there": (["--token", "no/such/file"], "--token: no/such/file: cannot be read"),
    "a bundle that is none": (["--issuer", "https://a.example", "--ca-bundle", "{}"], "want a PEM file"),
}


@pytest.mark.parametrize("sentence", USAGE)
def test_a_question_that_makes_no_sense_exits_2(tmp_path: Path, sentence: str) -> None:
    words, message = USAGE[sentence]
    file = tmp_path / "ca.pem"
    file.write_text("no certificate")
    command = [sys.executable, "-m", "vestibule", "doctor", *(word.format(file) for word in words)]

    done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False, input="")

    assert done.returncode == 2
    assert message in done.stderr
    assert "Traceback" not in done.stderr


def test_the_help_teaches() -> None:
    text = CliRunner().invoke(cli, ["doctor", "--help"]).stdout

    assert "vestibule doctor --kubeconfig --service-account team-a/app --cloud aws" in text
    assert "Exit code 3" in text
