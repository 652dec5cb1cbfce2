"""What the author of an ARO object must be allowed to do for each resource that it carries.

The operator applies embedded resources with its own rights, and Azure Service Operator with its own in Azure:
so nobody gets more through an ARO object than they could create themselves. Asked is about entries that are
new or changed; what stands there was asked about when it was written.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final, NamedTuple

import msgspec

from vestibule.api.aso import PermittedKinds
from vestibule.api.gvk import Kind
from vestibule.aro import embedded, lifecycle, names
from vestibule.aro.embedded import Object
from vestibule.aro.findings import RuleError

REVIEW: Final = Kind(
    "authorization.k8s.io", "v1", "SubjectAccessReview", "subjectaccessreviews", namespaced=False
)


class RequestUser(msgspec.Struct, frozen=True):
    """Who sends a request, as the API server says."""

    username: str = ""
    uid: str = ""
    groups: tuple[str, ...] = ()
    extra: dict[str, list[str]] = {}


class RequiredAccess(NamedTuple):
    """Something that must be allowed."""

    verb: str
    group: str
    plural: str
    name: str = ""

    def __str__(self) -> str:
        named = f" {self.name}" if self.name else ""
        return f"{self.verb} {self.plural}.{self.group}{named}"


def needed(obj: Object, old: Object | None, permitted: PermittedKinds) -> dict[RequiredAccess, list[str]]:
    """What the author of an object needs, and the places for which. Entries that are refused anyway need
    nothing."""
    known = {_canonical(one) for one in embedded.listed(old or {})}
    found: dict[RequiredAccess, list[str]] = {}
    where = lifecycle.namespace(obj)
    for index, entry in enumerate(embedded.listed(obj)):
        if not isinstance(entry, Mapping) or embedded.faults(entry, "", where, permitted):
            continue
        if _canonical(entry) in known:
            continue
        for access in _accesses(entry, permitted):
            found.setdefault(access, []).append(f"spec.resources[{index}]")
    return found


def _accesses(entry: Mapping[str, Any], permitted: PermittedKinds) -> Iterator[RequiredAccess]:
    what = embedded.of(entry)
    kind = permitted.find(what.group, what.kind)
    if kind is None:
        return
    yield RequiredAccess("create", kind.group, kind.plural)
    if (embedded.value(entry, "metadata.annotations") or {}).get(names.ADOPT) == "true":
        # it may be somebody's: who takes it over changes it, and deletes it in the end
        for verb in ("patch", "delete"):
            yield RequiredAccess(verb, kind.group, kind.plural, entry["metadata"]["name"])


def question(user: RequestUser, access: RequiredAccess, namespace: str) -> Object:
    """The SubjectAccessReview to create."""
    attributes = {
        "namespace": namespace,
        "verb": access.verb,
        "group": access.group,
        "resource": access.plural,
        **({"name": access.name} if access.name else {}),
    }
    return {
        "apiVersion": REVIEW.api_version,
        "kind": REVIEW.kind,
        "metadata": {},
        "spec": {
            "user": user.username,
            "uid": user.uid,
            "groups": list(user.groups),
            "extra": user.extra,
            "resourceAttributes": attributes,
        },
    }


def denied(
    user: RequestUser, access: RequiredAccess, namespace: str, places: list[str]
) -> Iterator[RuleError]:
    """What is said where it is not allowed."""
    for place in places:
        text = (
            f"user {user.username!r} may not {access} in namespace {namespace!r}, and so may not embed it: "
            "ask for that right"
        )
        yield RuleError(place, "Forbidden", text)


def _canonical(entry: object) -> bytes:
    return msgspec.json.encode(entry, order="sorted")
