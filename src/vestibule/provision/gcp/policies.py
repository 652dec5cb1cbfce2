"""Policies: who is bound to which role. Only bindings without a condition are ours to add to; a condition was
a decision of its owner."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from typing import Any

Policy = Mapping[str, Any]


def holds(policy: Policy, role: str, member: str) -> bool:
    """Whether a member has a role without conditions."""
    return any(member in one.get("members", ()) for one in _plain(policy, role))


def roles_of(policy: Policy, member: str) -> set[str]:
    """The roles of a member, with and without conditions."""
    return {str(one["role"]) for one in policy.get("bindings", ()) if member in one.get("members", ())}


def members_of(policy: Policy, role: str) -> set[str]:
    """Who has a role, under conditions too."""
    bound = (one for one in policy.get("bindings", ()) if one.get("role") == role)
    return {str(member) for one in bound for member in one.get("members", ())}


def add(policy: dict[str, Any], role: str, member: str) -> bool:
    """Bind a member to a role; returns whether that changed anything."""
    if holds(policy, role, member):
        return False
    found = next(iter(_plain(policy, role)), None)
    if found is None:
        policy.setdefault("bindings", []).append({"role": role, "members": [member]})
    else:
        found["members"] = [*found.get("members", ()), member]
    return True


def add_all(policy: dict[str, Any], roles: Collection[str], member: str) -> bool:
    """Bind a member to all of these; returns whether that changed anything."""
    changed = False
    for role in roles:
        changed = add(policy, role, member) or changed
    return changed


def remove(policy: dict[str, Any], gone: Callable[[str, str], bool]) -> bool:
    """Take away what ``gone`` says of a role and a member; whether that changed anything."""
    remaining = []
    changed = False
    for one in policy.get("bindings", ()):
        members = [member for member in one.get("members", ()) if not gone(one["role"], member)]
        changed = changed or len(members) != len(one.get("members", ()))
        if members:
            remaining.append({**one, "members": members})
    if changed:
        policy["bindings"] = remaining
    return changed


def trusting(
    policy: dict[str, Any], role: str, members: Collection[str], stale: Callable[[str], bool]
) -> bool:
    """Bind these to a role, and free of it those who are stale; whether that changed anything."""
    changed = remove(policy, lambda held, member: held == role and member not in members and stale(member))
    for member in members:
        changed = add(policy, role, member) or changed
    return changed


def _plain(policy: Policy, role: str) -> list[dict[str, Any]]:
    return [one for one in policy.get("bindings", ()) if one.get("role") == role and not one.get("condition")]
