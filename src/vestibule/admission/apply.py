"""Applies JSON patches (RFC 6902) made of ``add``, ``replace`` and ``remove``, all that we ever write.

Works in place on any nested mapping and list, a round-trip YAML document included. What does not apply raises
ValueError and names the path; the API server would turn it into a rejected pod whatever the failure policy
says.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, MutableMapping, MutableSequence
from typing import Any, Final

from vestibule.admission import pointer


def add(document: Any, path: str, value: Any) -> None:
    """One ``add``: into a mapping (set), into a list (insert at the index, or append at ``-``)."""
    *parents, last = pointer.tokens(path) or [""]
    target = document
    for token in parents:
        target = _step(target, token, path)
    if isinstance(target, _MAPPINGS):
        target[last] = value
    elif isinstance(target, _SEQUENCES):
        target.insert(_index(last, len(target), path), value)
    else:
        raise ValueError(
            f"patch does not apply at {path!r}: parent is {type(target).__name__}, want object or array"
        )


def replace(document: Any, path: str, value: Any) -> None:
    """One ``replace`` of the value at the path."""
    *parents, last = pointer.tokens(path) or [""]
    target = document
    for token in parents:
        target = _step(target, token, path)
    _step(target, last, path)
    if isinstance(target, MutableMapping):
        target[last] = value
    else:
        target[int(last)] = value


def remove(document: Any, path: str) -> None:
    """One ``remove`` of the value at the path."""
    *parents, last = pointer.tokens(path) or [""]
    target = document
    for token in parents:
        target = _step(target, token, path)
    _step(target, last, path)
    del target[last if isinstance(target, MutableMapping) else int(last)]


def patch(document: Any, operations: Iterable[Mapping[str, Any]]) -> None:
    """All operations in order; stops at the first that does not apply."""
    for operation in operations:
        op = operation.get("op")
        if op == "remove":
            remove(document, operation["path"])
        elif op in ("add", "replace"):
            (add if op == "add" else replace)(document, operation["path"], operation["value"])
        else:
            raise ValueError(f"patch operation {op!r} is none of 'add', 'replace' and 'remove'")


_MAPPINGS: Final = (dict, MutableMapping)
_SEQUENCES: Final = (list, MutableSequence)
"""The plain ones first: a check against an abstract class costs many times as much."""


def _step(target: Any, token: str, path: str) -> Any:
    if isinstance(target, _MAPPINGS):
        if token not in target:
            raise ValueError(f"patch does not apply at {path!r}: {token!r} does not exist")
        return target[token]
    if isinstance(target, _SEQUENCES):
        index = _index(token, len(target) - 1, path)
        return target[index]
    raise ValueError(f"patch does not apply at {path!r}: {token!r} is inside {type(target).__name__}")


def _index(token: str, highest: int, path: str) -> int:
    if token == "-":
        return highest
    if (
        not (token.isascii() and token.isdigit())
        or (len(token) > 1 and token[0] == "0")
        or int(token) > highest
    ):
        raise ValueError(f"patch does not apply at {path!r}: {token!r} is no index of this array")
    return int(token)
