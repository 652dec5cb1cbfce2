"""Settings of one vocabulary. The vocabulary of Azure Workload Identity: ``azure.workload.identity/*``."""

from __future__ import annotations

from vestibule.core.kinds.section import Section


class Azwi(Section, frozen=True):
    """The vocabulary of Azure Workload Identity: ``azure.workload.identity/*``."""
