"""What a vocabulary is to the rest of the house: it reads the levels and says what is to be laid over a pod.

A dialect turns annotations into claims, and has a provider plan each claim in the dialect's own layout. It is
asked once per distinct set of annotations and subject; the answer is remembered.
"""

from __future__ import annotations

from typing import NamedTuple, Protocol

from vestibule.admission.verdict import MissingIdentity
from vestibule.injection.plan import CloudPlanForPod
from vestibule.injection.precedence import PrecedenceLevels


class DialectSubject(NamedTuple):
    """What else than annotations a dialect may look at; as little as possible, since decisions are remembered
    by it."""

    windows: bool
    namespace: str = ""
    account: str = ""
    account_level: int = -1
    """Index of the ServiceAccount among the levels; -1 when there is none."""
    pod: str = ""
    """Name of the pod, or its generateName with `` (prefix)`` behind it."""
    labels: tuple[tuple[str, str], ...] = ()
    """Labels of the pod that a vocabulary reads."""
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
    """Whether an annotation says that an identity is not wanted."""


class Dialect(Protocol):
    """One vocabulary."""

    @property
    def name(self) -> str:
        """As the settings call it."""
        ...

    def ask(self, found: PrecedenceLevels, subject: DialectSubject) -> DialectResult:
        """What is asked for; notes and origins stay in ``found``."""
        ...
