"""Brings objects to the state that is wanted, by server-side apply, and removes those that are not any more.

An object is written only where it differs. One that stands in our place and is not ours is never touched, and
told. A field that somebody else took is told and taken back. Pruned is what carries our label for this owner,
written by us, and is not wanted; never anything else.
"""

from __future__ import annotations

import logging
from collections.abc import Iterable, Sequence
from typing import Any, Final, NamedTuple

import msgspec

from vestibule import errors
from vestibule.api.gvk import Kind
from vestibule.kube import api_requests, client, lister
from vestibule.kube.client import Client
from vestibule.operator import drift
from vestibule.operator.fenced_client import FencedClient

logger = logging.getLogger(__name__)
Object = dict[str, Any]
Place = tuple[Kind, str, str]
_CONFLICT: Final = "FieldManagerConflict"


class DesiredObject(NamedTuple):
    """One object of a known kind."""

    kind: Kind
    object: Object

    @property
    def place(self) -> Place:
        """Kind, namespace, name."""
        return place(self.kind, self.object)

    def __str__(self) -> str:
        return describe(self.kind, self.object)


class ApplyResult(NamedTuple):
    """What came of one apply."""

    object: Object
    wrote: bool = False
    conflict: str = ""
    """Fields that somebody else had taken, in the API server's words."""


class _StatusCause(msgspec.Struct):
    reason: str = ""
    message: str = ""
    field: str = ""


class _StatusDetails(msgspec.Struct):
    causes: list[_StatusCause] | None = None


class _ApplyStatus(msgspec.Struct):
    details: _StatusDetails | None = None


def place(kind: Kind, obj: Object) -> Place:
    """Where an object lives."""
    meta = obj["metadata"]
    return kind, str(meta.get("namespace") or ""), str(meta["name"])


def describe(kind: Kind, obj: Object) -> str:
    """An object as people say it."""
    _, namespace, name = place(kind, obj)
    return f"{kind.kind} {namespace}/{name}" if namespace else f"{kind.kind} {name}"


class Applier:
    """Applies and prunes for owners, in one cluster."""

    def __init__(self, reading: Client, writer: FencedClient, manager: str) -> None:
        self._client = reading
        self._writer = writer
        self._manager = manager
        self._settled: dict[Place, tuple[str, str]] = {}

    async def owned(self, scopes: Iterable[tuple[Kind, str]], owner: str) -> dict[Place, Object]:
        """Everything we made for an owner, by place; the scopes are kinds and namespaces to look in. Kinds
        that the cluster does not serve have none."""
        found: dict[Place, Object] = {}
        for kind, namespace in scopes:
            selector = f"{drift.OWNER}={owner}"
            for obj in await lister.every(self._client, kind, namespace, selector=selector):
                if drift.ours(obj, owner, self._manager):
                    found[place(kind, obj)] = obj
        return found

    async def apply(self, wanted: DesiredObject, owner: str, known: dict[Place, Object]) -> ApplyResult:
        """See to it that an object is as wanted; ``known`` is what ``owned`` found, and is kept current.

        Raises ForeignObject when another's object stands there, Conflict when somebody wrote in between, and
        as FencedClient does.
        """
        where = wanted.place
        live = known.get(where)
        if live is None:
            live = await self._stranger(wanted, owner)
        obj = drift.marked(wanted.object, owner)
        if live is not None and not self._differs(wanted, obj, live):
            return ApplyResult(live)
        told = await self._write(wanted, obj, live)
        known[where] = told.object
        meta = told.object["metadata"]
        self._settled[where] = (drift.digest(obj), str(meta.get("resourceVersion")))
        return told

    async def _stranger(self, wanted: DesiredObject, owner: str) -> Object | None:
        """What stands where ours should: nothing, or ours that was made a moment ago."""
        kind, namespace, name = wanted.place
        found = await lister.one(self._client, kind, namespace, name)
        if found is not None and not drift.ours(found, owner, self._manager):
            raise errors.ForeignObject(f"{wanted}: exists and is not ours: remove it, or choose another name")
        return found

    def _differs(self, wanted: DesiredObject, obj: Object, live: Object) -> bool:
        where = drift.first(obj, live)
        if not where:
            return False
        meta = live["metadata"]
        # what we wrote ourselves and nobody changed since differs only as the API server spells it
        if self._settled.get(wanted.place) == (drift.digest(obj), str(meta.get("resourceVersion"))):
            return False
        logger.info("differs", extra={"object": str(wanted), "field": where})
        return True

    async def _write(self, wanted: DesiredObject, obj: Object, live: Object | None) -> ApplyResult:
        if live is not None:
            # only this very object, and only if nobody wrote since
            given = {key: live["metadata"][key] for key in ("uid", "resourceVersion")}
            obj = {**obj, "metadata": {**obj["metadata"], **given}}
        conflict = ""
        for force in (False, True):
            call = api_requests.apply(wanted.kind, obj, field_manager=self._manager, force=force)
            answer = await self._writer.send(call, wanted.kind, f"applying {wanted}", 409)
            if answer.status != 409:
                break
            conflict = conflict or _fields(answer.body)
            if force or not conflict:
                client.raise_for(answer, f"applying {wanted}")
        applied = msgspec.json.decode(answer.body, type=dict[str, Any])
        extra = {"object": str(wanted), "conflict": conflict}
        logger.info("created" if answer.status == 201 else "applied", extra=extra)
        return ApplyResult(applied, wrote=True, conflict=conflict)

    async def remove(self, kind: Kind, obj: Object) -> None:
        """Delete an object that we made, and no other that took its name since: then Conflict is raised, and
        the next look finds that it is not ours."""
        meta = obj["metadata"]
        self._settled.pop(place(kind, obj), None)
        if meta.get("deletionTimestamp"):
            return
        call = api_requests.delete(kind, str(meta.get("namespace") or ""), meta["name"], uid=meta["uid"])
        await self._writer.send(call, kind, f"deleting {describe(kind, obj)}", 202, 404)
        logger.info("deleted", extra={"object": describe(kind, obj)})

    async def prune(self, known: dict[Place, Object], wanted: Sequence[DesiredObject]) -> list[str]:
        """Delete what we made and is not wanted any more; what it was."""
        kept = {one.place for one in wanted}
        gone = []
        for where, obj in list(known.items()):
            if where not in kept:
                await self.remove(where[0], obj)
                del known[where]
                gone.append(describe(where[0], obj))
        return gone


def _fields(body: bytes) -> str:
    """The fields that another manager owns, and who; empty when the conflict is another one."""
    try:
        details = msgspec.json.decode(body, type=_ApplyStatus).details
    except msgspec.MsgspecError:
        return ""
    causes = details.causes or () if details else ()
    return "; ".join(f"{one.message}: {one.field}" for one in causes if one.reason == _CONFLICT)
