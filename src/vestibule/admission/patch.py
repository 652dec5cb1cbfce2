"""Builds a JSON patch as bytes from values that were rendered beforehand.

``add`` operations, element by element: a list that exists is appended to, a list that is absent (or null) is
added whole. ``replace`` only where an original that we match does so. Nothing of the pod is decoded and
written back, so a field newer than us cannot be lost.
"""

from __future__ import annotations

from binascii import b2a_base64
from collections.abc import Iterable
from typing import Final, Literal

import msgspec

from vestibule.admission import pointer


class Patch:
    """A patch and its base64 text, which is made once however often the patch is sent."""

    __slots__ = ("base64", "operations")

    def __init__(self, operations: bytes) -> None:
        self.operations = operations
        self.base64 = b2a_base64(operations, newline=False) if operations else b""


NO_PATCH: Final = Patch(b"")

_encode = msgspec.json.Encoder(order="deterministic").encode


def render(value: object) -> bytes:
    """A value as compact JSON with sorted keys; the same value always gives the same bytes."""
    return _encode(value)


def operation(path: str, value: bytes, op: Literal["add", "replace"] = "add") -> bytes:
    """One operation with a rendered value."""
    return b'{"op":%b,"path":%b,"value":%b}' % (_OPS[op], _encode(path), value)


_OPS: Final = {"add": b'"add"', "replace": b'"replace"'}


def additions(path: str, values: Iterable[bytes], *, exists: bool) -> bytes:
    """Operations (comma-joined, maybe empty) that add the values to the list at path."""
    if exists:
        end = path + "/-"
        return b",".join([operation(end, value) for value in values])
    joined = b",".join(values)
    return operation(path, b"[%b]" % joined) if joined else b""


def insertions(path: str, values: Iterable[bytes], *, exists: bool) -> bytes:
    """As ``additions``, but in front of what the list holds."""
    if exists:
        return b",".join([operation(f"{path}/{index}", value) for index, value in enumerate(values)])
    return additions(path, values, exists=False)


def annotate(
    values: dict[str, str], *, exists: bool, field: Literal["annotations", "labels"] = "annotations"
) -> bytes:
    """Operations that set annotations (or labels) on the pod."""
    if not values:
        return b""
    if exists:
        return b",".join(
            [
                operation(pointer.pointer("metadata", field, key), _encode(value))
                for key, value in values.items()
            ]
        )
    return operation(f"/metadata/{field}", _encode(values))


def sequence(parts: Iterable[bytes]) -> bytes:
    """Operations one after the other; empty parts are left out."""
    return b",".join([part for part in parts if part])


def join(parts: Iterable[bytes]) -> bytes:
    """The whole patch, or nothing at all when every part is empty."""
    joined = sequence(parts)
    return b"[%b]" % joined if joined else b""
