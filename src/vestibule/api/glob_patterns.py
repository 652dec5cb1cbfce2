"""Anchored globs over names: ``*`` matches any run of characters, everything else itself.

Matching is linear in the text for any number of stars; a tenant's or an administrator's pattern cannot
block the webhook.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from typing import Final

NAME_GLOB: Final = r"[a-z0-9*]([-a-z0-9.*]*[a-z0-9*])?"
"""A Kubernetes object name that may contain ``*``, as a pattern."""
_GLOB: Final = re.compile(NAME_GLOB)


def is_name_glob(text: str) -> bool:
    """Whether the text is a Kubernetes object name that may contain ``*``."""
    return len(text) <= 253 and _GLOB.fullmatch(text) is not None


def matches(glob: str, text: str) -> bool:
    """Whether the whole text fits the glob; a text with control characters fits none."""
    if not text.isprintable():
        return False
    first, *rest = glob.split("*")
    if not rest:
        return glob == text
    if not text.startswith(first):
        return False
    *middle, last = rest
    position = len(first)
    for part in middle:
        found = text.find(part, position)
        if found < 0:
            return False
        position = found + len(part)
    return len(text) - len(last) >= position and text.endswith(last)


def matcher(globs: Iterable[str]) -> Callable[[str], bool]:
    """One test for many globs: exact texts are looked up, globs with one star at their end are tried at once,
    and only the others one by one."""
    globs = tuple(globs)
    exact = frozenset(glob for glob in globs if "*" not in glob)
    heads = tuple(glob[:-1] for glob in globs if glob.find("*") == len(glob) - 1 and glob)
    others = tuple(glob for glob in globs if 0 <= glob.find("*") < len(glob) - 1)
    if not heads and not others:
        return exact.__contains__

    def fits(text: str) -> bool:
        return text in exact or (
            text.isprintable() and (text.startswith(heads) or any(matches(glob, text) for glob in others))
        )

    return fits
