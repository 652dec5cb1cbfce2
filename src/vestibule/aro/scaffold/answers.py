"""What the parts of a recipe share: the answers, names made of them, and the shape of a resource."""

from __future__ import annotations

from typing import NamedTuple
from uuid import NAMESPACE_URL, uuid5

from vestibule.aro import names
from vestibule.aro.embedded import Object


class ScaffoldAnswers(NamedTuple):
    """What only the user knows."""

    name: str
    subscription: str
    location: str
    namespace: str = "default"
    version: str = "4.20"
    pool_version: str = "4.20.8"
    replicas: int = 2
    vm_size: str = "Standard_D8s_v3"
    vault: str = ""
    """In Azure; empty: made from the name."""
    identity: str = ""
    """An AzureClusterIdentity; empty: credentials are those of Azure Service Operator."""
    key_version: str = ""
    """Needed where there is no identity."""
    credential: str = ""
    """The Secret of Azure Service Operator's credentials; empty: its default."""
    issuer: str = ""
    """How people sign in; empty: not at all."""
    audience: str = ""
    private: bool = False
    """Whether the API server is reached from inside only."""


def vault(answers: ScaffoldAnswers) -> str:
    """Names of vaults are unique in all of Azure, so it is derived from name and subscription."""
    if answers.vault:
        return answers.vault
    return f"{answers.name}-kv-{uuid5(NAMESPACE_URL, f'{answers.subscription}/{answers.name}').hex[:4]}"


def resource(a: ScaffoldAnswers, api_version: str, kind: str, name: str, spec: Object) -> Object:
    meta: Object = {"name": name}
    if a.credential:
        meta["annotations"] = {names.CREDENTIAL_FROM: a.credential}
    return {"apiVersion": api_version, "kind": kind, "metadata": meta, "spec": spec}


def named(a: ScaffoldAnswers, suffix: str) -> str:
    return f"{a.name}-{suffix}"


def config(a: ScaffoldAnswers, identity: str) -> str:
    return named(a, f"{identity}-ids")


def identity(a: ScaffoldAnswers, one: str) -> Object:
    return {"group": "managedidentity.azure.com", "kind": "UserAssignedIdentity", "name": named(a, one)}
