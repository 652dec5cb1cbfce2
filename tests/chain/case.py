"""What a row of the table is, and the identities that the rows share.

A row says its values twice on purpose: as annotations or labels, and as what the cloud trusts.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping
from typing import Any, NamedTuple, Protocol

from tests.chain.logins import AwsLogin, AzureLogin, GcpLogin, Login

ROLE = "arn:aws:iam::123456789012:role/shop/orders"
POOL = "//iam.googleapis.com/projects/123456789012/locations/global/workloadIdentityPools/acme/providers/rig"
EMAIL = "orders@acme-prod.iam.gserviceaccount.com"
CLIENT, TENANT = "3f0c9d44-8f5e-4a0e-b1a7-6a5b1f8f2d22", "7c1e3d9a-5b64-4a35-9e0d-2f4a0b7f1c11"

AS_AWS = AwsLogin(ROLE)
AS_GCP = GcpLogin(POOL, POOL, account=EMAIL)
AS_AZURE = AzureLogin(CLIENT, TENANT)
EVERYWHERE: tuple[Login, ...] = (AS_AWS, AS_GCP, AS_AZURE)


class Meta(NamedTuple):
    """What is written on an object."""

    annotations: Mapping[str, str] = {}
    labels: Mapping[str, str] = {}


class Place(Protocol):
    """Where a case plays, as far as a case may arrange it."""

    def config_map(self, namespace: str, name: str, data: Mapping[str, str]) -> None:
        """Make a ConfigMap what it should be."""

    def write(self, name: str, content: str) -> None:
        """Write a file where ``{folder}`` in the settings leads."""

    def wait_served(self, namespace: str, variable: str) -> None:
        """Until a pod of the namespace gets a variable."""


class Case(NamedTuple):
    """One pod, and the logins it must be able to make."""

    name: str
    logins: tuple[Login, ...]
    settings: Mapping[str, Any] = {}
    """Sections of the settings file; cases with equal settings share a webhook process, and ``{folder}`` in
    them is a folder of that process."""
    before: Callable[[Place, str], None] | None = None
    """What must be there before the pod comes to the namespace."""
    namespace: Meta = Meta()
    account: Meta = Meta()
    """The ServiceAccount ``app``, which the pod runs as."""
    pod: Meta = Meta()
    spec: Mapping[str, Any] = {}
    """Laid over the pod's spec, which has one container ``app``."""
    inside: tuple[str, ...] = ("app",)
    """Containers in which every login must work."""
    outside: tuple[str, ...] = ()
    """Containers in which none must."""
    partly: Mapping[str, str] = {}
    """Containers in which one login must work, and its SDK."""
    runs: tuple[str, ...] = ()
    """Init containers of the webhook's own that run before all of these; a shell must do for them, and a
    ``gcloud`` that knows two commands."""
    warned: tuple[str, ...] = ()
    """What the author of the pod is told: a text in every warning, and no warning besides."""
    built_in: Mapping[str, str] = {}
    """Variables that the program sets for itself, because it has a path built in."""


def grouped(cases: Iterable[Case]) -> list[Case]:
    """Cases with equal settings after one another, in the order of the first of each group."""
    found: dict[str, list[Case]] = {}
    for case in cases:
        found.setdefault(json.dumps(case.settings, sort_keys=True), []).append(case)
    return [case for group in found.values() for case in group]


def container(name: str, **more: Any) -> dict[str, Any]:
    return {"name": name, "image": name, **more}
