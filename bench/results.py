"""The result table for people and `bench/results/latest.json` for programs."""

from __future__ import annotations

import datetime
import importlib.metadata
import os
import platform
import ssl
import sysconfig
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import msgspec

from bench import eks
from bench.figures import Figure

LATEST = Path(__file__).resolve().parent / "results" / "latest.json"
NOTE = 90
"""Characters of a note in the table; the file has all of it."""
HEADS = ("figure", "measured", "unit", "bar", "verdict", "note")


def table(figures: Sequence[Figure]) -> str:
    """Aligned columns, one block per section."""
    rows = [_cells(figure) for figure in figures]
    widths = [max(len(row[column]) for row in [HEADS, *rows]) for column in range(len(HEADS))]
    lines = [_line(HEADS, widths), _line(["─" * width for width in widths[:-1]] + ["────"], widths)]
    section = ""
    for figure, row in zip(figures, rows, strict=True):
        if figure.section != section:
            section = figure.section
            lines.append(f"{section}")
        lines.append(_line(row, widths))
    return "\n".join(lines)


def summary(figures: Sequence[Figure]) -> str:
    barred = [figure for figure in figures if figure.bar is not None]
    missed = [figure for figure in barred if figure.missed]
    if not barred:
        return "no figure with a bar was asked for"
    if not missed:
        return f"all {len(barred)} bars met"
    return f"{len(missed)} of {len(barred)} bars missed"


def write(figures: Sequence[Figure], circumstances: dict[str, Any], path: Path = LATEST) -> None:
    document = {
        "date": datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds"),
        **circumstances,
        "machine": machine(),
        "versions": versions(),
        "missed": sum(figure.missed for figure in figures),
        "figures": [_entry(figure) for figure in figures],
    }
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(msgspec.json.format(msgspec.json.encode(document), indent=2) + b"\n")


def machine() -> dict[str, Any]:
    """What a reader must know to compare; nothing that names this machine."""
    return {
        "cpu": _line_of("/proc/cpuinfo", "model name"),
        "cores": os.cpu_count(),
        "memory": _line_of("/proc/meminfo", "MemTotal"),
        "kernel": platform.release(),
        "arch": platform.machine(),
        "load": [round(load, 2) for load in os.getloadavg()],
    }


def versions() -> dict[str, str]:
    found = {}
    for name in ("vestibule", "msgspec", "uvloop", "httptools", "prometheus-client"):
        try:
            found[name] = importlib.metadata.version(name)
        except importlib.metadata.PackageNotFoundError:
            found[name] = "not installed"
    optimised = "--enable-optimizations" in (sysconfig.get_config_var("CONFIG_ARGS") or "")
    return {
        "python": f"{platform.python_version()}{' PGO' if optimised else ', no PGO'}",
        "openssl": ssl.OPENSSL_VERSION,
        "eks-pod-identity-webhook": eks.VERSION,
        **found,
    }


def _cells(figure: Figure) -> list[str]:
    measured = "-" if figure.value is None else _number(figure.value)
    bar = str(figure.bar) if figure.bar else ""
    note = figure.note if len(figure.note) <= NOTE else f"{figure.note[: NOTE - 1]}…"
    return [f"  {figure.name}", measured.rjust(8), figure.unit, bar, figure.verdict, note]


def _number(value: float) -> str:
    if abs(value) >= 1_000:
        return f"{value:,.0f}"
    return f"{value:.1f}" if abs(value) >= 100 else f"{value:.2f}"


def _line(cells: Sequence[str], widths: Sequence[int]) -> str:
    return "  ".join(cell.ljust(width) for cell, width in zip(cells, widths, strict=True)).rstrip()


def _entry(figure: Figure) -> dict[str, Any]:
    bar = {"limit": figure.bar.limit, "least": figure.bar.least} if figure.bar else None
    return {
        "section": figure.section,
        "name": figure.name,
        "value": None if figure.value is None else round(figure.value, 4),
        "unit": figure.unit,
        "bar": bar,
        "verdict": figure.verdict,
        "note": figure.note,
        "detail": {key: round(value, 4) for key, value in figure.detail.items()},
    }


def _line_of(path: str, key: str) -> str:
    try:
        lines = Path(path).read_text().splitlines()
    except OSError:
        return "unknown"
    return next((line.partition(":")[2].strip() for line in lines if line.startswith(key)), "unknown")
