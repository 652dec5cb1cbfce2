"""The engine for embedded resources: what of them is to be applied, what deleted, and how far they are.

Kinds are acknowledged on the owner one pass before the first object of them is made, so that whatever happens
in between nothing is forgotten. Ours is what our owner controls, and what a paused controller of the same
name left behind without its owner. Never touched: what somebody else controls, and, unless asked, what stands
in a resource's place and belongs to nobody.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final, NamedTuple

from vestibule import errors
from vestibule.core.aro import embedded, graph, names, readiness
from vestibule.core.aro.embedded import Gvk, Identity, Object
from vestibule.core.aro.world import Change, Listing, NoKind, Ref, World

NOTED_SECONDS: Final = 15.0


class Standing(NamedTuple):
    """One resource: what it is, and how far."""

    gvk: Gvk
    name: str
    state: readiness.State
    note: str = ""
    """What keeps us from applying it."""

    def entry(self) -> Object:
        """As it stands in ``status.resources``."""
        group, version, kind = self.gvk
        made: Object = {
            "resource": {"group": group, "version": version, "kind": kind, "name": self.name},
            "ready": self.state.ready,
        }
        if not self.state.ready:
            message = self.note or self.state.message
            made |= {"reason": self.state.reason} if self.state.reason else {}
            made |= {"severity": self.state.severity} if self.state.severity else {}
            made |= {"message": message} if message else {}
        if self.state.observed is not None:
            made["observedGeneration"] = self.state.observed
        return made

    def __str__(self) -> str:
        return f"{self.gvk.kind}/{self.name}"


class Settled(NamedTuple):
    """What the engine came to."""

    desired: tuple[Object, ...]
    deletions: tuple[Object, ...]
    changes: tuple[Change, ...]
    """Policies to take back before anything is deleted."""
    standings: tuple[Standing, ...]
    owned: str
    """The annotation; empty: none."""
    live: dict[Identity, Object]
    """What exists of the wanted resources."""
    leaving: tuple[Object, ...]
    """Ours that is not wanted any more and still there."""

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


class Corrupt(errors.VestibuleError):
    """The annotation of owned kinds cannot be read: what may have been created is not known."""


def settle(subject: Object, wanted: Sequence[Object], world: World) -> Settled:
    """What follows from the resources that are wanted now and those that are there."""
    annotation = str((subject["metadata"].get("annotations") or {}).get(names.OWNED_KINDS) or "")
    acknowledged, wrong = embedded.parse_owned(annotation)
    if wrong:
        raise Corrupt(
            f"annotation {names.OWNED_KINDS} holds {wrong[0]!r}, want Kind.version.group joined by ';'"
        )
    there, unserved = _there(subject, acknowledged, world)
    mine = {one: obj for one, obj in there.items() if _ours(subject, obj)}
    wanted = graph.ordered(_once(wanted))
    wished = {embedded.identity(one) for one in wanted}
    fresh: list[Standing] = []
    applied: list[Standing] = []
    desired: list[Object] = []
    known = set(acknowledged)
    for one in wanted:
        what, identity = embedded.of(one), embedded.identity(one)
        live = there.get(identity)
        if what not in known:
            fresh.append(Standing(what, identity.name, readiness.State(ready=False)))
            continue
        note = _kept_from(subject, one, live, what in unserved)
        if note:
            state = readiness.State(ready=False, reason="NotApplied", severity="Error")
            applied.append(Standing(what, identity.name, state, note))
            continue
        desired.append(_complete(subject, one))
        applied.append(Standing(what, identity.name, readiness.of(live)))
    leaving = [obj for identity, obj in mine.items() if identity not in wished]
    leaving = list(reversed(graph.ordered(leaving)))
    going = [
        Standing(embedded.of(obj), obj["metadata"]["name"], readiness.State(ready=False, reason="Deleting"))
        for obj in reversed(leaving)
    ]
    standings = (*fresh, *_as_listed(applied, subject), *going)
    return Settled(
        tuple(desired),
        tuple(obj for obj in leaving if not obj["metadata"].get("deletionTimestamp")),
        tuple(_resumed(mine, wanted)),
        standings,
        embedded.render_owned([one.gvk for one in standings]),
        {identity: obj for identity, obj in there.items() if identity in wished},
        tuple(leaving),
    )


def pause(subject: Object, wanted: Sequence[Object], world: World) -> tuple[Change, ...]:
    """What tells Azure Service Operator to leave the existing objects alone. Nothing is created and no other
    value is touched. Raises Incompatible where the user has a policy of their own."""
    for one in wanted:
        policy = _annotations(one).get(names.RECONCILE_POLICY)
        if policy is not None and policy != names.SKIP:
            raise Incompatible(
                f"{embedded.identity(one)}: annotation {names.RECONCILE_POLICY} is {policy!r}, "
                f"want {names.SKIP!r} or none while paused"
            )
    acknowledged, _ = embedded.parse_owned(_annotations(subject).get(names.OWNED_KINDS) or "")
    there, _ = _there(subject, acknowledged, world)
    found = []
    for obj in there.values():
        held = _annotations(obj).get(names.RECONCILE_POLICY)
        if _ours(subject, obj) and held != names.SKIP:
            said = {names.RECONCILE_POLICY: names.SKIP, names.PREVIOUS_POLICY: held or ""}
            found.append(Change(ref(obj), {"metadata": {"annotations": said}}))
    return tuple(found)


class Incompatible(errors.VestibuleError):
    """A value of the user's contradicts one that is needed: nothing changes until the user changes it."""


