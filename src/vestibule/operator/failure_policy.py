"""A registration while nobody answers: no stricter than the one that is there. Pure.

``failurePolicy: Fail`` for a webhook that does not answer stops pods from being created. What is registered
with ``Fail`` stays so, since it was proven once and its owner wants pods to wait; what is registered with
``Ignore`` becomes ``Fail`` only when the webhook is proven.
"""

from __future__ import annotations

from typing import Any, Final, NamedTuple

Object = dict[str, Any]
WAITS: Final = "failurePolicy stays Ignore until it answers"


class GatedConfigurations(NamedTuple):
    """What to apply now."""

    registration: Object
    back: bool
    """Whether it is held back from what was asked for."""


def held(wanted: Object, live: Object) -> GatedConfigurations:
    """The wanted registration, each webhook of it with ``Ignore`` that is not live with ``Fail``."""
    strict = {
        one.get("name") for one in live.get("webhooks") or () if one.get("failurePolicy", "Fail") == "Fail"
    }
    hooks = [
        one if one.get("name") in strict else {**one, "failurePolicy": "Ignore"}
        for one in wanted.get("webhooks") or ()
    ]
    if hooks == (wanted.get("webhooks") or []):
        return GatedConfigurations(wanted, back=False)
    return GatedConfigurations({**wanted, "webhooks": hooks}, back=True)
