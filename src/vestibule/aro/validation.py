"""What is refused at the door, and what is legal but unwise: all of it at once, each with its place.

Required fields of the embedded kinds themselves are the API server's business once they are applied; what
Azure would refuse an hour later is ours.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from vestibule.aro import cluster_rules, embedded, identities, keys, lifecycle, names, pool_rules
from vestibule.aro.embedded import Object
from vestibule.aro.findings import Finding, Findings, RuleError, RuleWarning
from vestibule.aro.ports import ClusterReader, Listing, NoKind, ObjectRef

_RESERVED: Final = ("microsoft", "windows")


def review(operation: str, obj: Object, old: Object | None, reader: ClusterReader) -> Findings:
    """The rules for one of the three kinds. Raises as the reader does."""
    if operation == "DELETE":
        found = _last_pool(obj, reader) if obj.get("kind") == "AROMachinePool" else iter(())
    else:
        before = old if operation == "UPDATE" else None
        found = _RULES.get(str(obj.get("kind")), _nothing)(obj, before, reader)
    every = list(found)
    return Findings(
        tuple(dict.fromkeys(one for one in every if isinstance(one, RuleError))),
        tuple(dict.fromkeys(one.text for one in every if isinstance(one, RuleWarning))),
    )


def _nothing(obj: Object, old: Object | None, reader: ClusterReader) -> Iterator[Finding]:
    del obj, old, reader
    yield from ()


def _cluster(obj: Object, old: Object | None, reader: ClusterReader) -> Iterator[Finding]:
    del old
    yield from _structure(obj, reader)
    yield from _duplicates(obj)


def _control_plane(obj: Object, old: Object | None, reader: ClusterReader) -> Iterator[Finding]:
    listed = embedded.value(obj, "spec.resources")
    if not listed:
        yield RuleError("spec.resources", "Required", "is empty, want one HcpOpenShiftCluster")
        return
    yield from _identity(obj, reader)
    wrong = list(_structure(obj, reader))
    malformed = [one for one in wrong if one.type != "Forbidden"]
    yield from wrong
    yield from _duplicates(obj)
    name = str(obj["metadata"].get("name") or "")
    for word in _RESERVED:
        if word in name.lower():
            yield RuleError(
                "name.Name", "Invalid", f"is {name!r}, which holds {word!r}: Azure refuses that word"
            )
    strange = keys.environment_problem(obj)
    if strange:
        yield RuleError("spec.azureEnvironment", "Invalid", strange.removeprefix("spec.azureEnvironment "))
    yield from _hosted(obj, old, reader, whole=not malformed)


def _hosted(obj: Object, old: Object | None, reader: ClusterReader, *, whole: bool) -> Iterator[Finding]:
    """The HCP kinds among the resources."""
    clusters = list(_listed(obj, names.HCP))
    if not clusters and whole:
        yield RuleError("spec.resources", "Required", "holds no HcpOpenShiftCluster, want one")
    for path, one in clusters[1:]:
        text = f"is a second HcpOpenShiftCluster ({one['metadata'].get('name')}), want one"
        yield RuleError(path, "Forbidden", text)
    auths = list(_listed(obj, names.EXTERNAL_AUTH))
    for path, _ in auths[1:]:
        yield RuleError(path, "Forbidden", "is a second ExternalAuth: Azure takes one per cluster")
    before = {embedded.identity(one): one for one in embedded.resources(old or {}, reader.permitted)}
    manual = identities.reference(obj) is None
    for path, one in clusters:
        if manual:
            yield from _manual_key(path, one)
        yield from cluster_rules.check(path, one)
        known = before.get(embedded.identity(one))
        if known is not None:
            yield from cluster_rules.changed(path, one, known)
    for path, one in auths:
        yield from pool_rules.external_auth(path, one)


def _manual_key(path: str, hcp: Object) -> Iterator[Finding]:
    said = keys.wish(hcp)
    if said is None:
        return
    why = "spec.identityRef is not set, so nobody but you can know it"
    if not said.active:
        yield RuleError(f"{path}.{keys.ACTIVE_KEY}", "Required", f"is missing, want name and version: {why}")
    elif not said.version:
        yield RuleError(f"{path}.{keys.VERSION}", "Required", f"is missing or empty: {why}")


def _identity(obj: Object, reader: ClusterReader) -> Iterator[Finding]:
    ref = identities.reference(obj)
    if ref is None:
        return
    if not ref.name:
        yield RuleError(
            "spec.identityRef.name", "Invalid", "is empty, want the name of an AzureClusterIdentity"
        )
        return
    kind = embedded.value(obj, "spec.identityRef.kind")
    if kind not in (None, "", "AzureClusterIdentity"):
        yield RuleError("spec.identityRef.kind", "Invalid", f"is {kind!r}, want 'AzureClusterIdentity'")
        return
    try:
        identity = reader.get(ref)
    except NoKind:
        return
    if identity is None:
        return  # it may come later; until then a condition tells
    if not identities.allows(identity, lifecycle.namespace(obj), reader):
        text = f"{ref} does not allow namespace {lifecycle.namespace(obj)!r} (spec.allowedNamespaces)"
        yield RuleError("spec.identityRef", "Forbidden", text)


def _machine_pool(obj: Object, old: Object | None, reader: ClusterReader) -> Iterator[Finding]:
    if not embedded.value(obj, "spec.resources"):
        text = "is empty, want one HcpOpenShiftClustersNodePool"
        yield RuleError("spec.resources", "Required", text)
        return
    wrong = list(_structure(obj, reader))
    yield from wrong
    yield from _duplicates(obj)
    pools = list(_listed(obj, names.NODE_POOL))
    if not pools and all(one.type == "Forbidden" for one in wrong):
        yield RuleError("spec.resources", "Required", "holds no HcpOpenShiftClustersNodePool, want one")
    before = {embedded.identity(one): one for one in embedded.resources(old or {}, reader.permitted)}
    for path, one in pools:
        yield from pool_rules.check(path, one)
        known = before.get(embedded.identity(one))
        if known is not None:
            yield from pool_rules.changed(path, one, known)


def _last_pool(obj: Object, reader: ClusterReader) -> Iterator[Finding]:
    """Azure refuses to delete the last pool of a cluster by itself."""
    cluster = lifecycle.labels_of(obj).get(names.CLUSTER_NAME)
    if not cluster or names.DELETE_FOR_MOVE in lifecycle.annotations_of(obj):
        return
    where = lifecycle.namespace(obj)
    owner = reader.get(ObjectRef(names.CLUSTER_API, "Cluster", where, cluster))
    if owner is None or lifecycle.deleting(owner):
        return
    gvk = embedded.Gvk(names.INFRASTRUCTURE, names.ARO_MACHINE_POOL.version, "AROMachinePool")
    others = [
        one
        for one in reader.list(Listing(gvk, where))
        if lifecycle.labels_of(one).get(names.CLUSTER_NAME) == cluster
        and one["metadata"]["name"] != obj["metadata"]["name"]
        and not lifecycle.deleting(one)
    ]
    if not others:
        yield RuleError(
            "",
            "Forbidden",
            f"AROMachinePool {where}/{obj['metadata']['name']} is the last one of cluster {cluster}, and "
            "Azure keeps at least one: delete the Cluster, or create another pool first",
        )


def _structure(obj: Object, reader: ClusterReader) -> Iterator[RuleError]:
    """Entries that may not be used, whatever they hold."""
    for fault in embedded.malformed(obj, reader.permitted):
        yield RuleError(fault.path, fault.kind, fault.text)
    for index, entry in enumerate(embedded.listed(obj)):
        if isinstance(entry, dict):
            for fault in embedded.surplus(entry, f"spec.resources[{index}]"):
                yield RuleError(fault.path, fault.kind, fault.text)


def _duplicates(obj: Object) -> Iterator[Finding]:
    seen: set[embedded.ResourceIdentity] = set()
    for index, entry in enumerate(embedded.listed(obj)):
        if not isinstance(entry, dict) or not embedded.value(entry, "metadata.name"):
            continue
        identity = embedded.identity(entry)
        if identity in seen:
            yield RuleError(f"spec.resources[{index}]", "Duplicate", f"{identity} is there already")
        seen.add(identity)


def _listed(obj: Object, kind: str) -> Iterator[tuple[str, Object]]:
    """The resources of an HCP kind, with their places."""
    for index, entry in enumerate(embedded.listed(obj)):
        if isinstance(entry, dict) and embedded.is_openshift(entry, kind):
            meta = entry.get("metadata")
            yield f"spec.resources[{index}]", {**entry, "metadata": meta if isinstance(meta, dict) else {}}


_RULES: Final = {
    "AROCluster": _cluster,
    "AROControlPlane": _control_plane,
    "AROMachinePool": _machine_pool,
}
