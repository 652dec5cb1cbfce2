"""The issuer controller with every cloud's place: Azure blobs, S3 and Google Cloud Storage, one process."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.apiserver.operator_installation import API, operator_installed
from tests.apiserver.test_issuer import condition
from tests.azurite.server import KEY, Azurite
from tests.contract.gcsdouble import GcsDouble
from tests.contract.stores import s3_server
from tests.rig import process
from tests.rig.client import at
from tests.rig.controlplane import ControlPlane
from vestibule.clouds.objectstore.azure_blob import AzureBlobs
from vestibule.clouds.objectstore.gcs import Gcs
from vestibule.clouds.objectstore.ports import ObjectStore
from vestibule.clouds.objectstore.s3 import S3

NAMES = ("openid/v1/jwks", ".well-known/openid-configuration")
BUCKET = "issuer-bucket"


@pytest.fixture
def places(azurite: Azurite, monkeypatch: pytest.MonkeyPatch) -> Iterator[dict[str, ObjectStore]]:
    """Each place as an object names it; the environment has the logins, as a deployment would."""
    with s3_server() as url, GcsDouble(BUCKET) as double:
        container = azurite.container()
        for name, value in {
            "AWS_ENDPOINT_URL": url,
            "AWS_ACCESS_KEY_ID": "testing",
            "AWS_SECRET_ACCESS_KEY": "testing",
            "AWS_DEFAULT_REGION": "us-east-1",
            "AZURE_STORAGE_KEY": KEY,
            "AZURE_TOKEN_CREDENTIALS": "EnvironmentCredential",
            "REQUESTS_CA_BUNDLE": azurite.bundle,
            "STORAGE_EMULATOR_HOST": double.url,
        }.items():
            monkeypatch.setenv(name, value)
        s3 = S3(BUCKET)
        s3._client.create_bucket(Bucket=BUCKET)
        blobs = AzureBlobs(
            azurite.account_url, container, shared_key=lambda: KEY, connection_verify=azurite.bundle
        )
        yield {
            f"azblob:{azurite.account_url}/{container}": blobs,
            f"s3://{BUCKET}": s3,
            f"gs://{BUCKET}": Gcs(BUCKET, client=double.client()),
        }


def etags(places: dict[str, ObjectStore]) -> list[str]:
    return [stored.etag for one in places.values() for name in NAMES if (stored := one.read(name))]


@pytest.mark.slow
def test_every_place_is_kept_and_left_alone_when_all_is_well(
    control_plane: ControlPlane, tmp_path: Path, places: dict[str, ObjectStore]
) -> None:
    created = []
    with operator_installed(control_plane, tmp_path) as environment:
        try:
            for number, to in enumerate(places):
                path = at("publishedissuers", name=f"{environment.name}-{number}", api=API)
                obj = {
                    "apiVersion": API,
                    "kind": "PublishedIssuer",
                    "metadata": {"name": f"{environment.name}-{number}"},
                    "spec": {"to": to, "interval": "1s", "verify": "Never"},
                }
                created.append(path)
                environment.admin.apply(path, obj, "test").object  # noqa: B018 - raises
            running = environment.start()
            for path in created:
                environment.admin.wait(path, lambda one: condition(one, "Published").get("status") == "True")
            expected = json.loads(
                environment.admin.raw("GET", "/openid/v1/jwks", headers={"Accept": "*/*"}).body
            )
            for store in places.values():
                stored = store.read(NAMES[0])
                assert stored is not None
                assert json.loads(stored.body) == expected
            before, mark = etags(places), environment.plane.audit.mark()
            assert len(before) == 2 * len(places)

            def looks() -> int:
                text = running.get("/metrics")[1]
                start = 'vestibule_operator_reconciles_total{controller="issuers"'
                return sum(int(float(one.split()[-1])) for one in text.splitlines() if one.startswith(start))

            begun = looks()
            process.wait("more looks", lambda: looks() >= begun + 9, 30)
            assert etags(places) == before
            written = [
                one["objectRef"]["resource"]
                for one in environment.plane.audit.events(mark, user=environment.user)
                if one["verb"] not in ("get", "list", "watch") and one["objectRef"]["resource"] != "leases"
            ]
            assert written == []

            # a place that is gone is told, and takes no other with it
            absent = {"spec": {"to": "s3://no-such-bucket"}}
            environment.admin.patch(created[1], absent).object  # noqa: B018 - raises
            environment.admin.wait(
                created[1], lambda one: condition(one, "Degraded").get("reason") == "PlaceNotFound"
            )
            assert condition(environment.admin.get(created[0]).object, "Published")["status"] == "True"
        finally:
            for path in created:
                environment.admin.delete(path)
