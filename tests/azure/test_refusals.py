"""A run that cannot be planned changes nothing: no call that writes, no file, exit code 2, every problem."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.azure.provisioning_run import REQUEST, Stage
from tests.azure.simulator import Simulated
from tests.cli.process import run_main
from vestibule.errors import InvalidInput
from vestibule.provision.azure import commands

UNKNOWN_ROLE = "    roleBindings:\n    - role: {}"


@pytest.fixture
def stage(tmp_path: Path, simulator: Simulated) -> Stage:
    return Stage(tmp_path, simulator)


def ask_for_unknown_roles(stage: Stage) -> None:
    for number, role in ((7, "Nobody"), (8, "Somebody")):
        text = REQUEST.format(number=number, roles=UNKNOWN_ROLE.format(role))
        (stage.requests_dir / f"{number:03}.yaml").write_text(text)


def create_all(stage: Stage, *more: str) -> list[str]:
    settings = stage.simulator.settings
    return [
        "azure", "create-all", "--name", "demo1", "--region", "eastus",
        "--subscription-id", settings.subscription, "--tenant-id", settings.tenant,
        "--cloud", str(stage.simulator.running.cloud),
        "--credentials-requests-dir", str(stage.requests_dir), "--output-dir", str(stage.out), *more,
    ]  # fmt: skip


@pytest.mark.parametrize("mode", ["blob", "website"])
@pytest.mark.parametrize("own_key", [True, False])
def test_an_unknown_role_changes_nothing_and_every_problem_is_named(
    stage: Stage,
    mode: str,
    own_key: bool,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    ask_for_unknown_roles(stage)
    before = stage.left()
    key = ["--public-key-file", str(stage.key)] if own_key else []

    code = run_main(monkeypatch, *create_all(stage, "--issuer-mode", mode, *key))

    reported = capsys.readouterr().err
    assert code == 2
    assert "names the role 'Nobody', of which 0 exist" in reported
    assert "names the role 'Somebody', of which 0 exist" in reported
    assert stage.simulator.writes(done=False) == []
    assert stage.left() == before
    assert not stage.out.exists()


def test_problems_of_issuer_and_identities_are_named_at_once(stage: Stage) -> None:
    ask_for_unknown_roles(stage)
    arm = stage.simulator.arm()
    arm.put_group("demo1-oidc", "westus3", {})
    arm.put_group("demo1", "westus3", {})
    stage.simulator.forget()

    with pytest.raises(InvalidInput) as caught:
        stage.create()

    assert [problem.text.partition(",")[0] for problem in caught.value.problems] == [
        "is 'eastus'",
        "is 'eastus'",
        "names the role 'Nobody'",
        "names the role 'Somebody'",
    ]
    assert stage.simulator.writes(done=False) == []
    assert not stage.out.exists()


def test_identities_are_made_only_for_an_issuer_that_is_published(stage: Stage) -> None:
    """Whoever owns the address of the issuer could log in as the identities that trust it."""
    stage.simulator.fault(
        on="PUT */storageAccounts/*", times=0, status=409, code="StorageAccountAlreadyTaken"
    )

    with pytest.raises(Exception, match="StorageAccountAlreadyTaken"):
        stage.create()

    assert [path.rpartition("/")[2] for _, path in stage.simulator.writes()] == ["demo1-oidc"]


def test_the_plan_of_create_all_is_the_plans_of_its_commands(stage: Stage) -> None:
    stage.create()

    full = stage.create(plan_only=True).plan
    issuer = commands.issuer(stage.wanted(), stage.key, stage.how(plan_only=True)).plan
    identities = commands.identities(stage.wanted(), stage.how(plan_only=True)).plan

    assert [*map(str, full.steps)] == [*map(str, (*issuer.steps, *identities.steps))]


def test_a_website_whose_address_is_known_after_its_account_is_trusted_by_its_address(stage: Stage) -> None:
    desired = stage.wanted(issuer_mode="website", issuer_url="")
    commands.everything(desired, stage.key, stage.how(verify=False))
    stage.simulator.forget()

    again = commands.everything(desired, stage.key, stage.how(verify=False))

    assert stage.simulator.writes() == []
    assert {step.verb for step in again.plan.steps} == {"publish", "write"}


def test_a_private_key_that_is_none_is_refused_before_the_first_call(stage: Stage) -> None:
    stage.out.mkdir()
    (stage.out / "serviceaccount-signer.private").write_text("no key")

    with pytest.raises(InvalidInput, match="the private key is not a PEM RSA key"):
        commands.everything(stage.wanted(), None, stage.how())

    assert stage.simulator.calls == []
    assert [path.name for path in stage.out.iterdir()] == ["serviceaccount-signer.private"]


def test_a_plan_for_another_host_writes_no_documents(stage: Stage) -> None:
    desired = stage.wanted(issuer_mode="none", issuer_url="https://issuer.example/c1")

    report = commands.issuer(desired, stage.key, stage.how(plan_only=True))

    assert (report.plan.steps, report.issuer) == ((), "https://issuer.example/c1")
    assert stage.simulator.calls == []
    assert not stage.out.exists()


def test_documents_of_a_published_issuer_are_written_although_identities_fail(stage: Stage) -> None:
    stage.simulator.fault(on="PUT */userAssignedIdentities/*", times=0, status=403, code="Injected")

    with pytest.raises(Exception, match="Injected"):
        stage.create()

    assert [*stage.files()] == [
        "jwks",
        "manifests/azure-ad-pod-identity-webhook-config.yaml",
        "manifests/cluster-authentication-02-config.yaml",
        "openid-configuration",
    ]
