"""Which identities the containers of a finished pod would use, whatever their origin.

Read from the pod as it will be stored, after our patch: variables of every container, credentials files that
annotations hold, and the tokens and files behind the paths that variables name (``mounts``). It knows no
dialect, so it sees what any of them, or the pod's author, wrote.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from typing import Any, Final, NamedTuple
from urllib.parse import unquote, urlsplit

import msgspec

from vestibule.admission import apply, patch, review
from vestibule.api import annotation_keys
from vestibule.api.annotation_keys import Provider
from vestibule.injection import sdk_variables
from vestibule.injection.mounts import ANY, LONGEST_PATH, Mounts, Object, objects, plain, resolved, tokens


class IdentityUse(NamedTuple):
    """One value that says whom a container acts as, or with which token."""

    provider: Provider
    what: str
    """``role_arn``, ``tenant_id``, ``client_id``, ``provider``, ``service_account`` or ``audience``."""
    value: str | None
    """None: it cannot be known before the container starts."""
    where: str
    """The container and variable, or the annotation."""
    hidden: bool = False
    """Whether it represents variables that ``envFrom`` may add."""


_SETUP: Final[dict[str, str]] = {
    "GCP_WORKLOAD_IDENTITY_PROVIDER": "provider",
    "GCP_SERVICE_ACCOUNT": "service_account",
}
_SETUP_CONTAINER: Final = "gcloud-setup"
_CREDENTIALS_TEXT: Final = "CWII_GCP_CREDS_JSON"
_SECTION: Final = re.compile(r"\[profile ([A-Za-z0-9._-]+)\]")
_IMPERSONATION: Final = re.compile(r"/v1/projects/-/serviceAccounts/([^/]+):generateAccessToken")
_MOST_TEXTS: Final = 32
"""Credentials files in annotations that are read, and containers that see different tokens; a pod with more
of them has unknown uses."""


class InjectedParts(NamedTuple):
    """What our own plans brought into the pod: it is known, and the container did not choose it."""

    variables: frozenset[tuple[str, str]] = frozenset()
    """Names and values."""
    volumes: frozenset[str] = frozenset()
    """Those that are in the pod just as they were planned."""
    profiles: frozenset[str] = frozenset()
    """Names of profiles in the AWS configuration file."""
    credentials: tuple[str, ...] = ()
    """Credentials files for Google Cloud that are in no annotation."""


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


class _Pod:
    """What the containers of one pod share."""

    def __init__(self, mounted: list[Mounts], planned: InjectedParts, most: int, volumes: object) -> None:
        self.mounted = mounted
        """What all containers see: one may write another's file."""
        self.planned = planned
        self.most = most
        self._volumes = volumes
        self._homes: dict[str, frozenset[str]] | None = None
        self._texts = 0

    def brings(self, volume: object, folder: str) -> bool:
        """Whether a volume that is not ours brings files of such a folder."""
        if self._homes is None:  # once for all containers: each may mount a volume of thousands of items
            self._homes = {
                str(one.get("name")): folders
                for one in objects(self._volumes)
                if len(one) > 1 and (folders := _folders(one))
            }
        return volume not in self.planned.volumes and folder in self._homes.get(str(volume), ())

    def credentials(self, text: str, where: str) -> Iterator[IdentityUse]:
        """The uses in a credentials file for Google Cloud; a pod with many of them has unknown uses."""
        self._texts += 1
        if self._texts > _MOST_TEXTS:
            yield IdentityUse("gcp", "provider", None, where)
        else:
            yield from of_credentials(text, where, self.mounted)


def _folders(volume: Object) -> frozenset[str]:
    """The home folders of which a volume of ConfigMaps, Secrets or fields brings files."""
    sources = [source for source in volume.values() if isinstance(source, dict)]
    parts = [part for source in sources for one in objects(source.get("sources")) for part in one.values()]
    listed = (source for source in (*sources, *parts) if isinstance(source, dict))
    paths = [item.get("path") for source in listed for item in objects(source.get("items"))]
    return frozenset(
        folder
        for folder, _, _ in sdk_variables.HOME_FOLDERS
        if any(_in_folder(path, folder) for path in paths)
    )


