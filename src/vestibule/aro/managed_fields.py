"""Which fields of a live object are ours by server-side apply, compared with those that are wanted. Pure.

The API server keeps the list itself, so nothing must be remembered: what left the spec is found after a
restart, too, and what is as wanted is not applied again.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import msgspec

Object = dict[str, Any]


def stale(live: Mapping[str, Any], wanted: Mapping[str, Any], manager: str) -> str:
    """Why what we applied last is not what is wanted now: we never applied it, in another version, or with a
    field that is not wanted any more; empty when none of that is so."""
    applied = [
        one
        for one in (live.get("metadata") or {}).get("managedFields") or ()
        if (one.get("manager"), one.get("operation")) == (manager, "Apply") and not one.get("subresource")
    ]
    if not applied:
        return "was never applied"
    for one in applied:
        if one.get("apiVersion") != wanted.get("apiVersion"):
            return f"was applied as {one.get('apiVersion')}"
        surplus = _surplus(one.get("fieldsV1") or {}, wanted, "")
        if surplus:
            return f"holds {surplus}"
    return ""


def _surplus(owned: Mapping[str, Any], wanted: Any, at: str) -> str:
    """The first field of ours that is not wanted; empty when there is none."""
    for key, inner in owned.items():
        sort, _, name = key.partition(":")
        where = f"{at}.{name}" if at else name
        if sort == "f":
            if not isinstance(wanted, Mapping) or name not in wanted:
                return where
            below = wanted[name]
        elif sort in ("k", "v"):
            item = _item(wanted, sort, name)
            if item is None:
                return where
            below = item[0]
        else:
            continue  # the thing itself, or a place in a list that nobody else can hold
        found = _surplus(inner, below, where) if isinstance(inner, Mapping) else ""
        if found:
            return found
    return ""


def _item(wanted: Any, sort: str, name: str) -> tuple[Any] | None:
    """The item of a list that is meant, by its keys or its value."""
    if not isinstance(wanted, list):
        return None
    meant = msgspec.json.decode(name)
    for one in wanted:
        if sort == "v" and one == meant:
            return (one,)
        if sort == "k" and isinstance(one, Mapping) and all(one.get(key) == meant[key] for key in meant):
            return (one,)
    return None
