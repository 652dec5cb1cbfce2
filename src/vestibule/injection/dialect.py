"""The interface of a dialect: it reads the precedence levels and returns what is injected into a pod.

A dialect turns annotations into claims, and has a provider plan each claim in the dialect's own layout. It is
called once per distinct set of annotations and subject; the result is cached.
"""

from __future__ import annotations

from typing import NamedTuple, Protocol

from vestibule.admission.verdict import MissingIdentity
from vestibule.injection.plan import CloudPlanForPod
from vestibule.injection.precedence import PrecedenceLevels


class DialectSubject(NamedTuple):
    """What a dialect may read in addition to annotations; as little as possible, since it is part of the key
    under which decisions are cached."""

    windows: bool
    namespace: str = ""
    account: str = ""
    account_level: int = -1
    """Index of the ServiceAccount among the levels; -1 when there is none."""
    pod: str = ""
    """Name of the pod, or its generateName with `` (prefix)`` behind it."""
    labels: tuple[tuple[str, str], ...] = ()
    """Labels of the pod that a dialect reads."""
    host_network: bool = False
    reserved: str = ""
    """The digest in the names of an earlier injection into the same pod, however it was called then."""
    drawn: int = 0
    """A small number in which the pods of one workload, which have no names yet, differ."""


class DialectResult(NamedTuple):
    """What the annotations of a pod ask for."""

    plans: tuple[CloudPlanForPod, ...] = ()
    missing: tuple[MissingIdentity, ...] = ()
    required: frozenset[str] = frozenset()
    """Clouds whose identity must not be missing."""
    refusal: str = ""
    """Why the pod is refused outright."""
    code: int = 0
    """Code of that refusal."""
    switched_off: bool = False
    """Whether an annotation disables the injection."""


class Dialect(Protocol):
    """One dialect."""

    @property
    def name(self) -> str:
        """As the settings call it."""
        ...

    def resolve(self, found: PrecedenceLevels, subject: DialectSubject) -> DialectResult:
        """The requested identities; notes and origins are added to ``found``."""
        ...
