"""Scalars for YAML that an installer reads: plain where ccoctl writes them plain and every reader
takes them for text, quoted where some reader would not."""

from __future__ import annotations

import re
from typing import Final

_PLAIN: Final = re.compile(r"[A-Za-z0-9/._][A-Za-z0-9/._:@+=-]*")
_ODD: Final = re.compile(
    r"""(?ix) y | n | yes | no | on | off | true | false | null | none | ~ |
    [-+]?(0x[0-9a-f_]+ | 0o?[0-7_]+ | 0b[01_]+) |
    [-+]?(\.[0-9_]+ | [0-9][0-9_]*(\.[0-9_]*)?)(e[-+]?[0-9]+)? |
    [-+]?\.inf | \.nan | [0-9][0-9_]*(:[0-5]?[0-9])+(\.[0-9_]*)? |
    [0-9]{4}-[0-9]{1,2}-[0-9]{1,2}([Tt ].*)? """
)
"""What YAML 1.1 or 1.2 reads as something else than text."""


def scalar(text: str) -> str:
    """The text as a YAML scalar."""
    if _PLAIN.fullmatch(text) and not _ODD.fullmatch(text) and ": " not in text and not text.endswith(":"):
        return text
    return '"' + "".join(map(_escaped, text)) + '"'


def _escaped(sign: str) -> str:
    if sign in '"\\':
        return f"\\{sign}"
    if " " <= sign <= "~":
        return sign
    return f"\\U{ord(sign):08x}" if ord(sign) > 0xFFFF else f"\\u{ord(sign):04x}"
