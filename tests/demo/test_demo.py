"""``make demo`` keeps its promises: the whole story, a clean end, a loud failure when the story changes."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
SECONDS = 90


def run(root: Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "scripts/demo.py"],
        cwd=root,
        capture_output=True,
        text=True,
        timeout=SECONDS,
        check=False,
    )


@pytest.fixture(scope="module")
def story() -> str:
    done = run(ROOT)

    assert (done.returncode, done.stderr) == (0, "")
    return done.stdout


FACTS = {
    "ready means that a pod was mutated": "[+]mutation ok",
    "the role is injected": "value: arn:aws:iam::123456789012:role/shop-orders",
    "the role comes from the ServiceAccount": (
        "cwii.dev/aws-role-arn  arn:aws:iam::123456789012:role/shop-orders  ServiceAccount shop/orders"
    ),
    "the owner beats the namespace": "Deployment shop/orders, stronger than eu-west-1 of Namespace shop",
    "the credentials file is an annotation": "metadata.annotations['cwii.dev/gcp-credentials']",
    "comments of the pod's file survive": "- name: HOME # what the pod brings stays as it is",
    "a near miss is told": "did you mean cwii.dev/az-token-expiration?",
    "init container and sidecar get the same": "… the same 25 lines as above",
    "three clouds in one pod": "Pod pipeline/replicator          gcp,aws,az  no change",
    "a pod says no": "cwii.dev/aws-inject  false  Pod shop/static-site, stronger than true of Namespace shop",
    "a refusal names object, key, value and want": (
        "denied the request: ServiceAccount vault/signer: cwii.dev/aws-role-arn is "
        "'arn:aws:iam::12345:role/signer', want arn:<partition>:iam::<account>:role/<name>"
    ),
    "metrics count the verdicts": 'vestibule_admission_requests_total{outcome="deny",reason="required"}',
    "the audit log has a line": '"audit":"inject"',
    "latency is shown": "p99",
    "all went well": "all as expected",
}


@pytest.mark.parametrize("fact", FACTS.values(), ids=FACTS)
def test_the_story_tells(fact: str, story: str) -> None:
    assert fact in story


def test_output_through_a_pipe_is_plain(story: str) -> None:
    assert "\x1b" not in story


@pytest.fixture
def copied(tmp_path: Path) -> Path:
    """The demonstration in a place where it can be spoilt."""
    shutil.copytree(ROOT / "examples", tmp_path / "examples")
    (tmp_path / "scripts").mkdir()
    shutil.copy(ROOT / "scripts" / "demo.py", tmp_path / "scripts")
    return tmp_path


def test_a_pod_that_gets_something_else_fails_the_demonstration(copied: Path) -> None:
    account = copied / "examples/demo/cluster/vault.yaml"
    account.write_text(account.read_text().replace("12345", "123456789012"))

    done = run(copied)

    assert done.returncode == 1
    assert "Pod vault/signer-0 got aws, want refused" in done.stderr


def test_a_webhook_that_does_not_start_fails_the_demonstration(copied: Path) -> None:
    settings = copied / "examples/demo/settings.toml"
    settings.write_text(settings.read_text() + "noSuchSetting = 1\n")

    done = run(copied)

    assert done.returncode == 1
    assert "noSuchSetting" in done.stderr


def test_an_interrupt_ends_the_webhook_too() -> None:
    with subprocess.Popen(
        [sys.executable, "scripts/demo.py"],
        cwd=ROOT,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        # whoever runs the tests in the background has interrupts ignored, and children inherit that
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),  # noqa: PLW1509 - one thread here
    ) as demo:
        assert demo.stdout is not None
        lines = iter(demo.stdout.readline, "")
        webhook = next(int(line.split()[1]) for line in lines if line.endswith(" is ready\n"))
        demo.send_signal(signal.SIGINT)
        demo.communicate(timeout=SECONDS)

    assert demo.returncode == 130
    assert _gone(webhook)


def _gone(pid: int) -> bool:
    deadline = time.monotonic() + 10
    while time.monotonic() < deadline:
        try:
            os.kill(pid, 0)
        except ProcessLookupError:
            return True
        time.sleep(0.02)
    return False
