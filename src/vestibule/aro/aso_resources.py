"""The engine for embedded resources: what of them is to be applied, what deleted, and how far they are.

Kinds are acknowledged on the owner one pass before the first object of them is made, so that whatever happens
in between nothing is forgotten. Only what was created for this owner is written or deleted (``ownership``).
Never touched: what somebody else controls, and, unless asked, what stands in a resource's place and belongs
to nobody. An entry that is refused, and a kind that cannot be read, keep nothing else from being applied; but
nothing is deleted for having left the list while an entry of it cannot be used.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final, NamedTuple

from vestibule import errors
from vestibule.aro import embedded, graph, names, ownership, readiness
from vestibule.aro.embedded import Gvk, Object, ResourceIdentity
from vestibule.aro.ports import ClusterReader, Listing, MergePatch, NoKind, ObjectEvent, Unreadable

NOTED_SECONDS: Final = 15.0
_LONGEST: Final = 1000
"""Characters of a message in ``status.resources``."""
_LONGEST_NAME: Final = 253
_MOST_EVENTS: Final = 10
"""Of one look; the rest stands in the status."""


class ResourceState(NamedTuple):
    """One resource: what it is, and how far."""

    gvk: Gvk
    name: str
    state: readiness.ReadyState
    note: str = ""
    """What keeps us from applying it."""

    def entry(self) -> Object:
        """As it stands in ``status.resources``."""
        group, version, kind = (one[:_LONGEST_NAME] for one in self.gvk)
        name = self.name[:_LONGEST_NAME]
        made: Object = {
            "resource": {"group": group, "version": version, "kind": kind, "name": name},
            "ready": self.state.ready,
        }
        if not self.state.ready:
            message = self.note or self.state.message
            made |= {"reason": self.state.reason} if self.state.reason else {}
            made |= {"severity": self.state.severity} if self.state.severity else {}
            made |= {"message": message[:_LONGEST]} if message else {}
        if self.state.observed is not None:
            made["observedGeneration"] = self.state.observed
        return made

    def __str__(self) -> str:
        return f"{self.gvk.kind}/{self.name}"


class ReconcilePlan(NamedTuple):
    """What the engine came to."""

    desired: tuple[Object, ...]
    deletions: tuple[Object, ...]
    changes: tuple[MergePatch, ...]
    """Policies to take back before anything is deleted."""
    standings: tuple[ResourceState, ...]
    owned: str
    """The annotation; empty: none."""
    live: dict[ResourceIdentity, Object]
    """What exists of the wanted resources."""
    leaving: tuple[Object, ...]
    """Ours that is not wanted any more and still there."""
    unread: str = ""
    """What could not be read; the rest was decided all the same, and it is tried again."""

    @property
    def ready(self) -> int:
        """How many are ready."""
        return sum(one.state.ready for one in self.standings)

    @property
    def notes(self) -> list[str]:
        """What keeps resources from being applied."""
        return [f"{one}: {one.note}" for one in self.standings if one.note]

    @property
    def after(self) -> float | None:
        """When to look again, where nobody tells that a kind came, or that somebody's object went."""
        return NOTED_SECONDS if self.notes else None

    def resources(self) -> list[Object]:
        """``status.resources``."""
        return [one.entry() for one in self.standings]

    def events(self, subject: Object) -> tuple[ObjectEvent, ...]:
        """What is new among the resources that are not applied."""
        before = embedded.value(subject, "status.resources") or ()
        known = {str(embedded.value(one, "message")) for one in before}
        new = [one for one in self.standings if one.note and one.note[:_LONGEST] not in known]
        return tuple(
            ObjectEvent(one.state.reason, f"{one}: {one.note}", warning=True) for one in new[:_MOST_EVENTS]
        )


