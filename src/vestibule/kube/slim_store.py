"""What a reflector has seen of one kind: namespace and name to Source, and nothing else of the object.

A hundred thousand ServiceAccounts live here, so every byte is asked for: names of namespaces and keys are
shared, objects without annotations that matter share one empty set, uids are kept only where a walk
compares them.
"""

from __future__ import annotations

import sys
from typing import Generic, Protocol, TypeVar

import msgspec

from vestibule.api import annotation_keys, gvk
from vestibule.api.gvk import Kind
from vestibule.injection.facts import NO_ANNOTATIONS, OwnerRef, SourceAnnotations, SourceObject


class _SlimMeta(msgspec.Struct, gc=False, rename="camel"):
    name: str = ""
    namespace: str = ""
    uid: str = ""
    resource_version: str = ""
    annotations: dict[str, str] | None = None
    labels: dict[str, str] | None = None
    owner_references: list[OwnerRef] | None = None


class SlimObject(msgspec.Struct, gc=False):
    """An object as it arrives: managed fields, specs and statuses are skipped by the decoder, not
    decoded and dropped."""

    metadata: _SlimMeta


def source(kind: Kind, item: SlimObject) -> SourceObject:
    """The object cut down to what a decision needs."""
    meta = item.metadata
    kept = annotation_keys.relevant(meta.annotations) if meta.annotations else None
    owned = kind not in _NEVER_OWNED
    return SourceObject(
        kind.kind,
        sys.intern(meta.namespace) if kind.namespaced else "",
        meta.name,
        meta.uid if owned else "",
        SourceAnnotations(kept) if kept else NO_ANNOTATIONS,
        tuple(meta.owner_references) if owned and meta.owner_references else (),
        SourceAnnotations(meta.labels) if kind is gvk.NAMESPACE and meta.labels else NO_ANNOTATIONS,
    )


_NEVER_OWNED = frozenset({gvk.NAMESPACE, gvk.SERVICE_ACCOUNT})


class NamedObject(Protocol):
    """What has a place in a store."""

    @property
    def namespace(self) -> str:
        """Empty where the kind has none."""
        ...

    @property
    def name(self) -> str:
        """The object's."""
        ...


T = TypeVar("T", bound=NamedObject)


class SlimStore(Generic[T]):
    """All objects of one kind."""

    def __init__(self, kind: Kind) -> None:
        self.kind = kind
        self._spaces: dict[str, dict[str, T]] = {}

    def get(self, namespace: str, name: str) -> T | None:
        """The object, or None when it has not been seen."""
        space = self._spaces.get(namespace)
        return None if space is None else space.get(name)

    def put(self, found: T) -> T | None:
        """Take an object in; what stood there before."""
        space = self._spaces.setdefault(found.namespace, {})
        before = space.get(found.name)
        space[found.name] = found
        return before

    def drop(self, namespace: str, name: str) -> T | None:
        """Forget an object; what stood there."""
        space = self._spaces.get(namespace)
        if space is None:
            return None
        before = space.pop(name, None)
        if not space:
            del self._spaces[namespace]
        return before

    def namespaces(self) -> list[str]:
        """Where there is something."""
        return list(self._spaces)

    def names(self, namespace: str) -> set[str]:
        """What there is in a namespace; the set is the caller's."""
        return set(self._spaces.get(namespace, ()))

    def __len__(self) -> int:
        return sum(map(len, self._spaces.values()))