def _in_folder(path: object, folder: str) -> bool:
    """Whether a path leads into the folder or is the folder, wherever that is."""
    if not isinstance(path, str) or folder.rpartition("/")[2] not in path.lower():
        return False
    return f"/{folder}/" in f"/{plain(path[: LONGEST_PATH + 1])}/"


def of(document: Object, planned: InjectedParts, most: int) -> Iterator[IdentityUse]:
    """Every use in a finished pod, of each list at most one more than ``most``. What cannot be known before
    the containers start is a use without a value."""
    spec = document["spec"]
    held = tokens(spec.get("volumes"))
    different: dict[bytes, Object] = {}
    for field in ("initContainers", "containers"):
        for container in objects(spec.get(field)):
            different.setdefault(_contents(container), container)
    containers = different.values()
    mounted = [Mounts(container, held) for container in containers]
    different_mounts: dict[object, Mounts] = {}
    for one in mounted:
        if len(different_mounts) > _MOST_TEXTS:
            break  # more are not asked for
        different_mounts.setdefault(one.key, one)
    distinct = list(different_mounts.values())
    pod = _Pod(distinct, planned, most, spec.get("volumes"))
    for container, mounts in zip(containers, mounted, strict=True):
        yield from _JudgedContainer(container, mounts, pod).uses()
    for text in planned.credentials:
        yield from of_credentials(text, "", distinct)
    annotations = document["metadata"].get("annotations") or {}
    for key, value in annotations.items():
        where = f"annotation {key[:80]}"
        if key == annotation_keys.AWS_CONFIG:
            yield from _of_config(value, where, distinct)
        elif _holds_credentials(key):
            yield from pod.credentials(value, where)


def _contents(container: Object) -> bytes:
    """Everything that is read; containers with equal values use the same identities, and one of them is
    checked."""
    setup = container.get("name") == _SETUP_CONTAINER
    return msgspec.json.encode((setup, [container.get(field) for field in _FIELDS]))


_FIELDS: Final = ("env", "envFrom", "volumeMounts", "volumeDevices")


def of_credentials(text: str, where: str, mounted: list[Mounts]) -> Iterator[IdentityUse]:
    """The uses in a credentials file for Google Cloud."""
    try:
        content = msgspec.json.decode(text)
    except (msgspec.MsgspecError, RecursionError):
        content = None
    if not isinstance(content, dict):
        yield IdentityUse("gcp", "provider", None, where)
        return
    provider = content.get("audience")
    yield IdentityUse("gcp", "provider", provider if isinstance(provider, str) else None, where)
    url = content.get("service_account_impersonation_url")
    if url is not None:
        yield IdentityUse("gcp", "service_account", _account(url), where)
    source = content.get("credential_source")
    file = source.get("file") if isinstance(source, dict) else None
    if mounted:
        yield from _audiences("gcp", file, where, mounted)


def _audiences(provider: Provider, file: object, where: str, mounted: list[Mounts]) -> Iterator[IdentityUse]:
    """The audiences of the tokens that containers see at a path; unknown where none sees one, where it is
    ambiguous, or where too many see different ones."""
    path = resolved(file)
    found = {one.audience(path) for one in mounted[:_MOST_TEXTS]} if path is not None else set()
    known = sorted(audience for audience in found if audience)
    for audience in known:
        yield IdentityUse(provider, "audience", audience, where)
    if not known or "" in found or len(mounted) > _MOST_TEXTS:
        yield IdentityUse(provider, "audience", None, where)


def _holds_credentials(key: str) -> bool:
    ours = annotation_keys.GCP_CREDENTIALS
    return key == ours or key.startswith(f"{ours}.") or key.endswith("/external-credentials-json")


def _account(url: object) -> str | None:
    if not isinstance(url, str) or len(url) > LONGEST_PATH:
        return None
    try:
        parts = urlsplit(url)
    except ValueError:
        return None
    found = _IMPERSONATION.fullmatch(parts.path)
    return unquote(found[1]) if found and not (parts.query or parts.fragment) else None


