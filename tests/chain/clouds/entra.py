"""Entra ID: the token endpoint of tenants in every Azure cloud, and the two discoveries that come before it.

A federated credential names issuer, subject and audience, and all three are compared exactly. azure-identity
goes straight to the token endpoint; MSAL, on which the other languages' SDKs are built alike, asks for both
discoveries first.
"""

from __future__ import annotations

import json
import re
import secrets
from typing import NamedTuple

from tests.chain.clouds.trust import Clock, Trust
from tests.chain.gateway import Call, Reply
from tests.chain.issuers import Claims, Issuers, Unverified

PUBLIC = "login.microsoftonline.com"
HOSTS = (PUBLIC, "login.microsoftonline.us", "login.chinacloudapi.cn")
LIFE = 3599
_TOKEN = re.compile(r"/([^/]+)/oauth2/v2\.0/token")
_DOCUMENT = re.compile(r"/([^/]+)/v2\.0/\.well-known/openid-configuration")
_JWT_BEARER = "urn:ietf:params:oauth:client-assertion-type:jwt-bearer"
_NONE_FITS = "No matching federated identity record found for presented assertion"


class Access(NamedTuple):
    """What an access token is worth."""

    host: str
    tenant: str
    client: str
    scope: str


class _Refused(Exception):
    def __init__(self, code: int, message: str, error: str = "invalid_client", status: int = 401) -> None:
        super().__init__(message)
        self.code, self.error, self.status = code, error, status


class Entra:
    """All tenants: clients by tenant and id, each with one federated credential."""

    def __init__(self, issuers: Issuers, clock: Clock) -> None:
        self._issuers, self._clock = issuers, clock
        self.clients: dict[tuple[str, str], Trust] = {}
        self.issued: dict[str, Access] = {}

    def owns(self, host: str) -> bool:
        return host in HOSTS

    def answer(self, call: Call) -> Reply:
        if call.path == "/common/discovery/instance":
            return _instance(call.host)
        document = _DOCUMENT.fullmatch(call.path)
        if document is not None:
            return _document(f"https://{call.host}/{document[1]}")
        endpoint = _TOKEN.fullmatch(call.path)
        if endpoint is None or call.method != "POST":
            return _json(404, {"error": "not_found"})
        try:
            return self._token(call.host, endpoint[1], call.form)
        except _Refused as refused:
            return self._error(refused)

    def _token(self, host: str, tenant: str, requested: dict[str, str]) -> Reply:
        client, scope = requested.get("client_id", ""), requested.get("scope", "")
        if not any(known == tenant for known, _ in self.clients):
            raise _Refused(90002, f"Tenant '{tenant}' not found.", "invalid_request", 400)
        trust = self.clients.get((tenant, client))
        if trust is None:
            text = f"Application with identifier '{client}' was not found in the directory '{tenant}'."
            raise _Refused(700016, text, "unauthorized_client", 400)
        if (
            requested.get("grant_type") != "client_credentials"
            or requested.get("client_assertion_type") != _JWT_BEARER
        ):
            raise _Refused(
                900144, "The request body must contain a client assertion.", "invalid_request", 400
            )
        if not scope.endswith("/.default"):
            raise _Refused(
                1002012, f"The provided value for scope {scope} is not valid.", "invalid_scope", 400
            )
        self._match(trust, requested.get("client_assertion", ""))
        token = f"eyJ.double.{secrets.token_urlsafe(32)}"
        self.issued[token] = Access(host, tenant, client, scope)
        return _json(
            200, {"token_type": "Bearer", "expires_in": LIFE, "ext_expires_in": LIFE, "access_token": token}
        )

    def _match(self, trust: Trust, assertion: str) -> None:
        try:
            claims = self._issuers.claims(assertion, {trust.issuer})
        except Unverified as error:
            if error.issuer and error.issuer != trust.issuer:
                raise _Refused(700211, f"{_NONE_FITS} issuer '{error.issuer}'.") from error
            text = f"Client assertion failed signature validation: {error.why}."
            raise _Refused(700027, text) from error
        self._compare(trust, claims)

    def _compare(self, trust: Trust, claims: Claims) -> None:
        if not claims.timely(self._clock.now()):
            text = f"Client assertion is not within its valid time range. Current time: {self._clock.stamp()}"
            raise _Refused(700024, text)
        if not trust.hears(claims):
            raise _Refused(700212, f"{_NONE_FITS} audience '{', '.join(claims.audiences)}'.")
        if not trust.fits(claims):
            raise _Refused(700213, f"{_NONE_FITS} subject '{claims.subject}'.")

    def _error(self, refused: _Refused) -> Reply:
        trace, now = secrets.token_hex(16), self._clock.stamp()
        body = {
            "error": refused.error,
            "error_description": f"AADSTS{refused.code}: {refused} Trace ID: {trace} Timestamp: {now}",
            "error_codes": [refused.code],
            "timestamp": now,
            "trace_id": trace,
        }
        return _json(refused.status, body)


def _instance(host: str) -> Reply:
    names = {"preferred_network": host, "preferred_cache": host, "aliases": [host]}
    document = f"https://{host}/common/v2.0/.well-known/openid-configuration"
    return _json(200, {"tenant_discovery_endpoint": document, "api-version": "1.1", "metadata": [names]})


def _document(root: str) -> Reply:
    answer = {
        "issuer": f"{root}/v2.0",
        "token_endpoint": f"{root}/oauth2/v2.0/token",
        "authorization_endpoint": f"{root}/oauth2/v2.0/authorize",
        "jwks_uri": f"{root}/discovery/v2.0/keys",
    }
    return _json(200, answer)


def _json(status: int, body: object) -> Reply:
    return Reply(status, json.dumps(body).encode())