def settle(subject: Object, wanted: Sequence[Object], reader: ClusterReader) -> ReconcilePlan:
    """What follows from the resources that are wanted now and those that are there. While the owner is being
    deleted nothing is wanted."""
    annotation = str(_annotations(subject).get(names.OWNED_KINDS) or "")
    acknowledged, wrong = embedded.parse_owned(annotation)
    gone = bool(subject["metadata"].get("deletionTimestamp"))
    if wrong:
        # what may have been created is not known: it is looked for among all kinds that may be
        acknowledged += [Gvk(one.group, "", one.kind) for one in reader.permitted.kinds]
    mayhave = [one for one in acknowledged if reader.permitted.find(one.group, one.kind) is not None]
    there = _there(subject, mayhave, reader)
    mine = {one: obj for one, obj in there.objects.items() if ownership.ours(subject, obj)}
    wanted = graph.ordered(_once(wanted))
    wished = {embedded.identity(one) for one in wanted}
    fresh: list[ResourceState] = []
    applied: list[ResourceState] = []
    desired: list[Object] = []
    known = set() if wrong else set(mayhave)
    for one in wanted:
        what, identity = embedded.of(one), embedded.identity(one)
        live = there.objects.get(identity)
        if what not in known:
            fresh.append(ResourceState(what, identity.name, readiness.ReadyState(ready=False)))
            continue
        note = _kept_from(subject, one, live, what, there)
        if note:
            applied.append(ResourceState(what, identity.name, _held(names.NOT_APPLIED), note))
            continue
        desired.append(_complete(subject, one, live))
        applied.append(ResourceState(what, identity.name, readiness.of(live)))
    barred = [] if gone else embedded.refused(subject, reader.permitted)
    refused = [ResourceState(one.gvk, one.name, _held(names.REFUSED), str(one)) for one in barred]
    leaving = [obj for identity, obj in mine.items() if identity not in wished]
    leaving = list(reversed(graph.ordered(leaving))) if not barred else []
    going = [
        ResourceState(
            embedded.of(obj), obj["metadata"]["name"], readiness.ReadyState(ready=False, reason="Deleting")
        )
        for obj in reversed(leaving)
    ]
    hidden = [ResourceState(one, "*", _held("Unreadable"), text) for one, text in there.unread.items()]
    standings = (*fresh, *_as_listed([*applied, *refused], subject), *going)
    kept = [one for one in acknowledged if one in there.unread or barred]
    return ReconcilePlan(
        tuple(desired),
        tuple(obj for obj in leaving if not obj["metadata"].get("deletionTimestamp") and (gone or not wrong)),
        tuple(_resumed(mine, wanted)),
        (*standings, *(hidden if gone else ())),
        embedded.render_owned([*(one.gvk for one in (*fresh, *applied, *going)), *filter(_whole, kept)]),
        {identity: obj for identity, obj in there.objects.items() if identity in wished},
        tuple(leaving),
        "; ".join(
            [
                *([_corrupt(wrong[0])] if wrong and not gone else []),
                *(f"{one}: {text}" for one, text in there.unread.items()),
            ]
        ),
    )


def _corrupt(wrong: str) -> str:
    return (
        f"annotation {names.OWNED_KINDS} holds {wrong!r}, want Kind.version.group joined by ';': it is "
        "written anew"
    )


def _held(reason: str) -> readiness.ReadyState:
    return readiness.ReadyState(ready=False, reason=reason, severity="Error")


def _whole(one: Gvk) -> bool:
    """Whether a kind can stand in the annotation."""
    return all(one)


def pause(subject: Object, wanted: Sequence[Object], reader: ClusterReader) -> tuple[MergePatch, ...]:
    """What tells Azure Service Operator to leave the existing objects alone. Nothing is created and no other
    value is touched. Raises IncompatibleValue where the user has a policy of their own."""
    for one in wanted:
        policy = _annotations(one).get(names.RECONCILE_POLICY)
        if policy is not None and policy != names.SKIP:
            raise IncompatibleValue(
                f"{embedded.identity(one)}: annotation {names.RECONCILE_POLICY} is {policy!r}, "
                f"want {names.SKIP!r} or none while paused"
            )
    acknowledged, _ = embedded.parse_owned(_annotations(subject).get(names.OWNED_KINDS) or "")
    mayhave = [one for one in acknowledged if reader.permitted.find(one.group, one.kind) is not None]
    there = _there(subject, mayhave, reader)
    if there.unread:
        raise UnreadableKind("; ".join(f"{one}: {text}" for one, text in there.unread.items()))
    found = []
    for obj in there.objects.values():
        held = _annotations(obj).get(names.RECONCILE_POLICY)
        if ownership.ours(subject, obj) and held != names.SKIP:
            said = {names.RECONCILE_POLICY: names.SKIP, names.PREVIOUS_POLICY: held or ""}
            found.append(ownership.change(obj, {"metadata": {"annotations": said}}))
    return tuple(found)


