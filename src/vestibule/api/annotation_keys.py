"""Every annotation key, label, volume, container and variable name we read or write, grouped by dialect.

Names are API: users, SDKs and other programs read them. Nothing here acts; a name used in two places is
here once.
"""

from __future__ import annotations

from typing import Final, Literal

Provider = Literal["gcp", "aws", "az"]
DialectName = Literal["cwii", "azwi", "eks", "wif", "gke"]
PROVIDERS: Final[tuple[Provider, ...]] = ("gcp", "aws", "az")
"""In planning order; plans are joined in this order."""

# ── Kubernetes ──────────────────────────────────────────────────────────────────────────────────────────────
MIRROR_POD: Final = "kubernetes.io/config.mirror"
OS_LABEL: Final = "kubernetes.io/os"
OS_LABEL_BETA: Final = "beta.kubernetes.io/os"
NAMESPACE_NAME_LABEL: Final = "kubernetes.io/metadata.name"
MANAGED_BY: Final = "app.kubernetes.io/managed-by"
MIN_TOKEN_SECONDS: Final = 600
"""The API server refuses a projected token that lives shorter."""
MAX_TOKEN_SECONDS: Final = 2**32
"""The API server refuses a projected token that lives longer."""

# ── cwii.dev: inputs ────────────────────────────────────────────────────────────────────────────────────────
CWII_PREFIX: Final = "cwii.dev/"


def cwii(provider: Provider, name: str) -> str:
    """``cwii.dev/<provider>-<name>``."""
    return f"{CWII_PREFIX}{provider}-{name}"


INJECT: Final = "inject"
AUDIENCE: Final = "audience"
TOKEN_EXPIRATION: Final = "token-expiration"
VERIFY: Final = "verify"
VERIFY_ENFORCE: Final = "verify-enforce"
VERIFY_IMAGE: Final = "verify-image"
REQUIRED: Final = "required"
SKIP_CONTAINERS: Final = "skip-containers"
INCLUDE_CONTAINERS: Final = "include-containers"

GCP_SERVICE_ACCOUNT: Final = "cwii.dev/gcp-service-account"
GCP_DELIVERY: Final = "cwii.dev/gcp-delivery"
GCP_TOKEN_AUDIENCE: Final = "cwii.dev/gcp-token-audience"
AWS_ROLE_ARN: Final = "cwii.dev/aws-role-arn"
AWS_REGION: Final = "cwii.dev/aws-region"
AWS_SESSION_NAME: Final = "cwii.dev/aws-role-session-name"
AWS_PROFILE: Final = "cwii.dev/aws-profile"
"""``cwii.dev/aws-profile.<name>``: a role that programs choose by the name of a profile."""
AZ_CLIENT_ID: Final = "cwii.dev/az-client-id"
AZ_TENANT_ID: Final = "cwii.dev/az-tenant-id"
AZ_AUTHORITY_HOST: Final = "cwii.dev/az-authority-host"

# ── cwii.dev: outputs ───────────────────────────────────────────────────────────────────────────────────────
INJECTED: Final = "cwii.dev/injected"
AWS_CONFIG: Final = "cwii.dev/aws-config"
"""AWS configuration with profiles (no secret in it) that the pod's own projected volume shows as a file."""
GCP_CREDENTIALS: Final = "cwii.dev/gcp-credentials"
"""Credentials configuration (no secret in it) that the pod's own projected volume shows as a file."""

# ── vestibule.dev: what the sandbox stage leaves on a pod for its own next pass ─────────────────────────────
SANDBOX: Final = "vestibule.dev/sandbox"
"""The digest of the policy that the pod got its sandbox from: it is finished with the one it began with."""
ORIGINAL_REQUESTS: Final = "vestibule.dev/asked"
"""What the containers of a peer pod asked for before that became the size of its machine."""
LIMIT_RANGER: Final = "kubernetes.io/limit-ranger"
"""What the API server's LimitRanger gave to which container, in its words."""

