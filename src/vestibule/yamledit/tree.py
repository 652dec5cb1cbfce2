"""One YAML document as a tree of nodes with their positions in the text; no values here.

PyYAML (its C parser where there is one) delivers events, the tree is made here, because users' files need
what its composer lacks: bounds on depth and on the size of aliases *while* reading, and the places of
everything, aliases included. Imports YAML on first use: a process without manifests never loads it.
"""

from __future__ import annotations

import functools
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, Final, Literal, NamedTuple

from vestibule.errors import InputProblem, InvalidInput, MissingExtra

if TYPE_CHECKING:
    import yaml

MAX_DEPTH: Final = 100
"""Nested collections, aliases written out; an object nests some 20, the schema in a CRD a few dozen."""
MAX_NODES: Final = 500_000
"""Nodes of one document with every alias written out; a file of 4 MiB without aliases holds fewer."""


class TextPosition(NamedTuple):
    """A place in the text of the document, all counted from 0."""

    at: int
    line: int
    column: int


class TextOrigin(NamedTuple):
    """The position of a document: its file and its first line (counted from 1)."""

    file: str = ""
    line: int = 1

    def problem(self, line: int, text: str) -> InputProblem:
        """What is wrong with a line of the text (counted from 0)."""
        return InputProblem(f"{self.file}:{self.line + line}", "", text)


class YamlNode:
    """A scalar, mapping, sequence or alias, with the span of its own text.

    The end of a block collection is the end of its last content, so comments behind it are not part of it.
    """

    __slots__ = (
        "anchored",
        "children",
        "end",
        "flow",
        "height",
        "kind",
        "size",
        "start",
        "style",
        "tag",
        "text",
    )

    def __init__(
        self,
        kind: Literal["scalar", "mapping", "sequence", "alias"],
        start: TextPosition,
        end: TextPosition,
        tag: str = "",
    ) -> None:
        self.kind = kind
        self.start = start
        self.end = end
        self.tag = tag
        self.text = ""
        """Value of a scalar, name of an alias."""
        self.style = ""
        """How a scalar is written: plain (empty), ``'``, ``"``, ``|`` or ``>``."""
        self.flow = False
        """Whether a collection is written in braces or brackets."""
        self.children: list[YamlNode] = []
        """Items of a sequence; keys and values of a mapping in turn; the target of an alias."""
        self.size = 1
        """Nodes in here, with aliases written out."""
        self.height = 0
        """Levels of collections below this one, with aliases written out."""

    def pairs(self) -> Iterator[tuple[YamlNode, YamlNode]]:
        """Keys and values of a mapping."""
        return zip(self.children[::2], self.children[1::2], strict=True)

    def child(self, step: str | int) -> YamlNode | None:
        """The value at a key, or the item at an index, without merged-in keys."""
        if self.kind == "mapping":
            return next((value for key, value in self.pairs() if key.text == step), None)
        if self.kind == "sequence" and isinstance(step, int) and step < len(self.children):
            return self.children[step]
        return None


def tree(text: str, origin: TextOrigin) -> YamlNode | None:
    """The root of the one document in this text, or None when there is none.

    Raises InvalidInput: no YAML, nested too deep, too large when aliases are written out.
    """
    builder = _Builder(origin)
    module = _yaml()
    try:
        for event in module.parse(text, Loader=_loader()):
            builder.take(event, module)
    except module.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        line = min(mark.line, text.count("\n")) if mark is not None else 0
        raise InvalidInput(origin.problem(line, f"is not YAML: {error.problem or error.context}")) from error
    except module.reader.ReaderError as error:
        line = text.count("\n", 0, error.position)
        raise InvalidInput(origin.problem(line, f"is not YAML: {error.reason}")) from error
    return builder.root


class _Builder:
    def __init__(self, origin: TextOrigin) -> None:
        self.root: YamlNode | None = None
        self._origin = origin
        self._open: list[YamlNode] = []
        self._anchors: dict[str, YamlNode] = {}
        self._nodes = 0

    def take(self, event: Any, module: Any) -> None:
        """Grow the tree by one event."""
        if isinstance(event, module.CollectionEndEvent):
            node = self._open.pop()
            if node.flow or not node.children:
                node.end = _mark(event.end_mark)
            else:
                node.end = node.children[-1].end
            self._finished(node)
        elif isinstance(event, module.NodeEvent):
            node = self._node(event, module)
            self._check_bounds(node)
            if self._open:
                self._open[-1].children.append(node)
            elif self.root is None:
                self.root = node
            else:  # a marker that only YAML takes for one, behind U+0085, U+2028 or U+2029
                text = "holds a second document behind an unusual line break, want line feeds"
                raise InvalidInput(self._origin.problem(node.start.line, text))
            if isinstance(event, module.CollectionStartEvent):
                self._open.append(node)
            else:
                self._finished(node)

    def _check_bounds(self, node: YamlNode) -> None:
        self._nodes += node.size
        if self._nodes > MAX_NODES:
            text = f"is more than {MAX_NODES} nodes when aliases are written out, want fewer"
            raise InvalidInput(self._origin.problem(node.start.line, text))
        if len(self._open) + node.height > MAX_DEPTH:
            text = f"is nested deeper than {MAX_DEPTH} levels, want fewer"
            raise InvalidInput(self._origin.problem(node.start.line, text))

    def _finished(self, node: YamlNode) -> None:
        """A node is complete: it counts in the collection around it."""
        if self._open:
            parent = self._open[-1]
            parent.size += node.size
            parent.height = max(parent.height, node.height + 1)

    def _node(self, event: Any, module: Any) -> YamlNode:
        start, end = _mark(event.start_mark), _mark(event.end_mark)
        anchor: str | None = event.anchor
        if isinstance(event, module.AliasEvent):
            node = YamlNode("alias", start, end)
            node.text = anchor or ""
            target = self._anchors.get(node.text)
            if target is None or target in self._open:
                want = "an anchor before it" if target is None else "an anchor that does not hold the alias"
                text = f"alias *{node.text} cannot be followed, want {want}"
                raise InvalidInput(self._origin.problem(start.line, text))
            node.children = [target]
            node.size, node.height = target.size, target.height
            return node
        if isinstance(event, module.ScalarEvent):
            node = YamlNode("scalar", start, end, event.tag or "")
            node.text, node.style = event.value, event.style or ""
        else:
            mapping = isinstance(event, module.MappingStartEvent)
            node = YamlNode("mapping" if mapping else "sequence", start, end, event.tag or "")
            node.flow = bool(event.flow_style)
        if anchor is not None:
            self._anchors[anchor] = node
        return node


def _mark(mark: Any) -> TextPosition:
    return TextPosition(mark.index, mark.line, mark.column)


def _yaml() -> Any:
    try:
        import yaml  # noqa: PLC0415 - a process that reads no manifests must not load it
    except ImportError as error:
        raise MissingExtra("reading YAML", "offline") from error
    return yaml


@functools.cache
def _loader() -> type[yaml.SafeLoader]:
    module = _yaml()
    loader: type[yaml.SafeLoader] = getattr(module, "CSafeLoader", module.SafeLoader)
    return loader
