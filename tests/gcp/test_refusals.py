"""What is wrong or not ours is told before the first change, all of it at once."""

from __future__ import annotations

from pathlib import Path

import pytest
from click.testing import CliRunner

from tests.cli.process import run_main
from tests.gcp.double import PROJECT, Double
from tests.gcp.stage import PERMISSIONS, REGISTRY, REQUEST, ROLE, create_all, ended, run
from tests.gcp.test_removal import account
from vestibule import errors
from vestibule.cli.gcp import command


def test_everything_that_is_in_the_way_is_reported_at_once(
    double: Double, tmp_path: Path, requests_dir: Path, public_key: Path
) -> None:
    theirs = account(double, "by-hand", REGISTRY, "by hand")
    double.iam.pools["demo1"] = {"state": "ACTIVE", "description": "somebody's"}
    double.iam.providers["demo1"] = {"demo1": {"state": "ACTIVE", "oidc": {"issuerUri": "https://other"}}}
    double.iam.roles[ROLE] = {"title": "mine", "includedPermissions": [], "etag": "r1"}
    double.storage.make("demo1-oidc")
    before = double.left()

    result = create_all(double, tmp_path, requests_dir, public_key)

    assert isinstance(result.exception, errors.InvalidInput)
    texts = "\n".join(map(str, result.exception.problems))
    assert len(result.exception.problems) == 5
    assert "pool demo1 exists and is not ours" in texts
    assert "provider demo1 exists and trusts 'https://other'" in texts
    assert "bucket demo1-oidc exists and is not known to be ours" in texts
    assert f"service account {theirs} exists and is not ours" in texts
    assert f"role {ROLE} exists as 'mine' and is not ours" in texts
    assert (double.writes(), double.left()) == ([], before)
    assert not (tmp_path / "out").exists()


