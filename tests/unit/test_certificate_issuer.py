"""Who issues our own certificate: every registration trusts it, also one that comes later, no CA signs that
one of them does not trust, and what is missing is restored."""

from __future__ import annotations

import asyncio
import base64
import contextlib
import datetime
import json
from collections.abc import AsyncIterator, Awaitable, Callable
from typing import Any

from aiohttp import web

from vestibule.admission import apply
from vestibule.api.settings import schema
from vestibule.kube.access import AnonymousCredential, ClusterAccess
from vestibule.kube.client import Client
from vestibule.operator.certificates import issuer as issuers
from vestibule.operator.certificates.issuer import CertificateIssuer
from vestibule.pki import certificate_authority

Json = dict[str, Any]
ROOT = "/apis/admissionregistration.k8s.io/v1"
IDENTITY = f"{ROOT}/mutatingwebhookconfigurations/vestibule"
SANDBOX = f"{ROOT}/mutatingwebhookconfigurations/00-vestibule-sandbox"
VALIDATING = f"{ROOT}/validatingwebhookconfigurations/vestibule"
SECRET = "/api/v1/namespaces/vestibule-system/secrets/vestibule-tls"
SIGNING = "/api/v1/namespaces/vestibule-system/secrets/vestibule-authority"
ROLE = "/apis/rbac.authorization.k8s.io/v1/clusterroles/vestibule"
LEASE = "/apis/coordination.k8s.io/v1/namespaces/vestibule-system/leases/vestibule"
START = datetime.datetime(2026, 1, 1, tzinfo=datetime.UTC)
DAY = datetime.timedelta(days=1)
SETTINGS = schema.parse(
    {
        "selfCertificate": {
            "secret": "vestibule-tls",
            "lease": "vestibule",
            "webhookConfiguration": "vestibule",
            "sandboxConfiguration": "00-vestibule-sandbox",
            "validatingConfiguration": "vestibule",
        }
    },
    "test",
)


RENDERED: Json = {
    "apiVersion": "admissionregistration.k8s.io/v1",
    "kind": "MutatingWebhookConfiguration",
    "metadata": {"name": "vestibule"},
    "webhooks": [{"name": "h0.vestibule.dev", "clientConfig": {}}],
}


class Api:
    """As much of an API server as the issuer needs: get, put, apply and JSON patch of objects, and faults."""

    def __init__(self) -> None:
        self.objects: dict[str, Json] = {}
        self.faults: dict[tuple[str, str], int] = {}
        """Method and path to the status that is answered."""
        self.version = 0
        for path in (SECRET, SIGNING, LEASE):
            meta = {"name": path.rpartition("/")[2], "namespace": "vestibule-system"}
            self.put(path, {"metadata": meta})
        self.put(ROLE, {"metadata": {"name": "vestibule", "uid": "u"}})

    def put(self, path: str, obj: Json) -> Json:
        self.version += 1
        self.objects[path] = {**obj, "metadata": {**obj["metadata"], "resourceVersion": str(self.version)}}
        return self.objects[path]

    def register(self, path: str, hooks: int = 1) -> None:
        webhooks = [{"name": f"h{number}.vestibule.dev", "clientConfig": {}} for number in range(hooks)]
        self.put(path, {"metadata": {"name": path.rpartition("/")[2]}, "webhooks": webhooks})

    def bundles(self, path: str) -> list[list[str]]:
        """The CAs that each webhook of a registration trusts."""
        return [
            certificate_authority.split(base64.b64decode(hook["clientConfig"].get("caBundle", "")).decode())
            for hook in self.objects[path]["webhooks"]
        ]

    def kept(self, key: str) -> str:
        """What a Secret holds."""
        where = SECRET if key.startswith("tls") else SIGNING
        data = self.objects.get(where, {}).get("data", {})
        return base64.b64decode(data.get(key, "")).decode()

    async def handle(self, request: web.Request) -> web.Response:
        fault = self.faults.get((request.method, request.path))
        found = self.objects.get(request.path)
        if fault:
            return web.json_response({"message": "a fault"}, status=fault)
        if "apply-patch" in request.headers.get("Content-Type", ""):
            return web.json_response(self.put(request.path, await request.json()), status=201)
        if found is None:
            return web.json_response({"message": "not found"}, status=404)
        if request.method == "PUT":
            return web.json_response(self.put(request.path, await request.json()))
        if request.method == "PATCH":
            test, *operations = await request.json()
            if test["value"] != found["metadata"]["resourceVersion"]:
                return web.json_response({"message": "changed meanwhile"}, status=422)
            changed = json.loads(json.dumps(found))
            apply.patch(changed, operations)
            return web.json_response(self.put(request.path, changed))
        return web.json_response(found)


