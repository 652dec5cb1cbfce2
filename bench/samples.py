"""Prometheus text as numbers: what our webhook and the API server count about themselves."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping

Labels = Mapping[str, str]
_SAMPLE = re.compile(r"^(\w+)(?:\{(.*)\})? (\S+)$", re.MULTILINE)
_LABEL = re.compile(r'(\w+)="([^"]*)"')


def total(text: str, name: str, wanted: Callable[[Labels], bool] = lambda _: True) -> float:
    """The sum of the samples of a name whose labels are wanted; 0 when there are none."""
    return sum(
        float(value)
        for found, labels, value in _SAMPLE.findall(text)
        if found == name and wanted(dict(_LABEL.findall(labels)))
    )
