"""Entra: logins of whoever provisions (a secret), and of workloads (a ServiceAccount token that is verified
against what its issuer publishes, and compared with the federated credentials byte for byte).

Access tokens are signed JWTs; ARM and blobs take no others. Refusals carry the AADSTS codes that people know:

======  =======================================================================================
50166   the issuer's documents cannot be read
70021   the identity trusts nobody, or its credentials are too new
700016  no such client; 90002 no such tenant; 7000215 wrong secret
700024  too late or too early; 700027 not signed with a published key; 50027 no token at all
700211  no credential for the issuer; 700212 audience; 700213 subject
======  =======================================================================================
"""

from __future__ import annotations

import base64
import datetime
import hmac
import secrets
from collections.abc import Awaitable, Callable, Mapping
from typing import Any, Final
from urllib.parse import parse_qsl

import msgspec
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import padding, rsa

from vestibule.checks.http_document import HttpDocument
from vestibule.oidc import discovery, documents, jwks, keys, tokens
from vestibule_simulators.azure import responses, state
from vestibule_simulators.azure.responses import Json
from vestibule_simulators.azure.state import SubscriptionState
from vestibule_simulators.https_server import SiteRequest, SiteResponse

Fetch = Callable[[str], Awaitable[HttpDocument]]
_BEARER: Final = "urn:ietf:params:oauth:client-assertion-type:jwt-bearer"
_NONE_FITS: Final = "No matching federated identity record found for presented assertion"
_SKEW: Final = 300.0


class TokenRefused(Exception):
    """No token."""

    def __init__(self, code: int, text: str, error: str = "invalid_client", status: int = 401) -> None:
        super().__init__(text)
        self.code, self.error, self.status = code, error, status


class Entra:
    """The tenant."""

    def __init__(self, world: SubscriptionState, fetch: Fetch) -> None:
        self._world, self._fetch = world, fetch
        self._key = rsa.generate_private_key(65537, 2048)
        self._public = keys.of(self._key.public_key())

    def owns(self, path: str) -> bool:
        """Whether a path is Entra's."""
        last = path.partition("/")[2].partition("/")[2]
        return last in ("oauth2/v2.0/token", "discovery/instance", "discovery/v2.0/keys") or last.endswith(
            "v2.0/.well-known/openid-configuration"
        )

    async def answer(self, call: SiteRequest, base: str) -> SiteResponse:
        """Discovery, or a token."""
        tenant, _, rest = call.path.lstrip("/").partition("/")
        if rest == "discovery/v2.0/keys":
            return responses.document(200, {"keys": [self._public.jwk]})
        if rest == "discovery/instance":
            return _instance(call.host, base)
        if rest != "oauth2/v2.0/token":
            return responses.document(200, _document(f"{base}/{tenant}"))
        try:
            request = dict(parse_qsl(call.body.decode("utf-8", "replace"), keep_blank_values=True))
            return await self._token(tenant, request, base)
        except TokenRefused as refused:
            return self._error(refused)

    def principal(self, authorization: str, audiences: tuple[str, ...]) -> tuple[str, str]:
        """Who shows this header, and what is wrong with it; one of the two is empty."""
        scheme, _, text = authorization.partition(" ")
        if scheme.lower() != "bearer":
            return "", "Authentication failed. The 'Authorization' header is missing."
        try:
            token = tokens.parse(text)
        except tokens.MalformedToken:
            return "", "The access token is invalid."
        listed = jwks.parse(documents.key_set([self._public])).keys
        if not any(jwks.verifies(token, one) for one in listed):
            return "", "The access token is not one of this tenant."
        if (token.seconds("exp") or 0) < self._world.clock():
            return "", "The access token expired."
        if not set(token.audiences) & set(audiences):
            return "", f"The access token has been obtained for wrong audience {', '.join(token.audiences)}."
        return str(token.claims.get("oid", "")), ""

    async def _token(self, tenant: str, request: Mapping[str, str], base: str) -> SiteResponse:
        settings = self._world.settings
        client, scope = request.get("client_id", ""), request.get("scope", "")
        if tenant.lower() != settings.tenant.lower():
            raise TokenRefused(90002, f"Tenant '{tenant}' not found.", "invalid_request", 400)
        if request.get("grant_type") != "client_credentials":
            text = "The request body must contain the following parameter: 'grant_type' client_credentials."
            raise TokenRefused(900144, text, "invalid_request", 400)
        resource = next((one for one in scope.split() if one.endswith("/.default")), "")
        if not resource:
            text = f"The provided value for scope {scope} is not valid."
            raise TokenRefused(1002012, text, "invalid_scope", 400)
        if client.lower() == settings.client_id.lower():
            self._secret(request)
            principal = settings.principal_id
        else:
            identity = self._world.identity_of("clientId", client)
            if identity is None:
                text = f"Application with identifier '{client}' was not found in the directory '{tenant}'."
                raise TokenRefused(700016, text, "unauthorized_client", 400)
            await self._exchange(identity, request)
            principal = str(identity["properties"]["principalId"])
        return responses.document(
            200, self._issued(client, principal, resource.removesuffix("/.default"), f"{base}/{tenant}")
        )

    def _secret(self, request: Mapping[str, str]) -> None:
        if not hmac.compare_digest(
            request.get("client_secret", "").encode(), self._world.settings.client_secret.encode()
        ):
            raise TokenRefused(7000215, "Invalid client secret provided.")

    async def _exchange(self, identity: Json, request: Mapping[str, str]) -> None:
        """Whether a ServiceAccount token is one that the identity trusts. Raises TokenRefused."""
        if request.get("client_assertion_type") != _BEARER:
            raise TokenRefused(
                7000216, "'client_assertion' is required for this identity.", "invalid_request"
            )
        try:
            token = tokens.parse(request.get("client_assertion", ""))
        except tokens.MalformedToken as error:
            raise TokenRefused(
                50027, f"JWT token is invalid or malformed: it {error}.", status=400
            ) from error
        trusted = [
            one["properties"]
            for one in self._world.kind(state.CREDENTIAL, identity["id"])
            if self._world.settled(one["id"], "credential")
        ]
        if not trusted:
            raise TokenRefused(70021, f"{_NONE_FITS}. The identity has none.")
        _match(trusted, token)
        self._timely(token)
        await self._verify(token)

    def _timely(self, token: tokens.ServiceAccountToken) -> None:
        now, until, since = self._world.clock(), token.seconds("exp"), token.seconds("nbf")
        if until is None or now >= until + _SKEW or (since is not None and now < since - _SKEW):
            text = f"Client assertion is not within its valid time range. Current time: {self._stamp()}."
            raise TokenRefused(700024, text)

    async def _verify(self, token: tokens.ServiceAccountToken) -> None:
        found = await self._read(discovery.address(token.issuer))
        try:
            described = discovery.parse(found)
            listed = jwks.parse(await self._read(described.keys_address))
        except ValueError as error:
            raise _unread(f"its document {error}") from error
        if described.issuer != token.issuer:
            text = f"the document at '{token.issuer}' names the issuer '{described.issuer}'"
            raise _unread(text)
        key = listed.by_kid.get(token.kid)
        if key is None:
            text = f"Client assertion failed signature validation: no key '{token.kid}' is published."
            raise TokenRefused(700027, text)
        if token.algorithm != "RS256" or not jwks.verifies(token, key):
            raise TokenRefused(700027, "Client assertion failed signature validation.")

    async def _read(self, url: str) -> bytes:
        reading = await self._fetch(url)
        if reading.refusal:
            raise _unread(f"{url}: {reading.refusal}")
        return reading.body

    def _issued(self, client: str, principal: str, audience: str, root: str) -> Json:
        now = int(self._world.clock())
        life = self._world.settings.token_seconds
        claims = {
            "aud": audience,
            "iss": f"{root}/v2.0",
            "iat": now,
            "nbf": now,
            "exp": now + life,
            "appid": client,
            "oid": principal,
            "sub": principal,
            "tid": self._world.settings.tenant,
            "idtyp": "app",
            "ver": "1.0",
            "uti": secrets.token_urlsafe(12),
        }
        header = {"typ": "JWT", "alg": "RS256", "kid": self._public.kid}
        signed = f"{_part(msgspec.json.encode(header))}.{_part(msgspec.json.encode(claims))}"
        signature = self._key.sign(signed.encode(), padding.PKCS1v15(), hashes.SHA256())
        token = f"{signed}.{_part(signature)}"
        return {"token_type": "Bearer", "expires_in": life, "ext_expires_in": life, "access_token": token}

    def _stamp(self) -> str:
        now = datetime.datetime.fromtimestamp(self._world.clock(), datetime.UTC)
        return now.strftime("%Y-%m-%d %H:%M:%SZ")

    def _error(self, refused: TokenRefused) -> SiteResponse:
        trace, now = secrets.token_hex(16), self._stamp()
        body = {
            "error": refused.error,
            "error_description": f"AADSTS{refused.code}: {refused} Trace ID: {trace} Timestamp: {now}",
            "error_codes": [refused.code],
            "timestamp": now,
            "trace_id": trace,
        }
        return responses.document(refused.status, body)


