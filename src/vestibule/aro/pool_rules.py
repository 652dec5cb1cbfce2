"""Rules for node pools and external authentication that Azure would enforce much later."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Final

from vestibule.aro import cluster_rules, embedded
from vestibule.aro.embedded import Object
from vestibule.aro.findings import Finding, RuleError, RuleWarning

_NAME: Final = re.compile(r"[a-zA-Z]([-a-zA-Z0-9]{0,13}[a-zA-Z0-9])?")
_VERSION: Final = re.compile(r"\d+\.\d+\.\d+(-[0-9A-Za-z.-]+)?")
_PROPERTIES: Final = "spec.properties"
_MOST: Final = 200
"""Nodes of a pool without a zone."""
_DISK: Final = range(64, 4096)
_CHANGEABLE: Final = (
    "tags",
    "operatorSpec",
    "properties.version",
    "properties.replicas",
    "properties.autoScaling",
    "properties.labels",
    "properties.taints",
    "properties.nodeDrainTimeoutMinutes",
)
_MISSPELT: Final = {
    "autoscaling": "autoScaling",
    "platform.diskSizeGiB": "platform.osDisk.sizeGiB",
    "platform.diskStorageAccountType": "platform.osDisk.diskStorageAccountType",
}


def check(path: str, one: Object) -> Iterator[Finding]:
    """Everything about one pool, by itself."""
    yield from named(path, one)
    yield from _size(path, one)
    where = f"{path}.{_PROPERTIES}"
    version = embedded.value(one, f"{_PROPERTIES}.version.id")
    if isinstance(version, str) and not _VERSION.fullmatch(version):
        yield RuleError(f"{where}.version.id", "Invalid", f"is {version!r}, want X.Y.Z, such as '4.20.8'")
    disk = embedded.value(one, f"{_PROPERTIES}.platform.osDisk.sizeGiB")
    if isinstance(disk, int) and disk not in _DISK:
        yield RuleError(f"{where}.platform.osDisk.sizeGiB", "Invalid", f"is {disk}, want 64 to 4095")
    kind = embedded.value(one, f"{_PROPERTIES}.platform.osDisk.diskType")
    if kind == "Ephemeral" and embedded.value(one, f"{_PROPERTIES}.autoRepair") is not True:
        yield RuleError(f"{where}.autoRepair", "Invalid", "is not true, which Ephemeral disks want")
    if isinstance(embedded.value(one, f"{_PROPERTIES}.labels"), Mapping):
        yield RuleError(f"{where}.labels", "Invalid", "is an object, want a list of key and value")
    for wrong, right in _MISSPELT.items():
        if embedded.value(one, f"{_PROPERTIES}.{wrong}") is not None:
            yield RuleWarning(
                f"{embedded.identity(one)}: properties.{wrong} is not a field; use properties.{right}"
            )
    if embedded.value(one, "spec.location") is None:
        yield RuleWarning(f"{embedded.identity(one)}: spec.location is missing; the API wants it")


def changed(path: str, one: Object, before: Object) -> Iterator[Finding]:
    """What changed and cannot."""
    yield from cluster_rules.immutable(path, one, before, _CHANGEABLE)


def _size(path: str, one: Object) -> Iterator[Finding]:
    where = f"{path}.{_PROPERTIES}"
    scaling = embedded.value(one, f"{_PROPERTIES}.autoScaling")
    replicas = embedded.value(one, f"{_PROPERTIES}.replicas")
    zoned = embedded.value(one, f"{_PROPERTIES}.platform.availabilityZone") is not None
    if scaling and replicas is not None:
        yield RuleError(f"{where}.replicas", "Forbidden", "stands beside autoScaling, want one of the two")
    numbers = {"replicas": replicas}
    if isinstance(scaling, Mapping):
        numbers |= {f"autoScaling.{field}": scaling.get(field) for field in ("min", "max")}
        low, high = scaling.get("min"), scaling.get("max")
        if isinstance(low, int) and isinstance(high, int) and high < low:
            yield RuleError(f"{where}.autoScaling.max", "Invalid", f"is {high}, less than min {low}")
    for field, number in numbers.items():
        if not isinstance(number, int):
            continue
        if number < 0:
            yield RuleError(f"{where}.{field}", "Invalid", f"is {number}, want 0 or more")
        elif number > _MOST and not zoned:
            text = f"is {number}, and a pool without availabilityZone takes {_MOST}"
            yield RuleError(f"{where}.{field}", "Invalid", text)


def named(path: str, one: Object) -> Iterator[Finding]:
    """The name in Azure, which is short."""
    name = embedded.azure_name(one)
    if name and not _NAME.fullmatch(name):
        field = "spec.azureName" if embedded.value(one, "spec.azureName") else "metadata.name"
        text = f"is {name!r}, want a letter, then up to 14 letters, digits and '-', no '-' at the end"
        yield RuleError(f"{path}.{field}", "Invalid", text)


def external_auth(path: str, one: Object) -> Iterator[Finding]:
    """How people sign in."""
    yield from named(path, one)
    where = f"{path}.{_PROPERTIES}"
    audiences = embedded.value(one, f"{_PROPERTIES}.issuer.audiences")
    if isinstance(audiences, list) and not 1 <= len(audiences) <= 10:
        yield RuleError(f"{where}.issuer.audiences", "Invalid", f"has {len(audiences)} entries, want 1 to 10")
    clients = embedded.value(one, f"{_PROPERTIES}.clients")
    if not isinstance(clients, list):
        return
    if len(clients) > 20:
        yield RuleError(f"{where}.clients", "Invalid", f"has {len(clients)} entries, want at most 20")
    for index, client in enumerate(clients):
        found = embedded.value(client, "clientId")
        if isinstance(audiences, list) and found is not None and found not in audiences:
            text = f"is {found!r}, which is not among issuer.audiences"
            yield RuleError(f"{where}.clients[{index}].clientId", "Invalid", text)