def ref(obj: Object) -> Ref:
    """Where a live object is."""
    what = embedded.of(obj)
    meta = obj["metadata"]
    return Ref(what.group, what.kind, str(meta.get("namespace") or ""), meta["name"], what.version)


def controller(obj: Mapping[str, Any]) -> Mapping[str, Any] | None:
    """Who controls an object."""
    references = (obj.get("metadata") or {}).get("ownerReferences") or ()
    return next((one for one in references if one.get("controller") is True), None)


def owner_reference(subject: Object) -> Object:
    """The reference that makes something ours."""
    meta = subject["metadata"]
    return {
        "apiVersion": subject["apiVersion"],
        "kind": subject["kind"],
        "name": meta["name"],
        "uid": meta["uid"],
        "controller": True,
        "blockOwnerDeletion": True,
    }


def _there(
    subject: Object, acknowledged: Sequence[Gvk], world: World
) -> tuple[dict[Identity, Object], set[Gvk]]:
    """Every object of the acknowledged kinds in the owner's namespace, and the kinds that are not served."""
    namespace = str(subject["metadata"].get("namespace") or "")
    found: dict[Identity, Object] = {}
    unserved: set[Gvk] = set()
    for one in acknowledged:
        try:
            for obj in world.list(Listing(one, namespace)):
                found.setdefault(embedded.identity(obj), obj)
        except NoKind:
            unserved.add(one)
    return found, unserved


def _ours(subject: Object, obj: Object) -> bool:
    """Whether an object is this owner's: it controls it, or a controller of our name applied it for this
    owner and its pause took the reference away."""
    holder = controller(obj)
    if holder is not None:
        return bool(holder.get("uid") == subject["metadata"].get("uid"))
    return _named_before(subject, obj) and _applied_by_us(obj)


def _named_before(subject: Object, obj: Object) -> bool:
    listed = (subject.get("status") or {}).get("resources") or ()
    identity = embedded.identity(obj)
    return any(
        (one.get("resource") or {}).get("group") == identity.group
        and one["resource"].get("kind") == identity.kind
        and one["resource"].get("name") == identity.name
        for one in listed
    )


def _applied_by_us(obj: Mapping[str, Any]) -> bool:
    fields = (obj.get("metadata") or {}).get("managedFields") or ()
    return any(one.get("manager") == names.MANAGER and one.get("operation") == "Apply" for one in fields)


def _kept_from(subject: Object, one: Object, live: Object | None, unserved: bool) -> str:
    if unserved:
        return f"the cluster does not serve {embedded.of(one)}: install its definition"
    if live is None or _ours(subject, live):
        return ""
    holder = controller(live)
    if holder is not None:
        return f"belongs to {holder.get('kind')} {holder.get('name')}: it is left alone"
    if _annotations(one).get(names.ADOPT) == "true":
        return ""
    return (
        f"exists and belongs to nobody: annotate the resource with {names.ADOPT}: 'true' to take it over, "
        "with its deletion when this object goes, or choose another name"
    )


def _complete(subject: Object, one: Object) -> Object:
    """The object as it is applied: in the owner's namespace, controlled by the owner, without a status."""
    meta = {**one["metadata"], "namespace": subject["metadata"]["namespace"]}
    others = [each for each in meta.get("ownerReferences") or () if not each.get("controller")]
    meta["ownerReferences"] = [*others, owner_reference(subject)]
    return {key: value for key, value in one.items() if key != "status"} | {"metadata": meta}


def _once(wanted: Sequence[Object]) -> list[Object]:
    """Each resource once: the last word counts, as if all were applied in turn."""
    return list({embedded.identity(one): one for one in wanted}.values())


def _as_listed(standings: list[Standing], subject: Object) -> list[Standing]:
    """In the order of the owner's list, in which people look for them."""
    position = {embedded.identity(one): index for index, one in enumerate(embedded.resources(subject))}
    return sorted(
        standings,
        key=lambda one: position.get(Identity(one.gvk.group, one.gvk.kind, one.name), len(position)),
    )


def _resumed(mine: Mapping[Identity, Object], wanted: Sequence[Object]) -> Iterator[Change]:
    """Takes back what a pause wrote, ours or that of the controllers whose place we take."""
    said = {embedded.identity(one): _annotations(one).get(names.RECONCILE_POLICY) for one in wanted}
    for identity, obj in mine.items():
        annotations = _annotations(obj)
        if annotations.get(names.RECONCILE_POLICY) != names.SKIP or said.get(identity) == names.SKIP:
            continue
        before = annotations.get(names.PREVIOUS_POLICY)
        if before is None and not _policy_applied_by_us(obj):
            continue  # somebody set it by hand
        restored = {names.RECONCILE_POLICY: before or None, names.PREVIOUS_POLICY: None}
        yield Change(ref(obj), {"metadata": {"annotations": restored}})


def _policy_applied_by_us(obj: Mapping[str, Any]) -> bool:
    key = f"f:{names.RECONCILE_POLICY}"
    return any(
        one.get("manager") == names.MANAGER
        and key in (embedded.value(one, "fieldsV1.f:metadata.f:annotations") or {})
        for one in (obj.get("metadata") or {}).get("managedFields") or ()
    )


def _annotations(obj: Mapping[str, Any]) -> dict[str, str]:
    return (obj.get("metadata") or {}).get("annotations") or {}
