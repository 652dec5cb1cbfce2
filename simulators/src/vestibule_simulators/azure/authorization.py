"""Whether a principal may do something: its role assignments at the scope and above, and nothing else."""

from __future__ import annotations

import fnmatch
from collections.abc import Iterable

from vestibule_simulators.azure import state
from vestibule_simulators.azure.responses import ArmError, Json
from vestibule_simulators.azure.state import SubscriptionState


def allowed(world: SubscriptionState, principal: str, action: str, scope: str, *, data: bool = False) -> bool:
    """Whether some role of the principal allows the action there."""
    granted, taken = ("dataActions", "notDataActions") if data else ("actions", "notActions")
    roles = {str(one["name"]).lower(): one for one in world.kind(state.ROLE)}
    for one in world.kind(state.ASSIGNMENT):
        message = one.get("properties") or {}
        if message.get("principalId") != principal or not _covers(str(message.get("scope", "-")), scope):
            continue
        role = roles.get(str(message.get("roleDefinitionId", "")).rpartition("/")[2].lower(), {})
        for block in role.get("properties", {}).get("permissions") or ():
            if _any(block.get(granted), action) and not _any(block.get(taken), action):
                return True
    return False


def demand(world: SubscriptionState, principal: str, action: str, scope: str) -> None:
    """Raises AuthorizationFailed."""
    if not allowed(world, principal, action, scope):
        text = (
            f"The client with object id '{principal}' does not have authorization to perform action "
            f"'{action}' over scope '{scope}' or the scope is invalid."
        )
        raise ArmError(403, "AuthorizationFailed", text)


def identity(world: SubscriptionState, principal: str) -> Json | None:
    """The identity behind a principal."""
    return world.identity_of("principalId", principal)


def _covers(scope: str, place: str) -> bool:
    return scope == "/" or f"{place}/".lower().startswith(f"{scope.rstrip('/')}/".lower())


def _any(patterns: Iterable[str] | None, action: str) -> bool:
    return any(fnmatch.fnmatchcase(action.lower(), one.lower()) for one in patterns or ())
