"""Random pauses from a generator of our own, so that the global one is not affected."""

from __future__ import annotations

import random

_source = random.Random()  # noqa: S311 - jitter, not a secret
between = _source.uniform
"""A number between two."""
integer = _source.randint
"""An integer between two, both included."""
