"""What somebody set up in a cloud, and the clock the cloud goes by."""

from __future__ import annotations

import datetime
import time
from typing import NamedTuple

from tests.chain.issuers import Claims


class Trust(NamedTuple):
    """A statement about tokens: an OIDC provider with a role, a pool provider, a federated credential."""

    issuer: str
    audience: str
    subject: str

    def fits(self, claims: Claims) -> bool:
        return self.issuer == claims.issuer and self.subject == claims.subject and self.hears(claims)

    def hears(self, claims: Claims) -> bool:
        """Whether the token is meant for this audience."""
        return self.audience in claims.audiences


class Clock:
    """The time in the clouds: ours, or some seconds ahead."""

    def __init__(self) -> None:
        self.ahead = 0.0

    def now(self) -> float:
        return time.time() + self.ahead

    def stamp(self, seconds: float = 0.0) -> str:
        """``2026-01-31T12:00:00Z``, some seconds from now."""
        return stamp(self.now() + seconds)


def stamp(instant: float) -> str:
    return datetime.datetime.fromtimestamp(instant, datetime.UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
