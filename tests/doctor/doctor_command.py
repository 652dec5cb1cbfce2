"""``vestibule doctor`` asked in this process, and what its report says."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from click.testing import CliRunner

from tests.doctor.issuer import Issuer
from vestibule.cli.main import cli

Json = dict[str, Any]


def doctor(*words: str, stdin: str = "") -> tuple[int, Json]:
    result = CliRunner().invoke(cli, ["doctor", *words, "-o", "json"], input=stdin, catch_exceptions=False)
    return result.exit_code, json.loads(result.stdout)


def statuses(report: Json) -> dict[str, str]:
    return {one["id"]: one["status"] for one in report["checks"]}


def bad(report: Json) -> dict[str, str]:
    """What is not well, with what was found."""
    return {one["id"]: one["found"] for one in report["checks"] if one["status"] in ("warn", "fail")}


def asked(issuer: Issuer, bundle: Path, *more: str) -> list[str]:
    return ["--issuer", issuer.url, "--ca-bundle", str(bundle), *more]
