"""The entry point as a process runs it: arguments in, exit code out."""

from __future__ import annotations

import sys

import pytest

from vestibule.cli.main import main


def run_main(monkeypatch: pytest.MonkeyPatch, *arguments: str) -> object:
    """The exit code of ``vestibule <arguments>``."""
    monkeypatch.setattr(sys, "argv", ["vestibule", *arguments])
    with pytest.raises(SystemExit) as ended:
        main()
    return ended.value.code
