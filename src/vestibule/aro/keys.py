"""The key with which a cluster's etcd is encrypted: which it is, and which version of it counts.

With an identity the version is found in the vault, the key made when there is none, and written into the
cluster. Without one, nobody but the user can know it. The fields moved between API versions: what the version
2024-06-10 had elsewhere is read there and only there.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, Final, NamedTuple

from vestibule.api import conditions
from vestibule.api.conditions import Condition
from vestibule.aro import embedded, lifecycle, names
from vestibule.aro.embedded import Object
from vestibule.aro.ports import ClusterReader, KeyQuestion, ObjectRef

KMS: Final = "spec.properties.etcd.dataEncryption.customerManaged.kms"
ACTIVE_KEY: Final = f"{KMS}.activeKey"
VERSION: Final = f"{ACTIVE_KEY}.version"
MANUAL: Final = (
    "identityRef not set - encryption key must be manually created and specified in HcpOpenShiftCluster"
)
ENVIRONMENTS: Final = ("", "AzurePublicCloud", "AzureChinaCloud", "AzureUSGovernmentCloud")
VAULT_SECONDS: Final = 30.0
"""Until the next look at a vault that is not ready, should no watch tell of it."""
_OLD: Final = "20240610"
_VAULT: Final = re.compile(r"[A-Za-z][A-Za-z0-9-]{1,22}[A-Za-z0-9]\Z")
_KEY: Final = re.compile(r"[A-Za-z0-9-]{1,127}\Z")
_SUBSCRIPTION: Final = re.compile(r"[A-Za-z0-9-]{1,64}\Z")
_GROUP: Final = re.compile(r"[A-Za-z0-9._()-]{1,90}\Z")


class KeyRequest(NamedTuple):
    """What a cluster says about its key."""

    vault: str
    """Its name in Azure; empty when none is named."""
    name: str
    version: str
    """Empty when the user leaves it open."""
    active: bool
    """Whether there is an ``activeKey`` at all."""


def wish(hcp: Mapping[str, Any]) -> KeyRequest | None:
    """None when the cluster does not bring a key of its own."""
    kms = embedded.value(hcp, KMS)
    if not isinstance(kms, Mapping):
        return None
    active = kms.get("activeKey")
    key: Mapping[str, Any] = active if isinstance(active, Mapping) else {}
    old = is_old(hcp)
    vault = kms.get("vaultName") or key.get("vaultName") or ""
    version = key.get("version") or (kms.get("keyVersion") if old else "") or ""
    return KeyRequest(str(vault), str(key.get("name") or names.DEFAULT_KEY), str(version), bool(key))


def is_old(hcp: Mapping[str, Any]) -> bool:
    """Whether a cluster is written in the API version that had ``keyVersion`` beside ``activeKey``."""
    return _OLD in embedded.of(hcp).version


def unspecified(said: KeyRequest) -> Condition | None:
    """Without an identity the user must name the version; what is missing."""
    if not said.active:
        return conditions.no(
            names.KEY_READY,
            "ActiveKeyMissing",
            f"identityRef is not set, so {ACTIVE_KEY} must name a key that exists, and its version",
        )
    if not said.version:
        return conditions.no(
            names.KEY_READY,
            "KeyVersionMissing",
            f"identityRef is not set, so {VERSION} must be set to a version of a key that exists: create the "
            "key in the vault and write its version there, or set identityRef",
        )
    return None


class KeyLookup(NamedTuple):
    """What came of looking for a key."""

    condition: Condition
    version: str = ""
    """Empty: not known yet."""
    error: bool = False
    """The user must change something."""


def find_version(
    obj: Object, said: KeyRequest, infrastructure: Object | None, identity: ObjectRef, reader: ClusterReader
) -> KeyLookup:
    """The current version of the wished key, through its vault. Raises as the reader does."""
    if not said.vault:
        return _wrong(f"{KMS}.vaultName is missing: name the vault that holds the key")
    strange = _strange(said.vault, said.name) or environment_problem(obj)
    if strange:
        return _wrong(strange)
    vault = _declared(said.vault, infrastructure)
    if vault is None:
        return _wrong(
            f"no Vault with the Azure name {said.vault!r} is among the resources of the AROCluster: "
            "declare it there"
        )
    live = reader.get(
        ObjectRef(
            names.VAULT_GROUP,
            names.VAULT,
            lifecycle.namespace(obj),
            vault["metadata"]["name"],
            embedded.of(vault).version,
        )
    )
    arm_id = str(embedded.value(live, "status.id") or "")
    if live is None or not _listed_ready(vault, infrastructure) or not arm_id:
        return KeyLookup(
            conditions.no(names.KEY_READY, "WaitingForVault", "Waiting for KeyVault to be created")
        )
    subscription, group = _parts(arm_id)
    subscription = str(embedded.value(obj, "spec.subscriptionID") or subscription)
    if not _SUBSCRIPTION.match(subscription):
        return _wrong(f"spec.subscriptionID is {subscription!r}, want letters, digits and '-'")
    if not _GROUP.match(group):
        return _wrong(f"Vault {said.vault!r}: its resource group {group!r} is none of Azure's names")
    question = KeyQuestion(
        subscription,
        group,
        said.vault,
        said.name,
        identity,
        str(embedded.value(obj, "spec.azureEnvironment") or ""),
    )
    version = reader.key_version(question)
    return KeyLookup(
        conditions.yes(
            names.KEY_READY,
            "KeyReady",
            f"Encryption key '{said.name}' version '{version}' ready in vault '{said.vault}'",
        ),
        version,
    )


def environment_problem(obj: Mapping[str, Any]) -> str:
    """What is wrong with the Azure that an AROControlPlane names; empty when nothing is. No file is one."""
    found = embedded.value(obj, "spec.azureEnvironment")
    if str(found or "") in ENVIRONMENTS:
        return ""
    return f"spec.azureEnvironment is {found!r}, want one of {', '.join(ENVIRONMENTS[1:])}"


def _strange(vault: str, key: str) -> str:
    """What is wrong with names that go into addresses to which a login is sent; empty when nothing is."""
    if not _VAULT.match(vault):
        return f"{KMS}.vaultName is {vault!r}, want 3 to 24 letters, digits and '-'"
    if not _KEY.match(key):
        return f"{ACTIVE_KEY}.name is {key!r}, want up to 127 letters, digits and '-'"
    return ""


def _wrong(text: str) -> KeyLookup:
    return KeyLookup(conditions.no(names.KEY_READY, "WaitingForVault", text), error=True)


def _declared(azure_name: str, infrastructure: Object | None) -> Object | None:
    for one in embedded.resources(infrastructure or {}):
        group, _, kind = embedded.of(one)
        if (group, kind, embedded.azure_name(one)) == (names.VAULT_GROUP, names.VAULT, azure_name):
            return one
    return None


def _listed_ready(vault: Object, infrastructure: Object | None) -> bool:
    identity = embedded.identity(vault)
    for one in embedded.value(infrastructure, "status.resources") or ():
        found = one.get("resource") or {}
        if (found.get("group"), found.get("kind"), found.get("name")) == identity:
            return one.get("ready") is True
    return False


def _parts(arm_id: str) -> tuple[str, str]:
    """Subscription and resource group of an ARM id."""
    parts = arm_id.split("/")
    lowered = [part.lower() for part in parts]

    def after(word: str) -> str:
        return parts[lowered.index(word) + 1] if word in lowered[:-1] else ""

    return after("subscriptions"), after("resourcegroups")
