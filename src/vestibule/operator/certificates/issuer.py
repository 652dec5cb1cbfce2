"""Our own certificate: kept in two Secrets, served by replicas that mount one of them, trusted through the
caBundles of our registrations.

One process leads, decides (``pki/rotation``) and writes: first the Secret with the CA's key, then the
one that replicas mount, then the caBundles; and a new CA signs only after every caBundle has been seen to
hold it. The CA before stays trusted, so a replica may see its new certificate minutes later. A Secret or a
registration that is missing is restored. Everything is written by name.
"""

from __future__ import annotations

import asyncio
import datetime
import logging
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final, NamedTuple

import msgspec

from vestibule import errors, gostrconv
from vestibule.api.settings import schema
from vestibule.kube import api_requests, client
from vestibule.kube.client import Client
from vestibule.kube.lease import Elector
from vestibule.manifests import certificates_workload, kinds
from vestibule.operator.certificates import webhook_configurations
from vestibule.operator.certificates.webhook_configurations import WebhookConfigurations
from vestibule.pki import rotation, tls_secret

logger = logging.getLogger(__name__)
MANAGER: Final = "vestibule-certificates"
_LOOK_SECONDS: Final = 2.0
Json = dict[str, Any]


def _now() -> datetime.datetime:
    return datetime.datetime.now(datetime.UTC)


class CertificateRequest(NamedTuple):
    """What is issued, and where it is kept."""

    namespace: str
    serving: str
    """The Secret that replicas mount."""
    signing: str
    """The one with the CA's key."""
    names: tuple[str, ...]
    lives: rotation.CertificateLifetimes


class CertificateIssuer:
    """Keeps the certificate while it leads."""

    def __init__(
        self,
        client: Client,
        elector: Elector,
        asked: CertificateRequest,
        registered: WebhookConfigurations,
        *,
        now: Callable[[], datetime.datetime] = _now,
        look_seconds: float = _LOOK_SECONDS,
    ) -> None:
        self._client = client
        self._elector = elector
        self._asked = asked
        self._registered = registered
        self._now = now
        self._look_seconds = look_seconds
        self.error = ""
        """Why the last look failed; empty when it did not."""
        self.unkept = ""
        """Why some registrations could not be read or written; empty when all could."""

    async def run(self) -> None:
        """Stand for election, and keep the certificate while we lead; for ever."""
        async with asyncio.TaskGroup() as group:
            group.create_task(self._elector.run(), name="election")
            group.create_task(self._look_for_ever(), name="certificate")

    def problem(self) -> str:
        """What keeps the certificate from being kept; empty when nothing does, or when another one leads."""
        return self.error or self.unkept

    async def _look_for_ever(self) -> None:
        while True:
            try:
                if self._elector.leading:
                    await self._look()
                self.error = ""
            except errors.VestibuleError as error:
                if str(error) != self.error:
                    logger.warning("certificate not kept", extra={"error": str(error)})
                self.error = str(error)
            await asyncio.sleep(self._look_seconds)

    async def _look(self) -> None:
        asked = self._asked
        signing, serving = await self._read(asked.signing), await self._read(asked.serving)
        seen = await self._registered.look()
        wanted = tls_secret.next_stored(
            (signing or {}).get("data"),
            (serving or {}).get("data"),
            seen.found.values(),
            asked.names,
            self._now(),
            asked.lives,
            unread=bool(seen.problems),
        )
        # the CA's key first: what is served must never be without who signed it
        await self._write(asked.signing, signing, tls_secret.signing_data(wanted))
        await self._write(asked.serving, serving, tls_secret.serving_data(wanted))
        problems = [*seen.problems, *await self._registered.publish(seen, wanted.bundle)]
        if not seen.problems:
            problems += await self._registered.restore(seen, wanted.bundle)
        self._report(problems)

    def _report(self, problems: Sequence[str]) -> None:
        """Say once what keeps registrations from trusting us; the others are kept meanwhile."""
        text = "; ".join(problems)
        if text and text != self.unkept:
            logger.warning("registration not kept", extra={"error": text})
        self.unkept = text

    async def _read(self, name: str) -> Json | None:
        answer = await self._client.send(api_requests.get(kinds.SECRET, self._asked.namespace, name))
        if answer.status == 404:
            return None
        if answer.status != 200:
            client.raise_for(answer, f"reading Secret {name}")
        found: Json = msgspec.json.decode(answer.body)
        return found

    async def _write(self, name: str, live: Json | None, data: Mapping[str, str]) -> None:
        """A Secret that holds this and nothing else; one that is missing is created by apply, which may be
        granted by name."""
        if live is not None and live.get("data") == data:
            return
        if not self._elector.leading:  # leadership may have ended since it was checked
            raise errors.Unavailable("leadership was lost before the Secret was written")
        if live is not None:
            call = api_requests.replace(kinds.SECRET, {**live, "data": dict(data)})
        else:
            meta = {"name": name, "namespace": self._asked.namespace}
            thing = {"apiVersion": "v1", "kind": "Secret", "metadata": meta, "data": dict(data)}
            call = api_requests.apply(kinds.SECRET, thing, field_manager=MANAGER, force=False)
        answer = await self._client.send(call)
        if answer.status not in (200, 201):
            client.raise_for(answer, f"writing Secret {name}")
        logger.info("Secret written", extra={"secret": name, "restored": live is None})


def issuer(
    client: Client,
    settings: schema.Settings,
    rendered: Callable[[], Sequence[Json]],
    identity: str,
    *,
    now: Callable[[], datetime.datetime] = _now,
    look_seconds: float = _LOOK_SECONDS,
    restore_seconds: float = webhook_configurations.RESTORE_SECONDS,
) -> CertificateIssuer:
    """The issuer that the settings ask for; ``rendered`` gives the registrations that are restored."""
    wanted, install = settings.self_certificate, settings.install
    namespace = install.namespace
    owner = wanted.webhook_configuration or install.name
    asked = CertificateRequest(
        namespace,
        wanted.secret,
        certificates_workload.signing_secret(owner),
        wanted.names or (f"{owner}.{namespace}.svc",),
        rotation.CertificateLifetimes(
            _span(wanted.authority_life), _span(wanted.leaf_life), _span(wanted.overlap)
        ),
    )
    registered = WebhookConfigurations(
        client, _registrations(settings), rendered, owner=owner, restore_seconds=restore_seconds
    )
    elector = Elector(client, namespace, wanted.lease or install.name, identity)
    return CertificateIssuer(client, elector, asked, registered, now=now, look_seconds=look_seconds)


def _registrations(settings: schema.Settings) -> list[webhook_configurations.WebhookConfigurationName]:
    """Every registration that the settings name."""
    wanted = settings.self_certificate
    names = [
        webhook_configurations.WebhookConfigurationName(
            kinds.MUTATING, wanted.webhook_configuration or settings.install.name
        ),
        webhook_configurations.WebhookConfigurationName(kinds.MUTATING, wanted.sandbox_configuration),
        webhook_configurations.WebhookConfigurationName(kinds.VALIDATING, wanted.validating_configuration),
    ]
    return [one for one in names if one.name]


def _span(duration: str) -> datetime.timedelta:
    return datetime.timedelta(seconds=gostrconv.duration(duration) or 0)
