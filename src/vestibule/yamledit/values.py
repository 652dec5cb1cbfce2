"""What a YAML document says: its tree as plain dicts, lists and scalars, the way kubectl would read it.

A date or ``12:30`` is a string, ``yes`` is a truth value, ``=`` is no error, keys are always strings. A
doubled key is an error, because two programs that read the file need not agree on which one counts.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any, Final

from vestibule.errors import InputProblem, InvalidInput
from vestibule.yamledit.tree import TextOrigin, YamlNode


def value(root: YamlNode, origin: TextOrigin) -> Any:
    """The tree as plain values.

    Raises InvalidInput with everything that has no plain value: doubled keys, foreign tags, odd keys.
    """
    problems: list[InputProblem] = []

    def report(node: YamlNode, text: str) -> None:
        problems.append(origin.problem(node.start.line, text))

    plain = _plain(root, report)
    if problems:
        raise InvalidInput(*dict.fromkeys(problems))
    return plain


_Report = Callable[[YamlNode, str], None]
_STRING_TAGS: Final = ("!", "tag:yaml.org,2002:str", "tag:yaml.org,2002:timestamp")
_CORE_TAGS: Final = tuple(
    f"tag:yaml.org,2002:{name}" for name in ("null", "bool", "int", "float", "map", "seq")
)


def _plain(node: YamlNode, report: _Report) -> Any:
    if node.kind == "alias":
        return _plain(node.children[0], report)
    if node.tag and node.tag not in _STRING_TAGS and node.tag not in _CORE_TAGS:
        report(node, f"has the tag {node.tag!r}, want plain YAML")
        return None
    if node.kind == "scalar":
        return node.text if node.tag in _STRING_TAGS else scalar(node.text, node.style)
    if node.kind == "sequence":
        return [_plain(item, report) for item in node.children]
    return _mapping(node, report)


def _mapping(node: YamlNode, report: _Report) -> dict[str, Any]:
    own: dict[str, Any] = {}
    merged: dict[str, Any] = {}
    for key, child in node.pairs():
        if key.kind != "scalar":
            report(key, "has a key that is no string, want a string")
        elif key.text == "<<" and not key.style:
            merged = {**_merged(child, report), **merged}
        elif key.text in own:
            report(key, f"key {key.text!r} is twice in one mapping, want it once")
        else:
            own[key.text] = _plain(child, report)
    return {**own, **{name: entry for name, entry in merged.items() if name not in own}}


def _merged(node: YamlNode, report: _Report) -> dict[str, Any]:
    """What ``<<`` brings in; of several mappings the first one counts."""
    found = _plain(node, report)
    result: dict[str, Any] = {}
    for mapping in reversed(found if isinstance(found, list) else [found]):
        if not isinstance(mapping, dict):
            report(node, "merges ('<<') something that is no mapping, want a mapping")
        else:
            result = {**result, **mapping}
    return result


_INT: Final = re.compile(r"[-+]?(?:0b[01_]+|0x[0-9a-fA-F_]+|0o?[0-7_]+|0|[1-9][0-9_]{0,400})")
_FLOAT: Final = re.compile(r"[-+]?(?:\.[0-9]+|[0-9]+(?:\.[0-9]*)?)(?:[eE][-+]?[0-9]+)?")
_WORDS: Final[dict[str, Any]] = {
    form: meaning
    for words, meaning in (
        (("true", "yes", "on"), True),
        (("false", "no", "off"), False),
        (("null",), None),
        ((".nan",), float("nan")),
        ((".inf", "+.inf"), float("inf")),
        (("-.inf",), float("-inf")),
    )
    for word in words
    for form in (word, word.capitalize(), word.upper())
} | {"": None, "~": None}


def scalar(text: str, style: str = "") -> Any:
    """What a scalar means: quoted ones are strings, plain ones follow YAML 1.1 as far as kubectl does."""
    if style:
        return text
    if text in _WORDS:
        return _WORDS[text]
    if _INT.fullmatch(text):
        digits = text.replace("_", "")
        octal = digits.lstrip("+-")[:1] == "0" and digits.lstrip("+-")[1:2].isdigit()
        try:
            return int(digits, 8 if octal else 0)
        except ValueError:  # digits were underscores only, like 0x_
            return text
    return float(text) if _FLOAT.fullmatch(text) else text