class UnreadableKind(errors.VestibuleError):
    """A kind that may have been created cannot be read: nobody may believe that all of it is paused."""


class IncompatibleValue(errors.VestibuleError):
    """A value of the user's contradicts one that is needed: nothing changes until the user changes it."""


class _ExistingResources(NamedTuple):
    """What is in the owner's namespace."""

    objects: dict[ResourceIdentity, Object]
    unserved: set[Gvk]
    unread: dict[Gvk, str]
    """Kinds that could not be listed, and why."""


def _there(subject: Object, acknowledged: Sequence[Gvk], reader: ClusterReader) -> _ExistingResources:
    """Every object of the acknowledged kinds in the owner's namespace."""
    namespace = str(subject["metadata"].get("namespace") or "")
    found = _ExistingResources({}, set(), {})
    for one in acknowledged:
        try:
            for obj in reader.list(Listing(one, namespace)):
                found.objects.setdefault(embedded.identity(obj), obj)
        except NoKind:
            found.unserved.add(one)
        except Unreadable as error:
            found.unread[one] = error.why
    return found


def _kept_from(
    subject: Object, one: Object, live: Object | None, what: Gvk, there: _ExistingResources
) -> str:
    if what in there.unserved:
        return f"the cluster does not serve {embedded.of(one)}: install its definition"
    if what in there.unread:
        return f"cannot be read: {there.unread[what]}"
    if live is None or ownership.ours(subject, live):
        return ""
    holder = ownership.controller(live)
    if holder is not None:
        return f"belongs to {holder.get('kind')} {holder.get('name')}: it is left alone"
    if _annotations(one).get(names.ADOPT) == "true":
        return ""
    return (
        f"exists and belongs to nobody: annotate the resource with {names.ADOPT}: 'true' to take it over, "
        "with its deletion when this object goes, or choose another name"
    )


def _complete(subject: Object, one: Object, live: Object | None) -> Object:
    """The object as it is applied: in the owner's namespace, controlled by the owner and by nobody else, with
    our record of that. Of the entry its four known fields are taken (``embedded.FIELDS``), of its metadata
    name, labels and annotations.
    With the uid of the object that was looked at, so that the API server refuses it for any other."""
    owner = subject["metadata"]
    meta = embedded.taken(one["metadata"])
    if live is not None:
        meta["uid"] = live["metadata"]["uid"]
    meta["namespace"] = owner["namespace"]
    meta["annotations"] = {**meta.get("annotations", {}), names.CREATED_FOR: owner["uid"]}
    meta["ownerReferences"] = [ownership.owner_reference(subject)]
    return {key: one[key] for key in embedded.FIELDS if key in one} | {"metadata": meta}


def _once(wanted: Sequence[Object]) -> list[Object]:
    """Each resource once: the last word counts, as if all were applied in turn."""
    return list({embedded.identity(one): one for one in wanted}.values())


def _as_listed(standings: list[ResourceState], subject: Object) -> list[ResourceState]:
    """In the order of the owner's list, in which people look for them."""
    listed = embedded.value(subject, "spec.resources") or ()
    position = {embedded.identity(one): index for index, one in enumerate(listed) if isinstance(one, Mapping)}
    return sorted(
        standings,
        key=lambda one: position.get(ResourceIdentity(one.gvk.group, one.gvk.kind, one.name), len(position)),
    )


def _resumed(mine: Mapping[ResourceIdentity, Object], wanted: Sequence[Object]) -> Iterator[MergePatch]:
    """Takes back what a pause wrote, ours or that of the controllers whose place we take."""
    said = {embedded.identity(one): _annotations(one).get(names.RECONCILE_POLICY) for one in wanted}
    for identity, obj in mine.items():
        annotations = _annotations(obj)
        if annotations.get(names.RECONCILE_POLICY) != names.SKIP or said.get(identity) == names.SKIP:
            continue
        before = annotations.get(names.PREVIOUS_POLICY)
        if before is None and not ownership.policy_applied(obj):
            continue  # somebody set it by hand
        restored = {names.RECONCILE_POLICY: before or None, names.PREVIOUS_POLICY: None}
        yield ownership.change(obj, {"metadata": {"annotations": restored}})


def _annotations(obj: Mapping[str, Any]) -> dict[str, str]:
    return (obj.get("metadata") or {}).get("annotations") or {}
