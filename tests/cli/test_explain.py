"""``explain`` as a person meets it: a sandbox names its objects, and a table stays readable."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import yaml

from vestibule.initdata import document

Json = dict[str, Any]
INITDATA = document.encode(document.build({f"{at:02}.toml": f"key = {at**40}\n" for at in range(60)}).text)


def explain(folder: Path, *arguments: str) -> str:
    """What is said about a pod with initdata of a KataConfig."""
    config = {
        "apiVersion": "kataconfiguration.openshift.io/v1",
        "kind": "KataConfig",
        "metadata": {"name": "example"},
        "spec": {"webhook": {"annotations": {"initdata": INITDATA}}},
        "status": {"runtimeClasses": ["kata-cc"]},
    }
    pod = {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": "p"},
        "spec": {"runtimeClassName": "kata-cc", "containers": [{"name": "a", "image": "a"}]},
    }
    (folder / "all.yaml").write_text(yaml.safe_dump_all([config, pod]))
    (folder / "settings.json").write_text('{"sandbox": {"enabled": true}}')
    command = [sys.executable, "-m", "vestibule", "explain", "-f", str(folder / "all.yaml"), *arguments]
    command += ["--settings", str(folder / "settings.json")]
    return subprocess.run(command, capture_output=True, text=True, timeout=60, check=True).stdout


def test_the_table_names_the_kataconfig_and_cuts_what_nobody_reads(tmp_path: Path) -> None:
    text = explain(tmp_path)

    assert "KataConfig example" in text
    assert "Pod default/p" in text
    assert f"({len(INITDATA)} characters)" in " ".join(text.split())


def test_the_json_form_has_the_whole_value(tmp_path: Path) -> None:
    (one,) = json.loads(explain(tmp_path, "-o", "json"))

    values = {found["key"]: found for found in one["values"]}
    initdata = values["io.katacontainers.config.hypervisor.cc_init_data"]
    assert (initdata["value"], initdata["from"]) == (INITDATA, "KataConfig example")
    assert values["runtimeClassName"]["from"] == "Pod default/p"
