"""Random pauses from a source of our own: whoever else in the process draws numbers is not disturbed."""

from __future__ import annotations

import random

_source = random.Random()  # noqa: S311 - jitter, not a secret
between = _source.uniform
"""A number between two."""
whole = _source.randint
"""A whole number between two, both included."""
