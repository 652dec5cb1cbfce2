"""Kubernetes resource quantities, as far as settings need them."""

from __future__ import annotations

import re
from decimal import Decimal
from typing import Final

_FORM: Final = re.compile(
    r"([0-9]+(?:\.[0-9]*)?|\.[0-9]+)(m|k|M|G|T|P|E|Ki|Mi|Gi|Ti|Pi|Ei|[eE][+-]?[0-9]{1,3})?"
)
_FACTOR: Final[dict[str, Decimal]] = {
    "": Decimal(1),
    "m": Decimal("0.001"),
    **{unit: Decimal(1000) ** power for power, unit in enumerate("kMGTPE", start=1)},
    **{f"{unit}i": Decimal(1024) ** power for power, unit in enumerate("KMGTPE", start=1)},
}


def value(text: str) -> Decimal | None:
    """The number of a quantity; None when the text is no quantity."""
    match = _FORM.fullmatch(text)
    if match is None:
        return None
    number, unit = match.group(1), match.group(2) or ""
    if unit[:1] in ("e", "E") and unit not in ("E", "Ei"):
        return Decimal(number + unit)
    return Decimal(number) * _FACTOR[unit]


def is_positive(text: str) -> bool:
    """Whether the text is a quantity above zero."""
    number = value(text)
    return number is not None and number > 0
