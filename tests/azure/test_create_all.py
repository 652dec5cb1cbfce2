"""``create-all`` and ``delete`` against the simulator, through the real SDKs."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.azure.provisioning_run import Stage
from tests.azure.simulator import Simulated
from vestibule.provision.azure import commands
from vestibule_simulators.azure import state
from vestibule_simulators.azure.state import SimulatorSettings


@pytest.fixture
def stage(tmp_path: Path, simulator: Simulated) -> Stage:
    return Stage(tmp_path, simulator)


def test_everything_is_made_and_a_second_run_writes_nothing(stage: Stage) -> None:
    stage.create()
    first, files = stage.left(), stage.files()
    stage.simulator.forget()

    again = stage.create()

    assert stage.simulator.writes() == []
    assert (stage.left(), stage.files()) == (first, files)
    assert {step.verb for step in again.plan.steps} == {"publish", "write"}
    assert [*files] == [
        "jwks",
        "manifests/azure-ad-pod-identity-webhook-config.yaml",
        "manifests/cluster-authentication-02-config.yaml",
        "manifests/ns1-secret0-credentials.yaml",
        "manifests/ns1-secret1-credentials.yaml",
        "openid-configuration",
    ]


def test_assignments_say_what_kind_of_principal_they_are_for(stage: Stage) -> None:
    stage.create()

    found = [
        one
        for one in stage.simulator.resources(state.ASSIGNMENT)
        if one["properties"].get("description", "").endswith("Owned by: demo1")
    ]

    assert len(found) == 2
    assert {one["properties"]["principalType"] for one in found} == {"ServicePrincipal"}


def test_a_plan_only_reads(stage: Stage) -> None:
    report = stage.create(plan_only=True)

    assert [step.verb for step in report.plan.steps].count("create") > 5
    assert stage.simulator.writes(done=False) == []
    assert not stage.out.exists()


def test_a_dry_run_makes_no_call(stage: Stage) -> None:
    stage.create(dry_run=True)

    assert stage.simulator.calls == []
    assert (stage.out / "manifests/ns1-secret0-credentials.yaml").exists()


def test_delete_leaves_what_was_not_ours_and_nothing_that_was(stage: Stage) -> None:
    arm = stage.simulator.arm()
    arm.put_group("demo1-oidc", "eastus", {"theirs": "yes"})
    arm.put_identity("demo1-oidc", "mine", "eastus", {})
    arm.put_group("other", "eastus", {})
    before = stage.left()
    stage.create()
    reported = stage.delete(dry_run=True)
    untouched = stage.left()
    assert reported.plan.steps
    assert untouched != before

    stage.delete()

    rest = [one for one in stage.left() if one not in before]
    assert len(rest) == 1, "the installation group stays"
    assert "resourceGroups/demo1'" in rest[0] or "'demo1'" in rest[0]
    assert [one for one in before if one not in stage.left()] == []


def test_a_group_with_another_users_things_is_not_deleted_as_a_whole(stage: Stage) -> None:
    stage.create()
    stage.simulator.arm().put_identity("demo1-oidc", "mine", "eastus", {})

    report = stage.delete(entire_group=True)

    assert [remark for remark in report.plan.remarks if "demo1-oidc is not deleted" in remark]
    assert [one["name"] for one in stage.simulator.resources(state.IDENTITY)] == ["mine"]


def test_a_new_identity_that_is_not_known_everywhere_is_waited_for(stage: Stage) -> None:
    stage.simulator.fault(on="PUT */roleAssignments/*", times=2, status=400, code="PrincipalNotFound")
    stage.simulator.fault(
        on="PUT */federatedIdentityCredentials/*", times=1, status=404, code="ParentResourceNotFound"
    )

    stage.create(parallel=1)

    assert stage.waited == [10.0, 10.0, 10.0]


def test_patience_ends(stage: Stage) -> None:
    stage.simulator.fault(on="PUT */roleAssignments/*", times=0, status=400, code="PrincipalNotFound")

    with pytest.raises(Exception, match=r"PrincipalNotFound(.|\n)*the same command goes on from there"):
        stage.create(parallel=1)

    assert stage.waited == [10.0] * 23


def test_a_policy_that_forbids_public_accounts_is_reported_with_what_to_do(stage: Stage) -> None:
    stage.simulator.fault(on="PUT */storageAccounts/*", times=0, status=403, code="RequestDisallowedByPolicy")

    with pytest.raises(Exception, match=r"RequestDisallowedByPolicy(.|\n)*--issuer-mode private"):
        stage.create()


def test_without_a_right_to_the_data_the_accounts_key_is_used(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with Simulated(tmp_path / "s", SimulatorSettings(operation_seconds=0.0, data_access=False)) as simulator:
        simulator.environ(monkeypatch)
        stage = Stage(tmp_path, simulator)
        stage.create()

        assert [call for call in simulator.calls if call["path"].endswith("/listKeys")]


def test_with_a_right_to_the_data_no_key_is_ever_asked_for(stage: Stage) -> None:
    stage.create()

    assert not [call for call in stage.simulator.calls if call["path"].endswith("/listKeys")]


@pytest.mark.parametrize("data_access", [True, False])
def test_a_static_website_is_an_issuer_without_a_public_container(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, data_access: bool
) -> None:
    with Simulated(
        tmp_path / "s", SimulatorSettings(operation_seconds=0.0, data_access=data_access)
    ) as simulator:
        simulator.environ(monkeypatch)
        stage = Stage(tmp_path, simulator)
        expected = stage.wanted(issuer_mode="website", issuer_url="")

        report = commands.everything(expected, stage.key, stage.how(verify=False))

        (account,) = simulator.resources(state.ACCOUNT)
        assert report.issuer == account["properties"]["primaryEndpoints"]["web"].rstrip("/")
        assert account["properties"]["allowBlobPublicAccess"] is False
        assert report.issuer in (stage.out / "manifests/cluster-authentication-02-config.yaml").read_text()
        issuers = {one["properties"]["issuer"] for one in simulator.resources(state.CREDENTIAL)}
        assert issuers == {report.issuer}


def test_documents_for_another_host_need_no_account(stage: Stage) -> None:
    expected = stage.wanted(issuer_mode="none", issuer_url="https://issuer.example/c1")

    report = commands.issuer(expected, stage.key, stage.how())

    assert stage.simulator.calls == []
    assert report.issuer == "https://issuer.example/c1"
    assert "https://issuer.example/c1" in (stage.out / "openid-configuration").read_text()
