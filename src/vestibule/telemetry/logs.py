"""Logs as JSON lines on standard error: constant text, values as fields, never a body, a token or a key."""

from __future__ import annotations

import logging
import sys
import time
from typing import Any, Final

import msgspec

_encode = msgspec.json.Encoder(enc_hook=str).encode
_STANDARD: Final = frozenset(vars(logging.makeLogRecord({}))) | {"message", "asctime", "taskName"}


class JsonFormatter(logging.Formatter):
    """One record as one JSON line; what was passed as ``extra`` becomes fields."""

    def format(self, record: logging.LogRecord) -> str:
        """The line, without the line feed."""
        line: dict[str, Any] = {
            "time": f"{_moment(record.created)}.{int(record.msecs):03d}Z",
            "level": record.levelname.lower(),
            "logger": record.name,
            "text": record.getMessage(),
        }
        line |= {key: value for key, value in vars(record).items() if key not in _STANDARD}
        if record.exc_info and record.exc_info[0] is not None:
            line["error"] = record.exc_info[0].__qualname__
            line["stack"] = self.formatException(record.exc_info)
        return _encode(line).decode()


def _moment(created: float) -> str:
    return time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(created))


def configure(level: str) -> None:
    """Send every record of this level and above to standard error."""
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(JsonFormatter())
    root = logging.getLogger()
    root.handlers[:] = [handler]
    root.setLevel(level.upper())
