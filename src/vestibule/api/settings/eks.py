"""Settings of the EKS dialect, ``eks.amazonaws.com/*``: web identity and Pod Identity (container
credentials)."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

import msgspec

from vestibule.api.settings.section import SettingsSection

PREFIX: Final = "eks.amazonaws.com"
LONGEST: Final = 86400


class PodIdentityAssociation(SettingsSection, frozen=True):
    """A ServiceAccount that has a Pod Identity association."""

    namespace: str
    service_account: str


class ContainerCredentials(SettingsSection, frozen=True):
    """Credentials from the Pod Identity agent, for the accounts listed here or in the file."""

    file: str = ""
    """A JSON file with ``{"identities": [{"namespace": …, "serviceAccount": …}]}``, read again on change."""
    identities: tuple[PodIdentityAssociation, ...] = ()
    """Accounts with an association; those of the file are added."""
    audience: str = "pods.eks.amazonaws.com"
    """Audience of the tokens for the agent."""
    mount_path: str = "/var/run/secrets/pods.eks.amazonaws.com/serviceaccount"
    """Where the token is mounted."""
    volume_name: str = "eks-pod-identity-token"
    """Name of the token's volume."""
    token_path: str = "eks-pod-identity-token"
    """Name of the token's file."""
    full_uri: str = "http://169.254.170.23/v1/credentials"
    """Where the agent answers; ``http://[fd00:ec2::23]/v1/credentials`` on IPv6 clusters."""


class MappedRole(SettingsSection, frozen=True, rename="pascal"):
    """What the mapping gives an account; the field names are those of the EKS webhook's ConfigMap."""

    role_arn: str = msgspec.field(default="", name="RoleARN")
    audience: str = ""
    use_regional_sts: bool = msgspec.field(default=False, name="UseRegionalSTS")
    token_expiration: int = 0


class EksSettings(SettingsSection, frozen=True):
    """EKS."""

    annotation_prefix: str = PREFIX
    """Prefix of the keys, before the slash."""
    token_audience: str = "sts.amazonaws.com"
    """Audience of the tokens where no object names one."""
    token_mount_path: str = "/var/run/secrets/eks.amazonaws.com/serviceaccount"
    """Where the token is mounted."""
    token_expiration: int = LONGEST
    """Life of the tokens in seconds where no object says otherwise; raised to 600 when lower."""
    aws_default_region: str = ""
    """Region of containers that name none; empty: none is set."""
    sts_regional_endpoint: bool = False
    """Use the region's own STS where no object says otherwise."""
    session_name_from_pod: bool = False
    """Set ``AWS_ROLE_SESSION_NAME`` to the pod's name, so that CloudTrail shows it (``better``)."""
    account_id: str = ""
    """With ``partition``: complete a role that is only a name to a full ARN."""
    partition: str = "aws"
    """See ``accountId``."""
    mapping: dict[str, MappedRole | None] = msgspec.field(default_factory=dict)
    """``<namespace>/<account>`` or ``*/<account>`` to a role, for accounts without annotations; in
    ``better`` both parts may be globs."""
    mapping_config_map: str = ""
    """``<namespace>/<name>`` of a ConfigMap whose ``config`` holds more such entries; read again on
    change."""
    container_credentials: ContainerCredentials = ContainerCredentials()
    """Pod Identity."""


def problems(settings: EksSettings) -> Iterator[tuple[str, str]]:
    """Field and what is wrong with it."""
    if not settings.annotation_prefix.strip("/"):
        yield "annotationPrefix", f"is {settings.annotation_prefix!r}, want a domain"
    for field, path in (
        ("tokenMountPath", settings.token_mount_path),
        ("containerCredentials.mountPath", settings.container_credentials.mount_path),
    ):
        if not path.startswith("/"):
            yield field, f"is {path!r}, want an absolute path"
    if settings.account_id and not (settings.account_id.isdigit() and len(settings.account_id) == 12):
        yield "accountId", f"is {settings.account_id!r}, want twelve digits"
    if settings.mapping_config_map and settings.mapping_config_map.count("/") != 1:
        yield "mappingConfigMap", f"is {settings.mapping_config_map!r}, want NAMESPACE/NAME"
