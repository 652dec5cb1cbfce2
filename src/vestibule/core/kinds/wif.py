"""Settings of two vocabularies: the GCP workload identity federation webhook's and GKE's."""

from __future__ import annotations

from vestibule.core.kinds.section import Section


class Wif(Section, frozen=True):
    """``cloud.google.com/*`` of the GCP workload identity federation webhook, and GKE's key."""
