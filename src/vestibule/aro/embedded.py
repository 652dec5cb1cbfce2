"""The resources that an ARO object carries inside it: what they are, and how their values are read.

A resource is a whole object of Azure Service Operator, of a kind that is permitted (``api.aso``), in
any version, in the namespace of its owner. What is something else is reported with its place and never used;
nothing is guessed.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, Final, Literal, NamedTuple

from vestibule.api import aso
from vestibule.aro import names

Object = dict[str, Any]
_MISSING: Final = object()
MOST: Final = 256
"""Entries of one list; a whole cluster has about fifty."""
_DEEPEST: Final = 64
"""Levels of nesting; what people write has a dozen."""
_LONGEST_NAME: Final = 253
_NAME: Final = re.compile(r"[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*\Z")
_VERSION: Final = re.compile(r"v[0-9][a-z0-9]{0,61}\Z")
FIELDS: Final[tuple[str, ...]] = ("apiVersion", "kind", "metadata", "spec")
"""Fields of an entry that are applied."""
_TAKEN: Final = ("name", "labels", "annotations")
"""Fields of the metadata of an entry that count, besides the namespace, which is the owner's."""
_TYPES: Final = {"str": "a text", "list": "a list", "dict": "an object"}


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


class ResourceIdentity(NamedTuple):
    """One resource, whatever version it is written in."""

    group: str
    kind: str
    name: str

    def __str__(self) -> str:
        return f"{self.kind}/{self.name}"


def identity(obj: Mapping[str, Any]) -> ResourceIdentity:
    """Which resource an object is."""
    what = of(obj)
    return ResourceIdentity(what.group, what.kind, str(value(obj, "metadata.name") or ""))


class EntryProblem(NamedTuple):
    """What is wrong with an entry."""

    path: str
    kind: Literal["Required", "Invalid", "Forbidden"]
    """The API server's words."""
    text: str


class RefusedEntry(NamedTuple):
    """An entry that is not used, and why."""

    gvk: Gvk
    """As far as it can be read."""
    name: str
    faults: tuple[EntryProblem, ...]

    def __str__(self) -> str:
        return "; ".join(f"{one.path} {one.text}" for one in self.faults)


def faults(
    entry: object, path: str, namespace: str = "", permitted: aso.PermittedKinds = aso.STANDARD
) -> list[EntryProblem]:
    """What keeps an entry from being used; empty when nothing does. ``namespace`` is that of its owner."""
    if entry is None:
        return [EntryProblem(path, "Required", "is null, want an object")]
    if not isinstance(entry, Mapping):
        return [EntryProblem(path, "Invalid", f"is {type(entry).__name__}, want an object")]
    if _too_deep(entry):
        return [EntryProblem(path, "Invalid", f"is nested more than {_DEEPEST} levels deep")]
    found = [
        EntryProblem(f"{path}.{field}", "Required", "is missing or empty")
        for field in ("apiVersion", "kind")
        if not (isinstance(entry.get(field), str) and entry[field])
    ]
    if not found:
        found += _unknown_kind(entry, path, permitted)
    if "spec" in entry and not isinstance(entry["spec"], Mapping):
        found.append(EntryProblem(f"{path}.spec", "Invalid", f"is {_shown(entry['spec'])}, want an object"))
    meta = entry.get("metadata")
    if not isinstance(meta, Mapping):
        return [*found, EntryProblem(f"{path}.metadata", "Required", "is missing")]
    return [*found, *_metadata(meta, f"{path}.metadata", namespace)]


def _unknown_kind(entry: Mapping[str, Any], path: str, permitted: aso.PermittedKinds) -> list[EntryProblem]:
    """The list decides about group and kind; the version is the cluster's business, as long as it is one."""
    group, _, version = str(entry["apiVersion"]).partition("/")
    kind = str(entry["kind"])
    if permitted.find(group, kind) is None:
        listed = ", ".join(one.name for one in permitted.kinds)
        text = f"is {group}/{kind}, which may not be embedded; want one of {listed}"
        return [EntryProblem(f"{path}.kind", "Forbidden", text)]
    if not _VERSION.match(version):
        return [
            EntryProblem(f"{path}.apiVersion", "Invalid", f"is {entry['apiVersion']!r}, want GROUP/VERSION")
        ]
    return []


def _metadata(meta: Mapping[str, Any], path: str, namespace: str) -> Iterator[EntryProblem]:
    name = meta.get("name")
    if not (isinstance(name, str) and name):
        yield EntryProblem(f"{path}.name", "Required", "is missing or empty")
    elif not _NAME.match(name) or len(name) > _LONGEST_NAME:
        text = f"is {name!r}, want lower case letters, digits, '-' and '.', at most {_LONGEST_NAME}"
        yield EntryProblem(f"{path}.name", "Invalid", text)
    where = meta.get("namespace")
    if where is not None and not isinstance(where, str):
        yield EntryProblem(f"{path}.namespace", "Invalid", f"is {_shown(where)}, want {namespace!r} or none")
    elif where and where != namespace:
        text = f"is {where!r}, want {namespace!r} or none: resources live in the namespace of their owner"
        yield EntryProblem(f"{path}.namespace", "Invalid", text)
    for field in ("labels", "annotations"):
        given = meta.get(field)
        if given is not None and not (
            isinstance(given, Mapping) and all(isinstance(value, str) for value in given.values())
        ):
            yield EntryProblem(
                f"{path}.{field}", "Invalid", "holds something else than texts, want texts only"
            )


