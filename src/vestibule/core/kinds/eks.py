"""Settings of one vocabulary. The vocabulary of the EKS pod identity webhook: ``eks.amazonaws.com/*``."""

from __future__ import annotations

from vestibule.core.kinds.section import Section


class Eks(Section, frozen=True):
    """The vocabulary of the EKS pod identity webhook: ``eks.amazonaws.com/*``."""
