"""Clients of the real SDKs for a simulator; closed by whoever made them."""

from __future__ import annotations

import contextlib
import uuid
from collections.abc import Iterator
from typing import Any, NamedTuple

import pytest
from azure.core.exceptions import HttpResponseError
from azure.mgmt.authorization import AuthorizationManagementClient
from azure.mgmt.msi import ManagedServiceIdentityClient
from azure.mgmt.resource.resources import ResourceManagementClient
from azure.mgmt.storage import StorageManagementClient

from tests.azure.simulator import Simulated


class Clients(NamedTuple):
    """One of each; untyped, since tests send what no type would let through."""

    groups: Any
    storage: Any
    identities: Any
    roles: Any


@contextlib.contextmanager
def clients(simulator: Simulated, credential: Any = None, **more: Any) -> Iterator[Clients]:
    """All of them, as the operator or as somebody else; without retries unless asked for."""
    options = simulator.options(**{"retry_total": 0, **more})
    who, subscription = credential or simulator.credential(), simulator.settings.subscription
    with (
        ResourceManagementClient(who, subscription, **options) as groups,
        StorageManagementClient(who, subscription, **options) as storage,
        ManagedServiceIdentityClient(who, subscription, **options) as identities,
        AuthorizationManagementClient(who, subscription, **options) as roles,
    ):
        yield Clients(groups, storage, identities, roles)


@contextlib.contextmanager
def refused(status: int, code: str) -> Iterator[None]:
    """The block ends in this refusal."""
    with pytest.raises(HttpResponseError) as caught:
        yield
    found = getattr(caught.value, "error", None)
    message = str(getattr(found, "code", None) or getattr(caught.value, "error_code", None) or "")
    assert (caught.value.status_code, message.rpartition(".")[2]) == (status, code)


ACCOUNT = {
    "kind": "StorageV2",
    "sku": {"name": "Standard_LRS"},
    "location": "eastus",
    "properties": {"allowBlobPublicAccess": True},
}


def guid() -> str:
    return str(uuid.uuid4())


def role(title: str, *actions: str, scope: str) -> dict[str, Any]:
    """The body of a custom role."""
    return {
        "properties": {
            "roleName": title,
            "type": "CustomRole",
            "permissions": [{"actions": list(actions)}],
            "assignableScopes": [scope],
        }
    }
