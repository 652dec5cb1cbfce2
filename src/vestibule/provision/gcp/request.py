"""What one run wants, and everything that is wrong with it before the first call."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final, NamedTuple

from vestibule.api import credentialsrequest
from vestibule.api.credentialsrequest import CredentialsRequest, RequestProblem
from vestibule.clouds.gcp.endpoints import UNIVERSE, GcpEndpoints, endpoints
from vestibule.errors import InputProblem, InvalidInput
from vestibule.provision.gcp import names

_ROLE: Final = re.compile(r"(roles|(projects|organizations)/[a-z0-9.:-]+/roles)/[A-Za-z0-9_.]+")
_PERMISSION: Final = re.compile(r"[A-Za-z][A-Za-z0-9_-]*(\.[A-Za-z0-9_-]+)+")
_NAME: Final = re.compile(r"[a-z0-9]([-a-z0-9.]*[a-z0-9])?")


class GcpRequest(NamedTuple):
    """Everything that one run wants."""

    name: str
    project: str
    region: str = "us"
    universe: str = UNIVERSE
    pool: str = ""
    """Empty: the pool has the name of the run."""
    provider: str = ""
    """Empty: the provider has the name of the run."""
    embedded: bool = False
    """Keys are stored in the provider; there is no bucket."""
    requests: tuple[CredentialsRequest, ...] = ()
    where: GcpEndpoints = endpoints()

    @property
    def pool_name(self) -> str:
        """The pool."""
        return self.pool or self.name

    @property
    def provider_name(self) -> str:
        """The provider."""
        return self.provider or self.name

    @property
    def issuer(self) -> str:
        """The address of the issuer."""
        return names.issuer(self.name, self.universe)

    def roles(self, request: CredentialsRequest) -> tuple[str, ...]:
        """What the account of a request is given, as policies name it."""
        requested = permissions_of(request)[0]
        custom = names.role_path(self.project, names.role(self.project, request))
        return (*dict.fromkeys(requested.roles), *([custom] if requested.permissions else []))


class RequestedPermissions(NamedTuple):
    """What a request asks for."""

    roles: tuple[str, ...]
    permissions: tuple[str, ...]


def permissions_of(request: CredentialsRequest) -> tuple[RequestedPermissions, list[RequestProblem]]:
    """What an account may do, and what is wrong with the request."""
    wrong: list[RequestProblem] = []
    at: tuple[str | int, ...] = ("spec", "providerSpec")
    roles = credentialsrequest.texts(request.spec, "predefinedRoles", at, wrong)
    permissions = credentialsrequest.texts(request.spec, "permissions", at, wrong)
    if not (roles or permissions or wrong):
        wrong.append(
            RequestProblem(at, "has no predefinedRoles and no permissions, want what the account may do")
        )
    wrong += [
        RequestProblem((*at, "predefinedRoles", number), f"is {text!r}, want a role, as roles/storage.admin")
        for number, text in enumerate(roles)
        if not _ROLE.fullmatch(text)
    ]
    wrong += [
        RequestProblem(
            (*at, "permissions", number), f"is {text!r}, want a permission, as storage.buckets.get"
        )
        for number, text in enumerate(permissions)
        if not _PERMISSION.fullmatch(text)
    ]
    return RequestedPermissions(tuple(roles), tuple(dict.fromkeys(permissions))), wrong


def check(desired: GcpRequest) -> None:
    """Raises InvalidInput with everything that is wrong."""
    found = [
        *names.problems(
            desired.name,
            desired.project,
            region=desired.region,
            universe=desired.universe,
            pool=desired.pool,
            provider=desired.provider,
        )
    ]
    for request in desired.requests:
        for path, text in _wrong(request):
            field = f"CredentialsRequest {request.name}: {'.'.join(map(str, path))}"
            found.append(InputProblem(request.place, field, text))
    found += _met(desired)
    if found:
        raise InvalidInput(*found)


def _wrong(request: CredentialsRequest) -> Iterator[RequestProblem]:
    if not _NAME.fullmatch(request.name):
        text = f"is {request.name!r}, want a name: accounts and roles are named after it"
        yield RequestProblem(("metadata", "name"), text)
    for number, subject in enumerate(request.subjects):
        size = len(subject.encode())
        if size > names.LONGEST_SUBJECT:
            limit = f"want {names.LONGEST_SUBJECT} at most, as Google takes"
            text = f"gives the subject {subject!r} of {size} bytes, {limit}"
            yield RequestProblem(("spec", "serviceAccountNames", number), text)
    yield from permissions_of(request)[1]


def _met(desired: GcpRequest) -> Iterator[InputProblem]:
    """Requests that would share an account, or a role and with it each other's permissions."""
    displays: dict[str, CredentialsRequest] = {}
    roles: dict[str, CredentialsRequest] = {}
    for request in desired.requests:
        field = f"CredentialsRequest {request.name}: metadata.name"
        display = names.display(desired.name, request)
        other = displays.setdefault(display, request)
        if other is not request:
            text = f"gives the account {display}, as {other.name} ({other.place}) does, want another name"
            yield InputProblem(request.place, field, text)
            continue
        if not permissions_of(request)[0].permissions:
            continue
        role = names.role(desired.project, request)
        other = roles.setdefault(role, request)
        if other is not request:
            text = f"gives the role {role}, as {other.name} ({other.place}) does, want another name"
            yield InputProblem(request.place, field, text)
