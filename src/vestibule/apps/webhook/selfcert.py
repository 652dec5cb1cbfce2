"""Our own certificate: kept in a Secret, renewed by the leader, served by every replica, trusted through
the caBundles of our registrations.

Every replica reads the Secret and lays the pair out as the kubelet would, where the certificate watcher
finds it. The leader alone decides (``core/pki/rotation``) and writes: first the Secret, then the caBundles,
and a new CA signs only after every caBundle has been seen to hold it. Needs no right but get and update of
one Secret and one Lease, and get and patch of the registrations, all by name.
"""

from __future__ import annotations

import asyncio
import contextlib
import datetime
import logging
import os
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, Final

import msgspec

from vestibule import errors
from vestibule.adapters.cluster import calls, client
from vestibule.adapters.cluster.client import Client
from vestibule.adapters.cluster.lease import Elector
from vestibule.apps.webhook import registrations
from vestibule.apps.webhook.registrations import Registrations
from vestibule.core.kinds import config, text
from vestibule.core.kinds.gvk import Kind
from vestibule.core.pki import keeping, rotation
from vestibule.core.pki.leaf import Pair

logger = logging.getLogger(__name__)

SECRET: Final = Kind("", "v1", "Secret", "secrets")
_LOOK_SECONDS: Final = 2.0
Json = dict[str, Any]


def _now() -> datetime.datetime:
    return datetime.datetime.now(datetime.UTC)


class SelfCertificate:
    """One replica's part in keeping the certificate."""

    def __init__(
        self,
        client: Client,
        elector: Elector,
        directory: Path,
        *,
        namespace: str,
        secret: str,
        registrations: Registrations,
        names: Sequence[str],
        lives: rotation.Lives | None = None,
        now: Callable[[], datetime.datetime] = _now,
        look_seconds: float = _LOOK_SECONDS,
    ) -> None:
        self._client = client
        self._elector = elector
        self._directory = directory
        self._namespace = namespace
        self._secret = secret
        self._registrations = registrations
        self._names = tuple(names)
        self._lives = lives or rotation.Lives()
        self._now = now
        self._look_seconds = look_seconds
        self._laid = ""
        self._generation = 0
        self.first = asyncio.Event()
        """Set when a pair lies in the directory."""
        self.error = ""
        """Why the last look failed; empty when it did not."""
        self.unkept = ""
        """Why some registrations could not be read or written; empty when all could."""

    async def run(self) -> None:
        """Stand for election, look, lay out, and lead where we are leader; for ever."""
        async with asyncio.TaskGroup() as group:
            group.create_task(self._elector.run(), name="election")
            group.create_task(self._look_for_ever(), name="certificate")

    async def _look_for_ever(self) -> None:
        while True:
            try:
                await self._look()
                self.error = ""
            except errors.VestibuleError as error:
                if str(error) != self.error:
                    logger.warning("certificate not looked after", extra={"error": str(error)})
                self.error = str(error)
            await asyncio.sleep(self._look_seconds)

    async def _look(self) -> None:
        secret = await self._get(SECRET, self._namespace, self._secret)
        kept = keeping.kept(secret.get("data"))
        if self._elector.leading:
            kept = await self._lead(secret, kept)
        if kept is not None:
            self._lay(kept.leaf)

    async def _lead(self, secret: Json, kept: rotation.Kept | None) -> rotation.Kept:
        seen = await self._registrations.look()
        wanted = rotation.next_state(kept, seen.trusted, self._names, self._now(), self._lives)
        if wanted is not kept:
            if not self._elector.leading:  # the fence: time may have passed since we looked
                raise errors.Unavailable("leadership was lost before the Secret was written")
            await self._send(
                calls.replace(SECRET, {**secret, "data": keeping.data(wanted)}), f"Secret {self._secret}"
            )
            logger.info("certificate renewed", extra={"authorities": len(wanted.bundle)})
        self._tell((*seen.problems, *await self._registrations.publish(seen, wanted.bundle)))
        return wanted

    def _tell(self, problems: Sequence[str]) -> None:
        """Say once what keeps registrations from trusting us; the others are kept meanwhile."""
        text = "; ".join(problems)
        if text and text != self.unkept:
            logger.warning("registration not looked after", extra={"error": text})
        self.unkept = text

    async def _get(self, kind: Kind, namespace: str, name: str) -> Json:
        answer = await self._client.send(calls.get(kind, namespace, name))
        if answer.status == 404:
            raise errors.Unavailable(f"{kind.kind} {name} does not exist; 'vestibule render' prints it")
        if answer.status != 200:
            client.raise_for(answer, f"reading {kind.kind} {name}")
        found: Json = msgspec.json.decode(answer.body)
        return found

    async def _send(self, call: calls.Call, what: str) -> None:
        answer = await self._client.send(call)
        if answer.status not in (200, 201):
            client.raise_for(answer, f"writing {what}")

    def _lay(self, leaf: Pair) -> None:
        """Put the pair where the certificate watcher looks, as the kubelet does: whole, by one rename."""
        text = leaf.certificate + leaf.key
        if text == self._laid:
            return
        self._generation += 1
        home = self._directory / f"..{self._generation}"
        home.mkdir(mode=0o700, parents=True)
        for name, content in (("tls.crt", leaf.certificate), ("tls.key", leaf.key)):
            descriptor = os.open(home / name, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
            with os.fdopen(descriptor, "w") as file:
                file.write(content)
            link = self._directory / name
            if not link.is_symlink():
                link.symlink_to(Path("..data") / name)
        data, fresh = self._directory / "..data", self._directory / "..data_next"
        with contextlib.suppress(FileNotFoundError):
            fresh.unlink()
        fresh.symlink_to(home.name)
        fresh.replace(data)
        self._forget(self._generation - 1)
        self._laid = text
        self.first.set()

    def _forget(self, generation: int) -> None:
        old = self._directory / f"..{generation}"
        for name in ("tls.crt", "tls.key"):
            with contextlib.suppress(FileNotFoundError):
                (old / name).unlink()
        with contextlib.suppress(OSError):
            old.rmdir()


def keeper(
    client: Client,
    settings: config.Settings,
    directory: Path,
    identity: str,
    *,
    now: Callable[[], datetime.datetime] = _now,
    look_seconds: float = _LOOK_SECONDS,
) -> SelfCertificate:
    """The keeper that the settings ask for."""
    wanted = settings.self_certificate
    namespace = settings.install.namespace
    return SelfCertificate(
        client,
        Elector(client, namespace, wanted.lease or settings.install.name, identity),
        directory,
        namespace=namespace,
        secret=wanted.secret,
        registrations=Registrations(client, _registrations(settings)),
        names=wanted.names or (f"{settings.install.name}.{namespace}.svc",),
        lives=rotation.Lives(_span(wanted.authority_life), _span(wanted.leaf_life), _span(wanted.overlap)),
        now=now,
        look_seconds=look_seconds,
    )


def _registrations(settings: config.Settings) -> list[registrations.Name]:
    """Every registration that the settings name."""
    wanted = settings.self_certificate
    mutating, validating = registrations.MUTATING, registrations.VALIDATING
    names = [
        registrations.Name(mutating, wanted.webhook_configuration or settings.install.name),
        registrations.Name(mutating, wanted.sandbox_configuration),
        registrations.Name(validating, wanted.validating_configuration),
    ]
    return [one for one in names if one.name]


def _span(duration: str) -> datetime.timedelta:
    return datetime.timedelta(seconds=text.duration(duration) or 0)
