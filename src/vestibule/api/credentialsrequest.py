"""CredentialsRequests: what one asks for, whichever cloud it is for, and which ones count.

Field names match in any letter case, as in ccoctl's decoder. What is wrong is a list of
``Wrong``: the path, so that a reader of files can name the line, and the words.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, Final, Literal, NamedTuple

Cloud = Literal["azure", "aws", "gcp"]
GROUP: Final = "cloudcredential.openshift.io"
KIND: Final = "CredentialsRequest"
TOKEN_FILE: Final = "/var/run/secrets/openshift/serviceaccount/token"
"""Where a pod finds its token, unless the request says otherwise."""
DELETED: Final = "release.openshift.io/delete"
FEATURE_SET: Final = "release.openshift.io/feature-set"
TECH_PREVIEW: Final = "TechPreviewNoUpgrade"

PROVIDERS: Final[dict[str, Cloud]] = {
    "AzureProviderSpec": "azure",
    "AWSProviderSpec": "aws",
    "GCPProviderSpec": "gcp",
}
_NAME: Final = re.compile(r"[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*")
_LABEL: Final = re.compile(r"[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?")


class RequestProblem(NamedTuple):
    """One thing that is wrong with a request."""

    path: tuple[str | int, ...]
    text: str


class CredentialsRequest(NamedTuple):
    """One request, for one Secret."""

    name: str
    namespace: str
    """Of the Secret, and of the ServiceAccounts that use it."""
    secret: str
    accounts: tuple[str, ...]
    token_file: str
    spec: Mapping[str, Any]
    """What the cloud is asked for."""
    place: str = ""
    """File and line, for people."""

    @property
    def subjects(self) -> tuple[str, ...]:
        """Whom tokens of these accounts speak for."""
        return tuple(f"system:serviceaccount:{self.namespace}:{name}" for name in self.accounts)


class SkippedDocument(NamedTuple):
    """A document that is skipped, and why."""

    name: str
    why: str
    place: str = ""


def is_request(value: object) -> bool:
    """Whether a document is a CredentialsRequest at all."""
    if not isinstance(value, Mapping):
        return False
    return get(value, "kind") == KIND and str(get(value, "apiVersion", "")).partition("/")[0] == GROUP


def skipped(value: Mapping[str, Any], cloud: Cloud, *, tech_preview: bool) -> str:
    """Why a request does not count; empty when it does."""
    meta = get(value, "metadata")
    annotations = get(meta, "annotations") if isinstance(meta, Mapping) else None
    annotations = annotations if isinstance(annotations, Mapping) else {}
    if annotations.get(DELETED) == "true":
        return f"is marked {DELETED}"
    feature_set = annotations.get(FEATURE_SET)
    if feature_set is not None and not (tech_preview and feature_set == TECH_PREVIEW):
        hint = "" if tech_preview else ", and --enable-tech-preview is not given"
        return f"belongs to the feature set {feature_set!r}{hint}"
    spec = get(value, "spec")
    provider = get(spec, "providerSpec") if isinstance(spec, Mapping) else None
    kind = get(provider, "kind") if isinstance(provider, Mapping) else None
    if kind in PROVIDERS and PROVIDERS[kind] != cloud:
        return f"is a request of another cloud ({kind})"
    return ""


def read(
    value: Mapping[str, Any], cloud: Cloud, place: str = ""
) -> tuple[CredentialsRequest, list[RequestProblem]]:
    """The request in a document, and everything that is wrong with it."""
    wrong: list[RequestProblem] = []
    meta = _mapping(value, ("metadata",), wrong)
    spec = _mapping(value, ("spec",), wrong)
    reference = _mapping(spec, ("spec", "secretRef"), wrong)
    namespace = _text(reference, ("spec", "secretRef", "namespace"), wrong, _LABEL, "the name of a namespace")
    secret = _text(reference, ("spec", "secretRef", "name"), wrong, _NAME, "the name of a Secret")
    provider = get(spec, "providerSpec")
    if not isinstance(provider, Mapping):
        wrong.append(RequestProblem(("spec", "providerSpec"), "is missing, want the requested permissions"))
        provider = {}
    kind = get(provider, "kind")
    if kind and PROVIDERS.get(str(kind)) != cloud:
        known = " or ".join(name for name, one in PROVIDERS.items() if one == cloud)
        wrong.append(RequestProblem(("spec", "providerSpec", "kind"), f"is {kind!r}, want {known}"))
    token = get(spec, "cloudTokenPath") or TOKEN_FILE
    if not isinstance(token, str) or not token.startswith("/") or "\n" in token:
        wrong.append(RequestProblem(("spec", "cloudTokenPath"), f"is {token!r}, want an absolute path"))
    found = CredentialsRequest(
        str(get(meta, "name") or ""),
        namespace,
        secret,
        _accounts(spec, wrong),
        str(token),
        provider,
        place,
    )
    return found, wrong


def get(value: Any, name: str, default: Any = None) -> Any:
    """A field by its name in any letter case; exact names first."""
    if not isinstance(value, Mapping):
        return default
    if name in value:
        return value[name]
    lower = name.lower()
    return next((found for key, found in value.items() if str(key).lower() == lower), default)


def texts(
    value: Mapping[str, Any], name: str, path: tuple[str | int, ...], wrong: list[RequestProblem]
) -> list[str]:
    """A list of texts; absent means none."""
    listed = get(value, name)
    if listed is None:
        return []
    if not isinstance(listed, list):
        wrong.append(RequestProblem((*path, name), f"is {listed!r}, want a list"))
        return []
    found: list[str] = []
    for number, item in enumerate(listed):
        if isinstance(item, str) and item:
            found.append(item)
        else:
            wrong.append(RequestProblem((*path, name, number), f"is {item!r}, want text"))
    return found


def _accounts(spec: Mapping[str, Any], wrong: list[RequestProblem]) -> tuple[str, ...]:
    path: tuple[str | int, ...] = ("spec", "serviceAccountNames")
    before = len(wrong)
    names = texts(spec, "serviceAccountNames", ("spec",), wrong)
    if not names and len(wrong) == before:
        wrong.append(RequestProblem(path, "is empty, want the ServiceAccounts that use the Secret"))
    for number, name in enumerate(names):
        if not _NAME.fullmatch(name) or len(name) > 253:
            wrong.append(RequestProblem((*path, number), f"is {name!r}, want the name of a ServiceAccount"))
        if name in names[:number]:
            wrong.append(
                RequestProblem((*path, number), f"is {name!r} a second time, want each account once")
            )
    return tuple(names)


def _mapping(value: Any, path: tuple[str, ...], wrong: list[RequestProblem]) -> Mapping[str, Any]:
    found = get(value, path[-1])
    if isinstance(found, Mapping):
        return found
    wrong.append(
        RequestProblem(path, "is missing, want an object" if found is None else "is no object, want one")
    )
    return {}


def _text(
    value: Mapping[str, Any],
    path: tuple[str, ...],
    wrong: list[RequestProblem],
    rule: re.Pattern[str],
    want: str,
) -> str:
    found = get(value, path[-1])
    if isinstance(found, str) and rule.fullmatch(found) and len(found) <= 253:
        return found
    if value or found is not None:
        shown = "is missing" if found is None else f"is {found!r}"
        wrong.append(RequestProblem(path, f"{shown}, want {want}"))
    return ""
