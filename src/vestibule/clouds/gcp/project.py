"""One project: its number, its policy, and what is in it. Reads give None for what does not exist.

Policies are asked for in version 3, the only one with conditions: writing back an older one would lose them.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from typing import Any
from urllib.parse import quote

from vestibule import errors
from vestibule.clouds.gcp import login
from vestibule.clouds.gcp.buckets import GcsBuckets
from vestibule.clouds.gcp.endpoints import UNIVERSE, GcpEndpoints
from vestibule.clouds.gcp.pools import WorkloadIdentityPools
from vestibule.clouds.gcp.rest import RestClient
from vestibule.clouds.gcp.serviceaccounts import ServiceAccounts


class Project:
    """Google Cloud API calls of one project."""

    def __init__(
        self,
        name: str,
        where: GcpEndpoints,
        *,
        universe: str = UNIVERSE,
        pause: Callable[[float], None] = time.sleep,
    ) -> None:
        """Raises MissingExtra; InvalidInput, Forbidden when there is no login."""
        credentials = login.credentials()
        self.name = name
        self._rest = RestClient(credentials, pause=pause)
        self._url = f"{where.projects}/v1/projects/{quote(name, safe='')}"
        self._policy = threading.Lock()
        self.pools = WorkloadIdentityPools(self._rest, where.iam, name)
        self.accounts = ServiceAccounts(self._rest, where.iam, name)
        self.buckets = GcsBuckets(self._rest, where.storage, name, credentials, universe)

    def number(self) -> str:
        """The number of the project, which principals are named by."""
        found = self._rest.maybe("GET", self._url, f"project {self.name}")
        if found is None:
            raise errors.NotFound(f"project {self.name} does not exist, or the login may not see it")
        return str(found["projectNumber"])

    def policy(self) -> dict[str, Any]:
        """Who may do what in the project."""
        body = {"options": {"requestedPolicyVersion": 3}}
        return self._rest.call("POST", f"{self._url}:getIamPolicy", f"policy of {self.name}", body)

    def change_policy(self, alter: Callable[[dict[str, Any]], bool]) -> None:
        """Change who may do what in the project; ``alter`` says whether it did. One at a time: it is one
        document, and we should not be our own competitor."""
        url, what = f"{self._url}:setIamPolicy", f"policy of {self.name}"
        with self._policy:
            self._rest.change(
                self.policy, alter, lambda policy: self._rest.call("POST", url, what, {"policy": policy})
            )
