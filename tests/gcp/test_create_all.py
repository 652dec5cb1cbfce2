"""``vestibule gcp create-all`` against the double, through the command line: made, repeated, changed."""

from __future__ import annotations

import json
from pathlib import Path

from tests.gcp.answers import Json
from tests.gcp.double import NUMBER, PROJECT, Double
from tests.gcp.stage import (
    ISSUER,
    MACHINES,
    PERMISSIONS,
    REGISTRY,
    REQUEST,
    ROLE,
    create_all,
    ended,
    run,
)
from vestibule.pki import signer

POOL = f"principal://iam.googleapis.com/projects/{NUMBER}/locations/global/workloadIdentityPools/demo1"


def email(double: Double, display: str) -> str:
    (found,) = [one["email"] for one in double.iam.accounts.values() if one["displayName"] == display]
    return str(found)


def trusted(double: Double, display: str) -> list[str]:
    (binding,) = double.iam.policies[email(double, display)].bindings
    assert binding["role"] == "roles/iam.workloadIdentityUser"
    return [str(one) for one in binding["members"]]


def steps(double: Double, tmp: Path, requests: Path, key: Path, *more: str) -> list[Json]:
    planned = ended(create_all(double, tmp, requests, key, "--plan", "-o", "json", *more))
    found: list[Json] = json.loads(planned.stdout)["steps"]
    return found


def test_everything_is_made(double: Double, tmp_path: Path, requests_dir: Path, public_key: Path) -> None:
    result = ended(create_all(double, tmp_path, requests_dir, public_key))

    assert f"issuer: {ISSUER}" in result.stdout
    assert "x-aws is a request of another cloud" in result.stderr
    bucket = double.storage.buckets["demo1-oidc"]
    assert bucket["iamConfiguration"]["uniformBucketLevelAccess"]["enabled"] is True
    assert bucket["labels"] == {"openshift-cloud-credential-operator": "demo1"}
    assert double.storage.policies["demo1-oidc"].has("roles/storage.objectViewer", "allUsers")
    stored = double.storage.objects["demo1-oidc"]
    assert json.loads(stored[".well-known/openid-configuration"].body)["jwks_uri"] == f"{ISSUER}/keys.json"
    provider = double.iam.providers["demo1"]["demo1"]
    assert provider["oidc"] == {"issuerUri": ISSUER, "allowedAudiences": ["openshift"]}
    assert provider["attributeMapping"] == {"google.subject": "assertion.sub"}
    assert trusted(double, REGISTRY) == [
        f"{POOL}/subject/system:serviceaccount:ns1:sa-one",
        f"{POOL}/subject/system:serviceaccount:ns1:sa-two",
    ]
    registry, machines = email(double, REGISTRY), email(double, MACHINES)
    assert double.iam.policy.has("roles/storage.admin", f"serviceAccount:{registry}")
    assert double.iam.policy.has(f"projects/{PROJECT}/roles/{ROLE}", f"serviceAccount:{machines}")
    assert double.iam.policy.has("roles/owner", "user:owner@example.com")
    assert double.iam.roles[ROLE]["title"] == "my-project-1-machine-api-gcp"
    assert double.logins >= 1


def test_a_second_run_writes_nothing(
    double: Double, tmp_path: Path, requests_dir: Path, public_key: Path
) -> None:
    ended(create_all(double, tmp_path, requests_dir, public_key))
    before = double.left()
    double.calls = []

    planned = steps(double, tmp_path, requests_dir, public_key)
    ended(create_all(double, tmp_path, requests_dir, public_key))

    assert [step["verb"] for step in planned] == ["publish", "write", "write"]
    assert double.writes() == []
    assert double.left() == before


def test_keys_can_be_kept_in_the_provider_without_any_bucket(
    double: Double, tmp_path: Path, requests_dir: Path, public_key: Path
) -> None:
    ended(create_all(double, tmp_path, requests_dir, public_key, "--key-storage-method", "pool-jwk-file"))
    planned = steps(double, tmp_path, requests_dir, public_key, "--key-storage-method", "pool-jwk-file")

    oidc = double.iam.providers["demo1"]["demo1"]["oidc"]
    assert [key["use"] for key in json.loads(oidc["jwksJson"])["keys"]] == ["sig"]
    assert oidc["issuerUri"] == ISSUER
    assert double.storage.buckets == {}
    assert not [path for _, path in double.calls if "/storage/" in path]
    assert [step["verb"] for step in planned] == ["write", "write"]


def test_keys_in_the_provider_are_merged_by_kid(
    double: Double, tmp_path: Path, requests_dir: Path, public_key: Path
) -> None:
    embedded = ("--key-storage-method", "pool-jwk-file")
    ended(create_all(double, tmp_path, requests_dir, public_key, *embedded))
    before = json.loads(double.iam.providers["demo1"]["demo1"]["oidc"]["jwksJson"])["keys"]
    double.calls = []

    other = tmp_path / "other.pem"
    other.write_text(signer.new(2048).public)
    ended(create_all(double, tmp_path, requests_dir, other, *embedded))

    after = json.loads(double.iam.providers["demo1"]["demo1"]["oidc"]["jwksJson"])["keys"]
    assert (len(after), after[0]) == (2, before[0])
    path = f"/v1/projects/{PROJECT}/locations/global/workloadIdentityPools/demo1/providers/demo1"
    assert double.writes() == [("PATCH", path)]


