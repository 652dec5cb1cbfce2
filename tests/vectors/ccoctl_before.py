"""What exists before a ccoctl case begins: read off the replies that its calls get, and off its inputs.

A case writes down what the original was told by Azure. A reply of 200 to a read is a resource that exists,
unless a write of the case made it; a resource that is deleted with 200 exists and is ours; groups exist that
paths go through, unless the case reads that they do not.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from vestibule.provision.azure import names
from vestibule_simulators.azure import builtin_roles, state

Json = dict[str, Any]
CONSTANTS = {
    "subscription": "aaaaaaaa-0000-4000-8000-000000000001",
    "tenant": "bbbbbbbb-0000-4000-8000-000000000002",
    "principal": "cccccccc-0000-4000-8000-000000000003",
    "client": "dddddddd-0000-4000-8000-000000000004",
    "issuer": "https://demo1.blob.core.windows.net/demo1",
}
_KINDS = {
    "roledefinitions": state.ROLE,
    "roleassignments": state.ASSIGNMENT,
    "federatedidentitycredentials": state.CREDENTIAL,
    "userassignedidentities": state.IDENTITY,
    "containers": state.CONTAINER,
    "storageaccounts": state.ACCOUNT,
    "resourcegroups": state.GROUP,
}
_PLACED = (state.GROUP, state.ACCOUNT, state.IDENTITY)
_GROUP = re.compile(r"/resourceGroups/([^/]+)", re.IGNORECASE)


def flag(vector: Json, name: str, default: str = "") -> str:
    return str((vector.get("flags") or {}).get(name) or default)


def calls(vector: Json) -> list[Json]:
    """Every ARM call that a case writes down, whichever way."""
    expected = vector.get("expected") or {}
    return [
        call
        for key in ("arm_calls", "arm_calls_prefix", "arm_calls_before_error", "arm_calls_tail")
        for call in expected.get(key) or ()
    ]


class Before:
    """The world of one case."""

    def __init__(self, vector: Json) -> None:
        self._vector = vector
        self.constants = {**CONSTANTS, **(vector.get("constants") or {})}
        self.subscription = flag(vector, "--subscription-id", self.constants["subscription"])
        self.tenant = flag(vector, "--tenant-id", self.constants["tenant"])
        self.root = f"/subscriptions/{self.subscription}"
        self.name = flag(vector, "--name", "demo1")
        self.oidc = flag(vector, "--oidc-resource-group-name", f"{self.name}-oidc")
        self.installation = flag(vector, "--installation-resource-group-name", self.name)
        self.owned = {names.owned_tag(self.name): names.OWNED}
        self.resources: dict[str, Json] = {}
        self.account_keys: dict[str, list[str]] = {}
        self.identities = [{"principalId": self.constants["principal"], "clientId": self.constants["client"]}]
        self.titles: dict[str, str] = {}
        """Titles of roles by the names that the case gives them."""
        self._made: set[str] = set()
        self._absent: set[str] = set()
        for call in calls(vector):
            self._heard(call)
        self._groups()
        self._usual()
        self._inputs()

    @property
    def content(self) -> Json:
        """For the simulator."""
        return {
            "resources": list(self.resources.values()),
            "accountKeys": self.account_keys,
            "nextIdentities": self.identities,
        }

    def put(self, identifier: str, **body: Any) -> Json:
        """A resource, with what every one of its kind has."""
        parts = identifier.rstrip("/").split("/")
        kind = _KINDS[parts[-2].lower()]
        created: Json = {"id": identifier, "name": parts[-1], "type": kind, "properties": {}, **body}
        if kind in _PLACED:
            created = {"location": "eastus", "tags": {}, **created}
        if kind == state.CONTAINER:
            created["properties"] = {"publicAccess": "Container", **created["properties"]}
        if kind == state.ACCOUNT:
            created["properties"] = {"allowBlobPublicAccess": True, **created["properties"]}
        created["type"] = kind
        self.resources[identifier.lower()] = created
        return created

    # ── from calls ──────────────────────────────────────────────────────────────────────────────────────────

    def _heard(self, call: Json) -> None:
        path, reply = str(call["path"]), call.get("reply") or {}
        status, body = reply.get("status"), reply.get("body")
        here = path.lower()
        if call["method"] == "PUT":
            self._made.add(here)
            inner = (call.get("body") or {}).get("properties") or {}
            if "roleName" in inner:
                self._made.add(f"role {inner['roleName']}")
            message = (body or {}).get("properties") or {}
            if "principalId" in message and "clientId" in message:
                self.identities = [{key: message[key] for key in ("principalId", "clientId")}]
        elif call["method"] == "GET" and status == 404:
            self._absent.add(here)
        elif call["method"] == "GET" and isinstance(body, dict):
            listed = body.get("value")
            for one in listed if isinstance(listed, list) else [body]:
                self._found(path, one, listed=isinstance(listed, list))
        elif call["method"] == "DELETE" and here not in self.resources and status in (200, 202):
            if "/roleassignments/" not in here and "/roledefinitions/" not in here:
                self.put(path, tags=dict(self.owned))
        elif call["method"] == "POST" and here.endswith("/listkeys"):
            account = path.split("/")[-2]
            self.account_keys[account] = [key.get("value", "") for key in (body or {}).get("keys", ())]

    def _found(self, path: str, one: Json, *, listed: bool) -> None:
        inner = one.get("properties") or {}
        if "roleName" in inner:
            self.titles[str(one.get("name", "")).lower()] = inner["roleName"]
            if f"role {inner['roleName']}" in self._made:
                return
        if inner.get("roleName") and any(
            _title(body) == inner["roleName"] for body in builtin_roles.resources().values()
        ):
            return
        identifier = str(one.get("id") or "")
        if not identifier and "scope" in inner and "name" in one:
            identifier = f"{inner['scope']}/providers/{state.ASSIGNMENT}/{one['name']}"
        identifier = identifier or (f"{path}/{one.get('name', '')}" if listed else path)
        if identifier.lower() not in self._made:
            self.put(identifier, **{key: value for key, value in one.items() if key != "type"})

    def _groups(self) -> None:
        for call in calls(self._vector):
            match = _GROUP.search(str(call["path"]))
            if match is None:
                continue
            identifier = f"{self.root}/resourceGroups/{match[1]}"
            known = {identifier.lower(), f"{self.root}/resourcegroups/{match[1]}".lower()}
            if not known & (self._made | self._absent | self.resources.keys()):
                self.put(identifier)

    # ── from the command and the inputs ─────────────────────────────────────────────────────────────────────

    def group(self, name: str, **body: Any) -> None:
        """A group, unless the case says something about it."""
        identifier = f"{self.root}/resourceGroups/{name}"
        if name and not {identifier.lower()} & (self._made | self._absent | self.resources.keys()):
            self.put(identifier, **body)

    def _usual(self) -> None:
        command = str(self._vector["command"]).split()[-1]
        if command == "create-managed-identities":
            self.group(self.oidc)
            self.group(flag(self._vector, "--dnszone-resource-group-name"))
            self.group(flag(self._vector, "--network-resource-group-name"))
        if command == "delete" and not (self._vector["expected"].get("arm_calls")):
            self._ours()

    def _ours(self) -> None:
        """What an earlier run of the same name left behind."""
        account = flag(self._vector, "--storage-account-name", self.name)
        identity = f"{self.name}-ns1-secret1"
        below = f"{self.root}/resourceGroups/{self.oidc}/providers"
        self.group(self.installation, tags=dict(self.owned))
        self.group(self.oidc, tags=dict(self.owned))
        if not names.account_flaw(account):
            self.put(f"{below}/{state.ACCOUNT}/{account}", tags=dict(self.owned))
        ids = {**self.identities[0], "tenantId": self.tenant}
        self.put(f"{below}/{state.IDENTITY}/{identity}", tags=dict(self.owned), properties=ids)
        role = "99999999-0000-4000-8000-000000000009"
        description = names.ROLE_DESCRIPTION.format(self.name)
        message = {"roleName": identity, "description": description, "type": "CustomRole"}
        self.put(f"{self.root}/providers/{state.ROLE}/{role}", properties=message)
        self.assignment("88888888-0000-4000-8000-000000000008", f"{self.root}/providers/{state.ROLE}/{role}")

    def assignment(self, name: str, role: str, scope: str = "", principal: str = "") -> None:
        where = scope or f"{self.root}/resourceGroups/{self.installation}"
        message = {
            "scope": where,
            "principalId": principal or self.constants["principal"],
            "roleDefinitionId": role,
        }
        self.put(f"{where}/providers/{state.ASSIGNMENT}/{name}", properties=message)

    def identity(self) -> str:
        """The identity of the usual request; its id."""
        found = f"{self.root}/resourceGroups/{self.oidc}/providers/{state.IDENTITY}/{self.name}-ns1-secret1"
        ids = {**self.identities[0], "tenantId": self.tenant}
        self.group(self.oidc)
        self.group(self.installation, tags=dict(self.owned))
        self.put(found, tags=dict(self.owned), properties=ids)
        return found

    def _inputs(self) -> None:
        inputs = self._vector.get("inputs") or {}
        for number, one in enumerate(inputs.get("existing_assignments") or ()):
            self.identity()
            if "role" in one:
                self.assignment(one["name"], _builtin(self.root, one["role"]), one["scope"])
            else:
                key = f"odd/{number}"
                self.resources[key] = {"type": state.ASSIGNMENT, **one}
        for number in range(int((inputs.get("role_lookup") or {}).get("count", 1)) - 1):
            message = {"roleName": "Contributor", "type": "CustomRole", "description": ""}
            self.put(
                f"{self.root}/providers/{state.ROLE}/77777777-0000-4000-8000-{number:012}", properties=message
            )
        fault = inputs.get("fault") or {}
        if fault.get("error_code") == "ResourceGroupNotFound":
            gone = _GROUP.search(str(fault["on"]))
            prefix = f"{self.root}/resourceGroups/{gone[1]}".lower() if gone else "-"
            for key in [key for key in self.resources if key == prefix or key.startswith(f"{prefix}/")]:
                del self.resources[key]

    def credential(self, name: str, **properties: Any) -> None:
        self.put(f"{self.identity()}/federatedIdentityCredentials/{name}", properties=properties)


def requests(vector: Json) -> Iterator[tuple[str, str]]:
    """The files of CredentialsRequests: those of the case, or a usual one."""
    inputs = vector.get("inputs") or {}
    given = inputs.get("credentials_requests")
    if given is not None:
        yield from given.items()
        return
    count = int(inputs.get("service_account_count", 1))
    accounts = ["sa-one", *(f"sa-{number:03}" for number in range(1, count))]
    roles = inputs.get("wanted_roles") or ["Contributor"]
    permissions = inputs.get("permissions") or ()
    text = _REQUEST.format(
        accounts="\n".join(f"  - {one}" for one in accounts),
        roles="\n".join(f"    - role: {one}" for one in roles),
        permissions="\n".join(f"    - {one}" for one in permissions) or "      []",
    )
    yield "a.yaml", text


_REQUEST = """apiVersion: cloudcredential.openshift.io/v1
kind: CredentialsRequest
metadata:
  name: cr1
  namespace: openshift-cloud-credential-operator
spec:
  serviceAccountNames:
{accounts}
  secretRef:
    name: secret1
    namespace: ns1
  providerSpec:
    apiVersion: cloudcredential.openshift.io/v1
    kind: AzureProviderSpec
    roleBindings:
{roles}
    permissions:
{permissions}
"""


def _builtin(root: str, title: str) -> str:
    for body in builtin_roles.resources().values():
        if _title(body) == title:
            return f"{root}{body['id']}"
    raise ValueError(f"the simulator has no role {title!r}")


def _title(body: Json) -> str:
    return str((body.get("properties") or {}).get("roleName", ""))
