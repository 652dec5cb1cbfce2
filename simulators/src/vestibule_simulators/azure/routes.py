"""From method and path to a handler: every call that ARM takes here, the versions it takes it in, and the
right that it needs."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Final, NamedTuple

from vestibule_simulators.azure import authorization, responses, state, validation
from vestibule_simulators.azure.groups import ResourceGroups
from vestibule_simulators.azure.identities import ManagedIdentities
from vestibule_simulators.azure.operations import Operations
from vestibule_simulators.azure.request import ArmRequest
from vestibule_simulators.azure.responses import ArmError
from vestibule_simulators.azure.roles import RoleHandlers
from vestibule_simulators.azure.state import SubscriptionState
from vestibule_simulators.azure.storage import StorageAccounts
from vestibule_simulators.azure.vaults import VaultHandlers
from vestibule_simulators.https_server import SiteRequest, SiteResponse

VERSIONS: Final = {
    "Microsoft.Resources": (
        "2021-04-01", "2022-09-01", "2023-07-01", "2024-03-01", "2024-07-01", "2024-11-01", "2025-03-01",
        "2025-04-01",
    ),
    "Microsoft.Storage": (
        "2022-09-01", "2023-01-01", "2023-04-01", "2023-05-01", "2024-01-01", "2025-01-01", "2025-06-01",
        "2025-08-01", "2026-04-01", "2026-09-01",
    ),
    "Microsoft.ManagedIdentity": ("2023-01-31", "2024-11-30", "2025-01-31-preview", "2025-05-31-preview"),
    "Microsoft.KeyVault": ("2023-07-01", "2024-11-01", "2025-05-01", "2026-02-01", "2026-05-15"),
    "Microsoft.Authorization": ("2018-01-01-preview", "2022-04-01", "2022-05-01-preview"),
}  # fmt: skip
"""Versions of the interfaces that we and the SDKs are known to speak."""

_SUB: Final = "/subscriptions/(?P<subscription>[^/]+)"
_GROUP: Final = f"{_SUB}/resourceGroups/(?P<group>[^/]+)"
_ACCOUNTS: Final = f"{_GROUP}/providers/Microsoft.Storage/storageAccounts"
_ACCOUNT: Final = f"{_ACCOUNTS}/(?P<account>[^/]+)"
_CONTAINERS: Final = f"{_ACCOUNT}/blobServices/default/containers"
_CONTAINER: Final = f"{_CONTAINERS}/(?P<container>[^/]+)"
_IDENTITIES: Final = f"{_GROUP}/providers/Microsoft.ManagedIdentity/userAssignedIdentities"
_IDENTITY: Final = f"{_IDENTITIES}/(?P<identity>[^/]+)"
_CREDENTIALS: Final = f"{_IDENTITY}/federatedIdentityCredentials"
_CREDENTIAL: Final = f"{_CREDENTIALS}/(?P<credential>[^/]+)"
_VAULT: Final = f"{_GROUP}/providers/Microsoft.KeyVault/vaults/(?P<vault>[^/]+)"
_KEY: Final = f"{_VAULT}/keys/(?P<key>[^/]+)"
_DEFINITIONS: Final = "(?P<scope>.*)/providers/Microsoft.Authorization/roleDefinitions"
_ASSIGNMENTS: Final = "(?P<scope>.*)/providers/Microsoft.Authorization/roleAssignments"
_NAME: Final = "/(?P<name>[^/]+)"
_WITH_BODY: Final = ("PUT", "PATCH")


class _Route(NamedTuple):
    method: str
    pattern: re.Pattern[str]
    provider: str
    action: str
    handler: Callable[[ArmRequest], SiteResponse]
    body: bool


class ArmRouter:
    """The resource manager."""

    def __init__(self, world: SubscriptionState) -> None:
        self._world = world
        self.operations = operations = Operations(world)
        groups, storage = ResourceGroups(world, operations), StorageAccounts(world, operations)
        identities, roles, vaults = ManagedIdentities(world), RoleHandlers(world), VaultHandlers(world)
        kinds, storages = (
            "Microsoft.Resources/subscriptions/resourceGroups",
            "Microsoft.Storage/storageAccounts",
        )
        inside = f"{storages}/blobServices/containers"
        managed = "Microsoft.ManagedIdentity/userAssignedIdentities"
        federated = f"{managed}/federatedIdentityCredentials"
        definitions, assignments = (
            "Microsoft.Authorization/roleDefinitions",
            "Microsoft.Authorization/roleAssignments",
        )
        table: list[tuple[str, str, str, Callable[[ArmRequest], SiteResponse]]] = [
            ("GET", _SUB, "Microsoft.Resources/subscriptions/read", self._subscription),
            ("GET", f"{_SUB}/resourceGroups", f"{kinds}/read", groups.listed),
            ("GET", _GROUP, f"{kinds}/read", groups.get),
            ("HEAD", _GROUP, f"{kinds}/read", groups.head),
            ("PUT", _GROUP, f"{kinds}/write", groups.put),
            ("DELETE", _GROUP, f"{kinds}/delete", groups.delete),
            ("GET", f"{_GROUP}/resources", f"{kinds}/resources/read", groups.resources),
            ("GET", f"{_SUB}/operationresults/(?P<operation>[^/]+)", f"{kinds}/read", self._look),
            (
                "GET",
                f"{_SUB}/providers/Microsoft.Storage/locations/[^/]+/asyncoperations/(?P<operation>[^/]+)",
                f"{storages}/read",
                self._look,
            ),
            (
                "POST",
                f"{_SUB}/providers/Microsoft.Storage/checkNameAvailability",
                "Microsoft.Storage/checknameavailability/read",
                storage.available,
            ),
            ("GET", _ACCOUNTS, f"{storages}/read", storage.listed),
            ("GET", _ACCOUNT, f"{storages}/read", storage.get),
            ("PUT", _ACCOUNT, f"{storages}/write", storage.put),
            ("PATCH", _ACCOUNT, f"{storages}/write", storage.patch),
            ("DELETE", _ACCOUNT, f"{storages}/delete", storage.delete),
            ("POST", f"{_ACCOUNT}/listKeys", f"{storages}/listkeys/action", storage.keys),
            ("GET", _CONTAINERS, f"{inside}/read", storage.containers),
            ("GET", _CONTAINER, f"{inside}/read", storage.container),
            ("PUT", _CONTAINER, f"{inside}/write", storage.put_container),
            ("PATCH", _CONTAINER, f"{inside}/write", storage.put_container),
            ("DELETE", _CONTAINER, f"{inside}/delete", storage.delete_container),
            (
                "GET",
                f"{_SUB}/providers/Microsoft.ManagedIdentity/userAssignedIdentities",
                f"{managed}/read",
                identities.listed,
            ),
            ("GET", _IDENTITIES, f"{managed}/read", identities.listed),
            ("GET", _IDENTITY, f"{managed}/read", identities.get),
            ("PUT", _IDENTITY, f"{managed}/write", identities.put),
            ("PATCH", _IDENTITY, f"{managed}/write", identities.patch),
            ("DELETE", _IDENTITY, f"{managed}/delete", identities.delete),
            ("GET", _CREDENTIALS, f"{federated}/read", identities.credentials),
            ("GET", _CREDENTIAL, f"{federated}/read", identities.credential),
            ("PUT", _CREDENTIAL, f"{federated}/write", identities.put_credential),
            ("DELETE", _CREDENTIAL, f"{federated}/delete", identities.delete_credential),
            ("GET", _VAULT, f"{state.VAULT}/read", vaults.get),
            ("PUT", _VAULT, f"{state.VAULT}/write", vaults.put),
            ("DELETE", _VAULT, f"{state.VAULT}/delete", vaults.delete),
            ("GET", _KEY, f"{state.KEY}/read", vaults.key),
            ("PUT", _KEY, f"{state.KEY}/write", vaults.put_key),
            ("GET", _DEFINITIONS, f"{definitions}/read", roles.definitions),
            ("GET", _DEFINITIONS + _NAME, f"{definitions}/read", roles.definition),
            ("PUT", _DEFINITIONS + _NAME, f"{definitions}/write", roles.put_definition),
            ("DELETE", _DEFINITIONS + _NAME, f"{definitions}/delete", roles.delete_definition),
            ("GET", _ASSIGNMENTS, f"{assignments}/read", roles.assignments),
            ("GET", _ASSIGNMENTS + _NAME, f"{assignments}/read", roles.assignment),
            ("PUT", _ASSIGNMENTS + _NAME, f"{assignments}/write", roles.put_assignment),
            ("DELETE", _ASSIGNMENTS + _NAME, f"{assignments}/delete", roles.delete_assignment),
        ]
        self._routes = [
            _Route(
                method,
                re.compile(pattern, re.IGNORECASE),
                action.partition("/")[0],
                action,
                handler,
                method in _WITH_BODY or handler == storage.available,
            )
            for method, pattern, action, handler in table
        ]

    def answer(self, call: SiteRequest, principal: str, base: str) -> SiteResponse:
        """Do it, for this principal. Raises Refusal."""
        self.operations.settle()
        path = call.path.rstrip("/")
        route, parts = self._route(call.method, path)
        subscription = parts.get("subscription", "")
        if subscription and subscription.lower() != self._world.settings.subscription.lower():
            text = f"The subscription '{subscription}' could not be found."
            raise ArmError(404, "SubscriptionNotFound", text)
        if "operation" not in parts:
            _version(call, route.provider)
        authorization.demand(self._world, principal, route.action, _place(path, parts))
        body = validation.parsed(call.body) if route.body else {}
        return route.handler(ArmRequest(call.method, path, parts, call.query, body, base))

    def _route(self, method: str, path: str) -> tuple[_Route, dict[str, str]]:
        others = []
        for route in self._routes:
            match = route.pattern.fullmatch(path)
            if match is not None and route.method == method:
                return route, {key: value for key, value in match.groupdict().items() if value is not None}
            if match is not None:
                others.append(route.method)
        if others:
            text = f"The requested resource does not support http method '{method}'."
            raise ArmError(405, "MethodNotAllowed", text)
        raise ArmError(404, "InvalidResourceType", f"The simulator has nothing at '{path}'.")

    def _subscription(self, request: ArmRequest) -> SiteResponse:
        one = self._world.settings
        return responses.document(
            200,
            {
                "id": self._world.root,
                "subscriptionId": one.subscription,
                "tenantId": one.tenant,
                "displayName": "simulated",
                "state": "Enabled",
            },
        )

    def _look(self, request: ArmRequest) -> SiteResponse:
        return self.operations.look(request.parts["operation"], f"{request.base}{request.path}")


def _version(call: SiteRequest, provider: str) -> None:
    given = call.query.get("api-version")
    if not given:
        text = "The api-version query parameter (?api-version=) is required for all requests."
        raise ArmError(400, "MissingApiVersionParameter", text)
    if given not in VERSIONS[provider]:
        text = (
            f"The api-version '{given}' is invalid for {provider}. "
            f"The supported versions are '{','.join(VERSIONS[provider])}'."
        )
        raise ArmError(400, "InvalidApiVersionParameter", text)


def _place(path: str, parts: dict[str, str]) -> str:
    """Where a right is needed: the resource itself, or what a role is for."""
    return parts.get("scope", path)
