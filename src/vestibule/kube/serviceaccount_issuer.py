"""What an API server says about the tokens it signs: its discovery document, its keys, and fresh tokens.

Its ordinary client takes JSON alone, and keys are served as another type; so documents are read as a browser
would, with our own credential. A token lives ten minutes, is looked at and thrown away.
"""

from __future__ import annotations

import asyncio
from typing import Any, Final, NamedTuple
from urllib.parse import quote

import msgspec

from vestibule import errors
from vestibule.checks.http_document import HttpDocument
from vestibule.errors import InputProblem
from vestibule.httpclient import fetch
from vestibule.kube import api_requests
from vestibule.kube import client as clients
from vestibule.kube.access import ClusterAccess
from vestibule.kube.api_requests import ApiRequest
from vestibule.kube.client import Client
from vestibule.oidc import discovery, jwks, keys, tokens
from vestibule.oidc.keys import PublicKey
from vestibule.oidc.tokens import ServiceAccountToken

SECONDS: Final = 600
"""The shortest life that the API server gives."""


class IssuerDocuments(NamedTuple):
    """What the API server itself publishes."""

    issuer: str
    keys: tuple[PublicKey, ...]


async def document(access: ClusterAccess, path: str) -> HttpDocument:
    """A document of the API server, read as ourselves; the reading says why there is none, if so."""
    headers = {}
    try:
        authorization = await access.credential.authorization()
    except errors.Unavailable as error:
        return HttpDocument(access.server + path, error=str(error))
    if authorization:
        headers["Authorization"] = authorization
    options: dict[str, Any] = {}
    if access.server_name:
        options["server_hostname"] = access.server_name
    if access.proxy:
        options["proxy"] = access.proxy
    options["follow"] = False
    return await fetch.get(access.server + path, access.tls, headers=headers, plain=True, **options)


async def documents(access: ClusterAccess) -> IssuerDocuments:
    """Issuer and keys. Raises Forbidden when we may not read them, Unavailable, InvalidInput when a key is
    none that a cloud can use."""
    found, listed = await asyncio.gather(
        document(access, discovery.PATH), document(access, discovery.KEYS_PATH)
    )
    try:
        return IssuerDocuments(discovery.parse(_readable(found)).issuer, _keys(_readable(listed), listed.url))
    except ValueError as error:
        raise errors.Unavailable(f"{access.server}: the answer {error}") from error


def _readable(reading: HttpDocument) -> bytes:
    if reading.forbidden:
        advice = "grant the ClusterRole system:service-account-issuer-discovery"
        raise errors.Forbidden(f"{reading.url}: status {reading.status}; {advice}")
    if reading.refusal:
        raise errors.Unavailable(f"{reading.url}: {reading.refusal}")
    return reading.body


def _keys(body: bytes, url: str) -> tuple[PublicKey, ...]:
    jwks.parse(body)  # says what is wrong with the document as a whole
    problems: list[InputProblem] = []
    found: list[PublicKey] = []
    for number, entry in enumerate(msgspec.json.decode(body)["keys"]):
        try:
            if not isinstance(entry, dict):
                raise ValueError("is no object, want a key")
            found.append(keys.of_jwk(entry, url))
        except ValueError as error:
            problems.append(InputProblem(url, f"keys[{number}]", str(error)))
    if problems:
        raise errors.InvalidInput(*problems)
    return tuple(found)


async def kids(client: Client) -> frozenset[str] | None:
    """Ids of the keys by which the API server knows tokens of its own, over the connection that is there;
    None when it does not say. Raises Unavailable."""
    answer = await client.send(api_requests.document(discovery.KEYS_PATH))
    if answer.status != 200:
        return None
    try:
        return frozenset(jwks.parse(answer.body).by_kid)
    except ValueError:
        return None


async def token(client: Client, namespace: str, name: str, audience: str) -> ServiceAccountToken:
    """A fresh token of a ServiceAccount. Raises Forbidden when we may not ask for one, NotFound when there is
    no such account, Unavailable."""
    path = f"/api/v1/namespaces/{quote(namespace, safe='')}/serviceaccounts/{quote(name, safe='')}/token"
    body = {
        "apiVersion": "authentication.k8s.io/v1",
        "kind": "TokenRequest",
        "spec": {"audiences": [audience], "expirationSeconds": SECONDS},
    }
    answer = await client.send(ApiRequest("POST", path, msgspec.json.encode(body), "application/json"))
    if answer.status in (401, 403):
        raise errors.Forbidden("we may not ask for a token")
    if answer.status == 404:
        raise errors.NotFound("there is no such ServiceAccount")
    if answer.status not in (200, 201):
        raise errors.Unavailable(f"status {answer.status} {clients.message(answer.body)}".rstrip())
    try:
        made = msgspec.json.decode(answer.body, type=dict[str, Any])
        return tokens.parse(str(made["status"]["token"]))
    except (msgspec.MsgspecError, KeyError, TypeError, tokens.MalformedToken):
        raise errors.Unavailable("the answer holds no token") from None
