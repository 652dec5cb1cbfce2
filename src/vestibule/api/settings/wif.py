"""Settings of two dialects: that of the GCP workload identity federation webhook, ``cloud.google.com/*``,
and GKE's, ``iam.gke.io/gcp-service-account``."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any, Final, Literal

import msgspec

from vestibule.api.settings.section import SettingsSection

PREFIX: Final = "cloud.google.com"
PROVIDER: Final = re.compile(r"projects/.+/locations/.+/workloadIdentityPools/.+/providers/.+")


class WifSettings(SettingsSection, frozen=True):
    """Google Cloud federation without ``cwii.dev`` annotations."""

    annotation_prefix: str = PREFIX
    """Prefix of the keys, before the slash."""
    provider: str = ""
    """``projects/<number>/locations/global/workloadIdentityPools/<pool>/providers/<provider>`` of accounts
    that name none (``better``), and of all accounts with GKE's key."""
    token_audience: str = "sts.googleapis.com"
    """Audience of the tokens where no account names one; Google checks it against the provider."""
    token_expiration_seconds: int = 86400
    """Life of the tokens where no object says otherwise; raised to 600 when lower (3600 in ``strict``)."""
    token_default_mode: int | None = None
    """Mode of the token and credentials files, as a decimal number. Default: 420, which is 0644, so that
    programs that do not run as root can read them (288, which is 0440, in ``strict``)."""
    default_region: str = ""
    """``CLOUDSDK_COMPUTE_REGION`` of containers that set none."""
    injection_mode: Literal["", "direct", "gcloud"] = ""
    """How the credentials file reaches pods whose account does not say: ``direct`` shows it from an
    annotation of the pod, ``gcloud`` has an init container make it. Default: ``direct`` (``gcloud`` in
    ``strict``)."""
    gcloud_image: str = "gcr.io/google.com/cloudsdktool/google-cloud-cli:stable"
    """Image of that init container."""
    setup_resources: dict[str, Any] = msgspec.field(default_factory=dict)
    """Its resources."""
    sts_url: str = "https://sts.googleapis.com/v1/token"
    """Where tokens are exchanged: for example a regional or private endpoint."""
    iam_url: str = "https://iamcredentials.googleapis.com"
    """Where service accounts are impersonated."""


def problems(settings: WifSettings, *, strict: bool) -> Iterator[tuple[str, str]]:
    """Field and what is wrong with it."""
    if not settings.annotation_prefix.strip("/"):
        yield "annotationPrefix", f"is {settings.annotation_prefix!r}, want a domain"
    if settings.provider and PROVIDER.fullmatch(settings.provider) is None:
        want = "projects/<number>/locations/global/workloadIdentityPools/<pool>/providers/<provider>"
        yield "provider", f"is {settings.provider!r}, want {want}"
    if not 0 <= (settings.token_default_mode or 0) <= 0o777:
        yield "tokenDefaultMode", f"is {settings.token_default_mode}, want a file mode"
    for field, url in (("stsUrl", settings.sts_url), ("iamUrl", settings.iam_url)):
        if not url.startswith(("https://", "http://127.0.0.1:", "http://localhost:")):
            yield field, f"is {url!r}, want an https address"
    del strict
