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
from vestibule.adapters.cluster import calls, client, pages
from vestibule.adapters.cluster.client import Client
from vestibule.apps.operator.runtime import difference
from vestibule.apps.operator.runtime.pen import Pen
from vestibule.core.kinds.gvk import Kind

logger = logging.getLogger(__name__)
Object = dict[str, Any]
Place = tuple[Kind, str, str]
_CONFLICT: Final = "FieldManagerConflict"


class Wanted(NamedTuple):
    """One object of a known kind."""

    kind: Kind
    object: Object

    @property
    def place(self) -> Place:
        """Kind, namespace, name."""
        return place(self.kind, self.object)

    def __str__(self) -> str:
        return said(self.kind, self.object)


class Told(NamedTuple):
    """What came of one apply."""

    object: Object
    wrote: bool = False
    conflict: str = ""
    """Fields that somebody else had taken, in the API server's words."""


class _Cause(msgspec.Struct):
    reason: str = ""
    message: str = ""
    field: str = ""


class _Details(msgspec.Struct):
    causes: list[_Cause] | None = None


class _Refusal(msgspec.Struct):
    details: _Details | None = None


def place(kind: Kind, obj: Object) -> Place:
    """Where an object lives."""
    meta = obj["metadata"]
    return kind, str(meta.get("namespace") or ""), str(meta["name"])


def said(kind: Kind, obj: Object) -> str:
    """An object as people say it."""
    _, namespace, name = place(kind, obj)
    return f"{kind.kind} {namespace}/{name}" if namespace else f"{kind.kind} {name}"


class Applier:
    """Applies and prunes for owners, in one cluster."""

    def __init__(self, reading: Client, pen: Pen, manager: str) -> None:
        self._client = reading
        self._pen = pen
        self._manager = manager
        self._settled: dict[Place, tuple[str, str]] = {}

    async def owned(self, scopes: Iterable[tuple[Kind, str]], owner: str) -> dict[Place, Object]:
        """Everything we made for an owner, by place; the scopes are kinds and namespaces to look in. Kinds
        that the cluster does not serve have none."""
        found: dict[Place, Object] = {}
        for kind, namespace in scopes:
            selector = f"{difference.OWNER}={owner}"
            for obj in await pages.every(self._client, kind, namespace, selector=selector):
                if difference.ours(obj, owner, self._manager):
                    found[place(kind, obj)] = obj
        return found

    async def apply(self, wanted: Wanted, owner: str, known: dict[Place, Object]) -> Told:
        """See to it that an object is as wanted; ``known`` is what ``owned`` found, and is kept current.

        Raises Foreign when another's object stands there, Conflict when somebody wrote in between, and as
        the pen does.
        """
        where = wanted.place
        live = known.get(where)
        if live is None:
            live = await self._stranger(wanted, owner)
        obj = difference.marked(wanted.object, owner)
        if live is not None and not self._differs(wanted, obj, live):
            return Told(live)
        told = await self._write(wanted, obj, live)
        known[where] = told.object
        meta = told.object["metadata"]
        self._settled[where] = (difference.digest(obj), str(meta.get("resourceVersion")))
        return told

    async def _stranger(self, wanted: Wanted, owner: str) -> Object | None:
        """What stands where ours should: nothing, or ours that was made a moment ago."""
        kind, namespace, name = wanted.place
        found = await pages.one(self._client, kind, namespace, name)
        if found is not None and not difference.ours(found, owner, self._manager):
            raise errors.Foreign(f"{wanted}: exists and is not ours: remove it, or choose another name")
        return found

    def _differs(self, wanted: Wanted, obj: Object, live: Object) -> bool:
        where = difference.first(obj, live)
        if not where:
            return False
        meta = live["metadata"]
        # what we wrote ourselves and nobody changed since differs only as the API server spells it
        if self._settled.get(wanted.place) == (difference.digest(obj), str(meta.get("resourceVersion"))):
            return False
        logger.info("differs", extra={"object": str(wanted), "field": where})
        return True

    async def _write(self, wanted: Wanted, obj: Object, live: Object | None) -> Told:
        if live is not None:
            # only this very object, and only if nobody wrote since
            given = {key: live["metadata"][key] for key in ("uid", "resourceVersion")}
            obj = {**obj, "metadata": {**obj["metadata"], **given}}
        conflict = ""
        for force in (False, True):
            call = calls.apply(wanted.kind, obj, field_manager=self._manager, force=force)
            answer = await self._pen.send(call, wanted.kind, f"applying {wanted}", 409)
            if answer.status != 409:
                break
            conflict = conflict or _fields(answer.body)
            if force or not conflict:
                client.raise_for(answer, f"applying {wanted}")
        applied = msgspec.json.decode(answer.body, type=dict[str, Any])
        extra = {"object": str(wanted), "conflict": conflict}
        logger.info("created" if answer.status == 201 else "applied", extra=extra)
        return Told(applied, wrote=True, conflict=conflict)

    async def remove(self, kind: Kind, obj: Object) -> None:
        """Delete an object that we made, and no other that took its name since: then Conflict is raised, and
        the next look finds that it is not ours."""
        meta = obj["metadata"]
        self._settled.pop(place(kind, obj), None)
        if meta.get("deletionTimestamp"):
            return
        call = calls.delete(kind, str(meta.get("namespace") or ""), meta["name"], uid=meta["uid"])
        await self._pen.send(call, kind, f"deleting {said(kind, obj)}", 202, 404)
        logger.info("deleted", extra={"object": said(kind, obj)})

    async def prune(self, known: dict[Place, Object], wanted: Sequence[Wanted]) -> list[str]:
        """Delete what we made and is not wanted any more; what it was."""
        kept = {one.place for one in wanted}
        gone = []
        for where, obj in list(known.items()):
            if where not in kept:
                await self.remove(where[0], obj)
                del known[where]
                gone.append(said(where[0], obj))
        return gone


def _fields(body: bytes) -> str:
    """The fields that another manager owns, and who; empty when the conflict is another one."""
    try:
        details = msgspec.json.decode(body, type=_Refusal).details
    except msgspec.MsgspecError:
        return ""
    causes = details.causes or () if details else ()
    return "; ".join(f"{one.message}: {one.field}" for one in causes if one.reason == _CONFLICT)
