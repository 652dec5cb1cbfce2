"""Layouts: names, paths, order and shape as data, so that compatibility is a value and not a branch.

A layout knows no annotation and no cloud rule. Providers and helper containers are built from it.
"""

from __future__ import annotations

from hashlib import sha256
from typing import Final, Literal

import msgspec

from vestibule.api.annotation_keys import Provider
from vestibule.api.settings import schema


class Layout(msgspec.Struct, frozen=True, kw_only=True):
    """Where things go and what they are called."""

    mount_root: str
    windows: bool = False
    region_variables: tuple[str, ...]
    """Every variable that gets the AWS region."""
    region_extras: tuple[tuple[str, str], ...] = ()
    """What goes with a region."""
    gcloud: bool
    """Also point the gcloud command line at the credentials file."""
    escape_dollar: bool
    """Write ``$`` as ``$$`` where the kubelet would expand it and a literal is meant."""
    config_maps: Literal["by-identity", "by-content"]
    """Name and life of credentials ConfigMaps: shared and rewritten, or one immutable object per content."""
    helpers: Literal["original", "restricted"]
    """Shape of init containers: as cwii, or fit for the restricted profile and a Guaranteed pod."""
    init_containers: bool = True
    """Init containers and native sidecars get the identity too."""
    verify: schema.VerifySettings
    init_image: str

    def directory(self, name: str) -> str:
        """A directory below the mount root, as the mount path."""
        return f"{self.mount_root}/{name}"

    def file(self, directory: str, name: str) -> str:
        """A file, as programs in the container should name it."""
        path = f"{self.directory(directory)}/{name}"
        return "C:" + path.replace("/", "\\") if self.windows else path


TOKEN_FILE: Final = "token"
CREDENTIALS_FILE: Final = "credentials.json"


def token_volume(provider: Provider, container: str = "") -> str:
    """Name of the projected token volume; a container that has its own may have a name of full length."""
    if not container:
        return f"cwii-{provider}-token"
    name = f"cwii-{provider}-token-{container}"
    return name if len(name) <= _NAME_LIMIT else f"{name[:50]}-{sha256(name.encode()).hexdigest()[:12]}"


_NAME_LIMIT: Final = 63
AWS_CONFIG_FILE: Final = "config"


GCP_CREDENTIALS_VOLUME: Final = "cwii-gcp-creds"
GCP_WRITER: Final = "cwii-gcp-creds-writer"
VERIFY_HOME_VOLUME: Final = "cwii-verify-home"


def verify_name(provider: Provider) -> str:
    """Name of the verify container."""
    return f"cwii-{provider}-verify"


HELPERS: Final = frozenset({GCP_WRITER, *(verify_name(provider) for provider in ("gcp", "aws", "az"))})
"""Containers of ours; they get no identity beyond what they are made with."""


def cwii(settings: schema.Settings, *, windows: bool) -> Layout:
    """The layout of the cwii dialect in the mode of the settings."""
    better = settings.mode == "better"
    return Layout(
        mount_root=settings.mount_root.rstrip("/"),
        windows=windows and better,
        region_variables=("AWS_REGION", "AWS_DEFAULT_REGION") if better else ("AWS_REGION",),
        region_extras=(("AWS_STS_REGIONAL_ENDPOINTS", "regional"),) if better else (),
        gcloud=better,
        escape_dollar=better,
        config_maps="by-content" if better else "by-identity",
        helpers="restricted" if better else "original",
        init_containers=better,
        verify=settings.verify,
        init_image=settings.gcp.init_image,
    )
