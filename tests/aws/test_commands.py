"""``vestibule aws`` against moto over HTTP, through the command line: made, repeated, changed, removed."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import boto3
import pytest
import yaml
from click.testing import CliRunner, Result

from vestibule import errors
from vestibule.cli.aws import command
from vestibule.pki import signer

REQUEST = """apiVersion: cloudcredential.openshift.io/v1
kind: CredentialsRequest
metadata:
  name: {name}
spec:
  serviceAccountNames: [{accounts}]
  secretRef: {{name: {secret}, namespace: ns1}}
  providerSpec:
    kind: AWSProviderSpec
    statementEntries:
    - effect: Allow
      action: [s3:ListBucket]
      resource: "*"
"""


@pytest.fixture(scope="session")
def public_key(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("key") / "pub.pem"
    path.write_text(signer.new(2048).public)
    return path


@pytest.fixture
def requests_dir(tmp_path: Path) -> Path:
    folder = tmp_path / "requests"
    folder.mkdir()
    (folder / "a.yaml").write_text(REQUEST.format(name="cr1", secret="secret1", accounts="sa-one, sa-two"))
    return folder


def run(*arguments: object, region: str = "eu-central-1") -> Result:
    more = ["--region", region] if "--region" not in arguments else []
    return CliRunner().invoke(command, [*map(str, arguments), *more], catch_exceptions=True)


def create_all(out: Path, requests: Path, key: Path, *more: str) -> Result:
    return run(
        "create-all", "--name", "demo1", "--credentials-requests-dir", requests, "--output-dir", out,
        "--public-key-file", key, "--no-verify", *more,
    )  # fmt: skip


def client(service: str) -> Any:
    return boto3.client(service, region_name="eu-central-1")


def test_everything_is_made_and_a_second_run_changes_nothing(
    aws: str, tmp_path: Path, requests_dir: Path, public_key: Path
) -> None:
    out = tmp_path / "out"

    first = create_all(out, requests_dir, public_key)
    assert first.exit_code == 0, first.output + repr(first.exception)
    again = create_all(out, requests_dir, public_key, "--plan", "-o", "json")

    issuer = "https://demo1-oidc.s3.eu-central-1.amazonaws.com"
    assert f"issuer: {issuer}" in first.stdout
    stored = client("s3").get_object(Bucket="demo1-oidc", Key=".well-known/openid-configuration")
    assert json.loads(stored["Body"].read())["jwks_uri"] == f"{issuer}/keys.json"
    role = client("iam").get_role(RoleName="demo1-ns1-secret1")["Role"]
    condition = role["AssumeRolePolicyDocument"]["Statement"][0]["Condition"]["StringEquals"]
    assert condition == {
        f"{issuer.removeprefix('https://')}:sub": [
            "system:serviceaccount:ns1:sa-one",
            "system:serviceaccount:ns1:sa-two",
        ]
    }
    secret = yaml.safe_load((out / "manifests/ns1-secret1-credentials.yaml").read_text())
    assert f"role_arn = {role['Arn']}" in secret["stringData"]["credentials"]
    assert [step["verb"] for step in json.loads(again.stdout)["steps"]] == ["publish", "write"]


def test_the_trust_of_an_existing_role_follows_the_request(
    aws: str, tmp_path: Path, requests_dir: Path, public_key: Path
) -> None:
    create_all(tmp_path / "out", requests_dir, public_key)
    (requests_dir / "a.yaml").write_text(REQUEST.format(name="cr1", secret="secret1", accounts="sa-three"))

    planned = create_all(tmp_path / "out", requests_dir, public_key, "--plan")
    create_all(tmp_path / "out", requests_dir, public_key)

    assert "update role demo1-ns1-secret1 (trust)" in planned.stdout
    trust = client("iam").get_role(RoleName="demo1-ns1-secret1")["Role"]["AssumeRolePolicyDocument"]
    assert [*trust["Statement"][0]["Condition"]["StringEquals"].values()] == [
        ["system:serviceaccount:ns1:sa-three"]
    ]


def test_a_bucket_that_is_not_ours_is_refused_and_untouched(
    aws: str, tmp_path: Path, requests_dir: Path, public_key: Path
) -> None:
    location = {"LocationConstraint": "eu-central-1"}
    client("s3").create_bucket(Bucket="demo1-oidc", CreateBucketConfiguration=location)
    client("s3").put_object(Bucket="demo1-oidc", Key="theirs", Body=b"x")

    result = create_all(tmp_path / "out", requests_dir, public_key)

    assert isinstance(result.exception, errors.InvalidInput)
    assert "exists and is not ours" in str(result.exception)
    assert [o["Key"] for o in client("s3").list_objects_v2(Bucket="demo1-oidc")["Contents"]] == ["theirs"]


def test_a_role_that_is_not_ours_is_refused(
    aws: str, tmp_path: Path, requests_dir: Path, public_key: Path
) -> None:
    client("iam").create_role(RoleName="demo1-ns1-secret1", AssumeRolePolicyDocument="{}")

    result = create_all(tmp_path / "out", requests_dir, public_key)

    assert "role demo1-ns1-secret1 exists and is not ours" in str(result.exception)


def test_delete_removes_ours_and_keeps_everything_else(
    aws: str, tmp_path: Path, requests_dir: Path, public_key: Path
) -> None:
    create_all(tmp_path / "out", requests_dir, public_key)
    client("iam").create_role(RoleName="demo1-other", AssumeRolePolicyDocument="{}")
    client("s3").create_bucket(
        Bucket="other-oidc", CreateBucketConfiguration={"LocationConstraint": "eu-central-1"}
    )

    dry = run("delete", "--name", "demo1", "--output-dir", tmp_path / "out", "--dry-run")
    still = sorted(role["RoleName"] for role in client("iam").list_roles()["Roles"])
    done = run("delete", "--name", "demo1", "--output-dir", tmp_path / "out")

    assert "delete role demo1-ns1-secret1" in dry.stdout
    assert still == ["demo1-ns1-secret1", "demo1-other"]
    assert done.exit_code == 0, repr(done.exception)
    assert [role["RoleName"] for role in client("iam").list_roles()["Roles"]] == ["demo1-other"]
    assert [bucket["Name"] for bucket in client("s3").list_buckets()["Buckets"]] == ["other-oidc"]
    assert client("iam").list_open_id_connect_providers()["OpenIDConnectProviderList"] == []


def test_a_run_that_was_killed_after_it_made_the_bucket_goes_on(
    aws: str, tmp_path: Path, requests_dir: Path, public_key: Path
) -> None:
    client("s3").create_bucket(
        Bucket="demo1-oidc", CreateBucketConfiguration={"LocationConstraint": "eu-central-1"}
    )

    result = create_all(tmp_path / "out", requests_dir, public_key)

    assert result.exit_code == 0, repr(result.exception)
    tags = client("s3").get_bucket_tagging(Bucket="demo1-oidc")["TagSet"]
    assert {"Key": "openshift.io/cloud-credential-operator/demo1", "Value": "owned"} in tags


def test_a_dry_run_makes_no_call_and_writes_what_the_aws_command_takes(
    tmp_path: Path, requests_dir: Path, public_key: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("AWS_ENDPOINT_URL", "http://127.0.0.1:9")
    out = tmp_path / "out"

    result = create_all(out, requests_dir, public_key, "--dry-run")

    assert result.exit_code == 0, repr(result.exception)
    assert json.loads((out / "01-oidc-bucket.json").read_text())["Bucket"] == "demo1-oidc"
    role = json.loads((out / "05-0-demo1-ns1-secret1-role.json").read_text())
    assert "<enter_issuer_url_here>:sub" in role["AssumeRolePolicyDocument"]
    with pytest.raises(yaml.YAMLError):
        yaml.safe_load((out / "manifests/ns1-secret1-credentials.yaml").read_text())


def test_a_private_bucket_is_read_by_its_distribution_only(
    aws: str, tmp_path: Path, public_key: Path
) -> None:
    result = run(
        "create-identity-provider", "--name", "demo1", "--create-private-s3-bucket", "--no-verify",
        "--public-key-file", public_key, "--output-dir", tmp_path / "out",
    )  # fmt: skip

    assert result.exit_code == 0, repr(result.exception)
    policy = json.loads(client("s3").get_bucket_policy(Bucket="demo1-oidc")["Policy"])
    assert policy["Statement"][0]["Principal"] == {"Service": "cloudfront.amazonaws.com"}
    block = client("s3").get_public_access_block(Bucket="demo1-oidc")["PublicAccessBlockConfiguration"]
    assert all(block.values())
    (distribution,) = client("cloudfront").list_distributions()["DistributionList"]["Items"]
    assert f"issuer: https://{distribution['DomainName']}" in result.stdout


def test_everything_wrong_is_reported_at_once(tmp_path: Path, public_key: Path) -> None:
    folder = tmp_path / "requests"
    folder.mkdir()
    bad = REQUEST.format(name="cr1", secret="s", accounts="a").replace("Allow", "Maybe").replace('"*"', '""')
    (folder / "a.yaml").write_text(bad)

    result = run(
        "create-all", "--name", "Demo_1", "--credentials-requests-dir", folder, "--region", "nowhere",
        "--permissions-boundary-arn", "x", "--public-key-file", public_key,
    )  # fmt: skip

    assert isinstance(result.exception, errors.InvalidInput)
    assert [problem.place.rpartition("/")[2] for problem in result.exception.problems] == [
        "--name",
        "--region",
        "--permissions-boundary-arn",
        "a.yaml:1",
        "a.yaml:1",
    ]
