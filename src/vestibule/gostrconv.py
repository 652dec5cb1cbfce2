"""Trimming, lower-casing and number parsing to the character of the programs we match; Python's own are
more generous."""

from __future__ import annotations

import re
from typing import Final

# Unicode White_Space; str.strip() would also remove U+001C to U+001F
_WHITE: Final = (
    "\t\n\v\f\r \x85\xa0\u1680" + "".join(map(chr, range(0x2000, 0x200B))) + "\u2028\u2029\u202f\u205f\u3000"
)
_ASCII_LOWER: Final = {upper: upper + 32 for upper in range(ord("A"), ord("Z") + 1)}
_INT: Final = re.compile(r"[+-]?[0-9]+")


def trim(text: str) -> str:
    """Without Unicode white space at both ends."""
    return text.strip(_WHITE)


def ascii_lower(text: str) -> str:
    """Lower case, ASCII letters only."""
    return text.translate(_ASCII_LOWER)


def integer(text: str) -> int | None:
    """A signed 64-bit decimal; None when the text is none (``1_000`` and other scripts' digits are none)."""
    if len(text) > 40 or _INT.fullmatch(text) is None:
        return None
    number = int(text)
    return number if -(2**63) <= number < 2**63 else None


_UNITS: Final = {
    "ns": 1e-9, "us": 1e-6, "µs": 1e-6, "μs": 1e-6, "ms": 1e-3, "s": 1.0, "m": 60.0, "h": 3600.0,
}  # fmt: skip
_PART_FORM: Final = r"(\d{1,18}(?:\.\d{0,18})?|\.\d{1,18})(ns|us|µs|μs|ms|s|m|h)"
_PART: Final = re.compile(_PART_FORM, re.ASCII)
_DURATION: Final = re.compile(rf"\+?(?:{_PART_FORM}){{1,8}}", re.ASCII)


def duration(text: str) -> float | None:
    """Seconds of a duration as Go writes it (``1h30m``, ``500ms``, ``.5s``); None when it is none."""
    if _DURATION.fullmatch(text) is None:
        return None
    return sum(float(number) * _UNITS[unit] for number, unit in _PART.findall(text))


_IPV4: Final = re.compile(r"(\d{1,3})\.(\d{1,3})\.(\d{1,3})\.(\d{1,3})", re.ASCII)


def address(text: str) -> tuple[str, int] | None:
    """``HOST:PORT`` or ``[IPV6]:PORT``, with a numeric host; None when it is neither."""
    host, colon, port = text.rpartition(":")
    if not colon or not (port.isascii() and port.isdigit()) or int(port) > 65535:
        return None
    if host.startswith("[") and host.endswith("]") and ":" in host:
        return host[1:-1], int(port)
    match = _IPV4.fullmatch(host)
    if match is None or any(int(part) > 255 for part in match.groups()):
        return None
    return host, int(port)
