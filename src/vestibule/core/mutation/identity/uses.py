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
}
_TOKEN_FILES: Final[dict[str, Provider]] = {
    vocabulary.ENV_AWS_TOKEN_FILE: "aws",
    vocabulary.ENV_AZURE_TOKEN_FILE: "az",
}
_SETUP: Final[dict[str, str]] = {
    "GCP_WORKLOAD_IDENTITY_PROVIDER": "provider",
    "GCP_SERVICE_ACCOUNT": "service_account",
}
_SETUP_CONTAINER: Final = "gcloud-setup"
_CREDENTIALS_TEXT: Final = "CWII_GCP_CREDS_JSON"
_ROLE_LINE: Final = re.compile(r"\s*role_arn\s*=\s*(.*?)\s*", re.ASCII)
_SECTION: Final = re.compile(r"\[profile [A-Za-z0-9._-]+\]")
_TOKEN_LINE: Final = re.compile(r"web_identity_token_file = [!-~]+")
_IMPERSONATION: Final = re.compile(r"/v1/projects/-/serviceAccounts/([^/]+):generateAccessToken")


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


def of(document: Object) -> Iterator[Use]:
    """Every use in a finished pod."""
    spec = document["spec"]
    tokens = _tokens(spec.get("volumes"))
    containers = [*_objects(spec.get("initContainers")), *_objects(spec.get("containers"))]
    mounted = [_Mounted(container, tokens) for container in containers]
    for container, files in zip(containers, mounted, strict=True):
        yield from _of_container(container, files)
    annotations = document["metadata"].get("annotations") or {}
    for key, value in annotations.items():
        where = f"annotation {key}"
        if key == vocabulary.AWS_CONFIG:
            yield from _of_config(value, where)
        elif _holds_credentials(key):
            yield from of_credentials(value, where, mounted)


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
    if isinstance(file, str):
        found = {audience for one in mounted if (audience := one.audience(file)) is not None}
        for audience in sorted(found):
            yield Use("gcp", "audience", audience, where)


def _holds_credentials(key: str) -> bool:
    ours = vocabulary.GCP_CREDENTIALS
    return key == ours or key.startswith(f"{ours}.") or key.endswith("/external-credentials-json")


def _account(url: object) -> str | None:
    if not isinstance(url, str):
        return None
    parts = urlsplit(url)
    found = _IMPERSONATION.fullmatch(parts.path)
    return unquote(found[1]) if found and not (parts.query or parts.fragment) else None


def _of_config(text: str, where: str) -> Iterator[Use]:
    """The roles in an AWS configuration file; a line that we would not write is a role nobody knows."""
    for line in text.splitlines():
        role = _ROLE_LINE.fullmatch(line)
        if role:
            yield Use("aws", "role_arn", role[1], where)
        elif line.strip() and not (_SECTION.fullmatch(line) or _TOKEN_LINE.fullmatch(line)):
            yield Use("aws", "role_arn", None, where)


def _of_container(container: Object, mounted: _Mounted) -> Iterator[Use]:
    name = str(container.get("name"))
    variables = list(_objects(container.get("env")))
    set_up = name == _SETUP_CONTAINER
    files: dict[Provider, bool] = {}
    for variable in variables:
        provider = _TOKEN_FILES.get(str(variable.get("name")))
        if provider is None:
            continue
        files[provider] = True
        value = variable.get("value")
        audience = mounted.audience(value) if isinstance(value, str) else None
        if audience is not None:
            yield Use(provider, "audience", audience, f"container {name}")
    for variable in variables:
        key, value = str(variable.get("name")), variable.get("value")
        where = f"container {name}, {key}"
        if key in _IDENTITY:
            provider, what = _IDENTITY[key]
            # without a token of this pod the variable belongs to credentials that the program brings along
            if files.get(provider) or mounted:
                yield Use(provider, what, value if isinstance(value, str) else None, where)
        elif key == _CREDENTIALS_TEXT:
            yield from of_credentials(value if isinstance(value, str) else "", where, [mounted])
        elif set_up and key in _SETUP and value:
            full = f"//iam.googleapis.com/{value}" if key == "GCP_WORKLOAD_IDENTITY_PROVIDER" else value
            yield Use("gcp", _SETUP[key], str(full), where)


class _Mounted:
    """The tokens that a container sees. Files are looked up when one is named: a volume may hold thousands of
    tokens, and every container may mount it."""

    def __init__(self, container: Object, tokens: Mapping[str, dict[str, str]]) -> None:
        self._tokens = tokens
        self._mounts: dict[str, tuple[str, str]] = {}
        for mount in _objects(container.get("volumeMounts")):
            if mount.get("name") in tokens:
                place = str(mount["name"]), _plain(str(mount.get("subPath") or ""))
                self._mounts[_plain(str(mount.get("mountPath")))] = place

    def __bool__(self) -> bool:
        return bool(self._mounts)

    def audience(self, file: str) -> str | None:
        """The audience of the token at a path; None when no token of this pod is there."""
        if not self._mounts or len(file) > _LONGEST_PATH:
            return None
        parts = _plain(file).split("/")
        for depth in range(len(parts), -1, -1):
            found = self._mounts.get("/".join(parts[:depth]))
            if found is not None:
                volume, below = found
                return self._tokens[volume].get("/".join([*filter(None, [below]), *parts[depth:]]))
        return None


_LONGEST_PATH: Final = 4096


def _plain(path: str) -> str:
    """A path without drive, backslashes, doubled slashes and dots."""
    parts: list[str] = []
    for part in path.removeprefix("C:").replace("\\", "/").split("/"):
        if part == "..":
            del parts[-1:]
        elif part not in ("", "."):
            parts.append(part)
    return "/".join(parts)


def _tokens(volumes: object) -> dict[str, dict[str, str]]:
    """Volumes with ServiceAccount tokens: file and audience. Tokens for the API server itself are no
    identity in a cloud."""
    found: dict[str, dict[str, str]] = {}
    for volume in _objects(volumes):
        projected = volume.get("projected")
        for source in _objects(projected.get("sources") if isinstance(projected, dict) else None):
            token = source.get("serviceAccountToken")
            if isinstance(token, dict) and token.get("audience"):
                files = found.setdefault(str(volume.get("name")), {})
                files[_plain(str(token.get("path")))] = str(token["audience"])
    return found


def _objects(raw: object) -> Iterator[Object]:
    if isinstance(raw, list):
        yield from (item for item in raw if isinstance(item, dict))
