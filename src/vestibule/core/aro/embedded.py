"""The resources that an ARO object carries inside it: what they are, and how their values are read.

A resource is a whole object of Azure Service Operator, of any kind and any version. What is not well-formed
is told with its place; nothing is guessed.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final, NamedTuple

from vestibule.core.aro import names

Object = dict[str, Any]
_MISSING: Final = object()


class Gvk(NamedTuple):
    """Group, version and kind; ``str()`` is the form of the annotation."""

    group: str
    version: str
    kind: str

    @property
    def api_version(self) -> str:
        """As objects say it."""
        return f"{self.group}/{self.version}" if self.group else self.version

    def __str__(self) -> str:
        return f"{self.kind}.{self.version}.{self.group}"


def gvk(api_version: str, kind: str) -> Gvk:
    """From the two fields of an object."""
    group, _, version = api_version.rpartition("/")
    return Gvk(group, version, kind)


def of(obj: Mapping[str, Any]) -> Gvk:
    """What an object is."""
    return gvk(str(obj.get("apiVersion") or ""), str(obj.get("kind") or ""))


class Identity(NamedTuple):
    """One resource, whatever version it is written in."""

    group: str
    kind: str
    name: str

    def __str__(self) -> str:
        return f"{self.kind}/{self.name}"


def identity(obj: Mapping[str, Any]) -> Identity:
    """Which resource an object is."""
    what = of(obj)
    return Identity(what.group, what.kind, str((obj.get("metadata") or {}).get("name") or ""))


class Fault(NamedTuple):
    """What is wrong with an entry."""

    path: str
    kind: str
    """``Required`` or ``Invalid``, the API server's words."""
    text: str


def faults(entry: object, path: str) -> list[Fault]:
    """What keeps an entry from being an object; empty when nothing does."""
    if entry is None:
        return [Fault(path, "Required", "is null, want an object")]
    if not isinstance(entry, Mapping):
        return [Fault(path, "Invalid", f"is {type(entry).__name__}, want an object")]
    found = [
        Fault(f"{path}.{field}", "Required", "is missing or empty")
        for field in ("apiVersion", "kind")
        if not (isinstance(entry.get(field), str) and entry[field])
    ]
    meta = entry.get("metadata")
    if not isinstance(meta, Mapping):
        return [*found, Fault(f"{path}.metadata", "Required", "is missing")]
    if not (isinstance(meta.get("name"), str) and meta["name"]):
        found.append(Fault(f"{path}.metadata.name", "Required", "is missing or empty"))
    return found


def resources(owner: Mapping[str, Any]) -> list[Object]:
    """The well-formed resources of an ARO object, in its order."""
    spec = owner.get("spec") or {}
    listed = spec.get("resources") or []
    return [dict(entry) for entry in listed if isinstance(entry, Mapping) and not faults(entry, "")]


def malformed(owner: Mapping[str, Any]) -> list[Fault]:
    """What is wrong with the others."""
    listed = (owner.get("spec") or {}).get("resources") or []
    return [
        fault for index, entry in enumerate(listed) for fault in faults(entry, f"spec.resources[{index}]")
    ]


def is_openshift(obj: Mapping[str, Any], kind: str) -> bool:
    """Whether an object is one of the HCP kinds, in any version."""
    what = of(obj)
    return what.group == names.OPENSHIFT and what.kind == kind


def every(objects: Iterable[Object], kind: str) -> list[Object]:
    """Those of an HCP kind."""
    return [one for one in objects if is_openshift(one, kind)]


def azure_name(obj: Mapping[str, Any]) -> str:
    """What it is called in Azure."""
    return str(value(obj, "spec.azureName") or (obj.get("metadata") or {}).get("name") or "")


def value(obj: Any, path: str, default: Any = None) -> Any:
    """The value at a dotted path; the default where a part of it is missing or no object."""
    for part in path.split("."):
        if not isinstance(obj, Mapping):
            return default
        obj = obj.get(part, _MISSING)
        if obj is _MISSING:
            return default
    return obj


def with_value(obj: Object, path: str, new: Any) -> Object:
    """The object with another value at a dotted path; what is on the way is made, nothing is shared that
    changes."""
    first, _, rest = path.partition(".")
    if not rest:
        return {**obj, first: new}
    inner = obj.get(first)
    return {**obj, first: with_value(dict(inner) if isinstance(inner, Mapping) else {}, rest, new)}


# ── owned kinds ─────────────────────────────────────────────────────────────────────────────────────────────


def parse_owned(text: str) -> tuple[list[Gvk], list[str]]:
    """The kinds of the annotation, and the entries that are none."""
    found: list[Gvk] = []
    wrong: list[str] = []
    for entry in filter(None, text.split(";")):
        parts = entry.split(".", 2)
        if len(parts) == 3 and all(parts):
            found.append(Gvk(parts[2], parts[1], parts[0]))
        else:
            wrong.append(entry)
    return found, wrong


def render_owned(kinds: Sequence[Gvk]) -> str:
    """The annotation, each kind once."""
    return ";".join(dict.fromkeys(map(str, kinds)))
