"""Rules for an HcpOpenShiftCluster that Azure would enforce much later."""

from __future__ import annotations

import ipaddress
import re
from collections import Counter
from collections.abc import Iterator, Mapping
from itertools import combinations
from typing import Any, Final

from vestibule.aro import embedded, keys
from vestibule.aro.embedded import Object
from vestibule.aro.findings import Finding, RuleError, RuleWarning

_NAME: Final = re.compile(r"[a-zA-Z]([-a-zA-Z0-9]{0,52}[a-zA-Z0-9])?")
_PREFIX: Final = re.compile(r"[a-z]([-a-z0-9]*[a-z0-9])?")
_VERSION: Final = re.compile(r"\d+\.\d+")
_PROPERTIES: Final = "spec.properties"
_NETWORK: Final = f"{_PROPERTIES}.network"
_OPERATORS: Final = f"{_PROPERTIES}.platform.operatorsAuthentication.userAssignedIdentities"
_CIDRS: Final = {"machineCidr": "10.0.0.0/16", "serviceCidr": "172.30.0.0/16", "podCidr": "10.128.0.0/14"}
"""With Azure's defaults, which count where the user writes none."""
_CHANGEABLE: Final = (
    "tags",
    "operatorSpec",
    "properties.version",
    "properties.api.authorizedCidrs",
    "properties.platform.operatorsAuthentication",
    "properties.autoscaling",
    "properties.imageDigestMirrors",
    "properties.nodeDrainTimeoutMinutes",
    "properties.etcd.dataEncryption.customerManaged.kms.activeKey.version",
)
"""Fields that Azure lets change after creation."""
_NEEDED: Final = (
    "version",
    "platform.subnetReference",
    "platform.vnetIntegrationSubnetReference",
    "platform.networkSecurityGroupReference",
    "platform.operatorsAuthentication",
)


def check(path: str, one: Object) -> Iterator[Finding]:
    """Everything about one cluster, by itself."""
    yield from _names(path, one)
    yield from _cidrs(path, one)
    yield from _identities(path, one)
    yield from _key_fields(one)
    yield from _unwise(one)


def changed(path: str, one: Object, before: Object) -> Iterator[Finding]:
    """What changed and cannot."""
    yield from immutable(path, one, before, _CHANGEABLE)


def immutable(path: str, one: Object, before: Object, changeable: tuple[str, ...]) -> Iterator[Finding]:
    """Fields of the spec that changed, other than these. What is added to a spec that had none is fine where
    Azure filled it in."""
    for field in _differences(before.get("spec"), one.get("spec"), ""):
        if not any(field == free or field.startswith(f"{free}.") for free in changeable):
            old, new = embedded.value(before, f"spec.{field}"), embedded.value(one, f"spec.{field}")
            if old is None:
                continue
            text = f"is {new!r}, was {old!r}: Azure does not change it after creation"
            yield RuleError(f"{path}.spec.{field}", "Forbidden", text)


def _differences(old: Any, new: Any, path: str) -> Iterator[str]:
    if isinstance(old, Mapping) and isinstance(new, Mapping):
        for key in sorted({*old, *new}):
            yield from _differences(old.get(key), new.get(key), f"{path}.{key}" if path else str(key))
    elif old != new:
        yield path


def _names(path: str, one: Object) -> Iterator[Finding]:
    name = embedded.azure_name(one)
    if name and not _NAME.fullmatch(name):
        text = f"is {name!r}, want a letter, then up to 53 letters, digits and '-', no '-' at the end"
        yield RuleError(f"{path}.{_named(one)}", "Invalid", text)
    prefix = embedded.value(one, f"{_PROPERTIES}.dns.baseDomainPrefix")
    if prefix is not None and not (
        isinstance(prefix, str) and len(prefix) <= 15 and _PREFIX.fullmatch(prefix)
    ):
        text = f"is {prefix!r}, want up to 15 of a-z, 0-9 and '-', a letter first and no '-' at the end"
        yield RuleError(f"{path}.{_PROPERTIES}.dns.baseDomainPrefix", "Invalid", text)
    version = embedded.value(one, f"{_PROPERTIES}.version.id")
    if isinstance(version, str) and not _VERSION.fullmatch(version):
        yield RuleError(
            f"{path}.{_PROPERTIES}.version.id", "Invalid", f"is {version!r}, want X.Y, such as '4.20'"
        )


def _named(one: Object) -> str:
    return "spec.azureName" if embedded.value(one, "spec.azureName") else "metadata.name"