# ── keys of other dialects that cwii's native mode understands ──────────────────────────────────────────
NATIVE_GKE_SERVICE_ACCOUNT: Final = "iam.gke.io/gcp-service-account"
NATIVE_EKS_ROLE_ARN: Final = "eks.amazonaws.com/role-arn"
NATIVE_AZWI_CLIENT_ID: Final = "azure.workload.identity/client-id"
NATIVE_AZWI_TENANT_ID: Final = "azure.workload.identity/tenant-id"
NATIVE_KEYS: Final = (
    NATIVE_GKE_SERVICE_ACCOUNT,
    NATIVE_EKS_ROLE_ARN,
    NATIVE_AZWI_CLIENT_ID,
    NATIVE_AZWI_TENANT_ID,
)

# ── variables that SDKs read ────────────────────────────────────────────────────────────────────────────────
ENV_GOOGLE_CREDENTIALS: Final = "GOOGLE_APPLICATION_CREDENTIALS"
ENV_CLOUDSDK_CREDENTIALS: Final = "CLOUDSDK_AUTH_CREDENTIAL_FILE_OVERRIDE"
ENV_AWS_ROLE_ARN: Final = "AWS_ROLE_ARN"
ENV_AWS_TOKEN_FILE: Final = "AWS_WEB_IDENTITY_TOKEN_FILE"
ENV_AWS_CONTAINER_TOKEN_FILE: Final = "AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE"
ENV_AWS_CONTAINER_URI: Final = "AWS_CONTAINER_CREDENTIALS_FULL_URI"
ENV_AWS_REGION: Final = "AWS_REGION"
ENV_AWS_DEFAULT_REGION: Final = "AWS_DEFAULT_REGION"
ENV_AWS_SESSION_NAME: Final = "AWS_ROLE_SESSION_NAME"
ENV_AZURE_CLIENT_ID: Final = "AZURE_CLIENT_ID"
ENV_AZURE_TENANT_ID: Final = "AZURE_TENANT_ID"
ENV_AZURE_TOKEN_FILE: Final = "AZURE_FEDERATED_TOKEN_FILE"
ENV_AZURE_AUTHORITY_HOST: Final = "AZURE_AUTHORITY_HOST"


def relevant(annotations: dict[str, str]) -> dict[str, str]:
    """The annotations that can matter to a decision of any dialect, near-misses of our prefix included; a
    store drops the rest.

    Some dialects let an administrator choose the prefix, so the part after the slash counts too.
    """
    found: dict[str, str] = {}
    for key, value in annotations.items():
        if key.startswith(_BEGINNINGS):
            if key.startswith(_PREFIXES) or resembles_our_prefix(key):
                found[key] = value
        elif key.endswith(_ENDINGS):
            found[key] = value
    return found


def relevant_of_pod(annotations: dict[str, str], *, every: bool) -> dict[str, str]:
    """The same for a pod. ``every``: a prefix is the administrator's own, so every key may matter; else
    prefixes distinguish nearly all of them."""
    if every:
        return relevant(annotations)
    for key in annotations:
        if key[:1] in _INITIALS and key.startswith(_BEGINNINGS):
            return relevant(annotations)
    return _NOTHING


_NOTHING: Final[dict[str, str]] = {}


AZWI_PREFIX: Final = "azure.workload.identity/"
EKS_PREFIX: Final = "eks.amazonaws.com/"
WIF_PREFIX: Final = "cloud.google.com/"
GKE_PREFIX: Final = "iam.gke.io/"
_PREFIXES: Final = (CWII_PREFIX, AZWI_PREFIX, EKS_PREFIX, WIF_PREFIX, GKE_PREFIX)
_BEGINNINGS: Final = ("cw", "cc", "C", *_PREFIXES[1:])
"""The prefixes of keys that can matter; nearly all others are excluded by this alone."""
_INITIALS: Final = frozenset(beginning[0] for beginning in _BEGINNINGS)
_ENDINGS: Final = (
    "/role-arn", "/audience", "/sts-regional-endpoints", "/token-expiration", "/skip-containers",
    "/workload-identity-provider", "/service-account-email", "/gcloud-run-as-user", "/injection-mode",
    "/external-credentials-json",
)  # fmt: skip
"""Keys of dialects whose prefix is a setting."""


def resembles_our_prefix(key: str) -> bool:
    """Whether ``cwii.dev/…`` may have been meant: ``cwii.io/``, ``CWII.dev/``, ``cwi.dev/``,
    ``cwii/`` and the like."""
    prefix, slash, _ = key.partition("/")
    return bool(slash) and len(prefix) <= 10 and prefix.lower().startswith(("cwi", "ccwi", "cwwi"))