class Clock:
    """Time as the test has it."""

    def __init__(self) -> None:
        self.now = START


@contextlib.asynccontextmanager
async def issuing(api: Api, clock: Clock) -> AsyncIterator[CertificateIssuer]:
    """An issuer at work."""
    app = web.Application()
    app.router.add_route("*", "/{tail:.*}", api.handle)
    runner = web.AppRunner(app)
    await runner.setup()
    site = web.TCPSite(runner, "127.0.0.1", 0)
    await site.start()
    client = Client(ClusterAccess(f"http://127.0.0.1:{runner.addresses[0][1]}", None, AnonymousCredential()))
    issuer = issuers.issuer(
        client,
        SETTINGS,
        lambda: [RENDERED],
        "one",
        now=lambda: clock.now,
        look_seconds=0.01,
        restore_seconds=0.05,
    )
    running = asyncio.create_task(issuer.run())
    try:
        yield issuer
    finally:
        running.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await running
        await client.close()
        await runner.cleanup()


async def until(condition: Callable[[], bool], what: str) -> None:
    try:
        async with asyncio.timeout(10):
            while not condition():  # noqa: ASYNC110 - the fake server has no events
                await asyncio.sleep(0.005)
    except TimeoutError:
        raise AssertionError(f"never: {what}") from None


def run(test: Callable[[Api, CertificateIssuer, Clock], Awaitable[None]], *paths: str) -> None:
    """A test with an issuer at work, and these registrations."""
    api, clock = Api(), Clock()
    for path in paths:
        api.register(path, hooks=2 if path == SANDBOX else 1)

    async def whole() -> None:
        async with issuing(api, clock) as issuer:
            await test(api, issuer, clock)

    asyncio.run(whole())


def trusts(api: Api, path: str) -> bool:
    """Whether every webhook of a registration trusts what is kept."""
    stored = certificate_authority.split(api.kept("ca.crt"))
    return bool(stored) and all(bundle == stored for bundle in api.bundles(path))


def test_every_webhook_of_every_webhook_configuration_trusts_our_ca() -> None:
    async def test(api: Api, issuer: CertificateIssuer, clock: Clock) -> None:
        del clock
        await until(
            lambda: all(trusts(api, path) for path in (IDENTITY, SANDBOX, VALIDATING)), "trust everywhere"
        )
        assert len(api.bundles(SANDBOX)) == 2
        assert set(api.objects[SECRET]["data"]) == {"tls.crt", "tls.key", "ca.crt"}

    run(test, IDENTITY, SANDBOX, VALIDATING)


def test_a_webhook_configuration_that_is_not_there_yet_keeps_nobody_from_serving() -> None:
    async def test(api: Api, issuer: CertificateIssuer, clock: Clock) -> None:
        del clock
        await until(lambda: bool(api.kept("tls.crt")), "a certificate")
        await until(lambda: trusts(api, IDENTITY), "trust where there is a registration")
        api.register(SANDBOX, hooks=2)
        await until(lambda: trusts(api, SANDBOX), "trust where one came later")
        assert (issuer.error, issuer.unkept) == ("", "")

    run(test, IDENTITY)


def test_without_any_webhook_configuration_there_is_a_certificate_all_the_same() -> None:
    async def test(api: Api, issuer: CertificateIssuer, clock: Clock) -> None:
        del clock
        await until(lambda: bool(api.kept("tls.crt")), "a certificate")
        assert certificate_authority.signed_by(api.kept("tls.crt"), api.kept("signer.crt"))

    run(test)


def test_a_bundle_that_somebody_changed_is_repaired() -> None:
    async def test(api: Api, issuer: CertificateIssuer, clock: Clock) -> None:
        del issuer, clock
        await until(lambda: trusts(api, SANDBOX), "trust")
        api.register(SANDBOX, hooks=2)
        await until(lambda: trusts(api, SANDBOX), "trust again")

    run(test, IDENTITY, SANDBOX)


