"""What a decision about an ARO object may look at, and what comes out of it.

A decision is plain sequential code that looks things up in a ``ClusterReader``. Where the world has not been
asked for something yet, ``NotRead`` names it; whoever runs the decision fetches it and simply decides again.
So decisions are pure, and the same code runs over a cluster, over a file and over a test case.
"""

from __future__ import annotations

import datetime
from collections.abc import Sequence
from typing import Any, Literal, NamedTuple, Protocol

import msgspec

from vestibule.api.aso import PermittedKinds
from vestibule.aro.embedded import Gvk

Object = dict[str, Any]


class ObjectRef(NamedTuple):
    """One object; an empty version means any that is served."""

    group: str
    kind: str
    namespace: str
    name: str
    version: str = ""

    def __str__(self) -> str:
        return f"{self.kind} {self.namespace}/{self.name}" if self.namespace else f"{self.kind} {self.name}"


class Listing(NamedTuple):
    """All objects of a kind in a namespace."""

    gvk: Gvk
    namespace: str

    def __str__(self) -> str:
        return f"{self.gvk.kind} in {self.namespace}"


class KeyQuestion(NamedTuple):
    """A key of a vault: its current version, the key made when there is none."""

    subscription: str
    resource_group: str
    vault: str
    key: str
    identity: ObjectRef
    environment: str = ""
    """Which Azure; empty: the public one."""

    def __str__(self) -> str:
        return f"key {self.key} in vault {self.vault}"


class NodesQuestion(NamedTuple):
    """The nodes of a workload cluster with a label."""

    cluster: ObjectRef
    label: str
    value: str

    def __str__(self) -> str:
        return f"nodes of {self.cluster} with {self.label}={self.value}"


Question = ObjectRef | Listing | KeyQuestion | NodesQuestion


class NotRead(Exception):
    """This was not read yet."""

    def __init__(self, question: Question) -> None:
        self.question = question
        super().__init__(str(question))


class Unreadable(Exception):
    """It was asked for, and could not be read: not the same as absent. The pass ends as an error."""

    def __init__(self, question: Question, why: str, *, after: float | None = None) -> None:
        self.question = question
        self.why = why
        self.after = after
        super().__init__(f"reading {question}: {why}")


class NoKind(Exception):
    """The cluster does not serve this kind: nothing of it can exist."""

    def __init__(self, gvk: Gvk) -> None:
        self.gvk = gvk
        super().__init__(f"the cluster does not serve {gvk}")


class ClusterNode(NamedTuple):
    """A node of a workload cluster."""

    name: str
    provider_id: str


class ClusterReader(Protocol):
    """What can be looked up; each method may raise Unread or Unreadable."""

    now: datetime.datetime
    permitted: PermittedKinds
    """The kinds that may be embedded."""
    deletions_checked: datetime.datetime | None
    """Since when the API server asks us before anything of ours is deleted, so that whatever was deleted
    later was deleted by somebody who wanted it; None: it does not ask."""

    def get(self, ref: ObjectRef) -> Object | None:
        """The object; None when it does not exist. NoKind where its kind is not served."""
        ...

    def list(self, listing: Listing) -> Sequence[Object]:
        """All of them. NoKind where the kind is not served."""
        ...

    def key_version(self, question: KeyQuestion) -> str:
        """The current version of a key, which is made when it does not exist."""
        ...

    def nodes(self, question: NodesQuestion) -> Sequence[ClusterNode] | None:
        """The nodes; None when the workload cluster cannot be reached now."""
        ...

    def parsed(self, text: bytes) -> Any:
        """A kubeconfig as values. Raises ValueError when it is no YAML."""
        ...


Outcome = Literal["done", "requeue", "error", "terminal"]


class MergePatch(NamedTuple):
    """A merge patch of somebody else's object."""

    ref: ObjectRef
    patch: Object


class ObjectEvent(NamedTuple):
    """An Event about the subject."""

    reason: str
    note: str
    warning: bool = False


class ReconcileResult(msgspec.Struct, frozen=True, kw_only=True):
    """What one look at an ARO object came to. Who carries it out does so in the order of the fields, and
    writes only what differs from what is there."""

    outcome: Outcome = "done"
    after: float | None = None
    """Seconds until the next look, where nothing may tell of the change that is waited for."""
    message: str = ""
    """Of an error or a terminal end; it stands in a condition as well."""
    annotations: dict[str, str | None] = {}
    """On the subject itself, before anything else; None removes. What lets clusterctl move goes after
    everything that was to be done before."""
    finalizer: bool | None = None
    """True: add ours, before anything else. False: remove it, after everything else. None: as it is."""
    changes: tuple[MergePatch, ...] = ()
    """Merge patches: of the MachinePool, of embedded objects in a pause."""
    desired: tuple[Object, ...] = ()
    """Embedded resources as they should be, in the order in which they are applied."""
    deletions: tuple[Object, ...] = ()
    """Live objects to delete, by their uid."""
    secrets: tuple[Object, ...] = ()
    """Secrets to apply whole."""
    spec: Object = {}
    """A merge patch of the subject's own spec."""
    status: Object | None = None
    """The whole status; None: as it is."""
    events: tuple[ObjectEvent, ...] = ()
    ends: datetime.datetime | None = None
    """When the kubeconfig of the cluster ends; not part of what is carried out."""
