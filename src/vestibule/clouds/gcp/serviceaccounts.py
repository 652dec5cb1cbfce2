"""Service accounts and the custom roles of a project."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from typing import Any, NamedTuple
from urllib.parse import quote

from vestibule.clouds.gcp.rest import GcpCallError, RestClient


class GcpServiceAccount(NamedTuple):
    """A service account."""

    email: str
    display: str = ""
    description: str = ""

    @property
    def id(self) -> str:
        """What it was created with: the e-mail up to the sign."""
        return self.email.partition("@")[0]


class GcpCustomRole(NamedTuple):
    """A custom role."""

    id: str
    title: str = ""
    description: str = ""
    permissions: tuple[str, ...] = ()
    deleted: bool = False


class ServiceAccounts:
    """The service accounts of a project, and its custom roles."""

    def __init__(self, rest: RestClient, endpoint: str, project: str) -> None:
        self._rest = rest
        self._base = f"{endpoint}/v1/projects/{quote(project, safe='')}"

    def listed(self) -> tuple[GcpServiceAccount, ...]:
        """Every service account."""
        url = f"{self._base}/serviceAccounts"
        return tuple(
            map(_account, self._rest.pages(url, "accounts", "service accounts", {"pageSize": "100"}))
        )

    def create(self, identifier: str, display: str, description: str) -> str:
        """Create one; its e-mail."""
        about = {"displayName": display, "description": description}
        what, body = f"service account {identifier}", {"accountId": identifier, "serviceAccount": about}
        try:
            return str(self._rest.call("POST", f"{self._base}/serviceAccounts", what, body)["email"])
        except GcpCallError as fault:
            if not (fault.repeated and fault.status == 409):
                raise
            # the first request succeeded after all
            found = next((one for one in self.listed() if one.id == identifier), None)
            if found is None or (found.display, found.description) != (display, description):
                raise
            return found.email

    def delete(self, email: str) -> None:
        """Delete one."""
        self._rest.maybe("DELETE", self._account(email), f"service account {email}")

    def policy(self, email: str) -> dict[str, Any]:
        """Who may act as an account."""
        query = {"options.requestedPolicyVersion": "3"}
        return self._rest.call(
            "POST", f"{self._account(email)}:getIamPolicy", f"policy of {email}", {}, query
        )

    def change_policy(self, email: str, alter: Callable[[dict[str, Any]], bool]) -> None:
        """Change who may act as an account; ``alter`` says whether it did."""
        url, what = f"{self._account(email)}:setIamPolicy", f"policy of {email}"
        self._rest.change(
            lambda: self.policy(email),
            alter,
            lambda policy: self._rest.call("POST", url, what, {"policy": policy}),
        )

    def role(self, identifier: str) -> GcpCustomRole | None:
        """A custom role; a deleted one says so."""
        found = self._rest.maybe("GET", self._role(identifier), f"role {identifier}")
        return None if found is None else _role(found, identifier)

    def create_role(
        self, identifier: str, title: str, description: str, permissions: Collection[str]
    ) -> None:
        """Create a custom role."""
        role = {
            "title": title,
            "description": description,
            "includedPermissions": list(permissions),
            "stage": "GA",
        }
        body = {"roleId": identifier, "role": role}
        try:
            self._rest.call("POST", f"{self._base}/roles", f"role {identifier}", body)
        except GcpCallError as fault:
            if not (fault.repeated and fault.status == 409):
                raise

    def undelete_role(self, identifier: str) -> None:
        """Take back a deletion."""
        try:
            self._rest.call("POST", f"{self._role(identifier)}:undelete", f"role {identifier}", {})
        except GcpCallError as fault:
            now = self.role(identifier) if fault.repeated else None
            if now is None or now.deleted:
                raise

    def permit(self, identifier: str, permissions: Collection[str]) -> None:
        """Add to what a custom role holds; nothing is taken away."""
        url, what = self._role(identifier), f"role {identifier}"

        def alter(role: dict[str, Any]) -> bool:
            held = list(role.get("includedPermissions", ()))
            more = [one for one in permissions if one not in held]
            role["includedPermissions"] = held + more
            return bool(more)

        def write(role: dict[str, Any]) -> object:
            body = {"includedPermissions": role["includedPermissions"], "etag": role.get("etag", "")}
            return self._rest.call("PATCH", url, what, body, {"updateMask": "includedPermissions"})

        self._rest.change(lambda: self._rest.call("GET", url, what), alter, write)

    def delete_role(self, identifier: str) -> None:
        """Delete a custom role; it can be taken back for a week."""
        try:
            self._rest.maybe("DELETE", self._role(identifier), f"role {identifier}")
        except GcpCallError as fault:
            now = self.role(identifier) if fault.repeated else None
            if now is None or not now.deleted:
                raise

    def _account(self, email: str) -> str:
        return f"{self._base}/serviceAccounts/{quote(email, safe='@')}"

    def _role(self, identifier: str) -> str:
        return f"{self._base}/roles/{quote(identifier, safe='')}"


def _account(found: Mapping[str, Any]) -> GcpServiceAccount:
    return GcpServiceAccount(
        str(found["email"]), str(found.get("displayName", "")), str(found.get("description", ""))
    )


def _role(found: Mapping[str, Any], identifier: str) -> GcpCustomRole:
    return GcpCustomRole(
        identifier,
        str(found.get("title", "")),
        str(found.get("description", "")),
        tuple(map(str, found.get("includedPermissions", ()))),
        bool(found.get("deleted")),
    )