def surplus(entry: Mapping[str, Any], path: str) -> Iterator[EntryProblem]:
    """What users may not give to a resource. It is refused when it is written; in an object that is stored
    already it is passed over. Owners of others block their deletion or bring our objects to theirs, a
    finalizer of nobody keeps an object for ever, and our own records are ours to write."""
    for field in entry:
        if field not in FIELDS:
            text = "is not taken, want apiVersion, kind, metadata and spec only: leave it out"
            yield EntryProblem(f"{path}.{field}", "Forbidden", text)
    meta = entry.get("metadata")
    if not isinstance(meta, Mapping):
        return
    for field in meta:
        if field not in (*_TAKEN, "namespace", "creationTimestamp"):
            yield EntryProblem(f"{path}.metadata.{field}", "Forbidden", "is not taken: leave it out")
    annotations = meta.get("annotations")
    for key in annotations if isinstance(annotations, Mapping) else ():
        if _reserved(key):
            text = "is a record of the operator: leave it out"
            yield EntryProblem(f"{path}.metadata.annotations[{key}]", "Forbidden", text)


def taken(meta: Mapping[str, Any]) -> Object:
    """Of the metadata of an entry, what is taken over."""
    made = {field: meta[field] for field in _TAKEN if meta.get(field)}
    if "annotations" in made:
        made["annotations"] = {k: v for k, v in made["annotations"].items() if not _reserved(k)}
    return made


def _reserved(key: object) -> bool:
    return str(key).startswith(names.RECORDS) and key != names.ADOPT


def _shown(value: object) -> str:
    """A value of the wrong type, in a message: short, whatever it holds."""
    if value is None:
        return "null"
    if isinstance(value, bool | int | float):
        return repr(value).lower()
    return _TYPES.get(type(value).__name__, type(value).__name__)


def _too_deep(entry: object) -> bool:
    """Whether something is nested deeper than anybody writes; without recursion."""
    level: list[object] = [entry]
    for _ in range(_DEEPEST):
        below: list[object] = []
        for one in level:
            if isinstance(one, Mapping):
                below += one.values()
            elif isinstance(one, list):
                below += one
        level = below
        if not level:
            return False
    return True


def listed(owner: Mapping[str, Any]) -> list[object]:
    """The entries of an ARO object, as many as are looked at."""
    found = value(owner, "spec.resources")
    return found[:MOST] if isinstance(found, list) else []


def _where(owner: Mapping[str, Any]) -> str:
    return str(value(owner, "metadata.namespace") or "")


def resources(owner: Mapping[str, Any], permitted: aso.PermittedKinds = aso.STANDARD) -> list[Object]:
    """The resources of an ARO object that can be used, in its order. Nobody reads the others."""
    where = _where(owner)
    return [
        dict(entry)
        for entry in listed(owner)
        if isinstance(entry, Mapping) and not faults(entry, "", where, permitted)
    ]


def refused(owner: Mapping[str, Any], permitted: aso.PermittedKinds = aso.STANDARD) -> list[RefusedEntry]:
    """The others, and why they are not used."""
    where, made = _where(owner), []
    for index, entry in enumerate(listed(owner)):
        wrong = faults(entry, f"spec.resources[{index}]", where, permitted)
        if wrong:
            what = of(entry) if isinstance(entry, Mapping) else Gvk("", "", "")
            name = value(entry, "metadata.name")
            made.append(RefusedEntry(what, name if isinstance(name, str) else "", tuple(wrong)))
    found = value(owner, "spec.resources")
    every = len(found) if isinstance(found, list) else 0
    if every > MOST:
        text = f"holds {every} entries, want at most {MOST}: those after that are not used"
        made.append(RefusedEntry(Gvk("", "", ""), "", (EntryProblem("spec.resources", "Invalid", text),)))
    return made


def reasons(owner: Mapping[str, Any], permitted: aso.PermittedKinds) -> str:
    """Why entries are not used, to be put behind a sentence that misses them; empty when all are."""
    found = refused(owner, permitted)
    return f" ({found[0]})" if found else ""


def malformed(owner: Mapping[str, Any], permitted: aso.PermittedKinds = aso.STANDARD) -> list[EntryProblem]:
    """What is wrong with the others."""
    return [fault for one in refused(owner, permitted) for fault in one.faults]


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
