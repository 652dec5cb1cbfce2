"""Vaults themselves, path-style at ``/<vault>.vault``: keys read and made with rights on data.

Unlike the resource manager, a vault that is asked to make a key that is there makes a new version of it. Who
comes without a token is told whom to ask, which is how the SDK logs in.
"""

from __future__ import annotations

import re
from typing import Final

from vestibule_simulators.azure import authorization, responses, state, validation, vaults
from vestibule_simulators.azure.entra import Entra
from vestibule_simulators.azure.responses import ArmError, Json
from vestibule_simulators.azure.state import SubscriptionState
from vestibule_simulators.https_server import SiteRequest, SiteResponse

_PATH: Final = re.compile(
    r"/(?P<vault>[a-zA-Z][a-zA-Z0-9-]{2,23})\.vault/keys/(?P<key>[a-zA-Z0-9-]{1,127})(?P<rest>/[^/]*)?/?"
)
_RESOURCE: Final = "https://vault.azure.net"
VERSIONS: Final = ("7.4", "7.5", "7.6", "2025-07-01")


class VaultDataPlane:
    """The plane."""

    def __init__(self, world: SubscriptionState, entra: Entra) -> None:
        self._world, self._entra = world, entra

    def owns(self, path: str) -> bool:
        """Whether a path is a vault's."""
        return path.partition("/keys")[0].endswith(".vault")

    def answer(self, call: SiteRequest, base: str) -> tuple[str, SiteResponse]:
        """Do it, and for whom it was done."""
        principal = ""
        try:
            principal = self._principal(call, base)
            return principal, self._answer(call, principal)
        except ArmError as refusal:
            return principal, responses.refused(refusal)

    def _principal(self, call: SiteRequest, base: str) -> str:
        found, wrong = self._entra.principal(
            call.headers.get("authorization", ""), (_RESOURCE, f"{_RESOURCE}/")
        )
        if wrong:
            tenant = f"{base}/{self._world.settings.tenant}"
            header = {"WWW-Authenticate": f'Bearer authorization="{tenant}", resource="{_RESOURCE}"'}
            raise ArmError(401, "Unauthorized", wrong, header)
        return found

    def _answer(self, call: SiteRequest, principal: str) -> SiteResponse:
        if call.query.get("api-version") not in VERSIONS:
            text = f"want the query api-version, one of {', '.join(VERSIONS)}"
            raise ArmError(400, "BadParameter", text)
        match = _PATH.fullmatch(call.path)
        if match is None:
            raise ArmError(404, "NotFound", f"A vault has nothing at '{call.path}'.")
        vault, name, rest = self._vault(match["vault"]), match["key"], (match["rest"] or "").strip("/")
        identifier = f"{vault['id']}/keys/{name}"
        if call.method == "GET":
            self._demand(principal, f"{state.KEY}/read", identifier)
            return self._read(identifier, name, rest)
        if call.method == "POST" and rest == "create":
            self._demand(principal, f"{state.KEY}/create/action", identifier)
            created = vaults.made(self._world, vault, name, validation.parsed(call.body))
            return responses.document(200, _bundle(created))
        raise ArmError(405, "MethodNotAllowed", f"{call.method} is not simulated here.")

    def _read(self, identifier: str, name: str, version: str) -> SiteResponse:
        found = self._world.get(identifier)
        if found is None or (version and version != vaults.current(found)):
            text = f"A key with (name/id) {name} was not found in this key vault."
            raise ArmError(404, "KeyNotFound", text)
        return responses.document(200, _bundle(found))

    def _vault(self, name: str) -> Json:
        for one in self._world.kind(state.VAULT):
            if str(one["name"]).lower() == name.lower():
                return one
        raise ArmError(404, "VaultNotFound", f"No vault of this cloud is called {name}.")

    def _demand(self, principal: str, action: str, scope: str) -> None:
        if not authorization.allowed(self._world, principal, action, scope, data=True):
            text = (
                "Caller is not authorized to perform action on resource. "
                f"Action: '{action}' Resource: '{scope.lower()}' Assignment: (not found)"
            )
            raise ArmError(403, "Forbidden", text)


def _bundle(key: Json) -> Json:
    """A key as a vault shows it."""
    message = key["properties"]
    return {
        "key": {
            "kid": message["keyUriWithVersion"],
            "kty": message["kty"],
            "key_ops": ["encrypt", "decrypt", "sign", "verify", "wrapKey", "unwrapKey"],
            "n": "AQAB",
            "e": "AQAB",
        },
        "attributes": {**message["attributes"], "recoveryLevel": "Recoverable+Purgeable"},
    }
