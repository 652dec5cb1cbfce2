"""The HTTPS endpoint of the door: its certificate, kept in a Secret by who leads, and its registration.

Every process reads the Secret and serves what it holds. Who leads decides what it should hold
(``pki/rotation``) and writes: the Secret first, then the registration, which trusts every CA in it.
"""

from __future__ import annotations

import asyncio
import datetime
import logging
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final, NamedTuple
from urllib.parse import urlsplit

from vestibule import atomicfiles, errors
from vestibule.api import aso
from vestibule.aro import reviews
from vestibule.httpserver.server import HttpsServer
from vestibule.httpserver.tls import TlsHolder
from vestibule.kube import api_requests, lister
from vestibule.kube.client import Client
from vestibule.manifests import kinds
from vestibule.operator import drift
from vestibule.operator.controllers.aro.validating_webhook import ValidatingWebhook
from vestibule.operator.fenced_client import FencedClient, Leadership
from vestibule.pki import rotation, tls_secret

logger = logging.getLogger(__name__)
Object = dict[str, Any]
_LOOK_SECONDS: Final = 10.0
_FIRST_SECONDS: Final = 0.5
"""Between two looks while there is no certificate yet."""
_IN_FORCE: Final = datetime.timedelta(seconds=2)
"""Until every API server knows a registration that was written."""
MANAGER: Final = "vestibule-operator"


class WebhookAddress(NamedTuple):
    """Where the API server finds us."""

    name: str
    """Of the registration, and the beginning of the Secret's."""
    namespace: str
    address: tuple[str, int]
    """Where we listen."""
    at: str
    """A Service of the namespace, or a whole address (``https://…``)."""

    @property
    def secret(self) -> str:
        """Where the certificate is kept."""
        return f"{self.name}-tls"

    @property
    def names(self) -> tuple[str, ...]:
        """What the certificate is for."""
        host = urlsplit(self.at).hostname if "//" in self.at else None
        return (host,) if host else (f"{self.at}.{self.namespace}.svc",)

    def client(self, bundle: str) -> Object:
        """As registrations say it."""
        trusted = {"caBundle": tls_secret.encoded(bundle)}
        if "//" in self.at:
            return {"url": f"{self.at.rstrip('/')}{reviews.PATH}", **trusted}
        service = {"name": self.at, "namespace": self.namespace, "path": reviews.PATH, "port": 443}
        return {"service": service, **trusted}


def _since(registered: Object | None, wanted: Object) -> str:
    """Since when deletions are asked about, as the registration says; empty where it was not there, or
    another than is wanted: deletions may have passed it. Whom it trusts may change."""
    if registered is None:
        return ""
    lasting = {
        **wanted,
        "webhooks": [
            {key: value for key, value in one.items() if key != "clientConfig"} for one in wanted["webhooks"]
        ],
    }
    if drift.first(lasting, registered):
        return ""
    found = str((registered["metadata"].get("annotations") or {}).get(reviews.SINCE) or "")
    try:
        known = datetime.datetime.fromisoformat(found)
    except ValueError:
        return ""
    return found if known.tzinfo is not None else ""


class WebhookServer:
    """Listens, and keeps what is needed for it."""

    def __init__(
        self,
        client: Client,
        writer: FencedClient,
        leadership: Leadership,
        place: WebhookAddress,
        now: Callable[[], datetime.datetime],
        permitted: aso.PermittedKinds = aso.STANDARD,
    ) -> None:
        self._client = client
        self._writer = writer
        self._leadership = leadership
        self._place = place
        self._now = now
        self._tls = TlsHolder()
        self._served = ""
        self.server = HttpsServer(ValidatingWebhook(client, now, permitted).answer, tls=self._tls, name="aro")
        self.deletions_checked: datetime.datetime | None = None
        """Since when the API server asks before something is deleted; None: not known to do so."""
        self.error = "no certificate yet"
        """Why the last look failed; empty when it did not."""

    def problem(self) -> str:
        """For /readyz: without a certificate nobody can be answered."""
        return "" if self._served else f"the door of ARO objects: {self.error}"

    async def run(self) -> None:
        """For ever; listens from the first certificate on."""
        try:
            while True:
                try:
                    await self._look()
                    self.error = ""
                except errors.VestibuleError as error:
                    if str(error) != self.error:
                        logger.warning("door not looked after", extra={"error": str(error)})
                    self.error = str(error)
                await asyncio.sleep(_LOOK_SECONDS if self._served else _FIRST_SECONDS)
        finally:
            if self.server.addresses:
                await self.server.drain(delay=0, grace=1.0)

    async def _look(self) -> None:
        place = self._place
        secret = await lister.one(self._client, kinds.SECRET, place.namespace, place.secret)
        data = (secret or {}).get("data")
        kept = tls_secret.stored_certificate(data, data)
        if self._leadership.leading:
            registered = await lister.one(self._client, kinds.VALIDATING, "", place.name)
            trusted = tls_secret.trusted([registered] if registered is not None else [])
            wanted = rotation.next_state(
                kept, trusted, place.names, self._now(), rotation.CertificateLifetimes()
            )
            if wanted is not kept:
                await self._keep(secret, wanted)
            await self._serve(wanted)
            await self._register(registered, wanted)
        elif kept is not None and kept.leaf.certificate:
            await self._serve(kept)

    async def _keep(self, secret: Object | None, wanted: rotation.StoredCertificate) -> None:
        place = self._place
        meta = {"name": place.secret, "namespace": place.namespace}
        if secret is not None:
            meta["resourceVersion"] = secret["metadata"]["resourceVersion"]
        data = {**tls_secret.signing_data(wanted), **tls_secret.serving_data(wanted)}
        made = {"apiVersion": "v1", "kind": "Secret", "metadata": meta, "data": data}
        call = api_requests.apply(kinds.SECRET, made, field_manager=MANAGER, force=True)
        await self._writer.send(call, kinds.SECRET, f"writing Secret {place.secret}")

    async def _register(self, registered: Object | None, kept: rotation.StoredCertificate) -> None:
        client = self._place.client("".join(kept.bundle))
        since = _since(registered, reviews.webhook_configuration(self._place.name, client)) or (
            self._now() + _IN_FORCE
        ).astimezone(datetime.UTC).isoformat(timespec="seconds")
        wanted = reviews.webhook_configuration(self._place.name, client, since)
        if registered is None or drift.first(wanted, registered):
            call = api_requests.apply(kinds.VALIDATING, wanted, field_manager=MANAGER, force=True)
            await self._writer.send(call, kinds.VALIDATING, f"writing the registration {self._place.name}")
        self.deletions_checked = datetime.datetime.fromisoformat(since)

    async def _serve(self, kept: rotation.StoredCertificate) -> None:
        text = kept.leaf.certificate + kept.leaf.key
        if text != self._served:
            with tempfile.TemporaryDirectory(prefix="vestibule-door-") as folder:
                files = Path(folder) / "tls.crt", Path(folder) / "tls.key"
                for path, content in zip(files, kept.leaf, strict=True):
                    atomicfiles.replace(path, str(content).encode())
                self._tls.replace(self._tls.build(*files))
            self._served = text
        if not self.server.addresses:
            await self.server.start([self._place.address])
