"""One HTTP response, or why there is none; input of the checks."""

from __future__ import annotations

from typing import NamedTuple


class HttpDocument(NamedTuple):
    """The response to one GET."""

    url: str
    status: int = 0
    """0: no response."""
    body: bytes = b""
    content_type: str = ""
    date: float | None = None
    """The server's clock, seconds since the epoch."""
    at: float = 0.0
    """The local clock, half-way between request and response."""
    error: str = ""
    """Why there was no response or no acceptable one."""
    redirects: tuple[str, ...] = ()
    """Targets of redirects."""
    retry_after: float = 0.0
    """The server's Retry-After in seconds; 0: none."""

    @property
    def refusal(self) -> str:
        """Why there is no document; empty if there is one."""
        if self.error:
            return self.error
        return "" if self.status == 200 else f"status {self.status}"

    @property
    def forbidden(self) -> bool:
        """Whether the server requires authentication or refuses the given one."""
        return self.status in (401, 403)
