"""What we want of a place for documents: read, write under a precondition, remove.

``if_match`` is the precondition everywhere: None for none, the empty text for "does not exist yet", an ETag
for "is still the one that I read".
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Final, NamedTuple, Protocol

from vestibule import errors

ABSENT: Final = ""
"""Precondition: there is nothing of that name."""
LARGEST: Final = 1024 * 1024
"""Bytes of a document that we read; a JWKS of a hundred keys has 80 KB."""
_NAME: Final = re.compile(r"[A-Za-z0-9._~-]{1,200}(/[A-Za-z0-9._~-]{1,200}){0,20}", re.ASCII)


class Content(NamedTuple):
    """One document to store."""

    body: bytes
    content_type: str = ""
    cache_control: str = ""
    """Empty: the place says what it usually does."""
    tags: Mapping[str, str] = {}


class StoredObject(NamedTuple):
    """One stored document."""

    body: bytes
    etag: str
    content_type: str = ""
    """Empty where the place keeps none."""
    cache_control: str = ""


class ObjectStore(Protocol):
    """A place for documents. Every method may raise Forbidden, Unavailable and NotFound (of the place)."""

    @property
    def where(self) -> str:
        """The place, for people; no secret in it."""
        ...

    @property
    def served(self) -> bool:
        """Whether the place itself serves what it holds; a directory does not."""
        ...

    def read(self, name: str) -> StoredObject | None:
        """The document; None when there is none of that name. Raises InvalidInput when it is too large."""
        ...

    def write(self, name: str, content: Content, *, if_match: str | None = None) -> str:
        """Keep the document, all of it or nothing; its ETag. Raises Conflict when the precondition fails."""
        ...

    def remove(self, name: str, *, if_match: str | None = None) -> bool:
        """Remove the document; False when there was none. Raises Conflict when the precondition fails."""
        ...


def checked(name: str) -> str:
    """The name, when every place can have it and none of it leads elsewhere. Raises InvalidInput."""
    if _NAME.fullmatch(name) is None or not {".", ".."}.isdisjoint(name.split("/")):
        raise errors.InvalidInput(
            errors.InputProblem("object", name, "is no name of a document, want a relative path without ..")
        )
    return name


def below(prefix: str) -> str:
    """The normalized prefix of every name; empty without one."""
    bare = prefix.strip("/")
    return f"{bare}/" if bare else ""


def changed(where: str, name: str) -> errors.Conflict:
    """What a failed precondition means."""
    return errors.Conflict(f"{where}: {name} was changed by another writer since it was read")


def too_large(where: str, name: str) -> errors.InvalidInput:
    """No document of ours is that large."""
    return errors.InvalidInput(
        errors.InputProblem(where, name, f"has more than {LARGEST} bytes, want a document")
    )