def _cidrs(path: str, one: Object) -> Iterator[Finding]:
    found: dict[str, Any] = {}
    for field, default in _CIDRS.items():
        text = embedded.value(one, f"{_NETWORK}.{field}") or default
        try:
            found[field] = ipaddress.ip_network(str(text))
        except ValueError as error:
            wrong = f"is {text!r}, want a CIDR such as {default!r} ({error})"
            yield RuleError(f"{path}.{_NETWORK}.{field}", "Invalid", wrong)
    for (first, one_net), (second, other) in combinations(found.items(), 2):
        if one_net.version == other.version and one_net.overlaps(other):
            text = f"{first} {one_net} and {second} {other} overlap"
            yield RuleError(f"{path}.{_NETWORK}.{second}", "Invalid", text)


def _identities(path: str, one: Object) -> Iterator[Finding]:
    """Every identity of the cluster is used exactly once, and none of the data plane is one of its own."""
    listed = embedded.value(one, "spec.identity.userAssignedIdentities") or []
    operators = embedded.value(one, _OPERATORS) or {}
    if not isinstance(listed, list):
        yield RuleError(f"{path}.spec.identity.userAssignedIdentities", "Invalid", "is no list, want a list")
        return
    if not isinstance(operators, Mapping):
        yield RuleError(f"{path}.{_OPERATORS}", "Invalid", "is no object, want an object")
        return
    own = [key for each in listed if (key := _key(embedded.value(each, "reference")))]
    control = _keys(operators.get("controlPlaneOperatorsReferences"))
    service = _key(operators.get("serviceManagedIdentityReference"))
    data = _keys(operators.get("dataPlaneOperatorsReferences"))
    used = [*control.values(), *([service] if service else [])]
    where = f"{path}.{_OPERATORS}"
    for key, count in Counter([*used, *data.values()]).items():
        if count > 1:
            yield RuleError(where, "Invalid", f"{_shown(key)} is used {count} times, want once")
    if not own or not used:
        return
    for key in own:
        if key in data.values():
            text = f"{_shown(key)} is of the data plane, and must not be an identity of the cluster"
            yield RuleError(f"{path}.spec.identity.userAssignedIdentities", "Invalid", text)
        elif key not in used:
            text = f"{_shown(key)} is not used by any control-plane operator or the service"
            yield RuleError(f"{path}.spec.identity.userAssignedIdentities", "Invalid", text)
    for name, key in control.items():
        if key not in own:
            text = f"{_shown(key)} is not among spec.identity.userAssignedIdentities"
            yield RuleError(f"{where}.controlPlaneOperatorsReferences.{name}", "Invalid", text)


_Key = tuple[str, str]


def _key(reference: object) -> _Key | None:
    """An identity by name or by ARM id."""
    if not isinstance(reference, Mapping):
        return None
    if reference.get("armId"):
        return "armId", str(reference["armId"]).lower()
    return ("name", str(reference["name"])) if reference.get("name") else None


def _keys(references: object) -> dict[str, _Key]:
    if not isinstance(references, Mapping):
        return {}
    return {str(name): key for name, each in references.items() if (key := _key(each))}


def _shown(key: _Key) -> str:
    return f"identity {key[1]}"


def _key_fields(one: Object) -> Iterator[Finding]:
    kms = embedded.value(one, keys.KMS)
    if not isinstance(kms, Mapping):
        return
    old = keys.is_old(one)
    if "keyVersion" in kms and not old:
        yield RuleWarning("kms.keyVersion is not a field; use kms.activeKey.version")
    if embedded.value(kms, "activeKey.vaultName") and not old:
        yield RuleWarning("kms.activeKey.vaultName moved to kms.vaultName")
    if not kms.get("visibility") and not old:
        yield RuleWarning("kms.visibility is missing; the API wants Public or Private")
    known = {"vaultName", "visibility", "activeKey", "keyVersion"}
    for field in sorted(set(kms) - known):
        yield RuleWarning(f"kms.{field} is not a field that we know")


def _unwise(one: Object) -> Iterator[Finding]:
    name = embedded.identity(one)
    if keys.is_old(one):
        yield RuleWarning(
            f"{name}: {embedded.of(one).version} is not served by current Azure Service Operators; "
            "use v1api20260630preview"
        )
    properties = embedded.value(one, _PROPERTIES)
    if isinstance(properties, Mapping) and "platform" in properties:
        for field in _NEEDED:
            if embedded.value(properties, field) is None:
                yield RuleWarning(f"{name}: properties.{field} is missing; the API wants it")
    if embedded.value(one, f"{_PROPERTIES}.imageDigestMirrors"):
        yield RuleWarning(f"{name}: a change of properties.imageDigestMirrors rolls every node")
