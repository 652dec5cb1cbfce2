"""The places under the contract, each behind what a test needs: the store, its neighbours and its faults."""

from __future__ import annotations

import contextlib
import itertools
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Protocol

from tests.azurite.server import KEY, Azurite, Login
from tests.contract.gcsdouble import GcsDouble

from vestibule.clouds.objectstore.azure_blob import AzureBlobs
from vestibule.clouds.objectstore.directory import Directory
from vestibule.clouds.objectstore.gcs import Gcs
from vestibule.clouds.objectstore.ports import ObjectStore
from vestibule.clouds.objectstore.s3 import S3

_numbers = itertools.count(1)


class Place(Protocol):
    """A kind of store."""

    keeps_types: bool
    """Whether the content type is kept."""

    def store(self, prefix: str = "") -> ObjectStore:
        """The same place each time."""
        ...

    def missing(self) -> ObjectStore | None:
        """A store whose bucket does not exist; None: there is no such thing."""
        ...

    def unreachable(self) -> ObjectStore | None:
        """A store that nobody answers for."""
        ...

    def tags(self, name: str) -> dict[str, str] | None:
        """The tags of a document; None where there are none."""
        ...


class DirectoryPlace:
    keeps_types = False

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def store(self, prefix: str = "") -> ObjectStore:
        return Directory(self._folder / prefix if prefix else self._folder)

    def missing(self) -> None:
        return None

    def unreachable(self) -> None:
        return None

    def tags(self, name: str) -> None:
        return None


class AzuritePlace:
    """With a login to Entra, or with the shared key."""

    keeps_types = True

    def __init__(self, azurite: Azurite, *, login: bool) -> None:
        self._azurite, self._login, self._container = azurite, login, azurite.container()

    def _opened(self, container: str, prefix: str = "", url: str = "", **options: Any) -> AzureBlobs:
        way: Any = {"credential": Login()} if self._login else {"shared_key": lambda: KEY}
        url = url or self._azurite.account_url
        more = {"connection_verify": self._azurite.bundle, **options}
        return AzureBlobs(url, container, prefix=prefix, **way, **more)

    def store(self, prefix: str = "") -> ObjectStore:
        return self._opened(self._container, prefix)

    def missing(self) -> ObjectStore:
        return self._opened("no-such-container")

    def unreachable(self) -> ObjectStore:
        return self._opened("c", url="https://127.0.0.1:1/devstoreaccount1", pause=lambda _: None)

    def tags(self, name: str) -> dict[str, str]:
        with self._azurite.service() as service:
            found: dict[str, str] = service.get_blob_client(self._container, name).get_blob_tags()
        return found


class S3Place:
    keeps_types = True

    def __init__(self, url: str) -> None:
        self._options = {
            "endpoint_url": url,
            "region_name": "us-east-1",
            "aws_access_key_id": "test",
            "aws_secret_access_key": "test",
        }
        self._bucket = f"bucket-{next(_numbers)}"
        self.client.create_bucket(Bucket=self._bucket)

    @property
    def client(self) -> Any:
        import boto3

        return boto3.client("s3", **self._options)

    def store(self, prefix: str = "") -> ObjectStore:
        return S3(self._bucket, prefix=prefix, **self._options)

    def missing(self) -> ObjectStore:
        return S3("no-such-bucket", **self._options)

    def unreachable(self) -> ObjectStore:
        from botocore.config import Config

        config = Config(retries={"total_max_attempts": 1}, connect_timeout=1)
        return S3("b", **{**self._options, "endpoint_url": "http://127.0.0.1:1"}, config=config)

    def tags(self, name: str) -> dict[str, str]:
        found = self.client.get_object_tagging(Bucket=self._bucket, Key=name)["TagSet"]
        return {tag["Key"]: tag["Value"] for tag in found}


class GcsPlace:
    keeps_types = True

    def __init__(self, double: GcsDouble) -> None:
        self._double, self._bucket = double, f"bucket-{next(_numbers)}"
        double.buckets[self._bucket] = {}

    def store(self, prefix: str = "") -> ObjectStore:
        return Gcs(self._bucket, prefix=prefix, client=self._double.client())

    def missing(self) -> ObjectStore:
        return Gcs("no-such-bucket", client=self._double.client())

    def unreachable(self) -> None:
        return None  # the SDK tries for two minutes

    def tags(self, name: str) -> dict[str, str]:
        found: dict[str, str] = self._double.buckets[self._bucket][name].about.get("metadata", {})
        return found


@contextlib.contextmanager
def s3_server() -> Iterator[str]:
    """moto's S3 over HTTP; its address."""
    from moto.server import ThreadedMotoServer

    server = ThreadedMotoServer("127.0.0.1", 0, verbose=False)
    server.start()
    try:
        host, port = server.get_host_and_port()
        yield f"http://{host}:{port}"
    finally:
        server.stop()
