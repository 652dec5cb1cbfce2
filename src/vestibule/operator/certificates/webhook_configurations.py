"""The registrations through which the API server calls us, and the CAs it trusts for that.

Any of them may be missing: it is looked for again, and gets its caBundle when it is there. One that cannot be
read counts as trusting nobody, so that no new CA signs before it is known to be trusted everywhere.
"""

from __future__ import annotations

import copy
import logging
import time
from collections.abc import Callable, Sequence
from typing import Any, Final, NamedTuple

import msgspec

from vestibule import errors
from vestibule.api.gvk import Kind
from vestibule.kube import api_requests, client
from vestibule.kube.client import Client
from vestibule.manifests import kinds
from vestibule.pki import tls_secret

logger = logging.getLogger(__name__)

RESTORE_SECONDS: Final = 10.0
"""How long one is missing before it is created again: whoever removes the installation removes it first, and
us within seconds."""
_MANAGER: Final = "vestibule-certificates"
Json = dict[str, Any]


class WebhookConfigurationName(NamedTuple):
    """Which registration."""

    kind: Kind
    name: str

    def __str__(self) -> str:
        return f"{self.kind.kind} {self.name}"


class ObservedConfigurations(NamedTuple):
    """One look at all of them."""

    found: dict[WebhookConfigurationName, Json]
    """Those that exist."""
    problems: tuple[str, ...] = ()
    """Why others could not be read."""


class WebhookConfigurations:
    """Ours, by name."""

    def __init__(
        self,
        client: Client,
        names: Sequence[WebhookConfigurationName],
        rendered: Callable[[], Sequence[Json]] = tuple,
        *,
        owner: str = "",
        restore_seconds: float = RESTORE_SECONDS,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        """``rendered`` are created again when they are missing, as objects of the ClusterRole ``owner``, with
        which they go; they may change."""
        self._client = client
        self._names = tuple(names)
        self._rendered = rendered
        self._owner = owner
        self._restore_seconds = restore_seconds
        self._clock = clock
        self._missing: dict[WebhookConfigurationName, float] = {}

    async def look(self) -> ObservedConfigurations:
        """Read all of them; never raises for one."""
        found: dict[WebhookConfigurationName, Json] = {}
        problems: list[str] = []
        missing: set[WebhookConfigurationName] = set()
        for name in self._names:
            try:
                one = await self._read(name)
            except errors.VestibuleError as error:
                problems.append(str(error))
                continue
            if one is None:
                missing.add(name)
            else:
                found[name] = one
        for name in sorted(missing - self._missing.keys(), key=str):
            logger.info("registration does not exist", extra={"registration": str(name)})
        self._missing = {name: self._missing.get(name, self._clock()) for name in missing}
        return ObservedConfigurations(found, tuple(problems))

    async def restore(self, seen: ObservedConfigurations, authorities: Sequence[str]) -> list[str]:
        """Create again, as it was rendered, what is missing for long enough; why it could not be, one by
        one."""
        now = self._clock()
        late = {name for name, since in self._missing.items() if now - since >= self._restore_seconds}
        late -= seen.found.keys()
        if not late:
            return []
        try:
            rendered = {
                WebhookConfigurationName(kinds.of(one), str(one["metadata"]["name"])): one
                for one in self._rendered()
            }
        except errors.VestibuleError as error:
            return [str(error)]
        problems = []
        for name in sorted(late & rendered.keys(), key=str):
            try:
                await self._create(name, rendered[name], tls_secret.encoded("".join(authorities)))
            except errors.VestibuleError as error:
                problems.append(str(error))
                continue
            logger.warning("registration restored", extra={"registration": str(name)})
        return problems

    async def _create(self, name: WebhookConfigurationName, rendered: Json, bundle: str) -> None:
        owner = await self._send(
            api_requests.get(kinds.CLUSTER_ROLE, "", self._owner), f"reading {self._owner}"
        )
        made = copy.deepcopy(rendered)
        made["metadata"]["ownerReferences"] = [
            {
                "apiVersion": kinds.CLUSTER_ROLE.api_version,
                "kind": kinds.CLUSTER_ROLE.kind,
                "name": self._owner,
                "uid": owner["metadata"]["uid"],
            }
        ]
        for hook in made["webhooks"]:
            hook["clientConfig"]["caBundle"] = bundle
        # created by apply, which may be granted by name
        call = api_requests.apply(name.kind, made, field_manager=_MANAGER, force=False)
        await self._send(call, f"creating {name}")

    async def _send(self, call: api_requests.ApiRequest, what: str) -> Json:
        answer = await self._client.send(call)
        if answer.status not in (200, 201):
            client.raise_for(answer, what)
        found: Json = msgspec.json.decode(answer.body)
        return found

    async def publish(self, seen: ObservedConfigurations, authorities: Sequence[str]) -> list[str]:
        """Let the API server trust these CAs wherever it does not; why it could not be told, one by one."""
        problems = []
        bundle = tls_secret.encoded("".join(authorities))
        for name, one in seen.found.items():
            operations = _operations(one, bundle)
            if not operations:
                continue
            try:
                answer = await self._client.send(
                    api_requests.json_patch(name.kind, "", name.name, operations)
                )
                if answer.status != 200:
                    client.raise_for(answer, f"writing {name}")
            except errors.VestibuleError as error:
                problems.append(str(error))
                continue
            extra = {"registration": str(name), "authorities": len(authorities)}
            logger.info("trust published", extra=extra)
        return problems

    async def _read(self, name: WebhookConfigurationName) -> Json | None:
        answer = await self._client.send(api_requests.get(name.kind, "", name.name))
        if answer.status == 404:
            return None
        if answer.status != 200:
            client.raise_for(answer, f"reading {name}")
        found: Json = msgspec.json.decode(answer.body)
        return found


def _operations(registration: Json, bundle: str) -> list[Json]:
    """The patch that makes every webhook trust the bundle, if nobody changed the registration meanwhile."""
    stale = [
        index
        for index, hook in enumerate(registration.get("webhooks") or ())
        if hook["clientConfig"].get("caBundle") != bundle
    ]
    if not stale:
        return []
    version = registration["metadata"]["resourceVersion"]
    return [
        {"op": "test", "path": "/metadata/resourceVersion", "value": version},
        *(
            {"op": "add", "path": f"/webhooks/{index}/clientConfig/caBundle", "value": bundle}
            for index in stale
        ),
    ]
