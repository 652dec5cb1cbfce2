"""One JSON patch ``add`` as an edit of YAML text: lines are put in, all else stays as it is, byte for byte.

Loading and dumping with a comment-preserving library moves comments that follow the place of insertion and
evens out mixed indentation; text that is not touched cannot suffer either. New entries go behind the last
content of their list or mapping, before the comments that follow. Raises UnsupportedEdit for the few shapes
that have no such place (a list in a list on one line); the caller then rewrites the document.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Any, Final

from vestibule.yamledit import emit
from vestibule.yamledit.emit import YamlStyle
from vestibule.yamledit.tree import YamlNode

_AT_THE_TOP: Final = ("metadata",)
"""Keys that people write first; all others go to the end."""


class UnsupportedEdit(ValueError):
    """The text has no place for this edit."""


def edit(text: str, root: YamlNode, op: str, path: Sequence[str], after: Any, style: YamlStyle) -> str:
    """The text after an ``add``, ``replace`` or ``remove`` at this path; ``after`` is the whole document's
    value with it made."""
    if op == "remove":
        return _remove(text, root, path)
    node, value = root, after
    for token in path[:-1]:
        step = _step(node, token)
        value = value[step]
        child = node.child(step)
        if child is None or child.kind in ("alias", "scalar") or not child.children:
            return _put(text, node, step, value, style)
        node = child
    if node.kind == "sequence":
        index = len(value) - 1 if path[-1] == "-" else int(path[-1])
        if op == "replace":
            return _put(text, node, index, value[index], style)
        return _insert(text, node, index, value[index], style)
    return _put(text, node, path[-1], value[path[-1]], style)


def _remove(text: str, root: YamlNode, path: Sequence[str]) -> str:
    """Take out the lines of a key in block style, and the comments right above it."""
    node = root
    for token in path[:-1]:
        child = node.child(_step(node, token))
        if child is None or child.kind not in ("mapping", "sequence"):
            raise UnsupportedEdit("nothing to remove there")
        node = child
    if node.kind != "mapping" or node.flow or len(node.children) < 2:
        raise UnsupportedEdit("a removal that is no line of its own")
    key, old = next((key, child) for key, child in node.pairs() if key.text == path[-1])
    line = text.rfind("\n", 0, key.start.at) + 1
    if text[line : key.start.at].strip():
        raise UnsupportedEdit("the key shares its line with another element")
    end = text.find("\n", _content_end(text, old))
    return _replaced(text, _before_comments(text, line), len(text) if end < 0 else end + 1, "")


def style_of(root: YamlNode) -> YamlStyle:
    """How most of the document indents."""
    steps: Counter[int] = Counter()
    offsets: Counter[int] = Counter()
    for key, child in _block_values(root):
        counter = steps if child.kind == "mapping" else offsets
        counter[child.start.column - key.start.column] += 1
    likely = YamlStyle()
    step = steps.most_common(1)[0][0] if steps else likely.step
    offset = offsets.most_common(1)[0][0] if offsets else likely.offset
    return YamlStyle(max(step, 1), max(offset, 0))


def _block_values(node: YamlNode) -> Iterator[tuple[YamlNode, YamlNode]]:
    """Keys with block collections below them; on the line of the key there can only be an anchor or a tag."""
    if node.kind == "mapping" and not node.flow:
        for key, child in node.pairs():
            if child.kind in ("mapping", "sequence") and not child.flow and child.start.line > key.end.line:
                yield key, child
    for child in node.children if node.kind != "alias" else ():
        yield from _block_values(child)


def _step(node: YamlNode, token: str) -> str | int:
    return int(token) if node.kind == "sequence" else token


def _put(text: str, node: YamlNode, step: str | int, value: Any, style: YamlStyle) -> str:
    """Set the value at a key or an index, existing or not."""
    old = node.child(step)
    if old is None:
        if node.kind != "mapping":
            raise UnsupportedEdit(f"no item {step} to replace")
        return _new_key(text, node, str(step), value, style)
    if node.flow:
        return _replaced(text, old.start.at, old.end.at, emit.flow(value))
    if isinstance(step, int):
        lines = emit.block(value, style)
        return _replaced(text, old.start.at, _content_end(text, old), _joined(text, lines, old.start.column))
    key = next(key for key, child in node.pairs() if child is old)
    return _new_value(text, key, old, value, style)


def _new_value(text: str, key: YamlNode, old: YamlNode, value: Any, style: YamlStyle) -> str:
    """Replace the value of a key in block style; a comment behind a value on one line keeps its place."""
    colon = text.index(":", key.end.at) + 1
    end = _content_end(text, old)
    column = key.start.column
    _, *below = emit.entry(key.text, value, style)
    if not below:
        return _replaced(text, colon, end, f" {emit.flow(value)}")
    if "\n" in text[colon:end]:
        new = f"{_newline(text)}{' ' * column}{_joined(text, below, column)}"
        return _replaced(text, colon, end, new)
    return _lines_after(_replaced(text, colon, end, ""), colon, below, column)


def _new_key(text: str, node: YamlNode, key: str, value: Any, style: YamlStyle) -> str:
    if node.flow:
        entry = f"{emit.scalar(key)}: {emit.flow(value)}"
        return _into_flow(text, node, len(node.children), entry)
    first = node.children[0].start
    lines = emit.entry(key, value, style)
    line = text.rfind("\n", 0, first.at) + 1
    if key in _AT_THE_TOP and not text[line : first.at].strip():
        return _lines_before(text, line, lines, first.column)
    return _lines_after(text, _content_end(text, node), lines, first.column)


def _insert(text: str, node: YamlNode, index: int, value: Any, style: YamlStyle) -> str:
    """Insert an item before the index, or behind the last one."""
    if node.flow:
        return _into_flow(text, node, index, emit.flow(value))
    lines = emit.item(value, style)
    dash = node.start.at
    if text[dash] != "-":  # an anchor or a tag precedes the list
        dash = text.rindex("-", 0, node.children[0].start.at)
    line = text.rfind("\n", 0, dash) + 1
    column = dash - line
    if text[line:dash].strip():
        raise UnsupportedEdit("the list starts on the line of something else")
    if index > 0:
        return _lines_after(text, _content_end(text, node.children[index - 1]), lines, column)
    return _lines_before(text, line, lines, column)


def _into_flow(text: str, node: YamlNode, index: int, entry: str) -> str:
    """Put an entry into braces or brackets before a child, or behind the last one."""
    if index < len(node.children):
        at = node.children[index].start.at
        return _replaced(text, at, at, f"{entry}, ")
    if not node.children:
        return _replaced(text, node.end.at - 1, node.end.at - 1, entry)
    at = node.children[-1].end.at
    return _replaced(text, at, at, f", {entry}")


def _content_end(text: str, node: YamlNode) -> int:
    """Where the content of a node ends; blank lines and comments behind it do not count."""
    while node.kind in ("mapping", "sequence") and not node.flow and node.children:
        node = node.children[-1]
    if node.style not in ("|", ">"):
        return node.end.at
    header = text[node.start.at : text.find("\n", node.start.at)]
    block = text[: node.end.at]
    if "+" in header.partition("#")[0]:  # every blank line behind it belongs to its value
        return len(block.removesuffix("\n").removesuffix("\r"))
    return len(block.rstrip())


def _before_comments(text: str, line: int) -> int:
    """The start of the comments directly above the line."""
    while line > 0:
        above = text.rfind("\n", 0, line - 1) + 1
        if not text[above:line].lstrip().startswith("#"):
            break
        line = above
    return line


def _lines_before(text: str, line: int, lines: list[str], column: int) -> str:
    """Put lines above the line that starts here, and above the comments that belong to it."""
    at = _before_comments(text, line)
    return _replaced(text, at, at, f"{' ' * column}{_joined(text, lines, column)}{_newline(text)}")


def _lines_after(text: str, at: int, lines: list[str], column: int) -> str:
    """Insert lines below the line of ``at``."""
    end = text.find("\n", at)
    put = f"{' ' * column}{_joined(text, lines, column)}"
    if end < 0:
        return f"{text}{_newline(text)}{put}{_newline(text)}"
    return _replaced(text, end + 1, end + 1, put + _newline(text))


def _joined(text: str, lines: list[str], column: int) -> str:
    """Lines as one text, each but the first at this column."""
    return f"{_newline(text)}{' ' * column}".join(lines)


def _newline(text: str) -> str:
    return "\r\n" if "\r\n" in text else "\n"


def _replaced(text: str, start: int, end: int, new: str) -> str:
    return text[:start] + new + text[end:]
