"""The kubeconfig of a cluster: from where Azure Service Operator writes it to where Cluster API looks.

It is copied when it stands elsewhere, never weakened: without an authority in it, TLS is verified with those
of the system. Its client certificate decides when it must be renewed.
"""

from __future__ import annotations

import base64
import binascii
import datetime
from collections.abc import Mapping
from typing import Final, NamedTuple

from vestibule import errors
from vestibule.api import conditions, stored_kubeconfig
from vestibule.api.conditions import Condition
from vestibule.api.stored_kubeconfig import StoredKubeconfig
from vestibule.aro import embedded, lifecycle, names, ownership
from vestibule.aro.embedded import Object
from vestibule.aro.ports import ClusterReader, MergePatch, ObjectRef
from vestibule.pki import certificate_authority

KEY: Final = "value"
_SOON: Final = 15 * 60.0
"""Seconds before its end at which a kubeconfig should have been replaced."""
_RETRY: Final = 10.0
_DAY: Final = 24 * 3600.0
_SHARE: Final = 6
"""The last part of its life in which a certificate should have been replaced: four hours of a day."""
_CREDENTIALS: Final = "spec.operatorSpec.secrets"


class KubeconfigLocation(NamedTuple):
    """Where a kubeconfig stands."""

    secret: str
    key: str


def target(cluster: str) -> KubeconfigLocation:
    """Where Cluster API looks for it."""
    return KubeconfigLocation(f"{cluster}-kubeconfig", KEY)


def declared(hcp: Object, cluster: str) -> KubeconfigLocation:
    """Where Azure Service Operator is told to write it."""
    secrets = embedded.value(hcp, _CREDENTIALS) or {}
    for name in ("adminCredentials", "userCredentials"):
        found = secrets.get(name) if isinstance(secrets, Mapping) else None
        if isinstance(found, Mapping) and found.get("name"):
            return KubeconfigLocation(str(found["name"]), str(found.get("key") or KEY))
    return target(cluster)


def with_credentials(hcp: Object, cluster: str) -> Object:
    """The cluster with a place for its kubeconfig, if it names none."""
    secrets = embedded.value(hcp, _CREDENTIALS) or {}
    if "adminCredentials" in secrets or "userCredentials" in secrets:
        return hcp
    place = target(cluster)
    wanted = {"name": place.secret, "key": place.key}
    return embedded.with_value(hcp, f"{_CREDENTIALS}.adminCredentials", wanted)


class KubeconfigPlan(NamedTuple):
    """What is to be done about a kubeconfig."""

    there: bool
    """Whether Cluster API will find one."""
    secrets: tuple[Object, ...] = ()
    changes: tuple[MergePatch, ...] = ()
    after: float | None = None
    """Seconds until it should be looked at again."""
    problem: str = ""
    until: datetime.datetime | None = None
    """When its client certificate ends; None: it has none, or one that cannot be read."""
    condition: Condition | None = None
    """What is told about its end."""
    foreign: tuple[str, ...] = ()
    """Secrets that stand where we would write, and are not ours."""


def plan_kubeconfig(
    obj: Object, hcp: Object, live: Object | None, cluster: str, reader: ClusterReader
) -> KubeconfigPlan:
    """Looks at the kubeconfig of a cluster; ``obj`` is its AROControlPlane, ``live`` the cluster as it is."""
    source, goal = declared(hcp, cluster), target(cluster)
    found = _secret(obj, source.secret, reader)
    raw = _data(found, source.key)
    if found is None or not raw:
        return KubeconfigPlan(there=False)
    if not (_of_cluster(found, hcp) or ownership.controlled(obj, found)):
        text = (
            f"Secret {source.secret} was not written for HcpOpenShiftCluster {hcp['metadata']['name']} (it "
            "is not among its owners): it is not read; choose another name, or remove it"
        )
        return KubeconfigPlan(there=False, problem=text, foreign=(text,))
    try:
        parsed = reader.parsed(raw)
    except ValueError as error:
        return KubeconfigPlan(there=False, problem=f"Secret {source.secret}, key {source.key}: {error}")
    try:
        stored = stored_kubeconfig.read(parsed, f"Secret {source.secret}, key {source.key}")
    except errors.InvalidInput as error:
        # it is not copied either: whoever uses the copy may do what we refuse
        return KubeconfigPlan(there=False, problem=str(error))
    secrets: list[Object] = []
    changes: list[MergePatch] = []
    if source == goal:
        changes += _marked(found, cluster, reader)
    else:
        before = _secret(obj, goal.secret, reader)
        if before is not None and not ownership.controlled(obj, before):
            text = _foreign(goal.secret)
            return KubeconfigPlan(there=False, problem=text, foreign=(text,))
        secrets.append(_copied(obj, goal, raw, cluster, before, reader))
    foreign: tuple[str, ...] = ()
    if stored.authority:
        trusted = base64.b64encode(stored.authority.encode()).decode()
        name = f"{cluster}-ca"
        before = _secret(obj, name, reader)
        if before is None or ownership.controlled(obj, before):
            secrets.append(_ca_secret(obj, name, cluster, trusted, before))
        else:
            foreign = (_foreign(name),)
    dates = _certificate(stored)
    condition, asking, soon = _ending(dates, live, reader)
    return KubeconfigPlan(
        there=True,
        secrets=tuple(secrets),
        changes=(*changes, *asking),
        after=min(filter(None, (_renewal(found, reader), soon)), default=None),
        until=dates.until if dates is not None else None,
        condition=condition,
        foreign=foreign,
    )


