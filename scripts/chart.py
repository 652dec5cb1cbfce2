"""Writes the parts of ``charts/vestibule`` that are made from the code, and the reference of its values.

``python -m scripts.chart`` writes what is stale, ``--check`` only tells it; ``--package FOLDER`` makes the
archive that Helm installs, byte for byte the same from the same files.
"""

from __future__ import annotations

import gzip
import io
import os
import sys
import tarfile
from pathlib import Path
from typing import Any, Final

import msgspec
import yaml
from scripts import reference
from scripts.charts import dashboard, native, schema

from vestibule import __version__

ROOT: Final = Path(__file__).resolve().parents[1]
CHART: Final = ROOT / "charts" / "vestibule"
SETTINGS: Final = (
    "`settings` has the format of a [settings file](settings.md), without `install`, `webhook` and "
    "`selfCertificate`, which other values set."
)
OTHERS: Final = (
    "Values of the charts of cwii and of Azure Workload Identity that have another name here are accepted, "
    "and the notes of the release print the new name."
)
MADE: Final = "Made by scripts/chart.py; change the code there."


def names() -> list[dict[str, Any]]:
    """The names of other charts."""
    found: list[dict[str, Any]] = yaml.safe_load((CHART / "files" / "othernames.yaml").read_text("utf-8"))
    return found


def chart_text() -> str:
    """Chart.yaml."""
    return f"""# {MADE}
apiVersion: v2
name: vestibule
description: Cloud identity and sandboxes for Kubernetes pods, given at admission and explained.
type: application
version: {__version__}
appVersion: "{__version__}"
kubeVersion: ">=1.28.0-0"
keywords:
  - admission-webhook
  - workload-identity
  - kubernetes
annotations:
  licenses: Apache-2.0
"""


def values_text() -> str:
    """values.yaml: every value with its default and what it means."""
    lines = [
        f"# {MADE}",
        "# Every name is checked: Helm refuses one that it does not know, with its path.",
        "",
    ]
    for name, kind, default, words in schema.paths():
        depth = name.count(".")
        pad = "  " * depth
        if not depth:
            lines.append("")
        lines.append(f"{pad}# {words.replace('`', '').replace(chr(92) + '|', '|')}")
        key = name.rpartition(".")[2]
        section = isinstance(default, msgspec.Struct) and name != "settings"
        del kind
        if section:
            lines.append(f"{pad}{key}:")
        else:
            shown = {} if name == "settings" else msgspec.to_builtins(default)
            lines += _assigned(key, shown, pad)
    return "\n".join(lines).replace("\n\n\n", "\n\n") + "\n"


def _assigned(key: str, value: Any, pad: str) -> list[str]:
    if isinstance(value, dict | list) and value:
        text = yaml.safe_dump({key: value}, sort_keys=False, width=200)
        return [f"{pad}{line}" for line in text.splitlines()]
    return [f"{pad}{key}: {msgspec.json.encode(value).decode()}"]


def page() -> str:
    """docs/reference/chart.md."""
    rows = []
    for name, kind, default, words in schema.paths():
        if isinstance(default, msgspec.Struct) and name != "settings":
            continue
        value = {} if name == "settings" else msgspec.to_builtins(default)
        del kind
        rows.append(f"| `{name}` | {reference.value_words(value)} | {words} |")
    others = []
    for one in names():
        if "ours" in one:
            text = f"`{one['ours']}`"
            if "values" in one:
                message = ", ".join(f"`{theirs}` → `{ours}`" for theirs, ours in one["values"].items())
                text += f", where {message}"
        elif "only" in one:
            text = f"`{one['only']}` is what we have; anything else is refused"
        elif "refused" in one:
            text = f"refused: {one['refused']}"
        else:
            text = f"not needed: {one['ignored']}"
        others.append(f"| `{one['name']}` | {text} |")
    created = reference.MADE.replace("scripts/reference.py", "scripts/chart.py")
    return f"""{created}
# Values of the chart

Every value of the [chart](../helm.md), with its default.
{SETTINGS}

| value | default | meaning |
|---|---|---|
{chr(10).join(rows)}

## Names of other charts

{OTHERS}
A value that is set under both names is refused.

| their name | here |
|---|---|
{chr(10).join(others)}
"""


def files() -> dict[Path, str]:
    """Every file that is made, with its text."""
    created = {
        CHART / "Chart.yaml": chart_text(),
        CHART / "values.yaml": values_text(),
        CHART / "values.schema.json": schema.text(names()),
        CHART / "templates" / "_native.tpl": native.text(),
        CHART / "files" / "dashboard.json": dashboard.text(),
        ROOT / "docs" / "reference" / "chart.md": page(),
    }
    for path in sorted((ROOT / "deploy" / "crds").glob("*.yaml")):
        created[CHART / "files" / "crds" / path.name] = path.read_text("utf-8")
    return created


def package(folder: Path) -> Path:
    """The archive; times come from SOURCE_DATE_EPOCH, owners and order are fixed."""
    when = int(os.environ.get("SOURCE_DATE_EPOCH", "0"))
    folder.mkdir(parents=True, exist_ok=True)
    target = folder / f"vestibule-{__version__}.tgz"
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w", format=tarfile.PAX_FORMAT) as archive:
        for path in sorted(path for path in CHART.rglob("*") if path.is_file()):
            entry = tarfile.TarInfo(f"vestibule/{path.relative_to(CHART).as_posix()}")
            entry.size, entry.mtime, entry.mode = path.stat().st_size, when, 0o644
            with path.open("rb") as content:
                archive.addfile(entry, content)
    with target.open("wb") as out, gzip.GzipFile("", "wb", 9, out, when) as zipped:
        zipped.write(packed.getvalue())
    return target


def main(arguments: list[str]) -> int:
    """Exit code 1 when ``--check`` finds something stale."""
    created = files()
    stale = [path for path, text in created.items() if not path.exists() or path.read_text("utf-8") != text]
    crds = {path for path in created if path.parent.name == "crds"}
    extra = [path for path in (CHART / "files" / "crds").glob("*") if path not in crds]
    if "--check" in arguments:
        for path in stale + extra:
            print(f"{path.relative_to(ROOT)} is stale: run scripts/chart", file=sys.stderr)
        return 1 if stale or extra else 0
    for path in extra:
        path.unlink()
    for path in stale:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(created[path], "utf-8")
        print(f"wrote {path.relative_to(ROOT)}")
    if "--package" in arguments:
        target = package(Path(arguments[arguments.index("--package") + 1]))
        print(target)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
