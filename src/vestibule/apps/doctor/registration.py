"""Reads how the API server calls us: configurations, Service, addresses, the certificate that is shown."""

from __future__ import annotations

import datetime
from collections.abc import AsyncIterator
from typing import Any, Final, NamedTuple
from urllib.parse import urlsplit

from vestibule import errors
from vestibule.adapters.cluster import pages
from vestibule.adapters.cluster.client import Client
from vestibule.adapters.web import handshake
from vestibule.core.doctor import check, registration, trust
from vestibule.core.doctor.check import Check
from vestibule.core.doctor.registration import Behind, Registration
from vestibule.core.doctor.trust import Served
from vestibule.core.kinds.gvk import Kind

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


class Seen(NamedTuple):
    """What the cluster has."""

    configurations: tuple[Object, ...] = ()
    found: tuple[Registration, ...] = ()
    checks: tuple[Check, ...] = ()
    readable: bool = True


async def find(client: Client, name: str, wanted: str) -> Seen:
    """Our registrations; what may not be read is told."""
    try:
        configurations = tuple(await pages.every(client, CONFIGURATION))
    except (errors.Forbidden, errors.Unavailable) as error:
        advice = "allow list of mutatingwebhookconfigurations"
        told = check.skipped("webhook.registration", "MutatingWebhookConfigurations", str(error), advice)
        return Seen(checks=(told,), readable=False)
    return Seen(configurations, tuple(registration.find(configurations, name, wanted)))


async def look(
    client: Client, seen: Seen, name: str, namespace: str, wanted: str, now: datetime.datetime
) -> list[Check]:
    """Everything about them."""
    if not seen.readable:
        return list(seen.checks)
    if not seen.found:
        return [registration.missing(name, seen.configurations, wanted)]
    checks: list[Check] = []
    for one in seen.found:
        service = one.hook.get("clientConfig", {}).get("service") or {}
        checks += registration.judge(one, str(service.get("namespace") or namespace))
        checks += [told async for told in _called(client, one, now)]
    checks += registration.others(seen.configurations, seen.found[0].configuration)
    return checks


async def _called(client: Client, one: Registration, now: datetime.datetime) -> AsyncIterator[Check]:
    target = one.hook.get("clientConfig", {})
    bundle = trust.bundle(one)
    if target.get("url"):
        parts = urlsplit(target["url"])
        host, port = parts.hostname or "", parts.port or 443
        yield registration.service(one, None, f"the registration names the address {target['url']}")
        seen = await handshake.look(host, port, host, bundle.authorities)
        served = Served(f"{host}:{port}", seen.leaf, seen.error) if seen.leaf else None
        why = f"nobody answers at {host}:{port} from here: {seen.error}"
        for told in trust.judge(one, bundle, served, (host,), now, why):
            yield told
        return
    service = target.get("service") or {}
    name, namespace = str(service.get("name")), str(service.get("namespace"))
    port = int(service.get("port") or 443)
    behind, addresses, why = await _service(client, name, namespace, port)
    yield registration.service(one, behind, why)
    host = f"{name}.{namespace}.svc"
    called = [(host, port), *addresses[:_CALLED]]
    served, why = await _certificate(client, name, namespace, called, bundle)
    for told in trust.judge(one, bundle, served, (host,), now, why):
        yield told


async def _service(
    client: Client, name: str, namespace: str, port: int
) -> tuple[Behind | None, list[tuple[str, int]], str]:
    """The Service, the addresses behind it, and what kept us from looking."""
    whole = f"{namespace}/{name}"
    try:
        found = await pages.one(client, _SERVICE, namespace, name)
        if found is None:
            return Behind(whole, exists=False, ready=0), [], ""
        slices = await pages.every(client, _SLICE, namespace, selector=f"kubernetes.io/service-name={name}")
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
    return Behind(whole, exists=True, ready=len(hosts), unready=len(unready - hosts)), sorted(ready), ""


async def _certificate(
    client: Client,
    name: str,
    namespace: str,
    addresses: list[tuple[str, int]],
    bundle: trust.Bundle,
) -> tuple[Served | None, str]:
    """What is shown by the Service's name (the first address) or by an address behind it, or what the Secret
    holds."""
    failures = []
    host = addresses[0][0]
    for where, number in addresses:
        seen = await handshake.look(where, number, host, bundle.authorities)
        if seen.leaf:
            return Served(f"{where}:{number}", seen.leaf, seen.error), ""
        failures.append(f"{where}:{number}: {seen.error}")
    secret = f"{name}-tls"
    try:
        found = await pages.one(client, _SECRET, namespace, secret)
    except (errors.Forbidden, errors.Unavailable) as error:
        return None, f"nobody answers from here ({failures[0]}), and {error}"
    leaf = trust.text((found or {}).get("data"), "tls.crt")
    if not leaf:
        return (
            None,
            f"nobody answers from here ({failures[0]}), and Secret {namespace}/{secret} holds no tls.crt",
        )
    return Served(f"Secret {namespace}/{secret}", leaf, handshake=False), ""
