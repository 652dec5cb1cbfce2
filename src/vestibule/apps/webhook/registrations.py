"""The registrations through which the API server calls us, and the CAs it trusts for that.

Any of them may be missing: it is looked for again, and gets its caBundle when it is there. One that cannot be
read counts as trusting nobody, so that no new CA signs before it is known to be trusted everywhere.
"""

from __future__ import annotations

import logging
from collections.abc import Sequence
from typing import Any, Final, NamedTuple

import msgspec

from vestibule import errors
from vestibule.adapters.cluster import calls, client
from vestibule.adapters.cluster.client import Client
from vestibule.core.kinds.gvk import Kind
from vestibule.core.pki import keeping

logger = logging.getLogger(__name__)

_GROUP: Final = "admissionregistration.k8s.io"
MUTATING: Final = Kind(
    _GROUP, "v1", "MutatingWebhookConfiguration", "mutatingwebhookconfigurations", namespaced=False
)
VALIDATING: Final = Kind(
    _GROUP, "v1", "ValidatingWebhookConfiguration", "validatingwebhookconfigurations", namespaced=False
)
Json = dict[str, Any]


class Name(NamedTuple):
    """Which registration."""

    kind: Kind
    name: str

    def __str__(self) -> str:
        return f"{self.kind.kind} {self.name}"


class Seen(NamedTuple):
    """One look at all of them."""

    found: dict[Name, Json]
    """Those that exist."""
    problems: tuple[str, ...] = ()
    """Why others could not be read."""

    @property
    def trusted(self) -> list[str]:
        """The CAs that every webhook of every registration trusts; none when one could not be read."""
        return [] if self.problems else keeping.trusted(self.found.values())


class Registrations:
    """Ours, by name."""

    def __init__(self, client: Client, names: Sequence[Name]) -> None:
        self._client = client
        self._names = tuple(names)
        self._missing: frozenset[Name] = frozenset()

    async def look(self) -> Seen:
        """Read all of them; never raises for one."""
        found: dict[Name, Json] = {}
        problems: list[str] = []
        missing: set[Name] = set()
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
        for name in sorted(missing - self._missing, key=str):
            logger.info("registration does not exist yet", extra={"registration": str(name)})
        self._missing = frozenset(missing)
        return Seen(found, tuple(problems))

    async def publish(self, seen: Seen, authorities: Sequence[str]) -> list[str]:
        """Let the API server trust these CAs wherever it does not; why it could not be told, one by one."""
        problems = []
        bundle = keeping.encoded("".join(authorities))
        for name, one in seen.found.items():
            operations = _operations(one, bundle)
            if not operations:
                continue
            try:
                answer = await self._client.send(calls.json_patch(name.kind, "", name.name, operations))
                if answer.status != 200:
                    client.raise_for(answer, f"writing {name}")
            except errors.VestibuleError as error:
                problems.append(str(error))
                continue
            extra = {"registration": str(name), "authorities": len(authorities)}
            logger.info("trust published", extra=extra)
        return problems

    async def _read(self, name: Name) -> Json | None:
        answer = await self._client.send(calls.get(name.kind, "", name.name))
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
