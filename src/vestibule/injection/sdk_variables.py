"""Environment variables through which SDKs and command-line tools of the clouds choose an identity, as data.

A variable that is missing here is not judged by policies; docs/policies.md lists them.
"""

from __future__ import annotations

from typing import Final

from vestibule.api import annotation_keys
from vestibule.api.annotation_keys import Provider

IDENTITY: Final[dict[str, tuple[Provider, str]]] = {
    annotation_keys.ENV_AWS_ROLE_ARN: ("aws", "role_arn"),
    annotation_keys.ENV_AZURE_CLIENT_ID: ("az", "client_id"),
    annotation_keys.ENV_AZURE_TENANT_ID: ("az", "tenant_id"),
    annotation_keys.ENV_AZURE_AUTHORITY_HOST: ("az", "authority_host"),
    "ARM_CLIENT_ID": ("az", "client_id"),
    "ARM_TENANT_ID": ("az", "tenant_id"),
}
TOKEN_FILES: Final[dict[str, Provider]] = {
    annotation_keys.ENV_AWS_TOKEN_FILE: "aws",
    annotation_keys.ENV_AWS_CONTAINER_TOKEN_FILE: "aws",
    annotation_keys.ENV_AZURE_TOKEN_FILE: "az",
    "ARM_OIDC_TOKEN_FILE_PATH": "az",
}
LISTS: Final[dict[str, tuple[Provider, str, str]]] = {
    "AZURE_ADDITIONALLY_ALLOWED_TENANTS": ("az", "tenant_id", ";"),
    "CLOUDSDK_AUTH_IMPERSONATE_SERVICE_ACCOUNT": ("gcp", "service_account", ","),
    "GOOGLE_IMPERSONATE_SERVICE_ACCOUNT": ("gcp", "service_account", ","),
}
"""Variables that name several identities, and their separators."""
CONFIG_FILE: Final = "AWS_CONFIG_FILE"
SHARED_FILE: Final = "AWS_SHARED_CREDENTIALS_FILE"
PROFILES: Final = ("AWS_PROFILE", "AWS_DEFAULT_PROFILE")
GCLOUD_FOLDER: Final = "CLOUDSDK_CONFIG"
TERRAFORM: Final = ("GOOGLE_CREDENTIALS", "GOOGLE_CLOUD_KEYFILE_JSON", "GCLOUD_KEYFILE_JSON")
"""Those that hold the file itself; an empty one counts as absent."""
FILES: Final[dict[str, tuple[Provider, str]]] = {
    CONFIG_FILE: ("aws", "role_arn"),
    SHARED_FILE: ("aws", "role_arn"),
    **dict.fromkeys(PROFILES, ("aws", "role_arn")),
    annotation_keys.ENV_AWS_CONTAINER_URI: ("aws", "role_arn"),
    annotation_keys.ENV_GOOGLE_CREDENTIALS: ("gcp", "provider"),
    annotation_keys.ENV_CLOUDSDK_CREDENTIALS: ("gcp", "provider"),
    GCLOUD_FOLDER: ("gcp", "provider"),
    **dict.fromkeys(TERRAFORM, ("gcp", "provider")),
}
"""Variables that lead to an identity in a file or at an address, which is unreadable at admission unless it
is ours."""
EMPTY_FILE: Final = "/dev/null"
"""A file that names no identity, as long as nothing is mounted there."""
HOME_FOLDERS: Final[tuple[tuple[str, Provider, str], ...]] = (
    (".aws", "aws", "role_arn"),
    (".config/gcloud", "gcp", "provider"),
)
"""Folders below the home directory in which SDKs look for an identity without any variable."""
_WEB_IDENTITY: Final = frozenset({annotation_keys.ENV_AWS_ROLE_ARN, annotation_keys.ENV_AWS_TOKEN_FILE})
WEAKER: Final[dict[str, frozenset[str]]] = {
    GCLOUD_FOLDER: frozenset({annotation_keys.ENV_CLOUDSDK_CREDENTIALS}),
    annotation_keys.ENV_AWS_CONTAINER_URI: _WEB_IDENTITY,
    annotation_keys.ENV_AWS_CONTAINER_TOKEN_FILE: _WEB_IDENTITY,
}
"""Variables that no SDK reads where a container sets all of others, which are judged themselves."""
READ: Final[tuple[tuple[str, Provider, str], ...]] = (
    *((name, provider, what) for name, (provider, what) in IDENTITY.items()),
    *((name, provider, "audience") for name, provider in TOKEN_FILES.items()),
    *((name, provider, what) for name, (provider, what, _) in LISTS.items()),
    *((name, provider, what) for name, (provider, what) in FILES.items()),
)
"""Every variable that is judged, with what it would be unknown as."""
