"""The syntax of identity values, and its description in messages. Grammars of the clouds, not of any
dialect."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Final
from urllib.parse import urlsplit

from vestibule.injection.precedence import ValueType

_ROLE_ARN: Final = re.compile(r"arn:aws[a-z-]*:iam::[0-9]{12}:role/[\w+=,.@/-]{1,512}", re.ASCII)
_REGION: Final = re.compile(r"[a-z]{2,5}(-[a-z]+)+-[0-9]{1,2}")
_SESSION: Final = re.compile(r"[\w+=,.@-]{2,64}", re.ASCII)
_GUID: Final = re.compile(r"[0-9a-fA-F]{8}-([0-9a-fA-F]{4}-){3}[0-9a-fA-F]{12}")
_DOMAIN: Final = re.compile(r"([a-zA-Z0-9]([-a-zA-Z0-9]{0,61}[a-zA-Z0-9])?\.)+[a-zA-Z]{2,63}")
_EMAIL: Final = re.compile(
    r"[a-z0-9]([-a-z0-9.]{0,61}[a-z0-9])?@[a-z0-9]([-a-z0-9.:]{0,250}[a-z0-9])?\.gserviceaccount\.com"
)
_POOL_PROVIDER: Final = re.compile(
    r"(https:)?//iam\.googleapis\.com/projects/[0-9]+/locations/[a-z0-9-]+"
    r"/workloadIdentityPools/[a-z0-9-]+/providers/[a-z0-9-]+"
)

# what a value of the type can hold at all: wider than the grammar, and still nothing that ends a line, an
# entry of a file, a path or a query, or that a kubelet expands
_SESSION_SAFE: Final = re.compile(r"([\w+=,.@-]|\$\([A-Za-z_][A-Za-z0-9_.-]*\))+", re.ASCII)
_ACCOUNT_SAFE: Final = re.compile(r"[A-Za-z0-9._+-]+(@[A-Za-z0-9.:-]+)?")
_NAME_SAFE: Final = re.compile(r"[A-Za-z0-9._-]+")


def _graphic(value: str) -> bool:
    return value.isprintable() and " " not in value and "$(" not in value


def _name(value: str) -> bool:
    return _NAME_SAFE.fullmatch(value) is not None


ROLE_ARN: Final = ValueType(
    lambda v: _ROLE_ARN.fullmatch(v) is not None, "arn:<partition>:iam::<account>:role/<name>", safe=_graphic
)
REGION: Final = ValueType(
    lambda v: _REGION.fullmatch(v) is not None, "a region such as eu-west-1", passed_over=True
)
SESSION_NAME: Final = ValueType(
    lambda v: ("$(" in v and _SESSION_SAFE.fullmatch(v) is not None) or _SESSION.fullmatch(v) is not None,
    "2 to 64 of letters, digits, _+=,.@-",
    passed_over=True,
)
GUID: Final = ValueType(lambda v: _GUID.fullmatch(v) is not None, "a GUID", safe=_name)
TENANT: Final = ValueType(
    lambda v: bool(_GUID.fullmatch(v) or _DOMAIN.fullmatch(v)), "a GUID or a domain name", safe=_name
)
SERVICE_ACCOUNT: Final = ValueType(
    lambda v: len(v) <= 254 and _EMAIL.fullmatch(v) is not None,
    "<name>@<project>.iam.gserviceaccount.com",
    safe=lambda v: _ACCOUNT_SAFE.fullmatch(v) is not None,
)
POOL_PROVIDER: Final = ValueType(
    lambda v: _POOL_PROVIDER.fullmatch(v) is not None,
    "//iam.googleapis.com/projects/<number>/locations/global/workloadIdentityPools/<pool>/providers/<provider>",
)
_LABEL: Final = re.compile(r"[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?")
_PROFILE: Final = re.compile(r"[A-Za-z0-9]([A-Za-z0-9._-]{0,61}[A-Za-z0-9])?")
CONTAINER_NAME: Final = ValueType(lambda v: _LABEL.fullmatch(v) is not None, "the name of a container")
PROFILE_NAME: Final = ValueType(lambda v: _PROFILE.fullmatch(v) is not None, "the name of a profile")
IMAGE: Final = ValueType(lambda v: True, "an image reference", safe=_graphic)

MICROSOFT_HOSTS: Final = frozenset(
    {
        "login.microsoftonline.com",
        "login.microsoftonline.us",
        "login.chinacloudapi.cn",
        "login.partner.microsoftonline.cn",
        "login.microsoftonline.de",
        "login.windows.net",
        "login.microsoft.com",
        "sts.windows.net",
    }
)


def _https(value: str) -> bool:
    try:
        parts = urlsplit(value)
        host, _ = parts.hostname, parts.port  # reading the port checks it
    except ValueError:
        return False
    return (
        parts.scheme == "https"
        and bool(host)
        and not (parts.username or parts.password or parts.query or parts.fragment)
        and value.isascii()
        and _graphic(value)
    )


HTTPS_URL: Final = ValueType(_https, "an https:// address without user, query or fragment", passed_over=True)


def authority_is_known(url: str, extra: Iterable[str]) -> bool:
    """Whether tokens may be sent to this authority without a word."""
    if not _https(url):
        return False
    host = urlsplit(url).hostname or ""
    return host in MICROSOFT_HOSTS or host in extra


GCP_SUBJECT_LIMIT: Final = 127
"""Bytes of ``google.subject``; longer subjects cannot federate."""


def subject_fits(namespace: str, service_account: str) -> bool:
    """Whether Google Cloud takes the subject of this account's tokens; names are ASCII."""
    return len(namespace) + len(service_account) + len("system:serviceaccount::") <= GCP_SUBJECT_LIMIT


def subject(namespace: str, service_account: str) -> str:
    """The ``sub`` claim of the pod's token."""
    return f"system:serviceaccount:{namespace}:{service_account}"
