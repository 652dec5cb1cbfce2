"""Whether an object in the cluster is as we want it. Pure.

The API server fills in defaults and drops what is empty, so we ask whether all that is wanted is there. What
we wanted once and do not any more is told by a digest of what was applied last, kept on the object.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from typing import Any, Final

import msgspec

from vestibule.api import quantity

Object = dict[str, Any]
OWNER: Final = "vestibule.dev/owner"
"""Label: the object that ours was made for."""
APPLIED: Final = "vestibule.dev/applied"
"""Annotation: digest of what was applied last."""


def marked(wanted: Object, owner: str) -> Object:
    """The object as it is applied: with its owner and its digest."""
    meta = wanted["metadata"]
    labels = {**meta.get("labels", {}), OWNER: owner}
    owned = {**wanted, "metadata": {**meta, "labels": labels}}
    digest = hashlib.sha256(msgspec.json.encode(owned, order="sorted")).hexdigest()[:16]
    annotations = {**meta.get("annotations", {}), APPLIED: digest}
    return {**owned, "metadata": {**owned["metadata"], "annotations": annotations}}


def digest(obj: Object) -> str:
    """Of what was applied; empty when we never did."""
    return str((obj["metadata"].get("annotations") or {}).get(APPLIED, ""))


def ours(live: Object, owner: str, manager: str) -> bool:
    """Whether we made the object for this owner.

    The label alone does not count: who copies an object copies its labels. The API server says who wrote
    the label.
    """
    meta = live["metadata"]
    if (meta.get("labels") or {}).get(OWNER) != owner:
        return False
    for entry in meta.get("managedFields") or ():
        if entry.get("manager") == manager and entry.get("operation") == "Apply":
            labels = ((entry.get("fieldsV1") or {}).get("f:metadata") or {}).get("f:labels") or {}
            return f"f:{OWNER}" in labels
    return False


def first(wanted: Object, live: Object) -> str:
    """Where the object differs from what is wanted; empty when it does not."""
    if digest(wanted) != digest(live):
        return f"metadata.annotations[{APPLIED}]"
    return next(_differences(wanted, live, ""), "")


def _differences(wanted: Any, live: Any, at: str) -> Iterator[str]:
    if isinstance(wanted, dict) and isinstance(live, dict):
        for key, value in wanted.items():
            where = f"{at}.{key}" if at else str(key)
            if key not in live:
                if value not in (None, False, 0, "", [], {}):
                    yield where
                continue
            yield from _differences(value, live[key], where)
    elif isinstance(wanted, list) and isinstance(live, list):
        if len(wanted) != len(live):
            yield at
            return
        for number, (one, other) in enumerate(zip(wanted, live, strict=True)):
            yield from _differences(one, other, f"{at}[{number}]")
    elif wanted != live and not _same_amount(wanted, live, at):
        yield at


def _same_amount(wanted: Any, live: Any, at: str) -> bool:
    """The API server writes quantities its own way."""
    if not (isinstance(wanted, str) and isinstance(live, str)):
        return False
    if not any(part in at for part in (".requests.", ".limits.", ".sizeLimit")):
        return False
    amount = quantity.value(wanted)
    return amount is not None and amount == quantity.value(live)
