"""Google Cloud federation in the layout of its webhook: a token, a credentials file next to it, and in
``gcloud`` mode the container that writes the file."""

from __future__ import annotations

import re
from typing import Any, Final, Literal

import msgspec

from vestibule.api import annotation_keys
from vestibule.api.settings.wif import WifSettings
from vestibule.injection import encoders
from vestibule.injection.plan import (
    CloudPlanForPod,
    PlannedContainer,
    PlannedEnv,
    PlannedMount,
    PlannedVolume,
)

TOKEN_VOLUME: Final = "gcp-iam-token"
CONFIG_VOLUME: Final = "gcloud-config"
CREDENTIALS_VOLUME: Final = "external-credential-config"
SETUP: Final = "gcloud-setup"
_TOKEN_DIRECTORY: Final = "/var/run/secrets/sts.googleapis.com/serviceaccount"
_CONFIG_DIRECTORY: Final = "/var/run/secrets/gcloud/config"
_CREDENTIALS_DIRECTORY: Final = "/var/run/secrets/workload-identity"
_FILE: Final = "federation.json"
_PROJECT: Final = re.compile(r"@(.*).iam.gserviceaccount.com")
"""Unanchored and with bare dots, as in GCP-WIF."""
_PROJECT_BETTER: Final = re.compile(r"[^@]+@(.+)\.iam\.gserviceaccount\.com")


class WifClaim(msgspec.Struct, frozen=True, kw_only=True):
    """Which identity, and how it reaches the pod."""

    provider: str
    email: str | None
    audience: str
    expiration: int
    mode: str
    run_as_user: int | None = None
    skip: tuple[str, ...] = ()
    windows: bool = False


def plan(
    claim: WifClaim, settings: WifSettings, prefix: str, *, better: bool, inputs: bool = True
) -> CloudPlanForPod:
    """What the pod gets; ``inputs``: including annotations with the values of its account, as GCP-WIF
    writes them. At the next admission the pod itself requests them."""
    direct = claim.mode == "direct"
    when: Literal["absent", "replace"] = "absent" if better else "replace"
    mode = settings.token_default_mode
    if mode is None:
        mode = 0o644 if better else 0o440
    token = PlannedVolume(
        TOKEN_VOLUME,
        {
            "projected": {
                "sources": [
                    {
                        "serviceAccountToken": {
                            "audience": claim.audience,
                            "expirationSeconds": claim.expiration,
                            "path": "token",
                        }
                    }
                ],
                "defaultMode": mode,
            }
        },
        when,
    )
    config = PlannedVolume(CONFIG_VOLUME, {"emptyDir": {}}, when)
    config_mount = PlannedMount(CONFIG_VOLUME, _CONFIG_DIRECTORY, read_only=False, when="replace")
    volumes, mounts = [token], [PlannedMount(TOKEN_VOLUME, _TOKEN_DIRECTORY, when=when)]
    if direct:
        volumes.append(_credentials_volume(mode, prefix, when))
        mounts.append(PlannedMount(CREDENTIALS_VOLUME, _CREDENTIALS_DIRECTORY, when=when))
    if not direct or better:
        volumes.append(config)
        mounts.append(config_mount)
    return CloudPlanForPod(
        provider="gcp",
        volumes=tuple(volumes),
        mounts=tuple(mounts),
        env=tuple(_env(claim, settings, better=better)),
        helpers=() if direct else (_setup(claim, settings, mounts, better=better),),
        annotations=tuple(_annotations(claim, settings, prefix, inputs=inputs)),
        skip=claim.skip if direct and better else (*claim.skip, SETUP),
        marker=False,
        grants=(
            ("provider", f"//iam.googleapis.com/{claim.provider}"),
            ("audience", claim.audience),
            *((("service_account", claim.email),) if claim.email else ()),
        ),
    )


def credentials(claim: WifClaim, settings: WifSettings) -> str:
    """The credentials file, keys in the order of GCP-WIF."""
    content: dict[str, Any] = {
        "type": "external_account",
        "audience": f"//iam.googleapis.com/{claim.provider}",
        "subject_token_type": "urn:ietf:params:oauth:token-type:jwt",
        "token_url": settings.sts_url,
    }
    if claim.email is not None:
        content["service_account_impersonation_url"] = encoders.impersonation_url(
            settings.iam_url, claim.email
        )
    content["credential_source"] = {
        "file": _path(_TOKEN_DIRECTORY, "token", claim),
        "format": {"type": "text"},
    }
    return msgspec.json.encode(content).decode()


def project(email: str | None, *, better: bool) -> str:
    """The project in an address; empty when there is none in it."""
    if email is None:
        return ""
    if not better:
        match = _PROJECT.search(email)
        return match[1] if match else ""
    match = _PROJECT_BETTER.fullmatch(email)
    name = match[1] if match else ""
    head, dot, domain = name.partition(".")
    return f"{domain}:{head}" if dot else name  # projects of a domain are written the other way round


