"""What must be known about the cluster before a pod can be decided, as values without behaviour.

A ``Source`` is one object whose annotations may count, cut down to what decisions need: a store may keep a
hundred thousand of them. Equal annotations have equal hashes, and the hash is computed once, so a decision
can be cached per set of sources instead of computed per pod.
"""

from __future__ import annotations

import enum
import sys
from collections.abc import Mapping
from typing import Any, Final, Literal, Protocol, Self

import msgspec

from vestibule.admission import review
from vestibule.api import annotation_keys, gvk
from vestibule.api.gvk import Kind


class Unknown(enum.Enum):
    """The result of a reader that does not know whether an object exists; not the same as "does not
    exist"."""

    UNKNOWN = "unknown"


UNKNOWN: Final = Unknown.UNKNOWN

LevelName = Literal["pod", "owner", "serviceaccount", "namespace", "policy"]

OwnerRef = review.OwnerReference


class SourceAnnotations(tuple[str, ...]):
    """The annotations of one object that can matter; immutable, hashable and comparable by content.

    One flat tuple of keys and values, by key: a store holds a hundred thousand of these, and a dictionary
    each would be most of its memory. Few keys are stored, so a linear search is quick; hashing and
    comparing, which every request does, are the tuple's own.
    """

    __slots__ = ()

    def __new__(cls, annotations: Mapping[str, str]) -> Self:
        """From a mapping."""
        flat: list[str] = []
        for key in sorted(annotations):
            flat += (sys.intern(key), annotations[key])
        return super().__new__(cls, flat)

    def get(self, key: str) -> str | None:
        """The value, or None when the key is absent."""
        for index in range(0, len(self), 2):
            if self[index] == key:
                return self[index + 1]
        return None

    def items(self) -> list[tuple[str, str]]:
        """Key and value pairs, by key."""
        return [(self[index], self[index + 1]) for index in range(0, len(self), 2)]

    def __repr__(self) -> str:
        return f"Annotations({dict(self.items())!r})"


NO_ANNOTATIONS: Final = SourceAnnotations({})


class SourceObject(msgspec.Struct, frozen=True, gc=False):
    """One object, cut down to what a decision needs."""

    kind: str
    namespace: str
    name: str
    uid: str = ""
    annotations: SourceAnnotations = NO_ANNOTATIONS
    owners: tuple[OwnerRef, ...] = ()
    labels: SourceAnnotations = NO_ANNOTATIONS
    """Labels of a namespace, by which sandboxes are chosen; empty for other kinds."""

    @property
    def level(self) -> LevelName:
        """The precedence level of an object of this kind."""
        return _LEVELS.get(self.kind, "owner")

    def __str__(self) -> str:
        return f"{self.kind} {self.namespace}/{self.name}" if self.namespace else f"{self.kind} {self.name}"


_LEVELS: Final[dict[str, LevelName]] = {
    "Pod": "pod",
    "ServiceAccount": "serviceaccount",
    "Namespace": "namespace",
    "IdentityPolicy": "policy",
}


def source(obj: Mapping[str, Any]) -> SourceObject:
    """Cut a whole object (decoded JSON or YAML) down to a Source.

    Anything of the wrong type counts as absent: what comes from an API server is well-formed, and what
    comes from a manifest is checked where it is read.
    """
    meta = obj.get("metadata")
    meta = meta if isinstance(meta, Mapping) else {}
    annotations = meta.get("annotations")
    relevant = (
        annotation_keys.relevant(
            {k: v for k, v in annotations.items() if isinstance(k, str) and isinstance(v, str)}
        )
        if isinstance(annotations, Mapping)
        else {}
    )
    kind = str(obj.get("kind", ""))
    namespaced = gvk.BY_KIND[kind].namespaced if kind in gvk.BY_KIND else True
    return SourceObject(
        kind=kind,
        namespace=_text(meta, "namespace") if namespaced else "",
        name=_text(meta, "name"),
        uid=_text(meta, "uid"),
        annotations=SourceAnnotations(relevant) if relevant else NO_ANNOTATIONS,
        owners=owner_refs(meta.get("ownerReferences")),
        labels=_labels(meta) if kind == "Namespace" else NO_ANNOTATIONS,
    )


def _labels(meta: Mapping[str, Any]) -> SourceAnnotations:
    found = meta.get("labels")
    if not isinstance(found, Mapping) or not found:
        return NO_ANNOTATIONS
    return SourceAnnotations({k: v for k, v in found.items() if isinstance(k, str) and isinstance(v, str)})


def owner_refs(raw: object) -> tuple[OwnerRef, ...]:
    """``metadata.ownerReferences`` as values; malformed entries are left out."""
    if not isinstance(raw, list):
        return ()
    return tuple(
        OwnerRef(
            _text(ref, "apiVersion"),
            _text(ref, "kind"),
            _text(ref, "name"),
            _text(ref, "uid"),
            ref.get("controller") is True,
        )
        for ref in raw
        if isinstance(ref, Mapping)
    )


def _text(mapping: Mapping[str, Any], key: str) -> str:
    value = mapping.get(key)
    return value if isinstance(value, str) else ""


class ReadObject(Protocol):
    """How a collection of facts reads objects."""

    def __call__(
        self, kind: Kind, namespace: str, name: str, uid: str = "", /
    ) -> SourceObject | None | Unknown:
        """The object, None when there is none, or UNKNOWN. ``uid`` is the expected one: a cache does
        not return an object with another one before it has read it again."""
        ...


class Lookup(msgspec.Struct, frozen=True):
    """An object that must be read before a pod can be decided."""

    kind: Kind
    namespace: str
    name: str

    def __str__(self) -> str:
        return (
            f"{self.kind.kind} {self.namespace}/{self.name}"
            if self.namespace
            else f"{self.kind.kind} {self.name}"
        )


class LookupUnknown(Exception):
    """Raised through a collection when a reading came back UNKNOWN."""

    def __init__(self, kind: Kind, namespace: str, name: str) -> None:
        self.need = Lookup(kind, namespace, name)
        super().__init__(str(self.need))


class Facts(msgspec.Struct, frozen=True, gc=False):
    """Everything read for one pod: its levels, strongest first, and what was met on the way."""

    namespace: str
    service_account: str
    levels: tuple[SourceObject, ...]
    annotations: tuple[SourceAnnotations, ...]
    """The annotations of the levels, in the same order: the key under which a decision is cached."""
    account_level: int = -1
    """Which of the levels is the ServiceAccount; -1 when there is none."""
    notes: tuple[str, ...] = ()
    """What the walk found and skipped: an owner whose uid differs."""

    @property
    def silent(self) -> bool:
        """Whether no level has an annotation and the walk skipped nothing."""
        return not (self.notes or any(self.annotations))
