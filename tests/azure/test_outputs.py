"""Files: private from birth under any umask, whole or not at all, never through a link; the inventory."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from pathlib import Path, PurePosixPath

import pytest

from vestibule.errors import InvalidInput, Unavailable
from vestibule.pki import signer
from vestibule.provision import steps as plans
from vestibule.provision.inventory import FILE, Inventory
from vestibule.provision.outputs import Output
from vestibule.provision.runner import StepsFailed, run
from vestibule.provision.steps import OwnedResource, PlannedStep, StepResult


@pytest.fixture(params=[0o000, 0o022, 0o077])
def umask(request: pytest.FixtureRequest) -> Iterator[int]:
    before = os.umask(request.param)
    yield request.param
    os.umask(before)


def mode(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


@pytest.fixture(scope="module")
def pair() -> signer.SigningKeyPair:
    return signer.new(2048)


def test_keys_are_private_from_birth_under_any_umask(tmp_path: Path, umask: int) -> None:
    out = tmp_path / "a" / "b"

    assert Output(out).key_pair()

    private, copy = out / "serviceaccount-signer.private", out / "tls/bound-service-account-signing-key.key"
    assert (mode(private), mode(copy), mode(out), mode(out / "tls")) == (0o600, 0o600, 0o700, 0o700)
    assert private.read_bytes() == copy.read_bytes()


def test_an_existing_key_is_kept_its_public_half_made_and_a_longer_copy_cut(
    tmp_path: Path, pair: signer.SigningKeyPair
) -> None:
    (tmp_path / "serviceaccount-signer.private").write_text(pair.private)
    (tmp_path / "tls").mkdir()
    copy = tmp_path / "tls/bound-service-account-signing-key.key"
    copy.write_text("x" * 10_000)
    copy.chmod(0o644)

    assert not Output(tmp_path).key_pair()

    assert (tmp_path / "serviceaccount-signer.public").read_text() == pair.public
    assert (copy.read_text(), mode(copy)) == (pair.private, 0o600)


def test_a_file_that_is_no_key_is_refused_and_not_quoted(tmp_path: Path) -> None:
    (tmp_path / "serviceaccount-signer.private").write_text("some secret data")

    with pytest.raises(InvalidInput, match="want a PEM RSA private key") as caught:
        Output(tmp_path).key_pair()

    assert "some secret data" not in str(caught.value)
    assert not (tmp_path / "serviceaccount-signer.public").exists()


def test_a_public_key_that_is_not_the_private_ones_is_refused(
    tmp_path: Path, pair: signer.SigningKeyPair
) -> None:
    (tmp_path / "serviceaccount-signer.private").write_text(pair.private)
    (tmp_path / "serviceaccount-signer.public").write_text(signer.new(2048).public)

    with pytest.raises(InvalidInput, match="does not belong to"):
        Output(tmp_path).key_pair()


def test_a_link_is_never_written_through(tmp_path: Path) -> None:
    outside = tmp_path / "outside"
    outside.write_text("theirs")
    out = tmp_path / "out"
    out.mkdir()
    (out / "jwks").symlink_to(outside)

    with pytest.raises(InvalidInput, match="is a symbolic link"):
        Output(out).write(PurePosixPath("jwks"), b"ours")

    assert outside.read_text() == "theirs"


def test_an_inventory_of_another_name_is_not_used(tmp_path: Path) -> None:
    Inventory(tmp_path, "azure", "demo1").add(OwnedResource("group", "demo1-oidc"), "group/demo1-oidc")

    with pytest.raises(InvalidInput, match="is about 'demo1' in azure"):
        Inventory(tmp_path, "azure", "demo2")
    assert Inventory(tmp_path, "azure", "demo1").holds("group", "DEMO1-OIDC")
    assert mode(tmp_path / FILE) == 0o600


class OutputLines:
    def __init__(self) -> None:
        self.done_steps: list[str] = []

    def begun(self, step: PlannedStep) -> None:
        pass

    def done(self, step: PlannedStep, number: int, total: int) -> None:
        self.done_steps.append(step.id)

    def failed(self, step: PlannedStep, error: Exception) -> None:
        pass


def _step(identifier: str, value: plans.Value = "", after: tuple[str, ...] = ()) -> PlannedStep:
    from vestibule.provision.azure.actions import WriteAzureSecret

    created = OwnedResource("thing", identifier)
    return PlannedStep(identifier, "create", identifier, WriteAzureSecret(None, value, ""), after, created)  # type: ignore[arg-type]


def test_a_value_that_a_step_finds_out_reaches_those_after_it(tmp_path: Path) -> None:
    seen: dict[str, str] = {}

    def perform(step: PlannedStep) -> dict[str, str]:
        seen[step.id] = step.action.client
        return {"answer": f"from {step.id}"}

    reported = OutputLines()
    run(
        [_step("b", StepResult("a", "answer"), ("a",)), _step("a")],
        perform,
        known={},
        inventory=Inventory(tmp_path, "azure", "x"),
        progress=reported,
    )

    assert seen == {"a": "", "b": "from a"}
    assert reported.done_steps == ["a", "b"]


def test_a_failure_stops_what_needs_it_and_what_is_done_is_recorded(tmp_path: Path) -> None:
    def perform(step: PlannedStep) -> dict[str, str]:
        if step.id == "b":
            raise Unavailable("no")
        return {}

    inventory = Inventory(tmp_path, "azure", "x")
    with pytest.raises(StepsFailed, match=r"create b: no\n1 of 3 steps are done") as caught:
        run(
            [_step("a"), _step("b", after=("a",)), _step("c", after=("b",))],
            perform,
            known={},
            inventory=inventory,
            progress=OutputLines(),
            parallel=1,
        )

    assert [step.id for step, _ in caught.value.failures] == ["b"]
    assert [entry.id for entry in Inventory(tmp_path, "azure", "x").resources] == ["a"]
