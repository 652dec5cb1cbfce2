"""What a run is asked for, after the flags were read: plain values, checked all at once."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Final, Literal, NamedTuple

from vestibule.adapters.clouds.azure.endpoints import Endpoints
from vestibule.apps.provision.azure import names as rules
from vestibule.apps.provision.azure.names import Names
from vestibule.core.kinds import credentials
from vestibule.core.kinds.credentials import CredentialsRequest, Wrong
from vestibule.core.oidc import discovery
from vestibule.errors import InvalidInput, Problem

IssuerMode = Literal["blob", "website", "private", "none"]
MODES: Final[dict[str, str]] = {
    "blob": "a public container, as the original makes it",
    "website": "the static website of the account; no container is public",
    "private": "a private account behind a CDN or Front Door; needs --issuer-url",
    "none": "no account: documents are written locally for another host; needs --issuer-url",
}


class Issuer(NamedTuple):
    """The issuer to publish."""

    mode: IssuerMode
    url: str
    keys: tuple[str, ...] = ()
    """Ids of the keys, for people."""


class Wanted(NamedTuple):
    """Everything that one run wants."""

    names: Names
    region: str
    subscription: str
    tenant: str
    cloud: Endpoints
    tags: Mapping[str, str]
    issuer_url: str
    issuer_mode: IssuerMode = "blob"
    requests: tuple[CredentialsRequest, ...] = ()
    preserve: bool = False
    """Role assignments that somebody else made are kept; they are anyway, unless asked to be removed."""
    prune: bool = False
    """Role assignments of our identities that nobody wants are removed, whoever made them."""

    @property
    def owned(self) -> dict[str, str]:
        """The tag of what we make, beside the user's own; it cannot be overridden."""
        return {**self.tags, self.names.owned_tag: rules.OWNED}


class Roles(NamedTuple):
    """What an identity must be able to do."""

    bindings: tuple[str, ...]
    """Names of roles."""
    actions: tuple[str, ...]
    data_actions: tuple[str, ...]


def roles(request: CredentialsRequest) -> tuple[Roles, list[Wrong]]:
    """The roles of a request, and what is wrong with them."""
    wrong: list[Wrong] = []
    path: tuple[str | int, ...] = ("spec", "providerSpec")
    bindings: list[str] = []
    listed = credentials.get(request.spec, "roleBindings")
    if listed is not None and not isinstance(listed, list):
        wrong.append(Wrong((*path, "roleBindings"), f"is {listed!r}, want a list"))
        listed = None
    for number, item in enumerate(listed or ()):
        role = credentials.get(item, "role")
        if isinstance(role, str) and role.strip():
            bindings.append(role)
        else:
            wrong.append(
                Wrong((*path, "roleBindings", number, "role"), f"is {role!r}, want the name of a role")
            )
    actions = credentials.texts(request.spec, "permissions", path, wrong)
    data = credentials.texts(request.spec, "dataPermissions", path, wrong)
    if not (bindings or actions or data or wrong):
        wrong.append(Wrong(path, "asks for no role and no permission: its identity could do nothing"))
    return Roles(tuple(dict.fromkeys(bindings)), tuple(actions), tuple(data)), wrong


def issuer_url(mode: IssuerMode, names: Names, cloud: Endpoints, given: str) -> str:
    """The issuer: as given, or the address of the container. A website's is known when its account is."""
    if given or mode != "blob":
        return given
    return f"https://{names.account}.{cloud.blob_suffix}/{names.container}"


def check(wanted: Wanted, *, issuer: bool, identities: bool) -> None:
    """Raises InvalidInput with everything that is wrong before the first call."""
    problems = [*_problems(wanted, issuer=issuer, identities=identities)]
    if problems:
        raise InvalidInput(*problems)


def _problems(wanted: Wanted, *, issuer: bool, identities: bool) -> Iterator[Problem]:
    account = issuer and wanted.issuer_mode != "none"
    yield from rules.problems(wanted.names, account=account, identities=identities)
    yield from rules.guid_problem("--subscription-id", wanted.subscription)
    if issuer:
        yield from rules.guid_problem("--tenant-id", wanted.tenant)
        if wanted.issuer_mode in ("private", "none") and not wanted.issuer_url:
            text = f"is missing, and --issuer-mode is {wanted.issuer_mode}: want the public address"
            yield Problem("--issuer-url", "", text)
    yield from rules.tag_problems(wanted.tags)
    if wanted.issuer_url and (flaw := discovery.flaw(wanted.issuer_url)):
        yield Problem("--issuer-url", "", f"is {wanted.issuer_url!r}: {flaw}")
    for request in wanted.requests:
        for path, text in roles(request)[1]:
            field = ".".join(map(str, path))
            yield Problem(request.place, f"CredentialsRequest {request.name}: {field}", text)
        if len(request.accounts) > rules.MOST_CREDENTIALS:
            text = (
                f"has {len(request.accounts)} names, want {rules.MOST_CREDENTIALS} or fewer: "
                "an identity takes no more federated credentials"
            )
            yield Problem(request.place, f"CredentialsRequest {request.name}: spec.serviceAccountNames", text)
