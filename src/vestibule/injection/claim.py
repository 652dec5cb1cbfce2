"""Claims: which identity a pod asks for, independent of dialect and SDK. Dialects create them,
providers plan them."""

from __future__ import annotations

from typing import TypeAlias

import msgspec

from vestibule.api.annotation_keys import Provider
from vestibule.api.settings.schema import Delivery


class VerifyAsk(msgspec.Struct, frozen=True):
    """A container that proves the identity before the pod starts."""

    image: str
    enforce: bool


class _Claim(msgspec.Struct, frozen=True, kw_only=True):
    audience: str
    """Audience of the projected token."""
    expiration: int
    """Life of the projected token in seconds."""
    verify: VerifyAsk | None = None
    required: bool = False
    """Refuse the pod rather than let it run without this identity."""
    include: tuple[str, ...] = ()
    """Container name globs; empty: all."""
    skip: tuple[str, ...] = ()
    """Container name globs that are left alone."""
    container: str = ""
    """The one container that this claim is for; empty: all that no other claim is for."""


class GcpClaim(_Claim, frozen=True):
    """Google Cloud."""

    pool_provider: str
    """Full resource name of the workload identity provider: the audience Google's STS checks."""
    service_account: str | None
    delivery: Delivery

    @property
    def provider(self) -> Provider:
        """Which cloud."""
        return "gcp"


class AwsClaim(_Claim, frozen=True):
    """AWS."""

    role_arn: str
    """Empty where only profiles are asked for."""
    region: str | None
    session_name: str | None
    profiles: tuple[tuple[str, str], ...] = ()
    """Names of profiles and their roles."""

    @property
    def provider(self) -> Provider:
        """Which cloud."""
        return "aws"


class AzureClaim(_Claim, frozen=True):
    """Azure."""

    client_id: str
    tenant_id: str
    authority_host: str | None

    @property
    def provider(self) -> Provider:
        """Which cloud."""
        return "az"


Claim: TypeAlias = GcpClaim | AwsClaim | AzureClaim
