"""The user's files: read from FILE, DIR or ``-``, changed by patches, and text again.

What no patch touches is returned byte for byte, comments, key order, quotes and indentation included; what is
inserted into YAML is block style, into JSON it is JSON in the file's own indentation. Every change is proved:
the new text is parsed and must mean exactly what the patch says, otherwise the document is rewritten.
"""

from __future__ import annotations

import copy
import json
import re
from collections.abc import Mapping, Sequence
from typing import Any, BinaryIO, Final, NamedTuple

from vestibule.admission import apply, pointer
from vestibule.errors import InputProblem, InvalidInput
from vestibule.yamledit import emit, patch, tree, values, yaml_documents
from vestibule.yamledit.tree import TextOrigin, YamlNode
from vestibule.yamledit.yaml_documents import YamlDocument

Operation = Mapping[str, Any]


class ManifestFile(NamedTuple):
    """One file, or what came through a pipe."""

    name: str
    documents: tuple[YamlDocument, ...]

    @property
    def text(self) -> str:
        """The whole file."""
        return "".join(document.text for document in self.documents)


def read(sources: Sequence[str], stdin: BinaryIO) -> list[ManifestFile]:
    """All files that are named: a file, all manifests below a directory, or ``-``.

    Raises InvalidInput with the problems of all files.
    """
    files: list[ManifestFile] = []
    problems: list[InputProblem] = []
    for source in sources:
        try:
            for name, text in yaml_documents.named(source, stdin):
                documents, wrong = yaml_documents.documents(name, text)
                files.append(ManifestFile(name, tuple(documents)))
                problems.extend(wrong)
        except InvalidInput as error:
            problems.extend(error.problems)
    if problems:
        raise InvalidInput(*problems)
    return files


def patched(document: YamlDocument, operations: Sequence[Operation]) -> YamlDocument:
    """The document after these operations; the one given stays as it is."""
    value = copy.deepcopy(document.value)
    apply.patch(value, copy.deepcopy(list(operations)))
    if value == document.value:
        return document
    if document.root is None:
        return document._replace(text=_json(document.text, value), value=value)
    text, root = _edited(document, document.root, operations, value) or _rewritten(document, value)
    return document._replace(text=text, value=value, root=root)


def _edited(
    document: YamlDocument, root: YamlNode, operations: Sequence[Operation], value: Any
) -> tuple[str, YamlNode] | None:
    """Text and tree with the operations put in one by one; None when that is not what the patch says."""
    origin = TextOrigin(document.file, document.line)
    text, current = document.text, copy.deepcopy(document.value)
    style = patch.style_of(root)
    try:
        for operation in operations:
            apply.patch(current, [copy.deepcopy(dict(operation))])
            text = patch.edit(
                text, root, str(operation["op"]), pointer.tokens(operation["path"]), current, style
            )
            root = tree.tree(text, origin) or root
        if values.value(root, origin) != value:
            return None
    except (patch.UnsupportedEdit, InvalidInput):  # the latter when an anchor was cut out that is used below
        return None
    return text, root


def _rewritten(document: YamlDocument, value: Any) -> tuple[str, YamlNode]:
    """The document, emitted again; the comments above its first line of content are preserved."""
    root = document.root
    assert root is not None, "only YAML is rewritten"  # noqa: S101 - narrows the type
    head = document.text[: root.start.at]
    head = head[: head.rfind("\n") + 1] or ("---\n" if head.startswith("---") else "")
    text = head + "".join(f"{line}\n" for line in emit.block(value, emit.YamlStyle()))
    return text, tree.tree(text, TextOrigin(document.file, document.line)) or root


_INDENT: Final = re.compile(r"[{\[][ \t]*\r?\n([ \t]+)")


def _json(before: str, value: Any) -> str:
    """JSON in the format of the text before."""
    body = before.strip()
    indent = _INDENT.match(body)
    if indent:
        text = json.dumps(value, indent=indent[1], ensure_ascii=False)
    else:
        spaced = '": ' in body
        text = json.dumps(value, separators=(", ", ": ") if spaced else (",", ":"), ensure_ascii=False)
    start = before.index(body)
    return before[:start] + text + before[start + len(body) :]
