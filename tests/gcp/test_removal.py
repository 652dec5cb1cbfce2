"""``vestibule gcp delete``: what is ours goes, what is not stays."""

from __future__ import annotations

import shutil
from pathlib import Path

from tests.gcp.double import PROJECT, Double
from tests.gcp.stage import MACHINES, REGISTRY, ROLE, create_all, ended, run
from vestibule import errors

ORIGINAL = "Created By OpenShift ccoctl"


def account(double: Double, name: str, display: str, description: str) -> str:
    """An account that somebody else made."""
    email = f"{name}@{PROJECT}.iam.gserviceaccount.com"
    double.iam.accounts[email] = {"email": email, "displayName": display, "description": description}
    double.iam.policies[email] = type(double.iam.policy)()
    return email


def test_delete_needs_no_requests_and_keeps_everything_else(
    double: Double, tmp_path: Path, requests_dir: Path, public_key: Path
) -> None:
    ended(create_all(double, tmp_path, requests_dir, public_key))
    account(double, "somebody", "demo1-other", "by hand")
    account(double, "demo1-1-x-abcde", "demo1-1-x", f"{ORIGINAL} for service account demo1-1-x")
    double.storage.make("other-oidc")
    double.iam.pools["other"] = {"description": ORIGINAL, "state": "ACTIVE"}
    double.iam.providers["other"] = {}
    out = ("--output-dir", tmp_path / "out")

    double.calls = []
    looked = ended(run(double, tmp_path, "delete", "--dry-run", *out))
    assert double.writes() == []
    done = ended(run(double, tmp_path, "delete", *out))

    assert f"delete service account {REGISTRY}" in looked.stdout
    assert "custom roles are not deleted" in done.stderr
    assert [one["displayName"] for one in double.iam.accounts.values()] == ["demo1-other", "demo1-1-x"]
    assert [*double.storage.buckets] == ["other-oidc"]
    assert {name: one["state"] for name, one in double.iam.pools.items()} == {
        "demo1": "DELETED",
        "other": "ACTIVE",
    }
    assert double.iam.policy.bindings == [{"role": "roles/owner", "members": ["user:owner@example.com"]}]
    assert "deleted" not in double.iam.roles[ROLE]
    again = ended(run(double, tmp_path, "delete", *out))
    assert "delete " not in again.stdout


def test_without_an_inventory_the_requests_tell_what_upstream_made(
    double: Double, tmp_path: Path, requests_dir: Path
) -> None:
    mine = f"{ORIGINAL} for service account {REGISTRY}"
    ours = account(double, "demo1-registry-gc-x7x7x", REGISTRY, mine)
    theirs = account(double, "by-hand", MACHINES, "by hand")
    member = {"role": "roles/viewer", "members": [f"serviceAccount:{ours}"]}
    double.iam.policy.bindings.append(member)
    double.storage.make("demo1-oidc")
    out = ("--output-dir", tmp_path / "empty")

    bare = run(double, tmp_path, "delete", *out)
    done = ended(run(double, tmp_path, "delete", "--credentials-requests-dir", requests_dir, *out))

    assert "--credentials-requests-dir: is required" in str(bare.exception)
    assert [*double.iam.accounts] == [theirs]
    assert len(double.iam.policy.bindings) == 1
    assert f"service account {theirs} ({MACHINES}) has no mark of vestibule: not deleted" in done.stderr
    label = "openshift-cloud-credential-operator=demo1"
    text = f"bucket demo1-oidc has no mark of vestibule: not deleted; set the label {label} to delete it"
    assert text in done.stderr
    assert [*double.storage.buckets] == ["demo1-oidc"]


def test_custom_roles_go_by_force_unless_others_use_them(
    double: Double, tmp_path: Path, requests_dir: Path, public_key: Path
) -> None:
    ended(create_all(double, tmp_path, requests_dir, public_key))
    theirs = {"role": f"projects/{PROJECT}/roles/{ROLE}", "members": ["user:x@example.com"]}
    double.iam.policy.bindings.append(theirs)
    force = ("--force-delete-custom-roles", "--output-dir", tmp_path / "out")

    stored = ended(run(double, tmp_path, "delete", *force))
    assert f"custom role {ROLE} is used by user:x@example.com: not deleted" in stored.stderr
    double.iam.policy.bindings.remove(theirs)
    ended(run(double, tmp_path, "delete", *force))

    assert double.iam.roles[ROLE]["deleted"] is True


def test_a_bucket_with_something_else_in_it_and_a_pool_with_another_provider_are_kept(
    double: Double, tmp_path: Path, requests_dir: Path, public_key: Path
) -> None:
    ended(create_all(double, tmp_path, requests_dir, public_key))
    stored = double.storage.objects["demo1-oidc"]
    stored["theirs"] = stored["keys.json"]
    double.iam.providers["demo1"]["theirs"] = {"state": "ACTIVE", "oidc": {"issuerUri": "https://x"}}

    done = ended(run(double, tmp_path, "delete", "--output-dir", tmp_path / "out"))

    assert "bucket demo1-oidc holds other objects (theirs): not deleted" in done.stderr
    assert len(stored) == 3
    assert "pool demo1 has other providers (theirs): not deleted" in done.stderr
    assert double.iam.pools["demo1"]["state"] == "ACTIVE"
    assert {name: one["state"] for name, one in double.iam.providers["demo1"].items()} == {
        "demo1": "DELETED",
        "theirs": "ACTIVE",
    }


def test_a_bucket_of_another_project_is_never_ours_whatever_it_says(
    double: Double, tmp_path: Path, requests_dir: Path, public_key: Path
) -> None:
    """Names of buckets are the world's: whoever is first could be our issuer."""
    label = {"openshift-cloud-credential-operator": "demo1"}
    double.storage.make("demo1-oidc", "666", labels=label)

    result = create_all(double, tmp_path, requests_dir, public_key)
    assert "it is in another project" in str(result.exception)
    assert double.writes() == []
    out = ("--output-dir", tmp_path / "out", "--credentials-requests-dir", requests_dir)
    ended(run(double, tmp_path, "delete", *out))

    assert [*double.storage.buckets] == ["demo1-oidc"]


def test_an_inventory_of_another_project_is_refused(
    double: Double, tmp_path: Path, requests_dir: Path, public_key: Path
) -> None:
    ended(create_all(double, tmp_path, requests_dir, public_key))
    copied = tmp_path / "copied"
    shutil.copytree(tmp_path / "out", copied)

    result = run(double, tmp_path, "delete", "--project", "another-project", "--output-dir", copied)

    assert isinstance(result.exception, errors.InvalidInput)
    assert "is about 'my-project-1/demo1' in gcp" in str(result.exception)
