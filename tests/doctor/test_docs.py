"""Every id that a check can have is explained, and no other is."""

from __future__ import annotations

import re
from pathlib import Path

from vestibule.checks import clouds

ROOT = Path(__file__).parents[2]
AREAS = "cluster|issuer|clock|token|aws|az|gcp|webhook|pods"


def test_ids_in_the_code_and_on_the_page_are_the_same() -> None:
    code = "\n".join(
        path.read_text("utf-8")
        for folder in ("checks", "diagnose/doctor")
        for path in sorted((ROOT / "src" / "vestibule" / folder).glob("*.py"))
    )
    written = set(re.findall(rf'"((?:{AREAS})\.[a-z][a-z-]*)"', code))
    per_cloud = re.findall(r'f"\{cloud\}\.([a-z]+)"', code)
    written |= {f"{cloud}.{word}" for cloud in clouds.REQUIREMENTS for word in per_cloud if word != "length"}
    written |= {f"{cloud}.length" for cloud, wants in clouds.REQUIREMENTS.items() if wants.longest}

    page = (ROOT / "docs" / "doctor.md").read_text("utf-8")
    reported = set(re.findall(rf"`((?:{AREAS})\.[a-z][a-z-]*)`", page))

    assert len(written) > 40
    assert written == reported
