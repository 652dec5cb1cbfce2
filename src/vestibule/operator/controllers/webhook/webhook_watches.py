"""Everything whose change concerns an installation."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from vestibule.api import gvk
from vestibule.kube import api_requests
from vestibule.manifests import kinds
from vestibule.operator import drift
from vestibule.operator.watches import Watch, Watches

Object = dict[str, Any]


def installations(namespace: str, known: Callable[[], Watches[str]]) -> list[Watch[str]]:
    """All of it; ``known`` is what is heard by then."""
    owned = api_requests.ListScope(selector=drift.OWNER)
    near = api_requests.ListScope(namespace, drift.OWNER)

    def everybody(_: Object) -> Iterable[str]:
        return [str(one["metadata"]["name"]) for one in known().known(gvk.VESTIBULE_WEBHOOK)]

    def behind(obj: Object) -> Iterable[str]:
        service = str((obj["metadata"].get("labels") or {}).get("kubernetes.io/service-name"))
        return [service] if service in everybody(obj) else []

    return [
        Watch(gvk.VESTIBULE_WEBHOOK, lambda obj: (str(obj["metadata"]["name"]),)),
        *(Watch(kind, _owner, near) for kind in kinds.NEAR),
        *(Watch(kind, _owner, near, optional=True) for kind in kinds.CERT_MANAGER),
        *(Watch(kind, _owner, owned) for kind in kinds.RBAC),
        *(
            Watch(kind, _owner, owned, optional=kind in (kinds.POLICY, kinds.POLICY_BINDING))
            for kind in kinds.WIDE
            if kind is not kinds.MUTATING
        ),
        # other identity webhooks are told, too
        Watch(kinds.MUTATING, lambda obj: _owner(obj) or everybody(obj)),
        Watch(kinds.ENDPOINT_SLICE, behind, api_requests.ListScope(namespace, "kubernetes.io/service-name")),
        Watch(gvk.KATA_CONFIG, everybody, optional=True),
        Watch(gvk.OSC_WEBHOOK_CONFIG, everybody, optional=True),
    ]


def _owner(obj: Object) -> Iterable[str]:
    owner = (obj["metadata"].get("labels") or {}).get(drift.OWNER)
    return [str(owner)] if owner else []
