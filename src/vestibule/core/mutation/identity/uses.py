"""Which identities the containers of a finished pod would use, whoever put them there.

Read from the pod as it will be stored, after our patch: variables of every container, credentials files that
annotations hold, and the tokens behind the files that variables name. It knows no dialect and no plan, so it
sees what any of them, or the pod's author, wrote.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any, Final, NamedTuple
from urllib.parse import unquote, urlsplit

import msgspec

from vestibule.core.admission import apply, patch, review
from vestibule.core.kinds import vocabulary
from vestibule.core.kinds.vocabulary import Provider

Object = Mapping[str, Any]


class Use(NamedTuple):
    """One value that says whom a container acts as, or with which token."""

    provider: Provider
    what: str
    """``role_arn``, ``tenant_id``, ``client_id``, ``provider``, ``service_account`` or ``audience``."""
    value: str | None
    """None: it cannot be known before the container starts."""
    where: str
    """The container and variable, or the annotation."""


_IDENTITY: Final[dict[str, tuple[Provider, str]]] = {
    vocabulary.ENV_AWS_ROLE_ARN: ("aws", "role_arn"),
    vocabulary.ENV_AZURE_CLIENT_ID: ("az", "client_id"),
    vocabulary.ENV_AZURE_TENANT_ID: ("az", "tenant_id"),
    vocabulary.ENV_AZURE_AUTHORITY_HOST: ("az", "authority_host"),
}
_TOKEN_FILES: Final[dict[str, Provider]] = {
    vocabulary.ENV_AWS_TOKEN_FILE: "aws",
    vocabulary.ENV_AZURE_TOKEN_FILE: "az",
}
_FILES: Final[dict[str, tuple[Provider, str]]] = {
    "AWS_CONFIG_FILE": ("aws", "role_arn"),
    "AWS_SHARED_CREDENTIALS_FILE": ("aws", "role_arn"),
    "AWS_PROFILE": ("aws", "role_arn"),
    vocabulary.ENV_GOOGLE_CREDENTIALS: ("gcp", "provider"),
    vocabulary.ENV_CLOUDSDK_CREDENTIALS: ("gcp", "provider"),
}
"""Variables that lead to an identity in a file, which nobody can read beforehand."""
_FROM_ELSEWHERE: Final[tuple[tuple[Provider, str], ...]] = (
    ("aws", "role_arn"),
    ("az", "client_id"),
    ("gcp", "provider"),
)
_SETUP: Final[dict[str, str]] = {
    "GCP_WORKLOAD_IDENTITY_PROVIDER": "provider",
    "GCP_SERVICE_ACCOUNT": "service_account",
}
_SETUP_CONTAINER: Final = "gcloud-setup"
_CREDENTIALS_TEXT: Final = "CWII_GCP_CREDS_JSON"
_SECTION: Final = re.compile(r"\[profile [A-Za-z0-9._-]+\]")
_IMPERSONATION: Final = re.compile(r"/v1/projects/-/serviceAccounts/([^/]+):generateAccessToken")
_MOST_TEXTS: Final = 64
"""Credentials files in annotations that are read; a pod with more of them uses what nobody knows."""
_MOST_MOUNTS: Final = 64
"""Mounts with tokens of one container that are looked through; with more, nobody knows where a path leads."""
_LONGEST_PATH: Final = 1024


class Planned(NamedTuple):
    """What our own plans brought into the pod: it is known, and the container did not choose it."""

    variables: frozenset[tuple[str, str]] = frozenset()
    """Names and values."""
    volumes: frozenset[str] = frozenset()


def finished(pod: review.Pod, patched: patch.Patch) -> dict[str, Any]:
    """The parts of the pod that matter here, with the patch applied."""
    metadata: dict[str, Any] = {}
    if pod.metadata.annotations is not None:
        metadata["annotations"] = dict(pod.metadata.annotations)
    if pod.metadata.labels is not review.ABSENT:
        metadata["labels"] = msgspec.json.decode(pod.metadata.labels)
    spec: dict[str, Any] = {}
    for field, raw in (
        ("volumes", pod.spec.volumes),
        ("containers", pod.spec.containers),
        ("initContainers", pod.spec.init_containers),
    ):
        if raw is not review.ABSENT:
            spec[field] = msgspec.json.decode(raw)
    document: dict[str, Any] = {"metadata": metadata, "spec": spec}
    if patched.operations:
        apply.patch(document, msgspec.json.decode(patched.operations))
    return document


def of(document: Object, planned: Planned) -> Iterator[Use]:
    """Every use in a finished pod. What cannot be known before the containers start is a use without a
    value."""
    spec = document["spec"]
    tokens = _tokens(spec.get("volumes"))
    containers = [*_objects(spec.get("initContainers")), *_objects(spec.get("containers"))]
    mounted = [_Mounted(container, tokens) for container in containers]
    distinct = list({one.key: one for one in mounted}.values())[:_MOST_TEXTS]
    for container, files in zip(containers, mounted, strict=True):
        yield from _of_container(container, files, distinct, planned)
    annotations = document["metadata"].get("annotations") or {}
    texts = 0
    for key, value in annotations.items():
        where = f"annotation {key[:80]}"
        if key == vocabulary.AWS_CONFIG:
            yield from _of_config(value, where, distinct)
        elif _holds_credentials(key):
            texts += 1
            if texts > _MOST_TEXTS:
                yield Use("gcp", "provider", None, where)
                return
            yield from of_credentials(value, where, distinct)


def of_credentials(text: str, where: str, mounted: list[_Mounted]) -> Iterator[Use]:
    """The uses in a credentials file for Google Cloud."""
    try:
        content = msgspec.json.decode(text)
    except (msgspec.MsgspecError, RecursionError):
        content = None
    if not isinstance(content, dict):
        yield Use("gcp", "provider", None, where)
        return
    provider = content.get("audience")
    yield Use("gcp", "provider", provider if isinstance(provider, str) else None, where)
    url = content.get("service_account_impersonation_url")
    if url is not None:
        yield Use("gcp", "service_account", _account(url), where)
    source = content.get("credential_source")
    file = source.get("file") if isinstance(source, dict) else None
    if mounted:
        yield from _audiences("gcp", file, where, mounted)


def _audiences(provider: Provider, file: object, where: str, mounted: list[_Mounted]) -> Iterator[Use]:
    """The audiences of the tokens that containers see at a path; unknown where none sees one."""
    found = {one.audience(file) for one in mounted} if isinstance(file, str) else set()
    known = sorted(audience for audience in found if audience)
    for audience in known:
        yield Use(provider, "audience", audience, where)
    if not known:
        yield Use(provider, "audience", None, where)


def _holds_credentials(key: str) -> bool:
    ours = vocabulary.GCP_CREDENTIALS
    return key == ours or key.startswith(f"{ours}.") or key.endswith("/external-credentials-json")


def _account(url: object) -> str | None:
    if not isinstance(url, str) or len(url) > _LONGEST_PATH:
        return None
    try:
        parts = urlsplit(url)
    except ValueError:
        return None
    found = _IMPERSONATION.fullmatch(parts.path)
    return unquote(found[1]) if found and not (parts.query or parts.fragment) else None


def _of_config(text: str, where: str, mounted: list[_Mounted]) -> Iterator[Use]:
    """The roles in an AWS configuration file; a line that we would not write is a role nobody knows."""
    lines = text.splitlines()
    for line in lines[: 4 * _MOST_TEXTS]:
        name, equals, value = (part.strip() for part in line.partition("="))
        if equals and name == "role_arn":
            yield Use("aws", "role_arn", value, where)
        elif equals and name == "web_identity_token_file":
            yield from _audiences("aws", value, where, mounted)
        elif line.strip() and not _SECTION.fullmatch(line):
            yield Use("aws", "role_arn", None, where)
    if len(lines) > 4 * _MOST_TEXTS:
        yield Use("aws", "role_arn", None, where)


def _of_container(
    container: Object, mounted: _Mounted, everywhere: list[_Mounted], planned: Planned
) -> Iterator[Use]:
    """The uses of one container; ``everywhere`` is what all containers see: one may write another's file."""
    name = str(container.get("name"))[:64]
    # names are case-insensitive on Windows, and nobody means another variable elsewhere
    variables = {(str(one.get("name")).upper(), _value(one)): None for one in _objects(container.get("env"))}
    clouds = {_TOKEN_FILES[key] for key, _ in variables if key in _TOKEN_FILES}
    for key, value in variables:
        where = f"container {name}, {key}"
        if key in _TOKEN_FILES:
            yield from _audiences(_TOKEN_FILES[key], value, where, [mounted])
        elif key in _IDENTITY:
            provider, what = _IDENTITY[key]
            # without a token of this pod the variable belongs to credentials that the program brings along
            if provider in clouds or mounted:
                yield Use(provider, what, value, where)
        elif key in _FILES:
            provider, what = _FILES[key]
            if (key, value) not in planned.variables and (provider in clouds or provider in mounted.clouds):
                yield Use(provider, what, None, where)
        elif key == _CREDENTIALS_TEXT:
            yield from of_credentials(value or "", where, everywhere)
        elif name == _SETUP_CONTAINER and key in _SETUP and value:
            full = f"//iam.googleapis.com/{value}" if key == "GCP_WORKLOAD_IDENTITY_PROVIDER" else value
            yield Use("gcp", _SETUP[key], full, where)
    if container.get("envFrom"):
        # a token of the pod's own, and variables that nobody can see: it may be any identity
        own = mounted.clouds_but(planned.volumes)
        for provider, what in _FROM_ELSEWHERE:
            if provider in own:
                yield Use(provider, what, None, f"container {name}, envFrom")