async def _rotated(
    api: Api, issuer: CertificateIssuer, clock: Clock, method: str, path: str, status: int
) -> None:
    """A new CA while one registration cannot be kept: it signs when that can be again, and not before."""
    await until(lambda: all(trusts(api, one) for one in (IDENTITY, SANDBOX, VALIDATING)), "trust")
    first = api.kept("signer.crt")
    api.faults[method, path] = status
    clock.now = START + 250 * DAY  # a year is its life; with less than a third left its successor is made
    others = [one for one in (IDENTITY, SANDBOX, VALIDATING) if one != path]
    await until(lambda: bool(api.kept("next-signer.crt")), "a successor")
    await until(lambda: all(trusts(api, one) for one in others), "trust where it can be had")
    assert all(len(bundle) == 2 and first in bundle for one in others for bundle in api.bundles(one))
    before = api.kept("tls.crt")
    clock.now += DAY  # far longer than the overlap
    await until(lambda: bool(issuer.unkept), "the fault is told")
    clock.now += 25 * DAY  # a leaf is due meanwhile: the old CA signs it
    await until(lambda: api.kept("tls.crt") != before, "a leaf of the old CA")
    assert certificate_authority.signed_by(api.kept("tls.crt"), first)
    assert path in issuer.unkept or "a fault" in issuer.unkept

    del api.faults[method, path]
    await until(lambda: api.kept("signer.crt") != first, "the successor signs")
    await until(
        lambda: certificate_authority.signed_by(api.kept("tls.crt"), api.kept("signer.crt")), "its leaf"
    )
    assert all(first in bundle for one in (IDENTITY, SANDBOX, VALIDATING) for bundle in api.bundles(one))
    await until(lambda: issuer.unkept == "", "all is well")


def test_a_ca_signs_only_when_the_last_webhook_configuration_trusts_it() -> None:
    async def test(api: Api, issuer: CertificateIssuer, clock: Clock) -> None:
        await _rotated(api, issuer, clock, "PATCH", VALIDATING, 403)

    run(test, IDENTITY, SANDBOX, VALIDATING)


def test_a_webhook_configuration_that_cannot_be_read_holds_a_new_ca_up_and_nothing_else() -> None:
    async def test(api: Api, issuer: CertificateIssuer, clock: Clock) -> None:
        await _rotated(api, issuer, clock, "GET", SANDBOX, 403)

    run(test, IDENTITY, SANDBOX, VALIDATING)


def test_what_is_missing_is_restored_and_the_authority_stays() -> None:
    async def test(api: Api, issuer: CertificateIssuer, clock: Clock) -> None:
        del issuer, clock
        await until(lambda: trusts(api, IDENTITY), "trust")
        before = api.kept("ca.crt")
        del api.objects[SECRET]
        await until(lambda: bool(api.kept("tls.key")), "the Secret that replicas mount")
        assert api.kept("ca.crt") == before
        assert certificate_authority.signed_by(api.kept("tls.crt"), api.kept("signer.crt"))
        del api.objects[IDENTITY]
        await until(lambda: IDENTITY in api.objects, "the registration")
        assert trusts(api, IDENTITY)
        (owner,) = api.objects[IDENTITY]["metadata"]["ownerReferences"]
        assert (owner["kind"], owner["name"], owner["uid"]) == ("ClusterRole", "vestibule", "u")

    run(test, IDENTITY)


def test_a_ca_that_was_lost_leaves_the_one_before_trusted() -> None:
    async def test(api: Api, issuer: CertificateIssuer, clock: Clock) -> None:
        del issuer, clock
        await until(lambda: trusts(api, IDENTITY), "trust")
        before = certificate_authority.split(api.kept("ca.crt"))
        api.objects.pop(SIGNING)
        await until(lambda: len(api.bundles(IDENTITY)[0]) == 2, "trust in both")
        assert before[0] in api.bundles(IDENTITY)[0]
        await until(
            lambda: certificate_authority.signed_by(api.kept("tls.crt"), api.kept("signer.crt")), "a new leaf"
        )

    run(test, IDENTITY)


def test_the_secret_of_earlier_versions_is_taken_over() -> None:
    async def test(api: Api, issuer: CertificateIssuer, clock: Clock) -> None:
        del issuer, clock
        await until(lambda: trusts(api, IDENTITY), "trust")
        serving = api.objects[SECRET]["data"]
        full = {**api.objects[SIGNING]["data"], **serving}
        del api.objects[SIGNING]
        api.put(SECRET, {**api.objects[SECRET], "data": full})
        await until(lambda: SIGNING in api.objects, "a Secret for the CA's key")
        await until(lambda: api.objects[SECRET]["data"] == serving, "no key of the CA where replicas look")
        assert {**api.objects[SIGNING]["data"], **serving} == full

    run(test, IDENTITY)