def test_keys_that_were_published_move_into_the_provider_with_ours(
    double: Double, tmp_path: Path, requests_dir: Path, public_key: Path
) -> None:
    ended(create_all(double, tmp_path, requests_dir, public_key))
    other = tmp_path / "other.pem"
    other.write_text(signer.new(2048).public)

    ended(create_all(double, tmp_path, requests_dir, other, "--key-storage-method", "pool-jwk-file"))
    back = create_all(double, tmp_path, requests_dir, other)

    keys = json.loads(double.iam.providers["demo1"]["demo1"]["oidc"]["jwksJson"])["keys"]
    published = json.loads(double.storage.objects["demo1-oidc"]["keys.json"].body)["keys"]
    assert (len(keys), keys[0]) == (2, published[0])
    assert "keeps its keys itself, want --key-storage-method pool-jwk-file" in str(back.exception)


def test_trust_follows_the_request_and_permissions_are_only_added(
    double: Double, tmp_path: Path, requests_dir: Path, public_key: Path
) -> None:
    ended(create_all(double, tmp_path, requests_dir, public_key))
    theirs = (
        "principal://iam.googleapis.com/projects/1/locations/global/workloadIdentityPools/other/subject/x"
    )
    double.iam.policies[email(double, MACHINES)].bindings[0]["members"].append(theirs)
    changed = PERMISSIONS.replace("compute.disks.list", "compute.disks.delete")
    text = REQUEST.format(name="machine-api-gcp", secret="secret2", accounts="sa-four", rights=changed)
    (requests_dir / "b.yaml").write_text(text)

    planned = steps(double, tmp_path, requests_dir, public_key)
    ended(create_all(double, tmp_path, requests_dir, public_key))

    assert trusted(double, MACHINES) == [theirs, f"{POOL}/subject/system:serviceaccount:ns1:sa-four"]
    assert double.iam.roles[ROLE]["includedPermissions"] == [
        "compute.disks.get",
        "compute.disks.list",
        "compute.disks.delete",
    ]
    assert [step.get("why") for step in planned if step["verb"] == "update"] == [
        "adds compute.disks.delete",
        None,
    ]


def test_conditions_in_the_policy_of_the_project_survive(
    double: Double, tmp_path: Path, requests_dir: Path, public_key: Path
) -> None:
    condition = {"title": "nights", "expression": "request.time.getHours() < 6"}
    theirs = {"role": "roles/storage.admin", "members": ["user:x@example.com"], "condition": condition}
    double.iam.policy.bindings.append(dict(theirs))

    ended(create_all(double, tmp_path, requests_dir, public_key))

    assert theirs in double.iam.policy.bindings
    assert double.iam.policy.has("roles/storage.admin", f"serviceAccount:{email(double, REGISTRY)}")


def test_a_new_account_that_the_project_does_not_know_yet_is_waited_for(
    double: Double, tmp_path: Path, requests_dir: Path, public_key: Path
) -> None:
    double.iam.late = 1

    ended(create_all(double, tmp_path, requests_dir, public_key))

    assert double.iam.policy.has("roles/storage.admin", f"serviceAccount:{email(double, REGISTRY)}")


def test_more_roles_than_asked_for_are_kept_and_reported(
    double: Double, tmp_path: Path, requests_dir: Path, public_key: Path
) -> None:
    ended(create_all(double, tmp_path, requests_dir, public_key))
    member = f"serviceAccount:{email(double, REGISTRY)}"
    double.iam.policy.bindings.append({"role": "roles/viewer", "members": [member]})

    again = ended(create_all(double, tmp_path, requests_dir, public_key))

    assert "has more roles than its request: roles/viewer; not removed" in again.stderr
    assert double.iam.policy.has("roles/viewer", member)


def test_pool_and_role_that_were_deleted_are_taken_back(
    double: Double, tmp_path: Path, requests_dir: Path, public_key: Path
) -> None:
    ended(create_all(double, tmp_path, requests_dir, public_key))
    before = double.left()
    out = ("--output-dir", tmp_path / "out")
    ended(run(double, tmp_path, "delete", "--force-delete-custom-roles", *out))
    assert double.iam.pools["demo1"]["state"] == "DELETED"

    ended(create_all(double, tmp_path, requests_dir, public_key))

    assert double.left() == before


def test_the_single_commands_make_what_create_all_makes(
    double: Double, tmp_path: Path, requests_dir: Path, public_key: Path
) -> None:
    ended(create_all(double, tmp_path, requests_dir, public_key))
    full = double.left()
    out = ("--output-dir", tmp_path / "single")
    pool = ("--workload-identity-pool", "demo1")
    with Double() as fresh:
        login = fresh.key_file(tmp_path / "login.json")
        assert login.exists()
        ended(run(fresh, tmp_path, "create-workload-identity-pool", *out))
        verb = "create-workload-identity-provider"
        ended(run(fresh, tmp_path, verb, *pool, "--public-key-file", public_key, "--no-verify", *out))
        provider = ("--workload-identity-provider", "demo1")
        verb, given = "create-service-accounts", ("--credentials-requests-dir", requests_dir)
        ended(run(fresh, tmp_path, verb, *given, *pool, *provider, *out))

        assert fresh.left() == full