def test_an_account_of_another_user_changes_nothing_and_exits_2(
    double: Double,
    tmp_path: Path,
    requests_dir: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    account(double, "by-hand", REGISTRY, "by hand")
    double.iam.roles[ROLE] = {"title": "mine", "includedPermissions": [], "etag": "r1"}
    before = double.left()

    code = run_main(
        monkeypatch, "gcp", "create-all", "--name", "demo1", "--project", PROJECT,
        "--endpoints", str(double.endpoints_file(tmp_path / "endpoints.json")),
        "--credentials-requests-dir", str(requests_dir), "--output-dir", str(tmp_path / "out"),
    )  # fmt: skip

    reported = capsys.readouterr().err
    assert code == 2
    assert "exists and is not ours, want another --name" in reported
    assert f"role {ROLE} exists as 'mine' and is not ours" in reported
    assert (double.writes(), double.left()) == ([], before)
    assert not (tmp_path / "out").exists()


def test_everything_wrong_with_flags_and_requests_is_reported_without_a_call(
    tmp_path: Path, public_key: Path
) -> None:
    folder = tmp_path / "requests"
    folder.mkdir()
    permissions = "    predefinedRoles: [storage.admin]\n    permissions: [compute, 7]"
    (folder / "a.yaml").write_text(
        REQUEST.format(name="cr1", secret="s1", accounts="a" * 127, rights=permissions)
    )
    (folder / "b.yaml").write_text(REQUEST.format(name="cr2", secret="s2", accounts="a", rights=""))
    (folder / "c.yaml").write_text(REQUEST.format(name="cr2", secret="s3", accounts="a", rights=PERMISSIONS))

    arguments = [
        "create-all", "--name", "gcp-Demo", "--project", "1x", "--region", "?", "--universe-domain", "x",
        "--credentials-requests-dir", str(folder), "--public-key-file", str(public_key),
    ]  # fmt: skip
    result = CliRunner().invoke(command, arguments)

    assert isinstance(result.exception, errors.InvalidInput)
    reported = [
        (one.place.rpartition("/")[2], one.field.rpartition(": ")[2]) for one in result.exception.problems
    ]
    assert reported == [
        ("--name", ""),
        ("--project", ""),
        ("--region", ""),
        ("--universe-domain", ""),
        ("a.yaml:1", "spec.serviceAccountNames.0"),
        ("a.yaml:1", "spec.providerSpec.permissions.1"),
        ("a.yaml:1", "spec.providerSpec.predefinedRoles.0"),
        ("a.yaml:1", "spec.providerSpec.permissions.0"),
        ("b.yaml:1", "spec.providerSpec"),
        ("c.yaml:1", "metadata.name"),
    ]


def test_pool_and_provider_that_are_named_must_exist(
    double: Double, tmp_path: Path, requests_dir: Path
) -> None:
    given = ("--workload-identity-pool", "nopool", "--workload-identity-provider", "demo1")
    result = run(
        double, tmp_path, "create-service-accounts", *given, "--credentials-requests-dir", requests_dir,
        "--output-dir", tmp_path / "out",
    )  # fmt: skip

    assert "--workload-identity-pool: is 'nopool', which does not exist" in str(result.exception)
    assert double.writes() == []


def test_an_account_of_upstream_is_found_again_by_its_display_name(
    double: Double, tmp_path: Path, requests_dir: Path, public_key: Path
) -> None:
    text = f"Created By OpenShift ccoctl for service account {REGISTRY}"
    email = account(double, "demo1-registry-gc-x7x7x", REGISTRY, text)

    ended(create_all(double, tmp_path, requests_dir, public_key))

    assert [one for one in double.iam.accounts if "registry" in one] == [email]
    assert double.iam.policy.has("roles/storage.admin", f"serviceAccount:{email}")


def test_where_public_buckets_are_forbidden_the_other_way_is_named(
    double: Double, tmp_path: Path, requests_dir: Path, public_key: Path
) -> None:
    double.storage.guarded = True

    result = create_all(double, tmp_path, requests_dir, public_key)
    ended(create_all(double, tmp_path, requests_dir, public_key, "--key-storage-method", "pool-jwk-file"))

    assert "want --key-storage-method pool-jwk-file" in str(result.exception)
    assert "jwksJson" in double.iam.providers["demo1"]["demo1"]["oidc"]


def test_a_pool_with_other_providers_is_warned_of(double: Double, tmp_path: Path, public_key: Path) -> None:
    double.iam.pools["shared"] = {"state": "ACTIVE", "description": "ours together"}
    double.iam.providers["shared"] = {"other": {"state": "ACTIVE", "oidc": {"issuerUri": "https://other"}}}

    result = ended(
        run(
            double, tmp_path, "create-workload-identity-provider", "--workload-identity-pool", "shared",
            "--public-key-file", public_key, "--no-verify", "--output-dir", tmp_path / "out",
        )
    )  # fmt: skip

    assert "pool shared has other providers (other)" in result.stderr
    ended(run(double, tmp_path, "delete", "--output-dir", tmp_path / "out"))
    assert double.iam.pools["shared"]["state"] == "ACTIVE"
    states = {name: one["state"] for name, one in double.iam.providers["shared"].items()}
    assert states == {"other": "ACTIVE", "demo1": "DELETED"}


@pytest.mark.parametrize("how", ["text", "path", "home"])
def test_a_login_where_upstream_looks_for_it(
    how: str, double: Double, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    key = Path(double.key_file(tmp_path / "key.json"))
    monkeypatch.delenv("GOOGLE_APPLICATION_CREDENTIALS")
    if how == "home":
        (tmp_path / ".gcp").mkdir()
        key.rename(tmp_path / ".gcp" / "osServiceAccount.json")
    else:
        monkeypatch.setenv("GOOGLE_CREDENTIALS", key.read_text() if how == "text" else str(key))

    ended(run(double, tmp_path, "create-workload-identity-pool", "--output-dir", tmp_path / "out"))

    assert [*double.iam.pools] == ["demo1"]


def test_a_key_file_that_is_none_is_reported_and_not_shown(
    double: Double, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("GOOGLE_CREDENTIALS", '{"private_key": "hush"}')

    result = run(double, tmp_path, "create-workload-identity-pool", "--output-dir", tmp_path / "out")

    assert "GOOGLE_CREDENTIALS: is no key of a service account" in str(result.exception)
    assert "hush" not in result.output + str(result.exception)


def test_endpoints_that_are_none_are_reported(double: Double, tmp_path: Path) -> None:
    file = tmp_path / "mine.json"
    file.write_text('{"iam": "ftp://x", "storage": "nowhere"}')
    given = ["create-workload-identity-pool", "--name", "demo1", "--project", PROJECT]

    result = CliRunner().invoke(command, [*given, "--endpoints", str(file)])

    assert isinstance(result.exception, errors.InvalidInput)
    assert [one.field for one in result.exception.problems] == ["iam", "storage"]


def test_another_key_under_our_id_in_the_provider_is_refused(
    double: Double, tmp_path: Path, requests_dir: Path, public_key: Path
) -> None:
    """What a provider keeps is no less somebody's than what a bucket holds."""
    embedded = ("--key-storage-method", "pool-jwk-file")
    ended(create_all(double, tmp_path, requests_dir, public_key, *embedded))
    oidc = double.iam.providers["demo1"]["demo1"]["oidc"]
    oidc["jwksJson"] = oidc["jwksJson"].replace('"AQAB"', '"AQABAQ"')

    result = create_all(double, tmp_path, requests_dir, public_key, *embedded)

    assert "is another key than ours" in str(result.exception)
