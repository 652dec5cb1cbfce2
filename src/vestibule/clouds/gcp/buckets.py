"""Buckets: their labels, who may read them, what is in them. Names are global: who owns one, counts."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple
from urllib.parse import quote

from vestibule.clouds.gcp.rest import GcpCallError, RestClient
from vestibule.clouds.objectstore.gcs import Gcs


class GcsBucket(NamedTuple):
    """A bucket."""

    name: str
    labels: Mapping[str, str] = {}
    project: str = ""
    """Number of the project that it is in; empty: we may not look, so it is not ours."""


class GcsBuckets:
    """The buckets of a project."""

    def __init__(
        self, rest: RestClient, endpoint: str, project: str, credentials: Any, universe: str
    ) -> None:
        self._rest, self._endpoint, self._project = rest, endpoint, project
        self._credentials, self._universe = credentials, universe
        self._all = f"{endpoint}/storage/v1/b"

    def bucket(self, name: str) -> GcsBucket | None:
        """A bucket of any owner."""
        try:
            found = self._rest.maybe("GET", self._bucket(name), f"bucket {name}")
        except GcpCallError as fault:
            if fault.status == 403 and "does not have" in str(fault):  # owned by another project, or missing
                return GcsBucket(name)
            raise
        if found is None:
            return None
        return GcsBucket(name, dict(found.get("labels") or {}), str(found.get("projectNumber", "")))

    def create(self, name: str, region: str, labels: Mapping[str, str]) -> None:
        """Create one in which policies alone say who may do what."""
        body = {
            "name": name,
            "location": region,
            "labels": dict(labels),
            "iamConfiguration": {"uniformBucketLevelAccess": {"enabled": True}},
        }
        try:
            self._rest.call("POST", self._all, f"bucket {name}", body, {"project": self._project})
        except GcpCallError as fault:
            found = self.bucket(name) if fault.repeated and fault.status == 409 else None
            if found is None or found.labels != dict(labels):
                raise

    def policy(self, name: str) -> dict[str, Any]:
        """Who may do what with it."""
        query = {"optionsRequestedPolicyVersion": "3"}
        return self._rest.call("GET", f"{self._bucket(name)}/iam", f"policy of bucket {name}", None, query)

    def change_policy(self, name: str, alter: Callable[[dict[str, Any]], bool]) -> None:
        """Change who may do what with it; ``alter`` says whether it did."""
        url, what = f"{self._bucket(name)}/iam", f"policy of bucket {name}"
        self._rest.change(
            lambda: self.policy(name), alter, lambda policy: self._rest.call("PUT", url, what, policy)
        )

    def objects(self, name: str) -> list[str]:
        """Every object."""
        url = f"{self._bucket(name)}/o"
        return [str(one["name"]) for one in self._rest.pages(url, "items", f"bucket {name}")]

    def delete_object(self, bucket: str, name: str) -> None:
        """Delete an object."""
        self._rest.maybe("DELETE", f"{self._bucket(bucket)}/o/{quote(name, safe='')}", f"object {name}")

    def delete(self, name: str) -> None:
        """Delete an empty bucket."""
        self._rest.maybe("DELETE", self._bucket(name), f"bucket {name}")

    def store(self, name: str) -> Gcs:
        """The documents in it."""
        from google.cloud import storage

        options = {"api_endpoint": self._endpoint, "universe_domain": self._universe}
        client = storage.Client(project=self._project, credentials=self._credentials, client_options=options)
        return Gcs(name, client=client)

    def _bucket(self, name: str) -> str:
        return f"{self._all}/{quote(name, safe='')}"
