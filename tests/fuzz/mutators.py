"""How an input is changed: JSON as a tree, everything else as bytes with words of the format in it.

Random bytes rarely stay JSON, so a tree is changed where the input is one: a value by another or of another
type, a key by another, something taken out, put in or repeated. The same seed makes the same change.
"""

from __future__ import annotations

import json
import random
from collections.abc import Sequence
from typing import Any, Final

HOSTILE: Final[tuple[Any, ...]] = (
    None, True, False, 0, -1, 1.5, 2**63, 10**30, "", " ", "null", "\x00", "\n", "é", "\ud800", "~1~0",
    "-", "$(X)", "a" * 300, [], {}, [[]], [None], {"": None}, {"name": None}, ["x"], {"name": "x"},
    [{"name": "x"}] * 3,
)  # fmt: skip
"""Values that break what was not written for them."""


def tree(data: bytes, longest: int, seed: int, words: Sequence[str], values: Sequence[Any] = ()) -> bytes:
    """A JSON document with one to four changes; other bytes when it is none."""
    dice = random.Random(seed)  # noqa: S311 - not for secrets
    try:
        value = json.loads(data)
    except (ValueError, RecursionError):
        return flat(data, longest, seed, words)
    if dice.random() < 0.05:
        return flat(data, longest, seed, words)
    for _ in range(dice.randint(1, 4)):
        value = _changed(value, dice, words, values)
    return json.dumps(value).encode()[:longest]


def _changed(value: Any, dice: random.Random, words: Sequence[str], values: Sequence[Any]) -> Any:
    places = list(_places(value))
    if not places:
        return dice.choice(HOSTILE)
    holder, step = dice.choice(places)
    kind = dice.randrange(8)
    if kind == 0:
        del holder[step]
    elif kind == 1 and isinstance(holder, dict):
        holder[dice.choice(words)] = holder.pop(step)
    elif kind == 2 and isinstance(holder, dict):
        holder[dice.choice(words)] = _value(dice, words, values)
    elif kind == 3 and isinstance(holder, list):
        holder[step:step] = [holder[step]] * dice.choice([1, 1, 2, 5])
    elif kind == 4:
        other, at = dice.choice(places)
        copied = json.loads(json.dumps(other[at])) if at in _steps(other) else None
        holder[step] = copied
    elif kind == 5 and isinstance(holder[step], str):
        holder[step] = flat(holder[step].encode("utf-8", "replace"), 300, dice.random(), words).decode(
            "utf-8", "replace"
        )
    else:
        holder[step] = _value(dice, words, values)
    return value


def _value(dice: random.Random, words: Sequence[str], values: Sequence[Any]) -> Any:
    kind = dice.random()
    if values and kind < 0.5:
        return json.loads(json.dumps(dice.choice(values)))
    return json.loads(json.dumps(dice.choice(HOSTILE))) if kind < 0.8 else dice.choice(words)


def _steps(holder: Any) -> Sequence[Any]:
    return list(holder) if isinstance(holder, dict) else range(len(holder))


def _places(value: Any) -> Any:
    if not isinstance(value, dict | list):
        return
    for step in _steps(value):
        yield value, step
        yield from _places(value[step])


def flat(data: bytes, longest: int, seed: float, words: Sequence[str]) -> bytes:
    """Bytes with one to four changes: words put in, pieces cut, repeated, moved, flipped."""
    dice = random.Random(seed)  # noqa: S311 - not for secrets
    found = bytearray(data)
    for _ in range(dice.randint(1, 4)):
        at = dice.randint(0, len(found))
        end = min(len(found), at + dice.choice([1, 1, 2, 4, 16, 64]))
        kind = dice.randrange(6)
        if kind == 0 and words:
            found[at:at] = dice.choice(words).encode("utf-8", "replace")
        elif kind == 1:
            del found[at:end]
        elif kind == 2:
            found[at:at] = found[at:end] * dice.choice([1, 2, 20])
        elif kind == 3 and at < len(found):
            found[at] = dice.randrange(256)
        elif kind == 4:
            piece = bytes(found[at:end])
            del found[at:end]
            to = dice.randint(0, len(found))
            found[to:to] = piece
        elif words:
            found[at:end] = dice.choice(words).encode("utf-8", "replace")
    return bytes(found[:longest])