def _annotations(
    claim: WifClaim, settings: WifSettings, prefix: str, *, inputs: bool
) -> list[tuple[str, str]]:
    found: list[tuple[str, str]] = []
    if inputs:
        found.append((f"{prefix}workload-identity-provider", claim.provider))
        if claim.email is not None:
            found.append((f"{prefix}service-account-email", claim.email))
        found += [
            (f"{prefix}audience", claim.audience),
            (f"{prefix}token-expiration", str(claim.expiration)),
        ]
    if claim.mode == "direct":
        found.append((f"{prefix}external-credentials-json", credentials(claim, settings)))
    return found


def _env(claim: WifClaim, settings: WifSettings, *, better: bool) -> list[PlannedEnv]:
    when: Literal["absent", "replace"] = "absent" if better else "replace"
    directory = _CREDENTIALS_DIRECTORY if claim.mode == "direct" else _CONFIG_DIRECTORY
    file = _path(directory, _FILE, claim)
    env = [PlannedEnv(annotation_keys.ENV_GOOGLE_CREDENTIALS, file, "source", when=when)]
    if better:
        env.append(PlannedEnv(annotation_keys.ENV_CLOUDSDK_CREDENTIALS, file, "extra"))
    if better or claim.mode == "gcloud":
        env.append(PlannedEnv("CLOUDSDK_CONFIG", _path(_CONFIG_DIRECTORY, "", claim), "extra", when=when))
    found = project(claim.email, better=better)
    late = [
        PlannedEnv("CLOUDSDK_COMPUTE_REGION", settings.default_region, "extra"),
        PlannedEnv("CLOUDSDK_CORE_PROJECT", found, "extra"),
    ]
    if better:
        late.append(PlannedEnv("GOOGLE_CLOUD_PROJECT", found, "extra"))
    return [*env, *(variable for variable in late if variable.value or not better)]


def _credentials_volume(mode: int, prefix: str, when: Literal["absent", "replace"]) -> PlannedVolume:
    field = f"metadata.annotations['{prefix}external-credentials-json']"
    item = {"path": _FILE, "fieldRef": {"apiVersion": "v1", "fieldPath": field}}
    source = {"downwardAPI": {"items": [item], "defaultMode": mode}}
    return PlannedVolume(CREDENTIALS_VOLUME, source, when)


def _setup(
    claim: WifClaim, settings: WifSettings, mounts: list[PlannedMount], *, better: bool
) -> PlannedContainer:
    """The container that makes the credentials file and logs gcloud in with it."""
    security: dict[str, Any] = {"capabilities": {"drop": ["ALL"]}, "allowPrivilegeEscalation": False}
    if better:
        security |= {"runAsNonRoot": True, "seccompProfile": {"type": "RuntimeDefault"}}
    user = claim.run_as_user if claim.run_as_user is not None or not better else 65532
    if user is not None:
        security["runAsUser"] = user
    variables = {
        "GCP_WORKLOAD_IDENTITY_PROVIDER": claim.provider,
        "GCP_SERVICE_ACCOUNT": claim.email or "",
        "CLOUDSDK_CONFIG": _CONFIG_DIRECTORY,
        "CLOUDSDK_CORE_PROJECT": project(claim.email, better=better),
    }
    body: dict[str, Any] = {
        "name": SETUP,
        "image": settings.gcloud_image,
        "command": ["sh", "-c", _script(claim)],
        "env": [PlannedEnv(name, value, "extra").body() for name, value in variables.items()],
        "volumeMounts": [mount.body() for mount in mounts],
        "securityContext": security,
    }
    resources = settings.setup_resources
    if better and not resources:
        amounts = {"cpu": "250m", "memory": "512Mi"}
        resources = {"requests": amounts, "limits": dict(amounts)}
    if resources:
        body["resources"] = resources
    return PlannedContainer(0, body, position="replace")


def _script(claim: WifClaim) -> str:
    account = '--service-account="$GCP_SERVICE_ACCOUNT" ' if claim.email is not None else ""
    file = f"{_CONFIG_DIRECTORY}/{_FILE}"
    return (
        'set -eu; gcloud iam workload-identity-pools create-cred-config "$GCP_WORKLOAD_IDENTITY_PROVIDER" '
        f"{account}--credential-source-file={_TOKEN_DIRECTORY}/token --output-file={file}; "
        f"gcloud auth login --cred-file={file}"
    )


def _path(directory: str, file: str, claim: WifClaim) -> str:
    path = f"{directory}/{file}" if file else directory
    return "C:" + path.replace("/", "\\") if claim.windows else path
