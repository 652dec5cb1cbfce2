"""Events: what happened to an object, for people. The same one is told once an hour at most.

Its name is made from its content, so that a process that starts again does not tell it again. Nothing depends
on events: one that cannot be written is passed over.
"""

from __future__ import annotations

import datetime
import hashlib
import logging
from collections import OrderedDict
from collections.abc import Callable
from typing import Any, Final, Literal

from vestibule import errors
from vestibule.api.gvk import Kind
from vestibule.kube import api_requests
from vestibule.operator.fenced_client import FencedClient

logger = logging.getLogger(__name__)
EVENT: Final = Kind("events.k8s.io", "v1", "Event", "events")
Object = dict[str, Any]
_KEPT: Final = datetime.timedelta(hours=1)
"""As long as the API server keeps them."""
_REMEMBERED: Final = 1000


def _now() -> datetime.datetime:
    return datetime.datetime.now(datetime.UTC)


class Events:
    """Tells under one name."""

    def __init__(
        self,
        writer: FencedClient,
        controller: str,
        instance: str,
        now: Callable[[], datetime.datetime] = _now,
    ) -> None:
        self._writer = writer
        self._controller = controller
        self._instance = instance
        self._now = now
        self._told: OrderedDict[str, datetime.datetime] = OrderedDict()

    async def tell(
        self,
        about: Object,
        reason: str,
        note: str,
        action: str,
        kind: Literal["Normal", "Warning"] = "Normal",
    ) -> None:
        """Tell it, unless it was told a while ago. Never raises for what the API server says."""
        meta = about["metadata"]
        now = self._now()
        text = "\n".join((str(meta.get("uid")), reason, note))
        name = f"{meta['name'][:200]}.{hashlib.sha256(text.encode()).hexdigest()[:16]}"
        before = self._told.get(name)
        if before is not None and now - before < _KEPT:
            return
        event = {
            "apiVersion": EVENT.api_version,
            "kind": EVENT.kind,
            # events about objects without a namespace live in this one
            "metadata": {"name": name, "namespace": meta.get("namespace") or "default"},
            "eventTime": now.strftime("%Y-%m-%dT%H:%M:%S.%fZ"),
            "type": kind,
            "reason": reason,
            "action": action,
            "note": note[:1024],
            "regarding": {
                "apiVersion": about["apiVersion"],
                "kind": about["kind"],
                "name": meta["name"],
                "uid": meta.get("uid", ""),
                **({"namespace": meta["namespace"]} if meta.get("namespace") else {}),
            },
            "reportingController": self._controller,
            "reportingInstance": self._instance[:128],
        }
        try:
            await self._writer.send(api_requests.create(EVENT, event), EVENT, f"event {name}", 409)
        except errors.VestibuleError as error:
            logger.warning("event not told", extra={"reason": reason, "error": str(error)})
            return
        self._told[name] = now
        while len(self._told) > _REMEMBERED:
            self._told.popitem(last=False)
