"""Files of YAML or JSON as documents: each with its own text, its value, and the line of anything in it.

A file is cut at its document markers first and each piece is parsed by itself, so a mistake in one document
hides no other, and the pieces joined are the file again, byte for byte. (A line that starts with ``---`` is a
marker in every context; YAML forbids it inside scalars.)
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any, BinaryIO, Final, Literal, NamedTuple

from vestibule.errors import InputProblem, InvalidInput
from vestibule.yamledit import tree, values
from vestibule.yamledit.tree import TextOrigin, YamlNode

MAX_BYTES: Final = 4 * 1024 * 1024
"""One file; etcd takes objects of 1.5 MiB, a bundle of all CRDs of a large operator is about 2 MiB."""
SUFFIXES: Final = (".yaml", ".yml", ".json")
STDIN: Final = "-"

Format = Literal["yaml", "json"]
_START: Final = re.compile(r"---(?=[ \t\r\n]|$)")
_END: Final = re.compile(r"\.\.\.(?=[ \t\r\n]|$)")
_NOTHING: Final = re.compile(r"[ \t\r\n]*(?:[#%].*)?", re.DOTALL)
"""A line that holds no content: blank, comment or directive."""


class YamlDocument(NamedTuple):
    """One document of a file."""

    file: str
    line: int
    """Line of the file, from 1, at which ``text`` starts."""
    text: str
    format: Format
    value: Any
    """Plain values; None for a document without content."""
    root: YamlNode | None
    """The syntax tree; None for JSON and for a document without content."""

    def place(self, *path: str | int) -> str:
        """``file:line`` of the node at this path, or of its nearest existing ancestor."""
        node = self.root
        line = node.start.line if node else 0
        for step in path:
            if node is None or node.kind == "alias":
                break
            if node.kind == "mapping":
                line = next((key.start.line for key, _ in node.pairs() if key.text == step), line)
            node = node.child(step)
            if node is not None and isinstance(step, int):
                line = node.start.line
        return f"{self.file}:{self.line + line}"


def named(source: str, stdin: BinaryIO) -> list[tuple[str, str]]:
    """Name and text of every file behind what a user names: a file, a directory, or ``-``. Raises
    InvalidInput."""
    if source == STDIN:
        return [("<stdin>", decoded("<stdin>", stdin.read(MAX_BYTES + 1)))]
    path = Path(source)
    if path.is_dir():
        return [(str(file), read(file)) for file in files(path)]
    return [(str(path), read(path))]


def files(root: Path) -> list[Path]:
    """All manifest files below a directory, in order. Raises InvalidInput when it cannot be listed."""
    try:
        return list(_walk(root, frozenset()))
    except OSError as error:
        where = str(error.filename or root)
        text = f"cannot be listed ({error.strerror}), want a readable directory of manifests"
        raise InvalidInput(InputProblem(where, "", text)) from error


def _walk(directory: Path, above: frozenset[str]) -> Iterator[Path]:
    """Follows links, as the kubelet's must be, but never to a directory above; skips hidden names."""
    real = os.path.realpath(directory)
    if real in above:
        return
    for entry in sorted(directory.iterdir()):
        if entry.name.startswith("."):
            continue
        if entry.is_dir():
            yield from _walk(entry, above | {real})
        elif entry.suffix in SUFFIXES and (entry.is_file() or entry.is_symlink()):
            yield entry


def read(path: Path) -> str:
    """The text of a file. Raises InvalidInput: unreadable, too large, not UTF-8."""
    try:
        with path.open("rb") as file:
            data = file.read(MAX_BYTES + 1)
    except OSError as error:
        raise InvalidInput(
            InputProblem(str(path), "", f"cannot be read ({error.strerror}), want a readable file")
        ) from error
    return decoded(str(path), data)


def decoded(file: str, data: bytes) -> str:
    """Bytes as text. Raises InvalidInput: too large, not UTF-8."""
    if len(data) > MAX_BYTES:
        raise InvalidInput(InputProblem(file, "", f"is larger than {MAX_BYTES} bytes, want smaller files"))
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise InvalidInput(
            InputProblem(f"{file}:{line}", "", f"byte {error.start} is not UTF-8, want UTF-8")
        ) from error


def documents(file: str, text: str) -> tuple[list[YamlDocument], list[InputProblem]]:
    """All documents that could be read, and what is wrong with the others."""
    reader = _json if file.endswith(".json") or _is_json(text) else _yaml
    found: list[YamlDocument] = []
    problems: list[InputProblem] = []
    for result in reader(file, text):
        if isinstance(result, YamlDocument):
            found.append(result)
        else:
            problems.append(result)
    return found, problems


def _yaml(file: str, text: str) -> Iterator[YamlDocument | InputProblem]:
    line = 1
    for piece in pieces(text):
        origin = TextOrigin(file, line)
        try:
            root = tree.tree(piece, origin)
            plain = values.value(root, origin) if root else None
        except InvalidInput as error:
            yield from error.problems
        else:
            yield YamlDocument(file, line, piece, "yaml", plain, root)
        line += piece.count("\n")


def pieces(text: str) -> Iterator[str]:
    """The text of each document, its own marker included; joined they are the whole text."""
    current: list[str] = []
    content = False
    for line in re.findall(r"[^\n]*\n|[^\n]+", text):
        if _START.match(line):
            if content:
                yield "".join(current)
                current = []
            content = True
        elif not _NOTHING.fullmatch(line):
            content = True
        current.append(line)
        if _END.match(line):
            yield "".join(current)
            current, content = [], False
    if current:
        yield "".join(current)


def _is_json(text: str) -> bool:
    if not text.lstrip().startswith(("{", "[")):
        return False
    return not any(isinstance(result, InputProblem) for result in _json("", text))


def _json(file: str, text: str) -> Iterator[YamlDocument | InputProblem]:
    """One JSON value after the other; the space between them belongs to the one before."""
    decoder = json.JSONDecoder(parse_constant=_no_constant)
    start, at = 0, len(text) - len(text.lstrip())
    while at < len(text):
        line = text.count("\n", 0, at) + 1
        try:
            plain, end = decoder.raw_decode(text, at)
        except json.JSONDecodeError as error:
            yield InputProblem(
                f"{file}:{error.lineno}", "", f"is not JSON: {error.msg} (column {error.colno})"
            )
            return
        except (ValueError, RecursionError) as error:
            yield InputProblem(f"{file}:{line}", "", f"is not valid JSON:  {error}")
            return
        if _deep(plain):
            wrong = f"is nested deeper than {tree.MAX_DEPTH} levels, want fewer"
            yield InputProblem(f"{file}:{line}", "", wrong)
            return
        at = len(text) - len(text[end:].lstrip())
        yield YamlDocument(file, text.count("\n", 0, start) + 1, text[start:at], "json", plain, None)
        start = at


def _deep(plain: Any) -> bool:
    """Whether the value nests deeper than what we take; others walk values by recursion."""
    level, depth = [plain], 0
    while level and depth <= tree.MAX_DEPTH:
        depth += 1
        level = [
            child
            for item in level
            if isinstance(item, dict | list)
            for child in (item.values() if isinstance(item, dict) else item)
        ]
    return bool(level)


def _no_constant(name: str) -> Any:
    raise ValueError(f"{name} is no JSON number")
