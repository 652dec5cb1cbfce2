"""Workload identity pools and their providers. What is deleted stays for 30 days and can be taken back; its
name is not free meanwhile."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final, NamedTuple
from urllib.parse import quote

from vestibule.clouds.gcp.rest import GcpCallError, RestClient

_DELETED: Final = "DELETED"


class WorkloadIdentityPool(NamedTuple):
    """A pool."""

    name: str
    description: str = ""
    deleted: bool = False
    disabled: bool = False


class PoolProvider(NamedTuple):
    """Whose tokens a pool takes."""

    name: str
    issuer: str = ""
    audiences: tuple[str, ...] = ()
    mapping: Mapping[str, str] = {}
    keys: str = ""
    """An uploaded JWKS; empty: Google reads the issuer."""
    description: str = ""
    deleted: bool = False
    disabled: bool = False


class WorkloadIdentityPools:
    """The pools of a project."""

    def __init__(self, rest: RestClient, endpoint: str, project: str) -> None:
        self._rest, self._base = rest, f"{endpoint}/v1"
        self._all = f"{self._base}/projects/{quote(project, safe='')}/locations/global/workloadIdentityPools"

    def pool(self, name: str) -> WorkloadIdentityPool | None:
        """One pool; a deleted one says so."""
        found = self._rest.maybe("GET", self._pool(name), f"pool {name}")
        if found is None:
            return None
        deleted = found.get("state") == _DELETED
        return WorkloadIdentityPool(
            name, str(found.get("description", "")), deleted, bool(found.get("disabled"))
        )

    def create(self, name: str, description: str) -> None:
        """Create a pool."""
        body = {"displayName": name, "description": description}
        query = {"workloadIdentityPoolId": name}
        try:
            self._done("POST", self._all, f"pool {name}", body, query)
        except GcpCallError as fault:
            self._begun(fault, lambda: self.pool(name), description)

    def undelete(self, name: str) -> None:
        """Take back the deletion of a pool, and of what was in it."""
        self._done("POST", f"{self._pool(name)}:undelete", f"pool {name}", {})

    def delete(self, name: str) -> None:
        """Delete a pool with its providers."""
        try:
            self._done("DELETE", self._pool(name), f"pool {name}")
        except GcpCallError as fault:
            if fault.status == 404:
                return
            now = self.pool(name) if fault.repeated else None
            if now is None or not now.deleted:
                raise

    def providers(self, pool: str) -> dict[str, PoolProvider]:
        """The providers of a pool, deleted ones too; none when there is no pool."""
        url = f"{self._pool(pool)}/providers"
        try:
            listed = self._rest.pages(
                url, "workloadIdentityPoolProviders", f"pool {pool}", {"showDeleted": "true"}
            )
        except GcpCallError as fault:
            if fault.status == 404:
                return {}
            raise
        return {one.name: one for one in map(_provider, listed)}

    def provider(self, pool: str, name: str) -> PoolProvider | None:
        """One provider; a deleted one says so."""
        found = self._rest.maybe("GET", self._provider(pool, name), f"provider {name}")
        return None if found is None else _provider({"name": name, **found})

    def create_provider(self, pool: str, name: str, body: Mapping[str, Any]) -> None:
        """Trust an issuer."""
        query = {"workloadIdentityPoolProviderId": name}
        try:
            self._done("POST", f"{self._pool(pool)}/providers", f"provider {name}", body, query)
        except GcpCallError as fault:
            self._begun(fault, lambda: self.provider(pool, name), str(body["description"]))

    def undelete_provider(self, pool: str, name: str) -> None:
        """Take back the deletion of a provider."""
        self._done("POST", f"{self._provider(pool, name)}:undelete", f"provider {name}", {})

    def patch_provider(self, pool: str, name: str, body: Mapping[str, Any], mask: str) -> None:
        """Change what the mask names."""
        self._done("PATCH", self._provider(pool, name), f"provider {name}", body, {"updateMask": mask})

    def delete_provider(self, pool: str, name: str) -> None:
        """Trust it no longer."""
        try:
            self._done("DELETE", self._provider(pool, name), f"provider {name}")
        except GcpCallError as fault:
            if fault.status == 404:
                return
            now = self.provider(pool, name) if fault.repeated else None
            if now is None or not now.deleted:
                raise

    def _pool(self, name: str) -> str:
        return f"{self._all}/{quote(name, safe='')}"

    def _provider(self, pool: str, name: str) -> str:
        return f"{self._pool(pool)}/providers/{quote(name, safe='')}"

    def _begun(self, fault: GcpCallError, read: Callable[[], Any], description: str) -> None:
        """An object that exists though it was not found: an earlier request succeeded late."""
        found = self._rest.seen(read) if fault.status == 409 else None
        if found is None or found.deleted or found.description != description:
            raise fault

    def _done(
        self,
        method: str,
        url: str,
        what: str,
        body: Mapping[str, Any] | None = None,
        query: Mapping[str, str] | None = None,
    ) -> None:
        self._rest.wait(self._rest.call(method, url, what, body, query), self._base, what)


def _provider(found: Mapping[str, Any]) -> PoolProvider:
    oidc = found.get("oidc") or {}
    return PoolProvider(
        str(found.get("name", "")).rpartition("/")[2],
        str(oidc.get("issuerUri", "")),
        tuple(map(str, oidc.get("allowedAudiences", ()))),
        dict(found.get("attributeMapping") or {}),
        str(oidc.get("jwksJson", "")),
        str(found.get("description", "")),
        found.get("state") == _DELETED,
        bool(found.get("disabled")),
    )
