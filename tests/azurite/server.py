"""One Azurite over HTTPS with the well-known account; containers of a test's own; logins to Entra that it
believes (it looks at everything in a token but the signature)."""

from __future__ import annotations

import itertools
import time
from pathlib import Path
from typing import Any

import jwt
from azure.core.credentials import AccessToken
from azure.core.exceptions import AzureError
from azure.storage.blob import BlobServiceClient, PublicAccess

from tests.azurite.install import Program
from tests.rig.part import Part
from tests.rig.pki import Authority

ACCOUNT = "devstoreaccount1"
KEY = "Eby8vdM02xNOcqFlqUwJPLlmEtlCDXJ1OUzFT50uSRZ6IFsuFq2UVErCz4I6tq/K1SZFPTOtr/KBHBeksoGMGw=="
"""Known to everybody; it opens nothing but this double."""


class Azurite(Part):
    """``with Azurite(program, folder) as azurite: azurite.container()``."""

    name = "azurite"

    def __init__(self, program: Program, folder: Path, **options: Any) -> None:
        super().__init__(program.node, folder, **options)
        self.authority = Authority(folder / "pki", "azurite authority")
        self._script, self._pair = program.script, self.authority.server("azurite")
        self._numbers = itertools.count(1)

    @property
    def account_url(self) -> str:
        """Endpoint of the account; the account is part of the path."""
        return f"https://127.0.0.1:{self.port}/{ACCOUNT}"

    @property
    def bundle(self) -> str:
        """PEM file of the authority."""
        return str(self.authority.ca)

    def command(self) -> list[str]:
        return [
            str(self.binary),
            str(self._script),
            "--blobHost=127.0.0.1",
            f"--blobPort={self.port}",
            f"--cert={self._pair.cert}",
            f"--key={self._pair.key}",
            "--oauth=basic",
            "--inMemoryPersistence",
            "--skipApiVersionCheck",
            "--disableTelemetry",
        ]

    def ready(self) -> bool:
        try:
            with self.service(retry_total=0, connection_timeout=1, read_timeout=1) as service:
                service.get_service_properties()
        except AzureError:
            return False
        return True

    def service(self, credential: Any = KEY, **options: Any) -> BlobServiceClient:
        return BlobServiceClient(
            self.account_url, credential=credential, connection_verify=self.bundle, **options
        )

    def container(self, public: bool = True) -> str:
        """A container of the test's own; its name."""
        name = f"container-{next(self._numbers)}"
        with self.service() as service:
            service.create_container(name, public_access=PublicAccess.CONTAINER if public else None)
        return name


class Login:
    """A credential as azure-identity gives them, made here."""

    def __init__(self, audience: str = "https://storage.azure.com") -> None:
        self._audience = audience
        self.asked = 0

    def get_token(self, *scopes: str, **_: Any) -> AccessToken:
        self.asked += 1
        now = int(time.time())
        claims = {
            "aud": self._audience,
            "iss": "https://sts.windows-ppe.net/ab1f708d-50f6-404c-a006-d71b2ac7a606/",
            "iat": now - 10,
            "nbf": now - 10,
            "exp": now + 3600,
        }
        return AccessToken(jwt.encode(claims, "x" * 32, "HS256"), now + 3600)