def _match(trusted: list[Json], token: tokens.ServiceAccountToken) -> None:
    """Whether one credential fits; the code says how far they come."""
    same = [one for one in trusted if one["issuer"] == token.issuer]
    if not same:
        raise TokenRefused(700211, f"{_NONE_FITS} issuer '{token.issuer}'.")
    same = [one for one in same if one["subject"] == token.subject]
    if not same:
        raise TokenRefused(700213, f"{_NONE_FITS} subject '{token.subject}'.")
    if not any(set(one["audiences"]) & set(token.audiences) for one in same):
        raise TokenRefused(700212, f"{_NONE_FITS} audience '{', '.join(token.audiences)}'.")


def _unread(text: str) -> TokenRefused:
    return TokenRefused(50166, f"Request to External OIDC endpoint failed: {text}.", "invalid_request", 400)


def _instance(host: str, base: str) -> SiteResponse:
    names = {"preferred_network": host, "preferred_cache": host, "aliases": [host]}
    found: dict[str, Any] = {
        "tenant_discovery_endpoint": f"{base}/common/v2.0/.well-known/openid-configuration",
        "api-version": "1.1",
        "metadata": [names],
    }
    return responses.document(200, found)


def _document(root: str) -> Json:
    return {
        "issuer": f"{root}/v2.0",
        "token_endpoint": f"{root}/oauth2/v2.0/token",
        "authorization_endpoint": f"{root}/oauth2/v2.0/authorize",
        "jwks_uri": f"{root}/discovery/v2.0/keys",
        "response_types_supported": ["id_token"],
        "subject_types_supported": ["pairwise"],
        "id_token_signing_alg_values_supported": ["RS256"],
        "token_endpoint_auth_methods_supported": ["client_secret_post", "private_key_jwt"],
    }


def _part(raw: bytes) -> str:
    return base64.urlsafe_b64encode(raw).rstrip(b"=").decode()
