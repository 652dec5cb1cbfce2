"""What identity values look like, and the words that say so. Grammars of the clouds, not of any
vocabulary."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Final
from urllib.parse import urlsplit

from vestibule.core.mutation.identity.levels import Check

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

ROLE_ARN: Final = Check(
    lambda v: _ROLE_ARN.fullmatch(v) is not None, "arn:<partition>:iam::<account>:role/<name>"
)
REGION: Final = Check(
    lambda v: _REGION.fullmatch(v) is not None, "a region such as eu-west-1", passed_over=True
)
SESSION_NAME: Final = Check(
    lambda v: "$(" in v or _SESSION.fullmatch(v) is not None,
    "2 to 64 of letters, digits, _+=,.@-",
    passed_over=True,
)
GUID: Final = Check(lambda v: _GUID.fullmatch(v) is not None, "a GUID")
TENANT: Final = Check(lambda v: bool(_GUID.fullmatch(v) or _DOMAIN.fullmatch(v)), "a GUID or a domain name")
SERVICE_ACCOUNT: Final = Check(
    lambda v: len(v) <= 254 and _EMAIL.fullmatch(v) is not None, "<name>@<project>.iam.gserviceaccount.com"
)
POOL_PROVIDER: Final = Check(
    lambda v: _POOL_PROVIDER.fullmatch(v) is not None,
    "//iam.googleapis.com/projects/<number>/locations/global/workloadIdentityPools/<pool>/providers/<provider>",
)

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
        and not any(c.isspace() for c in value)
    )


HTTPS_URL: Final = Check(_https, "an https:// address without user, query or fragment", passed_over=True)


def authority_is_known(url: str, extra: Iterable[str]) -> bool:
    """Whether tokens may be sent to this authority without a word."""
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
