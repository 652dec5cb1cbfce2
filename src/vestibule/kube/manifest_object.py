"""What makes a decoded document a Kubernetes object: its kind, its key, and the mistakes people make in it.

No files and no YAML here; whoever reads a document turns a ``ManifestProblem`` into a Problem with file and
line. Kinds outside ``gvk.KNOWN`` are none of our business: they have no key and no flaws.
"""

from __future__ import annotations

import copy
from collections.abc import Iterator, Mapping
from typing import Any, Final, NamedTuple

from vestibule.api import gvk
from vestibule.api.gvk import Kind

DEFAULT_NAMESPACE: Final = "default"
Path = tuple[str | int, ...]


class ObjectKey(NamedTuple):
    """What tells one object from all others."""

    kind: Kind
    namespace: str
    name: str

    def __str__(self) -> str:
        where = f"{self.namespace}/{self.name}" if self.namespace else self.name
        return f"{self.kind.kind} {where}"


class ManifestProblem(NamedTuple):
    """One mistake in an object: the path to it, and what stands there against what is wanted."""

    path: Path
    text: str


def kind_of(obj: Mapping[str, Any]) -> Kind | None:
    """The kind, by group and name (any version of it); None for kinds that we neither read nor write."""
    kind = gvk.BY_KIND.get(str(obj.get("kind")))
    group, slash, _ = str(obj.get("apiVersion")).partition("/")
    return kind if kind is not None and kind.group == (group if slash else "") else None


def key(kind: Kind, namespace: str, name: str) -> ObjectKey:
    """The key of an object; what has no namespace loses it, what needs one and has none is in ``default``."""
    return ObjectKey(kind, (namespace or DEFAULT_NAMESPACE) if kind.namespaced else "", name)


def key_of(obj: Mapping[str, Any]) -> ObjectKey | None:
    """The key of a whole object; None when we do not know the kind or the object has no name (yet)."""
    kind = kind_of(obj)
    meta = obj.get("metadata")
    if kind is None or not isinstance(meta, Mapping) or not meta.get("name"):
        return None
    return key(kind, str(meta.get("namespace") or ""), str(meta["name"]))


def placed(obj: Mapping[str, Any], key: ObjectKey) -> dict[str, Any]:
    """A copy of the object with its namespace written out, as the API server would return it."""
    copied = copy.deepcopy(dict(obj))
    if key.namespace:
        copied["metadata"] = {**copied["metadata"], "namespace": key.namespace}
    return copied


def flattened(obj: Any, path: Path = ()) -> Iterator[tuple[Path, Any]]:
    """The object itself, or what a ``kind: List`` holds at any depth, each with its path."""
    if isinstance(obj, Mapping) and obj.get("kind") == "List" and isinstance(obj.get("items"), list):
        for index, item in enumerate(obj["items"]):
            yield from flattened(item, (*path, "items", index))
    else:
        yield path, obj


def flaws(obj: Any) -> Iterator[ManifestProblem]:
    """All mistakes that would make the object useless or the API server refuse it."""
    if not isinstance(obj, Mapping):
        yield ManifestProblem((), f"is {shown(obj)}, want a mapping with apiVersion, kind and metadata")
        return
    if not isinstance(obj.get("kind"), str) or not obj["kind"]:
        yield _wrong(("kind",), obj.get("kind"), "the name of a kind, like ServiceAccount")
        return
    known = gvk.BY_KIND.get(obj["kind"])
    if known is None:
        return
    if not isinstance(obj.get("apiVersion"), str):
        yield _wrong(("apiVersion",), obj.get("apiVersion"), repr(known.api_version))
    elif kind_of(obj) is not None:
        yield from _metadata_flaws(obj)


def _metadata_flaws(obj: Mapping[str, Any]) -> Iterator[ManifestProblem]:
    meta = obj.get("metadata")
    if not isinstance(meta, Mapping):
        yield _wrong(("metadata",), meta, "a mapping with at least a name")
        return
    name = meta.get("name")
    nameless = name is None and bool(meta.get("generateName"))
    if not nameless and (not isinstance(name, str) or not name):
        yield _wrong(("metadata", "name"), name, "a name (a string)")
    namespace = meta.get("namespace")
    if namespace is not None and not isinstance(namespace, str):
        yield _wrong(("metadata", "namespace"), namespace, "a namespace (a string)")
    yield from annotation_flaws(meta, ("metadata",))


def annotation_flaws(meta: Any, path: Path) -> Iterator[ManifestProblem]:
    """What is wrong with the annotations in this metadata; every value must be a string."""
    annotations = meta.get("annotations") if isinstance(meta, Mapping) else None
    if annotations is None:
        return
    if not isinstance(annotations, Mapping):
        yield _wrong((*path, "annotations"), annotations, "a mapping from strings to strings")
        return
    for name, value in annotations.items():
        if not isinstance(value, str):
            quoted = f': "{shown(value)}"' if isinstance(value, bool | int | float) else ""
            yield _wrong((*path, "annotations", name), value, f"a quoted string{quoted}")


def _wrong(path: Path, value: object, want: str) -> ManifestProblem:
    return ManifestProblem(path, f"is {'missing' if value is None else shown(value)}, want {want}")


def field(path: Path) -> str:
    """The path as people write it: ``metadata.annotations[cwii.dev/aws-inject]``."""
    text = ""
    for step in path:
        plain = isinstance(step, str) and step.isidentifier()
        text += (f".{step}" if text else str(step)) if plain else f"[{step}]"
    return text


def shown(value: object) -> str:
    """A value in a message: short, and spelled as in the file."""
    if value is None or isinstance(value, bool):
        return {None: "null", True: "true", False: "false"}[value]
    if isinstance(value, Mapping):
        return "a mapping"
    if isinstance(value, list):
        return "a list"
    text = repr(value)
    return text if len(text) <= 60 else f"{text[:57]}..."
