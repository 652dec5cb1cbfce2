"""Request heads we have seen before, by their exact bytes.

kube-apiserver sends one head for ever, but for the length; parsing it costs more than all else we do for a
request. A head enters only after the parser and every limit have let it through, so finding it again proves
the same. Only bytes are compared: one that differs in a space is another head. One memory serves all
connections of a server.
"""

from __future__ import annotations

from typing import Final

__all__ = ["END", "Head", "HeaderCache"]

END: Final = b"\r\n\r\n"

Head = tuple[int, str, str, str, str, float]
"""Body length, method, path, query, content type, seconds until the deadline."""

_MOST: Final = 1024  # as many body lengths as a busy cluster sends; 1 MiB at the longest
_LONGEST: Final = 1024  # bytes; kube-apiserver's is about 250


class HeaderCache(dict[bytes, Head]):
    """The memory; reading is a plain ``get``."""

    __slots__ = ()

    def add(self, raw: bytes, head: Head) -> None:
        """Cache ``head`` for ``raw``, a complete head that ends in an empty line; a full cache is cleared."""
        if len(raw) > _LONGEST or not raw[:1].isalpha():
            return
        if len(self) >= _MOST:
            self.clear()
        self[raw] = head
