"""Every place where decoded data does not fit a type, all at once, with the name that was probably meant.

``msgspec.convert`` stops at the first misfit; people who write an object by hand want the whole list.
"""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Final

from msgspec import inspect

_WORDS: Final[dict[type, str]] = {
    inspect.StrType: "a text",
    inspect.IntType: "a whole number",
    inspect.FloatType: "a number",
    inspect.BoolType: "true or false",
    inspect.NoneType: "null",
}
_PYTHON: Final[dict[type, type | tuple[type, ...]]] = {
    inspect.StrType: str,
    inspect.IntType: int,
    inspect.FloatType: (int, float),
    inspect.BoolType: bool,
    inspect.NoneType: type(None),
}


def problems(data: Any, kind: Any, path: str = "", *, closed: bool = False) -> Iterator[tuple[str, str]]:
    """Path and text of every misfit; nothing when ``msgspec.convert`` would take the data. ``closed``: fields
    that the type does not know are misfits, whatever the type says about them."""
    yield from _problems(data, inspect.type_info(kind), path, closed)


def nearest(name: str, known: Iterable[str]) -> str:
    """A hint with the known name that is most like this one; empty when none is."""
    found = difflib.get_close_matches(name[:64].lower(), folded := {one.lower(): one for one in known}, n=1)
    return f"; did you mean {folded[found[0]]}?" if found else ""


def _problems(data: Any, kind: inspect.Type, path: str, closed: bool) -> Iterator[tuple[str, str]]:
    if isinstance(kind, inspect.StructType):
        yield from _of_struct(data, kind, path, closed)
    elif isinstance(kind, inspect.UnionType):
        options = [option for option in kind.types if not isinstance(option, inspect.NoneType)]
        if data is None and len(options) < len(kind.types):
            return
        if len(options) == 1:
            yield from _problems(data, options[0], path, closed)
        elif all([*_problems(data, option, path, closed)] for option in options):
            yield path, f"is {_shown(data)}, want {' or '.join(map(_word, options))}"
    elif isinstance(kind, inspect.VarTupleType | inspect.ListType):
        if isinstance(data, list | tuple):
            for index, item in enumerate(data):
                yield from _problems(item, kind.item_type, f"{path}[{index}]", closed)
        else:
            yield path, f"is {_shown(data)}, want a list"
    elif isinstance(kind, inspect.DictType):
        if isinstance(data, Mapping):
            for key, value in data.items():
                yield from _problems(value, kind.value_type, f"{path}[{key}]", closed)
        else:
            yield path, f"is {_shown(data)}, want an object"
    elif isinstance(kind, inspect.LiteralType):
        if data not in kind.values:
            listed = " or ".join(map(str, kind.values))
            hint = nearest(data, map(str, kind.values)) if isinstance(data, str) else ""
            yield path, f"is {_shown(data)}, want {listed}{hint}"
    elif type(kind) in _PYTHON:
        python = _PYTHON[type(kind)]
        if not isinstance(data, python) or (isinstance(data, bool) and python is not bool):
            yield path, f"is {_shown(data)}, want {_word(kind)}"


def _of_struct(data: Any, kind: inspect.StructType, path: str, closed: bool) -> Iterator[tuple[str, str]]:
    if not isinstance(data, Mapping):
        yield path, f"is {_shown(data)}, want an object"
        return
    fields = {field.encode_name: field for field in kind.fields}
    below = f"{path}." if path else ""
    for key in data:
        if key not in fields and (closed or kind.forbid_unknown_fields):
            yield f"{below}{key}", f"is no known field{nearest(str(key), fields)}"
    for name, field in fields.items():
        if name in data:
            yield from _problems(data[name], field.type, f"{below}{name}", closed)
        elif field.required:
            yield f"{below}{name}", f"is missing, want {_word(field.type)}"


def _word(kind: inspect.Type) -> str:
    if isinstance(kind, inspect.LiteralType):
        return " or ".join(map(str, kind.values))
    return _WORDS.get(type(kind), "an object" if isinstance(kind, inspect.StructType) else "a list")


def _shown(data: Any) -> str:
    text = repr(data)
    return text if len(text) <= 80 else text[:77] + "..."
