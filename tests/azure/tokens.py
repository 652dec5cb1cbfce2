"""ServiceAccount tokens and published issuers for the simulator, made as a cluster makes them."""

from __future__ import annotations

import time
from typing import Any

import jwt
from azure.storage.blob import BlobServiceClient

from tests.azure.clients import ACCOUNT, Clients
from tests.azure.simulator import Simulated
from vestibule.oidc import documents, keys
from vestibule.pki import signer

ISSUER = "https://demo1.blob.core.windows.net/demo1"
SUBJECT = "system:serviceaccount:ns1:sa-one"
AUDIENCE = "openshift"


class Cluster:
    """A key pair that signs tokens."""

    def __init__(self, issuer: str = ISSUER) -> None:
        self.issuer, self.pair = issuer, signer.new(2048)
        (self.public,) = keys.read(self.pair.public, "test")

    def token(self, **claims: Any) -> str:
        """A token; any claim can be another, ``kid`` is the header's."""
        now = int(time.time())
        kid = claims.pop("kid", self.public.kid)
        message = {
            "iss": self.issuer,
            "sub": SUBJECT,
            "aud": [AUDIENCE],
            "iat": now,
            "nbf": now,
            "exp": now + 3600,
            **claims,
        }
        return jwt.encode(message, self.pair.private, "RS256", headers={"kid": kid})

    def publish(self, simulator: Simulated, azure: Clients) -> None:
        """Group, public account and container, and both documents."""
        azure.groups.resource_groups.create_or_update("rg", {"location": "eastus"})
        azure.storage.storage_accounts.begin_create("rg", "demo1", ACCOUNT).result()
        body = {"properties": {"publicAccess": "Container"}}
        azure.storage.blob_containers.create("rg", "demo1", "demo1", body)
        with blobs(simulator, simulator.credential()) as service:
            for name, content in (
                (documents.DISCOVERY_NAME, documents.configuration(self.issuer)),
                (documents.AZURE.keys_name, documents.key_set([self.public])),
            ):
                service.get_blob_client("demo1", name).upload_blob(content, overwrite=True)


def blobs(
    simulator: Simulated, credential: Any = None, account: str = "demo1", **more: Any
) -> BlobServiceClient:
    """The real SDK for blobs, path-style."""
    return BlobServiceClient(
        f"{simulator.base}/{account}",
        credential=credential,
        connection_verify=simulator.bundle,
        **{"retry_total": 0, **more},
    )
