"""JSON pointers (RFC 6901). The one place where a key becomes part of a path, so the one place that
escapes."""

from __future__ import annotations


def escape(token: str) -> str:
    """A key as a pointer token: ``~`` and ``/`` are the two characters that need it."""
    return token.replace("~", "~0").replace("/", "~1")


def unescape(token: str) -> str:
    """The key of a pointer token."""
    return token.replace("~1", "/").replace("~0", "~")


def pointer(*tokens: str | int) -> str:
    """A pointer from keys and indexes: ``pointer("spec", "containers", 0)`` is ``/spec/containers/0``."""
    return "".join(f"/{escape(str(token))}" for token in tokens)


def tokens(text: str) -> list[str]:
    """The keys of a pointer; raises ValueError when the text is no pointer."""
    if text == "":
        return []
    if not text.startswith("/"):
        raise ValueError(f"JSON pointer {text!r} does not start with '/'")
    found = text[1:].split("/")
    return [unescape(token) for token in found] if "~" in text else found
