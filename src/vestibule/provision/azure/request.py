"""What a run is asked for, after the flags were read: plain values, checked all at once."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Literal, NamedTuple

from vestibule.api import credentialsrequest
from vestibule.api.credentialsrequest import CredentialsRequest, RequestProblem
from vestibule.clouds.azure.endpoints import AzureEndpoints
from vestibule.errors import InputProblem, InvalidInput
from vestibule.oidc import discovery
from vestibule.provision.azure import names as rules
from vestibule.provision.azure.names import AzureNames

IssuerMode = Literal["blob", "website", "private", "none"]
"""``blob``: a public container, as ccoctl creates it. ``website``: the static website of the account, and no
public container. ``private``: a private account behind a CDN. ``none``: no account, only local documents."""


class AzureRequest(NamedTuple):
    """Everything that one run wants."""

    names: AzureNames
    region: str
    subscription: str
    tenant: str
    cloud: AzureEndpoints
    tags: Mapping[str, str]
    issuer_url: str
    issuer_mode: IssuerMode = "blob"
    requests: tuple[CredentialsRequest, ...] = ()
    preserve: bool = False
    """Role assignments of other owners are never deleted; this is the default."""
    prune: bool = False
    """All unneeded role assignments of our identities are deleted, of any owner."""

    @property
    def owned(self) -> dict[str, str]:
        """The tag of created resources, besides the user's own; it cannot be overridden."""
        return {**self.tags, self.names.owned_tag: rules.OWNED}


class RequestedRoles(NamedTuple):
    """What an identity must be able to do."""

    bindings: tuple[str, ...]
    """Names of roles."""
    actions: tuple[str, ...]
    data_actions: tuple[str, ...]


def roles(request: CredentialsRequest) -> tuple[RequestedRoles, list[RequestProblem]]:
    """The roles of a request, and what is wrong with them."""
    wrong: list[RequestProblem] = []
    path: tuple[str | int, ...] = ("spec", "providerSpec")
    bindings: list[str] = []
    listed = credentialsrequest.get(request.spec, "roleBindings")
    if listed is not None and not isinstance(listed, list):
        wrong.append(RequestProblem((*path, "roleBindings"), f"is {listed!r}, want a list"))
        listed = None
    for number, item in enumerate(listed or ()):
        role = credentialsrequest.get(item, "role")
        if isinstance(role, str) and role.strip():
            bindings.append(role)
        else:
            wrong.append(
                RequestProblem(
                    (*path, "roleBindings", number, "role"), f"is {role!r}, want the name of a role"
                )
            )
    actions = credentialsrequest.texts(request.spec, "permissions", path, wrong)
    data = credentialsrequest.texts(request.spec, "dataPermissions", path, wrong)
    if not (bindings or actions or data or wrong):
        wrong.append(
            RequestProblem(path, "requests no role and no permission: its identity could do nothing")
        )
    return RequestedRoles(tuple(dict.fromkeys(bindings)), tuple(actions), tuple(data)), wrong


def issuer_url(mode: IssuerMode, names: AzureNames, cloud: AzureEndpoints, given: str) -> str:
    """The issuer: as given, or the address of the container. A website's is known when its account is."""
    if given or mode != "blob":
        return given
    return f"https://{names.account}.{cloud.blob_suffix}/{names.container}"


def check(desired: AzureRequest, *, issuer: bool, identities: bool) -> None:
    """Raises InvalidInput with everything that is wrong before the first call."""
    problems = [*_problems(desired, issuer=issuer, identities=identities)]
    if problems:
        raise InvalidInput(*problems)


def _problems(desired: AzureRequest, *, issuer: bool, identities: bool) -> Iterator[InputProblem]:
    account = issuer and desired.issuer_mode != "none"
    yield from rules.problems(desired.names, account=account, identities=identities)
    yield from rules.guid_problem("--subscription-id", desired.subscription)
    if issuer:
        yield from rules.guid_problem("--tenant-id", desired.tenant)
        if desired.issuer_mode in ("private", "none") and not desired.issuer_url:
            text = f"is missing, and --issuer-mode is {desired.issuer_mode}: want the public address"
            yield InputProblem("--issuer-url", "", text)
    yield from rules.tag_problems(desired.tags)
    if desired.issuer_url and (flaw := discovery.flaw(desired.issuer_url)):
        yield InputProblem("--issuer-url", "", f"is {desired.issuer_url!r}: {flaw}")
    for request in desired.requests:
        for path, text in roles(request)[1]:
            field = ".".join(map(str, path))
            yield InputProblem(request.place, f"CredentialsRequest {request.name}: {field}", text)
        if len(request.accounts) > rules.MOST_CREDENTIALS:
            text = (
                f"has {len(request.accounts)} names, want {rules.MOST_CREDENTIALS} or fewer: "
                "an identity takes no more federated credentials"
            )
            yield InputProblem(
                request.place, f"CredentialsRequest {request.name}: spec.serviceAccountNames", text
            )