def _value(variable: Object) -> str | None:
    """The value of a variable; None where it comes from elsewhere or names another one."""
    value = variable.get("value")
    if value is None and not variable.get("valueFrom"):
        return ""
    return value if isinstance(value, str) and "$(" not in value else None


class _Mounted:
    """The tokens that a container sees. Files are looked up when one is named: a volume may hold thousands of
    tokens, and every container may mount it."""

    def __init__(self, container: Object, tokens: Mapping[str, _Tokens]) -> None:
        self._tokens = tokens
        self._mounts: dict[str, tuple[str, str] | None] = {}
        self._volumes: set[str] = set()
        for mount in _objects(container.get("volumeMounts")):
            name = mount.get("name")
            if not isinstance(name, str) or name not in tokens:
                continue
            self._volumes.add(name)
            path = _plain(str(mount.get("mountPath"))[:_LONGEST_PATH])
            place = name, _plain(str(mount.get("subPath") or "")[:_LONGEST_PATH])
            known = not mount.get("subPathExpr") and self._mounts.get(path, place) == place
            self._mounts[path] = place if known else None
        self.key = tuple(sorted(self._mounts.items(), key=str))
        """The same for containers that see the same."""

    def __bool__(self) -> bool:
        return bool(self._mounts)

    @property
    def clouds(self) -> frozenset[str]:
        """Clouds that would take one of the tokens."""
        return self.clouds_but(frozenset())

    def clouds_but(self, volumes: frozenset[str]) -> frozenset[str]:
        """The same, without the tokens of some volumes."""
        return frozenset(cloud for name in self._volumes - volumes for cloud in self._tokens[name].clouds)

    def audience(self, file: str) -> str | None:
        """The audience of the token at a path; None when it cannot be told which token is there, if any."""
        if not self._mounts or len(self._mounts) > _MOST_MOUNTS or len(file) > _LONGEST_PATH:
            return None
        if not (file.startswith("/") or file[1:3] in (":\\", ":/")) or "/.." in file.replace("\\", "/"):
            return None
        path = _plain(file)
        best = max(
            (one for one in self._mounts if path == one or path.startswith(f"{one}/") or not one),
            key=len,
            default=None,
        )
        place = self._mounts[best] if best is not None else None
        if best is None or place is None:
            return None
        volume, below = place
        rest = path[len(best) :].strip("/")
        return self._tokens[volume].files.get("/".join(filter(None, (below, rest))))


