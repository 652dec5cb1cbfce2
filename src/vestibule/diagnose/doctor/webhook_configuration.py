"""Reads how the API server calls the webhook: configurations, Service, addresses, serving certificate."""

from __future__ import annotations

import datetime
from collections.abc import AsyncIterator
from typing import Any, Final, NamedTuple
from urllib.parse import urlsplit

from vestibule import errors
from vestibule.api.gvk import Kind
from vestibule.checks import check, served_certificate, webhook_configuration
from vestibule.checks.check import Check
from vestibule.checks.served_certificate import ServedCertificate
from vestibule.checks.webhook_configuration import WebhookEntry, WebhookService
from vestibule.httpclient import tls_handshake
from vestibule.kube import lister
from vestibule.kube.client import Client

CONFIGURATION: Final = Kind(
    "admissionregistration.k8s.io",
    "v1",
    "MutatingWebhookConfiguration",
    "mutatingwebhookconfigurations",
    namespaced=False,
)
_SERVICE: Final = Kind("", "v1", "Service", "services")
_SLICE: Final = Kind("discovery.k8s.io", "v1", "EndpointSlice", "endpointslices")
_SECRET: Final = Kind("", "v1", "Secret", "secrets")
_CALLED: Final = 2
"""Addresses of a Service that are called; each may cost seconds from outside the cluster's network."""
Object = dict[str, Any]


class InstalledWebhooks(NamedTuple):
    """What the cluster has."""

    configurations: tuple[Object, ...] = ()
    found: tuple[WebhookEntry, ...] = ()
    checks: tuple[Check, ...] = ()
    readable: bool = True


async def find(client: Client, name: str, configuration: str) -> InstalledWebhooks:
    """The webhook configurations for vestibule; unreadable ones are reported as a check."""
    try:
        configurations = tuple(await lister.every(client, CONFIGURATION))
    except (errors.Forbidden, errors.Unavailable) as error:
        advice = "allow list of mutatingwebhookconfigurations"
        unreadable = check.skipped(
            "webhook.registration", "MutatingWebhookConfigurations", str(error), advice
        )
        return InstalledWebhooks(checks=(unreadable,), readable=False)
    return InstalledWebhooks(
        configurations, tuple(webhook_configuration.find(configurations, name, configuration))
    )


async def read_webhooks(
    client: Client,
    seen: InstalledWebhooks,
    name: str,
    namespace: str,
    configuration: str,
    now: datetime.datetime,
) -> list[Check]:
    """Everything about them."""
    if not seen.readable:
        return list(seen.checks)
    if not seen.found:
        return [webhook_configuration.missing(name, seen.configurations, configuration)]
    checks: list[Check] = []
    for one in seen.found:
        service = one.hook.get("clientConfig", {}).get("service") or {}
        checks += webhook_configuration.judge(one, str(service.get("namespace") or namespace))
        checks += [result async for result in _called(client, one, now)]
    checks += webhook_configuration.others(seen.configurations, seen.found[0].configuration)
    return checks


async def _called(client: Client, one: WebhookEntry, now: datetime.datetime) -> AsyncIterator[Check]:
    target = one.hook.get("clientConfig", {})
    bundle = served_certificate.bundle(one)
    if target.get("url"):
        parts = urlsplit(target["url"])
        host, port = parts.hostname or "", parts.port or 443
        yield webhook_configuration.service(
            one, None, f"the webhook configuration names the address {target['url']}"
        )
        seen = await tls_handshake.inspect_server(host, port, host, bundle.cas)
        served = ServedCertificate(f"{host}:{port}", seen.leaf, seen.error) if seen.leaf else None
        why = f"no response from {host}:{port}: {seen.error}"
        for result in served_certificate.judge(one, bundle, served, (host,), now, why):
            yield result
        return
    service = target.get("service") or {}
    name, namespace = str(service.get("name")), str(service.get("namespace"))
    port = int(service.get("port") or 443)
    behind, addresses, why = await _service(client, name, namespace, port)
    yield webhook_configuration.service(one, behind, why)
    host = f"{name}.{namespace}.svc"
    called = [(host, port), *addresses[:_CALLED]]
    served, why = await _certificate(client, name, namespace, called, bundle)
    for result in served_certificate.judge(one, bundle, served, (host,), now, why):
        yield result


async def _service(
    client: Client, name: str, namespace: str, port: int
) -> tuple[WebhookService | None, list[tuple[str, int]], str]:
    """The Service, its addresses, and why they could not be read."""
    full_name = f"{namespace}/{name}"
    try:
        found = await lister.one(client, _SERVICE, namespace, name)
        if found is None:
            return WebhookService(full_name, exists=False, ready=0), [], ""
        slices = await lister.every(client, _SLICE, namespace, selector=f"kubernetes.io/service-name={name}")
    except (errors.Forbidden, errors.Unavailable) as error:
        return None, [], str(error)
    listed = (found.get("spec") or {}).get("ports") or ()
    called = next((one.get("name") or "" for one in listed if one.get("port") == port), "")
    ready: set[tuple[str, int]] = set()
    unready: set[str] = set()
    for part in slices:
        ports = [one["port"] for one in part.get("ports") or () if (one.get("name") or "") == called]
        for endpoint in part.get("endpoints") or ():
            good = (endpoint.get("conditions") or {}).get("ready") is not False
            for address in endpoint.get("addresses") or ():
                if good:
                    ready.update((address, number) for number in ports[:1])
                else:
                    unready.add(address)
    hosts = {address for address, _ in ready}
    return (
        WebhookService(full_name, exists=True, ready=len(hosts), unready=len(unready - hosts)),
        sorted(ready),
        "",
    )


async def _certificate(
    client: Client,
    name: str,
    namespace: str,
    addresses: list[tuple[str, int]],
    bundle: served_certificate.CaBundle,
) -> tuple[ServedCertificate | None, str]:
    """The serving certificate at the Service's name (the first address) or at an endpoint, or the one in the
    Secret."""
    failures = []
    host = addresses[0][0]
    for where, number in addresses:
        seen = await tls_handshake.inspect_server(where, number, host, bundle.cas)
        if seen.leaf:
            return ServedCertificate(f"{where}:{number}", seen.leaf, seen.error), ""
        failures.append(f"{where}:{number}: {seen.error}")
    secret = f"{name}-tls"
    try:
        found = await lister.one(client, _SECRET, namespace, secret)
    except (errors.Forbidden, errors.Unavailable) as error:
        return None, f"no response from here ({failures[0]}), and {error}"
    leaf = served_certificate.text((found or {}).get("data"), "tls.crt")
    if not leaf:
        return (
            None,
            f"no response from here ({failures[0]}), and Secret {namespace}/{secret} holds no tls.crt",
        )
    return ServedCertificate(f"Secret {namespace}/{secret}", leaf, handshake=False), ""
