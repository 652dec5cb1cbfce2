"""Findings as SARIF 2.1.0, which code hosts show next to the lines."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import PurePath
from typing import Any, Final

from vestibule import __version__
from vestibule.diagnose.lint import rules
from vestibule.diagnose.lint.run import LintFinding

_SCHEMA: Final = "https://json.schemastore.org/sarif-2.1.0.json"
_LEVELS: Final = {"error": "error", "warning": "warning", "note": "note"}


def report(findings: Sequence[LintFinding]) -> dict[str, Any]:
    """One run of the linter."""
    order = {rule.id: number for number, rule in enumerate(rules.RULES)}
    driver = {
        "name": "vestibule",
        "version": __version__,
        "rules": [
            {"id": rule.id, "name": rule.name, "shortDescription": {"text": rule.about}}
            for rule in rules.RULES
        ],
    }
    return {
        "$schema": _SCHEMA,
        "version": "2.1.0",
        "runs": [
            {
                "tool": {"driver": driver},
                "results": [_result(finding, order[finding.rule.id]) for finding in findings],
            }
        ],
    }


def _result(finding: LintFinding, index: int) -> dict[str, Any]:
    text = f"{finding.object}: {finding.text}"
    if finding.advice:
        text += f"; {finding.advice}"
    location = {
        "physicalLocation": {
            "artifactLocation": {"uri": PurePath(finding.file).as_posix()},
            "region": {"startLine": finding.line},
        }
    }
    return {
        "ruleId": finding.rule.id,
        "ruleIndex": index,
        "level": _LEVELS[finding.severity],
        "message": {"text": text},
        "locations": [location],
    }
