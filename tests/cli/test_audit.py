"""``vestibule audit`` as a command line: what it wants, and what it says when there is nothing to look at."""

from __future__ import annotations

import subprocess
import sys

import pytest


def run(*words: str) -> tuple[int, str]:
    command = [sys.executable, "-m", "vestibule", "audit", *words]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
    return done.returncode, done.stdout + done.stderr


@pytest.mark.parametrize(
    ("words", "text"),
    [
        ((), "give --kubeconfig or --context"),
        (("--kubeconfig", "/nowhere", "--yes"), "go with --fix"),
        (("--kubeconfig", "/nowhere", "--fix", "-o", "json"), "there is no prompt"),
        (("--kubeconfig", "/nowhere", "--fix", "--per-minute", "0"), "--per-minute"),
        (("--kubeconfig", "/nowhere"), "/nowhere"),
    ],
)
def test_what_cannot_be_done_is_reported(words: tuple[str, ...], text: str) -> None:
    code, message = run(*words)

    assert code == 2
    assert text in message


def test_help_teaches() -> None:
    code, message = run("--help")

    assert code == 0
    assert "Exit codes: 0 no pod lacks anything" in message
    assert "--dry-run" in message
