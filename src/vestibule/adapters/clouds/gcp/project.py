"""One project: about twenty REST calls over google-auth's session. Reads give None for what does not exist.

Policies are read, changed and written under their etag; who wrote in between makes us begin anew. Throttled
and failed calls are repeated as the server asks.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from typing import Any, Final, NamedTuple
from urllib.parse import quote

from vestibule import errors

_SCOPE: Final = "https://www.googleapis.com/auth/cloud-platform"
_SECONDS: Final = 30.0
_TRIES: Final = 6
_RETRIED: Final = frozenset({429, 500, 502, 503, 504})
POLICY_TRIES: Final = 24
"""Attempts to change a policy while others do, or while a new account is not known everywhere."""


class Endpoints(NamedTuple):
    """Where the services are; by default as the universe says."""

    iam: str
    projects: str
    storage: str


def endpoints(universe: str = "googleapis.com") -> Endpoints:
    """Those of a universe; the usual one when it is empty."""
    domain = universe or "googleapis.com"
    return Endpoints(
        f"https://iam.{domain}", f"https://cloudresourcemanager.{domain}", f"https://storage.{domain}"
    )


class CloudFault(errors.VestibuleError):
    """Google refuses; ``code`` is its status in words, ``status`` that of HTTP."""

    def __init__(self, what: str, code: str, status: int, text: str) -> None:
        self.code, self.status = code, status
        super().__init__(
            f"{what}: {code or status}: {text.splitlines()[0][:300] if text else ''}".rstrip(": ")
        )


class Project:
    """Calls, as whoever runs this: google-auth finds the login where it always does."""

    def __init__(self, name: str, where: Endpoints, *, pause: Callable[[float], None] = time.sleep) -> None:
        try:
            import google.auth
            from google.auth.exceptions import GoogleAuthError
            from google.auth.transport.requests import AuthorizedSession
        except ModuleNotFoundError as error:
            raise errors.MissingExtra("gcp", "gcp") from error
        try:
            credentials, _ = google.auth.default(scopes=[_SCOPE])
        except GoogleAuthError as error:
            raise errors.Forbidden(f"no login to Google Cloud: {error}") from error
        self.name, self._where, self._pause = name, where, pause
        self._session = AuthorizedSession(credentials)  # type: ignore[no-untyped-call]

    # ── the project ─────────────────────────────────────────────────────────────────────────────────────────

    def number(self) -> str:
        """The number of the project, which principals are named by."""
        found = self._get(f"{self._where.projects}/v1/projects/{self.name}", f"project {self.name}")
        if found is None:
            raise errors.NotFound(f"project {self.name} does not exist, or the login may not see it")
        return str(found["projectNumber"])

    def change_project_policy(self, change: Callable[[dict[str, Any]], bool]) -> None:
        """Change who may do what in the project; ``change`` says whether it did."""
        self._change(
            f"{self._where.projects}/v1/projects/{self.name}", f"policy of {self.name}", change, "POST"
        )

    def project_policy(self) -> dict[str, Any]:
        """Who may do what in the project."""
        url = f"{self._where.projects}/v1/projects/{self.name}:getIamPolicy"
        return self._call("POST", url, f"policy of {self.name}", {})

    # ── pools ───────────────────────────────────────────────────────────────────────────────────────────────

    def pool(self, name: str) -> Mapping[str, Any] | None:
        """A workload identity pool; one that was deleted lately says so in ``state``."""
        return self._get(self._pool(name), f"pool {name}")

    def create_pool(self, name: str, description: str) -> None:
        """Create it."""
        url = f"{self._pool('').rstrip('/')}?workloadIdentityPoolId={quote(name)}"
        self._wait(
            self._call("POST", url, f"pool {name}", {"displayName": name[:32], "description": description})
        )

    def undelete_pool(self, name: str) -> None:
        """Take back a deletion."""
        self._wait(self._call("POST", f"{self._pool(name)}:undelete", f"pool {name}", {}))

    def delete_pool(self, name: str) -> None:
        """Delete it; Google keeps the name for 30 days."""
        self._maybe("DELETE", self._pool(name), f"pool {name}")

    def provider(self, pool: str, name: str) -> Mapping[str, Any] | None:
        """A provider of a pool."""
        return self._get(f"{self._pool(pool)}/providers/{quote(name)}", f"provider {name}")

    def create_provider(self, pool: str, name: str, body: Mapping[str, Any]) -> None:
        """Trust an issuer."""
        url = f"{self._pool(pool)}/providers?workloadIdentityPoolProviderId={quote(name)}"
        self._wait(self._call("POST", url, f"provider {name}", body))

    def patch_provider(self, pool: str, name: str, body: Mapping[str, Any], mask: str) -> None:
        """Change some of it."""
        url = f"{self._pool(pool)}/providers/{quote(name)}?updateMask={quote(mask)}"
        self._wait(self._call("PATCH", url, f"provider {name}", body))

    # ── accounts and roles ──────────────────────────────────────────────────────────────────────────────────

    def accounts(self) -> list[Mapping[str, Any]]:
        """Every service account."""
        url = f"{self._where.iam}/v1/projects/{self.name}/serviceAccounts"
        return self._pages(url, "accounts", "service accounts")

    def create_account(self, identifier: str, display: str, description: str) -> str:
        """Create one; its e-mail."""
        url = f"{self._where.iam}/v1/projects/{self.name}/serviceAccounts"
        body = {
            "accountId": identifier,
            "serviceAccount": {"displayName": display, "description": description},
        }
        return str(self._call("POST", url, f"service account {identifier}", body)["email"])

    def delete_account(self, email: str) -> None:
        """Delete one."""
        self._maybe("DELETE", self._account(email), f"service account {email}")

    def account_policy(self, email: str) -> dict[str, Any]:
        """Who may act as an account."""
        return self._call("POST", f"{self._account(email)}:getIamPolicy", f"policy of {email}", {})

    def change_account_policy(self, email: str, change: Callable[[dict[str, Any]], bool]) -> None:
        """Change who may act as an account."""
        self._change(self._account(email), f"policy of {email}", change, "POST")

    def role(self, identifier: str) -> Mapping[str, Any] | None:
        """A custom role of the project."""
        return self._get(self._role(identifier), f"role {identifier}")

    def create_role(self, identifier: str, body: Mapping[str, Any]) -> None:
        """Create a custom role."""
        url = f"{self._where.iam}/v1/projects/{self.name}/roles"
        self._call("POST", url, f"role {identifier}", {"roleId": identifier, "role": dict(body)})

    def undelete_role(self, identifier: str) -> None:
        """Take back a deletion."""
        self._call("POST", f"{self._role(identifier)}:undelete", f"role {identifier}", {})

    def patch_role(self, identifier: str, permissions: list[str]) -> None:
        """Write what a custom role holds."""
        url = f"{self._role(identifier)}?updateMask=includedPermissions"
        self._call("PATCH", url, f"role {identifier}", {"includedPermissions": permissions})

    def delete_role(self, identifier: str) -> None:
        """Delete a custom role."""
        self._maybe("DELETE", self._role(identifier), f"role {identifier}")

    # ── buckets ─────────────────────────────────────────────────────────────────────────────────────────────

    def bucket(self, name: str) -> Mapping[str, Any] | None:
        """A bucket."""
        return self._get(f"{self._where.storage}/storage/v1/b/{quote(name)}", f"bucket {name}")

    def create_bucket(self, name: str, region: str, labels: Mapping[str, str]) -> None:
        """Create it, with access by policy alone."""
        uniform = {"uniformBucketLevelAccess": {"enabled": True}}
        body = {"name": name, "location": region, "labels": dict(labels), "iamConfiguration": uniform}
        self._call(
            "POST", f"{self._where.storage}/storage/v1/b?project={quote(self.name)}", f"bucket {name}", body
        )

    def change_bucket_policy(self, name: str, change: Callable[[dict[str, Any]], bool]) -> None:
        """Change who may read it."""
        self._change(f"{self._where.storage}/storage/v1/b/{quote(name)}/iam", f"bucket {name}", change, "PUT")

    def bucket_policy(self, name: str) -> dict[str, Any]:
        """Who may read it."""
        return self._call("GET", f"{self._where.storage}/storage/v1/b/{quote(name)}/iam", f"bucket {name}")

    def objects(self, name: str) -> list[str]:
        """Every object."""
        url = f"{self._where.storage}/storage/v1/b/{quote(name)}/o"
        return [str(one["name"]) for one in self._pages(url, "items", f"bucket {name}")]

    def delete_object(self, bucket: str, name: str) -> None:
        """Delete one object."""
        url = f"{self._where.storage}/storage/v1/b/{quote(bucket)}/o/{quote(name, safe='')}"
        self._maybe("DELETE", url, f"object {name}")

    def delete_bucket(self, name: str) -> None:
        """Delete an empty bucket."""
        self._maybe("DELETE", f"{self._where.storage}/storage/v1/b/{quote(name)}", f"bucket {name}")

    # ── calls ───────────────────────────────────────────────────────────────────────────────────────────────

    def _parent(self) -> str:
        return f"projects/{self.name}/locations/global"

    def _pool(self, name: str) -> str:
        return f"{self._where.iam}/v1/{self._parent()}/workloadIdentityPools/{quote(name)}"

    def _account(self, email: str) -> str:
        return f"{self._where.iam}/v1/projects/{self.name}/serviceAccounts/{quote(email)}"

    def _role(self, identifier: str) -> str:
        return f"{self._where.iam}/v1/projects/{self.name}/roles/{quote(identifier)}"

    def _get(self, url: str, what: str) -> Mapping[str, Any] | None:
        return self._maybe("GET", url, what)

    def _maybe(self, method: str, url: str, what: str) -> Mapping[str, Any] | None:
        try:
            return self._call(method, url, what)
        except CloudFault as fault:
            if fault.status == 404:
                return None
            raise

    def _pages(self, url: str, field: str, what: str) -> list[Mapping[str, Any]]:
        found: list[Mapping[str, Any]] = []
        token = ""
        while True:
            page = self._call("GET", f"{url}?pageToken={quote(token)}" if token else url, what)
            found += page.get(field, ())
            token = page.get("nextPageToken", "")
            if not token:
                return found

    def _change(self, url: str, what: str, change: Callable[[dict[str, Any]], bool], method: str) -> None:
        """Read, change, write under the etag that was read."""
        by_verb = method == "POST"
        for attempt in range(POLICY_TRIES):
            policy = (
                self._call("POST", f"{url}:getIamPolicy", what, {})
                if by_verb
                else self._call("GET", url, what)
            )
            if not change(policy):
                return
            try:
                if by_verb:
                    self._call("POST", f"{url}:setIamPolicy", what, {"policy": policy})
                else:
                    self._call("PUT", url, what, policy)
            except CloudFault as fault:
                # somebody wrote in between, or a new account is not known everywhere yet
                passing = fault.status in (409, 412) or (
                    fault.status == 400 and "does not exist" in str(fault)
                )
                if not passing or attempt == POLICY_TRIES - 1:
                    raise
            else:
                return
            self._pause(min(10.0, 0.5 * 2**attempt))

    def _wait(self, operation: Mapping[str, Any]) -> None:
        """Until a long operation is done."""
        for _ in range(120):
            if operation.get("done", True) or not operation.get("name"):
                if "error" in operation:
                    said = operation["error"]
                    raise CloudFault("operation", str(said.get("code", "")), 0, str(said.get("message", "")))
                return
            self._pause(1.0)
            operation = self._call("GET", f"{self._where.iam}/v1/{operation['name']}", "operation")
        raise errors.Unavailable(
            "an operation is not done after two minutes; the same command goes on from there"
        )

    def _call(
        self, method: str, url: str, what: str, body: Mapping[str, Any] | None = None
    ) -> dict[str, Any]:
        from google.auth.exceptions import GoogleAuthError
        from requests import RequestException

        for attempt in range(_TRIES):
            try:
                answer: Any = self._session.request(method, url, json=body, timeout=_SECONDS)  # type: ignore[no-untyped-call]
            except GoogleAuthError as error:
                raise errors.Forbidden(f"{what}: the login failed: {str(error)[:300]}") from error
            except RequestException as error:
                if method != "GET" or attempt == _TRIES - 1:
                    raise errors.Unavailable(f"{what}: {type(error).__name__}") from error
                self._pause(0.5 * 2**attempt)
                continue
            if answer.status_code not in _RETRIED or attempt == _TRIES - 1:
                break
            after = answer.headers.get("Retry-After", "")
            self._pause(float(after) if after.isdigit() else 0.5 * 2**attempt)
        if answer.status_code >= 300:
            said = _said(answer)
            raise CloudFault(
                what, str(said.get("status", "")), answer.status_code, str(said.get("message", ""))
            )
        found: dict[str, Any] = answer.json() if answer.content else {}
        return found


def _said(answer: Any) -> Mapping[str, Any]:
    try:
        error = answer.json().get("error", {})
    except ValueError:
        return {}
    return error if isinstance(error, Mapping) else {"message": str(error)}
