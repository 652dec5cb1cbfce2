"""Google Cloud: the security token service, service account impersonation and, for the project's name, the
resource manager.

Whom a pool provider lets in is an attribute condition; without one every subject gets a token, and what that
is worth is up to IAM: impersonation asks whether the principal may use the service account.
"""

from __future__ import annotations

import json
import re
import secrets
from typing import NamedTuple
from urllib.parse import unquote

from tests.chain.clouds.trust import Clock, Trust, stamp
from tests.chain.gateway import Call, Reply
from tests.chain.issuers import Claims, Issuers, Unverified

STS, IAM = "sts.googleapis.com", "iamcredentials.googleapis.com"
RESOURCES = "cloudresourcemanager.googleapis.com"
PROJECT = "acme-prod"
LIFE = 3600
_URN = "urn:ietf:params:oauth:"
_EXCHANGE = {
    "grant_type": f"{_URN}grant-type:token-exchange",
    "requested_token_type": f"{_URN}token-type:access_token",
    "subject_token_type": f"{_URN}token-type:jwt",
}
_GENERATE = re.compile(r"/v1/projects/-/serviceAccounts/([^/]+):generateAccessToken")
_CLOUD = "https://www.googleapis.com/auth/cloud-platform"
_ENOUGH_FOR_IAM = {_CLOUD, "https://www.googleapis.com/auth/iam"}


class Provider(NamedTuple):
    """A workload identity pool provider."""

    trust: Trust
    condition: str = ""
    """The one subject its attribute condition lets in; empty: there is no condition."""


class Access(NamedTuple):
    """An access token's meaning: a federated principal, or the service account it became."""

    principal: str
    scopes: frozenset[str]
    account: str = ""


class Google:
    """One project with its pool providers and service accounts."""

    def __init__(self, issuers: Issuers, clock: Clock) -> None:
        self._issuers, self._clock = issuers, clock
        self.providers: dict[str, Provider] = {}
        self.accounts: dict[str, str] = {}
        """Service account to the one subject with roles/iam.workloadIdentityUser on it."""
        self.issued: dict[str, Access] = {}

    def owns(self, host: str) -> bool:
        return host in (STS, IAM, RESOURCES)

    def answer(self, call: Call) -> Reply:
        if call.host == STS and call.path == "/v1/token" and call.method == "POST":
            return self._exchange(call.form)
        access = self.issued.get(call.headers.get("Authorization", "").removeprefix("Bearer "))
        if access is None:
            return _status(401, "UNAUTHENTICATED", "Request had invalid authentication credentials.")
        if call.host == RESOURCES and re.fullmatch(r"/v1/projects/\d+", call.path):
            return _json(200, {"projectId": PROJECT})
        found = _GENERATE.fullmatch(call.path)
        if call.host == IAM and found is not None:
            return self._impersonate(access, unquote(found[1]), call)
        return _status(404, "NOT_FOUND", "Requested entity was not found.")

    def _exchange(self, requested: dict[str, str]) -> Reply:
        wrong = [name for name, value in _EXCHANGE.items() if requested.get(name) != value]
        if wrong or not requested.get("scope"):
            return _refused("invalid_request", f"Invalid value for {wrong or ['scope']}.")
        name = requested.get("audience", "")
        if not name.startswith("//iam.googleapis.com/"):
            text = "This value should be the full resource name of the Identity Provider."
            return _refused("invalid_request", f'Invalid value for "audience". {text}')
        provider = self.providers.get(name)
        if provider is None:
            text = 'The target service indicated by the "audience" parameters is invalid.'
            return _refused("invalid_target", text)
        try:
            claims = self._issuers.claims(requested.get("subject_token", ""), {provider.trust.issuer})
        except Unverified as error:
            if error.issuer and error.issuer != provider.trust.issuer:
                text = f"The issuer in ID Token {error.issuer} does not match the expected ones"
            else:
                text = f"Error verifying the ID Token: {error.why}"
            return _refused("invalid_grant", text)
        return self._admit(provider, claims, frozenset(requested["scope"].split()))

    def _admit(self, provider: Provider, claims: Claims, scopes: frozenset[str]) -> Reply:
        if not claims.timely(self._clock.now()):
            return _refused(
                "invalid_grant", f"ID Token expired at {stamp(claims.ends)}, it is stale to sign-in."
            )
        if not provider.trust.hears(claims):
            heard = ", ".join(claims.audiences)
            text = f"The audience in ID Token [{heard}] does not match the expected audience."
            return _refused("invalid_grant", text)
        if len(claims.subject.encode()) > 127:
            return _refused(
                "invalid_request", "The size of mapped attribute google.subject exceeds the 127 bytes limit."
            )
        if provider.condition and provider.condition != claims.subject:
            text = "The given credential is rejected by the attribute condition."
            return _refused("unauthorized_client", text)
        answer = {
            "access_token": self._issue(Access(claims.subject, scopes)),
            "issued_token_type": f"{_URN}token-type:access_token",
            "token_type": "Bearer",
            "expires_in": min(LIFE, int(claims.ends - self._clock.now())),
        }
        return _json(200, answer)

    def _impersonate(self, access: Access, account: str, call: Call) -> Reply:
        if self.accounts.get(account) != access.principal or not access.scopes & _ENOUGH_FOR_IAM:
            text = "Permission 'iam.serviceAccounts.getAccessToken' denied on resource (or it may not exist)."
            return _status(403, "PERMISSION_DENIED", text)
        requested = json.loads(call.body)
        token = self._issue(Access(access.principal, frozenset(requested["scope"]), account))
        return _json(200, {"accessToken": token, "expireTime": self._clock.stamp(LIFE)})

    def _issue(self, access: Access) -> str:
        token = f"ya29.d.{secrets.token_urlsafe(32)}"
        self.issued[token] = access
        return token


def _json(status: int, body: object) -> Reply:
    return Reply(status, json.dumps(body).encode())


def _refused(error: str, description: str) -> Reply:
    return _json(400, {"error": error, "error_description": description})


def _status(code: int, status: str, message: str) -> Reply:
    return _json(code, {"error": {"code": code, "message": message, "status": status}})