def _of_cluster(secret: Object, hcp: Object) -> bool:
    """Whether Azure Service Operator wrote a Secret for this cluster: it names the cluster as its owner."""
    for one in ownership.references(secret):
        group = str(one.get("apiVersion") or "").rpartition("/")[0]
        if (group, one.get("kind"), one.get("name")) == (names.OPENSHIFT, names.HCP, hcp["metadata"]["name"]):
            return True
    return False


def _foreign(name: str) -> str:
    return f"Secret {name} exists and was not created for this AROControlPlane: it is not overwritten"


def _certificate(stored: StoredKubeconfig) -> certificate_authority.Validity | None:
    """When the client certificate of the current user counts."""
    try:
        return certificate_authority.dates(stored.certificate)
    except ValueError:
        return None


def _ending(
    dates: certificate_authority.Validity | None, live: Object | None, reader: ClusterReader
) -> tuple[Condition | None, tuple[MergePatch, ...], float | None]:
    """What is told about the end of a certificate, how a new one is asked for, and when to look again.

    Azure Service Operator looks at a cluster when its policy goes to ``skip`` or back, and at no other
    annotation; so it goes there, and comes back as after a pause.
    """
    if dates is None:
        return None, (), None
    end = _moment(dates.until)
    margin = max(_SOON, (dates.until - dates.since).total_seconds() / _SHARE)
    left = (dates.until - reader.now).total_seconds() - margin
    if left > 0:
        return conditions.yes(names.KUBECONFIG_READY, "Valid"), (), left if left < _DAY else None
    over = dates.until <= reader.now
    reason, verb = ("Expired", "ended") if over else ("Expiring", "ends")
    text = f"the client certificate of the kubeconfig {verb} at {end}; a new one was asked for"
    told = conditions.no(names.KUBECONFIG_READY, reason, text)
    annotations = lifecycle.annotations_of(live or {})
    held = annotations.get(names.RECONCILE_POLICY)
    if live is None or held == names.SKIP or annotations.get(names.KUBECONFIG_ASKED) == end:
        return told, (), _RETRY
    said = {
        names.KUBECONFIG_ASKED: end,
        names.RECONCILE_POLICY: names.SKIP,
        names.PREVIOUS_POLICY: held or "",
    }
    return told, (ownership.change(live, {"metadata": {"annotations": said}}),), _RETRY


def _secret(obj: Object, name: str, reader: ClusterReader) -> Object | None:
    return reader.get(ObjectRef("", "Secret", lifecycle.namespace(obj), name, "v1"))


def _data(secret: Object | None, key: str) -> bytes:
    text = embedded.value(secret, "data") or {}
    try:
        return base64.b64decode(str(text.get(key) or ""), validate=True)
    except binascii.Error:
        return b""


def _marked(secret: Object, cluster: str, reader: ClusterReader) -> list[MergePatch]:
    """Azure Service Operator's own Secret is where Cluster API looks: the label is added, and the time.
    Its type cannot be changed, and its content is left to its owner."""
    annotations = lifecycle.annotations_of(secret)
    fresh = names.KUBECONFIG_UPDATED in annotations and annotations.get(names.KUBECONFIG_REFRESH) != "true"
    labelled = lifecycle.labels_of(secret).get(names.CLUSTER_NAME) == cluster
    if fresh and labelled:
        return []
    said: Object = {names.KUBECONFIG_UPDATED: _moment(reader.now), names.KUBECONFIG_REFRESH: None}
    patch = {"metadata": {"labels": {names.CLUSTER_NAME: cluster}, "annotations": said}}
    return [ownership.change({"apiVersion": "v1", "kind": "Secret", **secret}, patch)]


def _copied(
    obj: Object,
    goal: KubeconfigLocation,
    raw: bytes,
    cluster: str,
    before: Object | None,
    reader: ClusterReader,
) -> Object:
    """A copy of ours, written anew only when the content changed."""
    since = lifecycle.annotations_of(before or {}).get(names.KUBECONFIG_UPDATED)
    same = _data(before, goal.key) == raw
    updated = since if same and since else _moment(reader.now)
    data = {goal.key: base64.b64encode(raw).decode()}
    made = _made(obj, goal.secret, cluster, data, before)
    made["metadata"]["annotations"] = {names.KUBECONFIG_UPDATED: updated}
    return made


def _ca_secret(obj: Object, name: str, cluster: str, trusted: str, before: Object | None) -> Object:
    """Cluster API expects a key beside the certificate; nobody but Azure has it."""
    placeholder = base64.b64encode(b"placeholder").decode()
    return _made(obj, name, cluster, {"tls.crt": trusted, "tls.key": placeholder}, before)


def _made(obj: Object, name: str, cluster: str, data: Object, before: Object | None) -> Object:
    """With the uid of the Secret that was looked at: the API server refuses it for any other."""
    meta: Object = {
        "name": name,
        "namespace": lifecycle.namespace(obj),
        "labels": {names.CLUSTER_NAME: cluster},
        "ownerReferences": [ownership.owner_reference(obj)],
    }
    if before is not None:
        meta["uid"] = before["metadata"]["uid"]
    return {"apiVersion": "v1", "kind": "Secret", "type": names.SECRET_TYPE, "metadata": meta, "data": data}


def _renewal(secret: Object, reader: ClusterReader) -> float | None:
    """When to look again, by the end that is written on the Secret."""
    text = lifecycle.annotations_of(secret).get(names.TOKEN_EXPIRES)
    try:
        end = datetime.datetime.fromisoformat(str(text))
    except ValueError:
        return None
    if end.tzinfo is None:
        end = end.replace(tzinfo=datetime.UTC)
    left = (end - reader.now).total_seconds() - _SOON
    if left <= 0:
        return _RETRY
    return left if left < _DAY else None


def _moment(now: datetime.datetime) -> str:
    return now.astimezone(datetime.UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
