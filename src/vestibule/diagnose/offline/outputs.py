"""What ``inject`` prints: the files as a stream, as JSON, as patches, or as a diff. Text only, no colour."""

from __future__ import annotations

import difflib
import json
from collections.abc import Callable, Iterator
from typing import Any, Final

from vestibule.diagnose.offline.inject import InjectionResult
from vestibule.diagnose.offline.manifest_files import ManifestFile
from vestibule.diagnose.offline.workloads import Json
from vestibule.kube import manifest_object
from vestibule.yamledit import emit


def as_stream(injected: InjectionResult) -> str:
    """All files one after the other in their own format, then what the webhook would have applied."""
    parts = [file.text for file in injected.after if file.text]
    only_json = all(document.format == "json" for file in injected.after for document in file.documents)
    if only_json and parts:
        return "".join(map(_ended, [*parts, *map(_json, injected.objects)]))
    written = ("".join(f"{line}\n" for line in emit.block(obj, emit.YamlStyle())) for obj in injected.objects)
    return _joined([*parts, *written])


def _joined(parts: list[str]) -> str:
    """One YAML stream; a marker goes between two files unless the second brings its own."""
    stream = ""
    for part in parts:
        if stream and not _starts_with_marker(part):
            stream += "---\n"
        stream += _ended(part)
    return stream


def _starts_with_marker(text: str) -> bool:
    """Whether the first line that is no comment is a document marker (a directive brings one)."""
    lines = (line for line in text.splitlines() if line.strip() and not line.startswith("#"))
    return next(lines, "").startswith("---")


def _ended(text: str) -> str:
    return text if text.endswith("\n") else f"{text}\n"


def as_json(injected: InjectionResult) -> str:
    """All objects as JSON: one as itself, several as a List."""
    objects = [obj for file in injected.after for obj in _objects(file)] + list(injected.objects)
    if len(objects) == 1:
        return _json(objects[0])
    return _json({"apiVersion": "v1", "kind": "List", "items": objects})


def _objects(file: ManifestFile) -> Iterator[Any]:
    for document in file.documents:
        if document.value is not None:
            yield from (obj for _, obj in manifest_object.flattened(document.value))


def as_patches(injected: InjectionResult) -> str:
    """Per pod the operations on its document, for who applies them with tools of their own."""
    return _json(list(_patches(injected)))


def _patches(injected: InjectionResult) -> Iterator[Json]:
    for result in injected.results:
        yield {
            "object": str(result.template),
            "place": result.template.place,
            "outcome": result.verdict.outcome,
            "patch": list(result.operations),
        }


def as_diff(injected: InjectionResult) -> str:
    """A unified diff of every file that changes; objects to be applied are new files."""
    lines: list[str] = []
    for before, after in zip(injected.before, injected.after, strict=True):
        lines += _diff(before.text, after.text, before.name, after.name)
    for obj in injected.objects:
        text = "".join(f"{line}\n" for line in emit.block(obj, emit.YamlStyle()))
        lines += _diff("", text, "/dev/null", f"{manifest_object.key_of(obj)}")
    return "".join(lines)


def _diff(before: str, after: str, old: str, new: str) -> Iterator[str]:
    for line in difflib.unified_diff(
        before.splitlines(keepends=True), after.splitlines(keepends=True), old, new
    ):
        yield line if line.endswith("\n") else f"{line}\n\\ No newline at end of file\n"


def _json(value: Any) -> str:
    return json.dumps(value, indent=2, ensure_ascii=False) + "\n"


FORMATS: Final[dict[str, Callable[[InjectionResult], str]]] = {
    "yaml": as_stream,
    "json": as_json,
    "patch": as_patches,
    "diff": as_diff,
}
"""By the value of ``-o``."""
