"""What the doctor is asked to look at."""

from __future__ import annotations

import ssl
from collections.abc import Callable
from typing import NamedTuple

from vestibule.api.annotation_keys import Provider
from vestibule.api.settings.schema import Settings
from vestibule.kube.access import ClusterAccess

Progress = Callable[[str], None]
"""Shows how far the work is."""


class ServiceAccountName(NamedTuple):
    """A ServiceAccount."""

    namespace: str
    name: str

    @property
    def subject(self) -> str:
        """``sub`` of its tokens."""
        return f"system:serviceaccount:{self.namespace}:{self.name}"

    def __str__(self) -> str:
        return f"ServiceAccount {self.namespace}/{self.name}"


class GivenToken(NamedTuple):
    """A token from the command line; its text is never shown."""

    place: str
    text: str

    def __repr__(self) -> str:
        return f"Given({self.place!r})"


class DoctorOptions(NamedTuple):
    """Everything on the command line."""

    access: ClusterAccess | None = None
    """The cluster; None: there is none to look at."""
    token: GivenToken | None = None
    issuer: str = ""
    """As the cloud knows it; empty: what the cluster or the token says."""
    tls: ssl.SSLContext | None = None
    """CAs to trust for the issuer; None: the system CAs."""
    account: ServiceAccountName | None = None
    clouds: tuple[Provider, ...] = ()
    audience: str = ""
    subject: str = ""
    """What the cloud trusts; empty: the account's own."""
    namespace: str = ""
    """Pods of this namespace alone; empty: of all."""
    configuration: str = ""
    """The webhook configuration to look at; empty: ours."""
    pods: bool = True
    settings: Settings | None = None
    """None: those of the installation in the cluster."""