def _plain(path: str) -> str:
    """A path without drive, backslashes, doubled slashes and dots."""
    parts = path.replace("\\", "/").split("/")
    if parts and len(parts[0]) == 2 and parts[0].endswith(":"):
        parts = parts[1:]
    return "/".join(part for part in parts if part not in ("", "."))


class _Tokens(NamedTuple):
    """The tokens of a volume."""

    files: dict[str, str | None]
    """File and audience; None where two tokens want one file."""
    clouds: frozenset[str]


def _tokens(volumes: object) -> dict[str, _Tokens]:
    """Volumes with ServiceAccount tokens. Tokens for the API server itself are no identity in a cloud."""
    found: dict[str, _Tokens] = {}
    for volume in _objects(volumes):
        projected = volume.get("projected")
        files: dict[str, str | None] = {}
        clouds: set[str] = set()
        for source in _objects(projected.get("sources") if isinstance(projected, dict) else None):
            token = source.get("serviceAccountToken")
            if isinstance(token, dict) and token.get("audience"):
                path, audience = _plain(str(token.get("path"))), str(token["audience"])
                files[path] = audience if files.get(path, audience) == audience else None
                clouds.add(_cloud(audience))
        if files:
            found[str(volume.get("name"))] = _Tokens(files, frozenset(clouds - {""}))
    return found


def _cloud(audience: str) -> str:
    """The cloud that an audience is usually for; empty: none."""
    if "amazonaws.com" in audience:
        return "aws"
    if "AzureADTokenExchange" in audience:
        return "az"
    return "gcp" if "googleapis.com" in audience else ""


def _objects(raw: object) -> Iterator[Object]:
    if isinstance(raw, list):
        yield from (item for item in raw if isinstance(item, dict))
