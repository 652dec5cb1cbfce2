"""A transport that only remembers: what is written, and that it was closed."""

from __future__ import annotations


class Memory:
    """As much of a transport as a plain-text connection uses."""

    def __init__(self) -> None:
        self.written = b""
        self.closing = False

    def write(self, data: bytes) -> None:
        assert not self.closing
        self.written += data

    def write_eof(self) -> None:
        self.closing = True

    def pause_reading(self) -> None:
        assert not self.closing

    def resume_reading(self) -> None:
        """Allowed at any time."""

    def is_closing(self) -> bool:
        return self.closing

    def set_write_buffer_limits(self, high: int) -> None:
        assert high > 0
