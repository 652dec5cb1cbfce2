"""One document as it came over the wire, or why it did not: what the adapters hand to the judgements."""

from __future__ import annotations

from typing import NamedTuple


class HttpDocument(NamedTuple):
    """The answer to one GET."""

    url: str
    status: int = 0
    """0: there was no answer."""
    body: bytes = b""
    content_type: str = ""
    date: float | None = None
    """The server's clock, seconds since the epoch."""
    at: float = 0.0
    """Our clock, half-way between question and answer."""
    error: str = ""
    """Why there was no answer, or none that we take."""
    redirects: tuple[str, ...] = ()
    """Where we were sent on to."""
    retry_after: float = 0.0
    """Seconds after which the server wants to be asked again; 0: it did not say."""

    @property
    def refusal(self) -> str:
        """Why there is nothing to read; empty when there is."""
        if self.error:
            return self.error
        return "" if self.status == 200 else f"status {self.status}"

    @property
    def forbidden(self) -> bool:
        """Whether we were told to prove who we are, or that it is not enough."""
        return self.status in (401, 403)