def _of_config(text: str, where: str, mounted: list[Mounts]) -> Iterator[IdentityUse]:
    """The roles in an AWS configuration file; a line that we would not write is an unknown role."""
    lines = text.splitlines()
    for line in lines[: 4 * _MOST_TEXTS]:
        name, equals, value = (part.strip() for part in line.partition("="))
        if equals and name == "role_arn":
            yield IdentityUse("aws", "role_arn", value, where)
        elif equals and name == "web_identity_token_file":
            yield from _audiences("aws", value, where, mounted)
        elif line.strip() and not _SECTION.fullmatch(line):
            yield IdentityUse("aws", "role_arn", None, where)
    if len(lines) > 4 * _MOST_TEXTS:
        yield IdentityUse("aws", "role_arn", None, where)


def profiles(text: str) -> list[str]:
    """The names of the profiles in an AWS configuration file of ours."""
    return [found[1] for line in text.splitlines() if (found := _SECTION.fullmatch(line))]


class _JudgedContainer:
    """One container of a finished pod."""

    def __init__(self, container: Object, mounted: Mounts, pod: _Pod) -> None:
        self._spec, self._mounted, self._pod, self._planned = container, mounted, pod, pod.planned
        self._name = str(container.get("name"))[:64]
        self._variables = _variables(container)
        self._names = {name for name, _ in self._variables}
        self._named = {
            sdk_variables.TOKEN_FILES[name] for name in self._names & sdk_variables.TOKEN_FILES.keys()
        }

    def uses(self) -> Iterator[IdentityUse]:
        """What the container would use."""
        for key, value in self._variables:
            if key in _JUDGED and not self._unread(key):
                yield from self._of_variable(key, value, f"container {self._name}, {key}")
        if not self._mounted:
            return
        for folder, provider, what in sdk_variables.HOME_FOLDERS:
            if self._takes(provider) and self._has_home(folder):
                yield IdentityUse(provider, what, None, f"container {self._name}, volume at {folder}")
        if self._spec.get("envFrom"):
            yield from self._from_elsewhere()

    def _of_variable(self, key: str, value: str | None, where: str) -> Iterator[IdentityUse]:
        if key in sdk_variables.TOKEN_FILES:
            yield from _audiences(sdk_variables.TOKEN_FILES[key], value, where, [self._mounted])
        elif key in sdk_variables.IDENTITY:
            provider, what = sdk_variables.IDENTITY[key]
            # without a token of this pod the variable belongs to credentials that the program brings along
            if self._mounted or provider in self._named:
                yield IdentityUse(provider, what, value, where)
        elif key in sdk_variables.LISTS:
            provider, what, between = sdk_variables.LISTS[key]
            if self._takes(provider):
                listed = [None] if value is None else value.split(between, self._pod.most)
                for one in listed:
                    if one is None or one.strip():
                        yield IdentityUse(provider, what, one and one.strip(), where)
        elif key in sdk_variables.FILES:
            provider, what = sdk_variables.FILES[key]
            if self._takes(provider) and not self._ours(key, value):
                yield IdentityUse(provider, what, None, where)
        elif key == _CREDENTIALS_TEXT:
            yield from self._pod.credentials(value or "", where)
        elif self._name == _SETUP_CONTAINER and value:
            full = f"//iam.googleapis.com/{value}" if key == "GCP_WORKLOAD_IDENTITY_PROVIDER" else value
            yield IdentityUse("gcp", _SETUP[key], full, where)

    def _unread(self, key: str) -> bool:
        """Whether variables that the container sets count for more than this one."""
        stronger = sdk_variables.WEAKER.get(key)
        return stronger is not None and stronger <= self._names

    def _takes(self, provider: Provider) -> bool:
        """Whether the container sees a token that the cloud may take."""
        return provider in self._named or not self._mounted.clouds.isdisjoint((provider, ANY))

    def _ours(self, key: str, value: str | None) -> bool:
        """Whether a variable leads to a file that we wrote, or to none at all."""
        if key in sdk_variables.PROFILES:
            return self._our_profile(value)
        if key in sdk_variables.TERRAFORM and value == "":
            return True
        if (
            key in (sdk_variables.CONFIG_FILE, sdk_variables.SHARED_FILE)
            and value == sdk_variables.EMPTY_FILE
        ):
            return self._mounted.volume(plain(sdk_variables.EMPTY_FILE)) == ""
        if value is None or (key, value) not in self._planned.variables:
            return False
        if key == annotation_keys.ENV_AWS_CONTAINER_URI:
            return True
        path = resolved(value)
        return path is not None and self._mounted.volume(path) in self._planned.volumes

    def _our_profile(self, value: str | None) -> bool:
        """Whether a profile is one that we wrote, or the default of files that hold none."""
        if value not in self._planned.profiles and not (value == "default" and self._without_aws_files()):
            return False
        files = self._values(sdk_variables.CONFIG_FILE)
        return bool(files) and all(self._ours(sdk_variables.CONFIG_FILE, file) for file in files)

    def _without_aws_files(self) -> bool:
        files = (sdk_variables.CONFIG_FILE, sdk_variables.SHARED_FILE)
        return all(self._values(name) == [sdk_variables.EMPTY_FILE] for name in files)

    def _values(self, key: str) -> list[str | None]:
        return [found for name, found in self._variables if name == key]

    def _has_home(self, folder: str) -> bool:
        """Whether a volume that is not ours brings files of a folder in which an SDK looks by itself, and
        no variable, which is judged itself, counts for more than these files."""
        stronger = {annotation_keys.ENV_GOOGLE_CREDENTIALS, annotation_keys.ENV_CLOUDSDK_CREDENTIALS}
        if self._without_aws_files() if folder == ".aws" else stronger <= self._names:
            return False
        return any(
            self._pod.brings(mount.get("name"), folder)
            or (mount.get("name") not in self._planned.volumes and _in_folder(mount.get("mountPath"), folder))
            for mount in objects(self._spec.get("volumeMounts"))
        )

    def _from_elsewhere(self) -> Iterator[IdentityUse]:
        """Variables of ConfigMaps and Secrets, whose values are unknown at admission; those of the container
        itself take precedence."""
        prefixes = {str(source.get("prefix") or "").upper() for source in objects(self._spec.get("envFrom"))}
        prefix = "" if "" in prefixes else tuple(prefixes)
        names: dict[tuple[Provider, str], list[str]] = {}
        for name, provider, what in sdk_variables.READ:
            known = name in self._names or self._unread(name)
            if name.startswith(prefix) and not known and self._takes(provider):
                names.setdefault((provider, what), []).append(name)
        for (provider, what), listed in names.items():
            where = f"container {self._name}, envFrom, which may bring {', '.join(listed)}"
            yield IdentityUse(provider, what, None, where, hidden=True)


def _variables(container: Object) -> dict[tuple[str, str | None], None]:
    """Names and values, in order. A judged variable with many values in one container has none that is
    known."""
    found: dict[tuple[str, str | None], None] = {}
    values: Counter[str] = Counter()
    for one in objects(container.get("env")):
        # names are case-insensitive on Windows, and elsewhere another case never means another variable
        pair = str(one.get("name")).upper(), _value(one)
        if pair[0] in _JUDGED and pair not in found:
            values[pair[0]] += 1
            if values[pair[0]] > _MOST_VALUES:
                pair = pair[0], None
        found[pair] = None
    return found


_MOST_VALUES: Final = 8
"""Different values of one variable in one container; more than one is already a mistake."""
_JUDGED: Final = frozenset({name for name, _, _ in sdk_variables.READ} | _SETUP.keys() | {_CREDENTIALS_TEXT})
"""Every variable that says anything here."""


def _value(variable: Object) -> str | None:
    """The value of a variable; None where it comes from elsewhere or names another one."""
    value = variable.get("value")
    if value is None and not variable.get("valueFrom"):
        return ""
    return value if isinstance(value, str) and "$(" not in value else None
