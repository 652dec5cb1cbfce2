"""Google Cloud: an external-account credentials file next to the token, delivered in one of three ways.

``annotation``      the file is an annotation of the pod, shown by the same projected volume as the token:
                    no write access, no extra container, nothing that outlives the pod.
``config-map``      the file is a ConfigMap in the pod's namespace, written before the response.
``init-container``  the file is written by an init container into an emptyDir.
"""

from __future__ import annotations

import hashlib
from typing import Final

import msgspec

from vestibule.api import annotation_keys
from vestibule.injection import encoders, init_containers, layouts
from vestibule.injection.claim import GcpClaim
from vestibule.injection.layouts import Layout
from vestibule.injection.plan import (
    CloudPlanForPod,
    PlannedConfigMap,
    PlannedEnv,
    PlannedMount,
    PlannedVolume,
)
from vestibule.injection.providers import tokens

_encode = msgspec.json.Encoder(order="deterministic").encode
_CREDENTIALS_DIRECTORY: Final = "gcp-creds"


def credentials(claim: GcpClaim, layout: Layout) -> str:
    """The credentials file: compact, keys in alphabetical order, so that equal claims give equal bytes."""
    audience = claim.pool_provider.removeprefix("https:") if layout.escape_dollar else claim.pool_provider
    content: dict[str, object] = {
        "audience": audience,  # Google's STS knows the provider by its name without a scheme
        "credential_source": {"file": layout.file(_directory(claim), layouts.TOKEN_FILE)},
        "subject_token_type": "urn:ietf:params:oauth:token-type:jwt",
        "token_info_url": "https://sts.googleapis.com/v1/introspect",
        "token_url": "https://sts.googleapis.com/v1/token",
        "type": "external_account",
    }
    if claim.service_account is not None:
        content["service_account_impersonation_url"] = encoders.impersonation_url(
            "https://iamcredentials.googleapis.com", claim.service_account
        )
    return _encode(content).decode()


def plan(claim: GcpClaim, layout: Layout) -> CloudPlanForPod:
    """The token, the credentials file, and the variable that names the file."""
    text = credentials(claim, layout)
    delivery = "annotation" if claim.container else claim.delivery
    notes: tuple[str, ...] = ()
    if delivery == "init-container" and layout.windows:
        delivery = "annotation"
        notes = (
            "gcp: init-container delivery needs a shell that Windows pods lack; delivered as annotation",
        )
    directory = _directory(claim) if delivery == "annotation" else _CREDENTIALS_DIRECTORY
    file = layout.file(directory, layouts.CREDENTIALS_FILE)
    env = [PlannedEnv(annotation_keys.ENV_GOOGLE_CREDENTIALS, file, "source")]
    if layout.gcloud:
        env.append(PlannedEnv(annotation_keys.ENV_CLOUDSDK_CREDENTIALS, file, "extra"))
    grants = [("provider", claim.pool_provider), ("audience", claim.audience)]
    if claim.service_account is not None:
        grants.append(("service_account", claim.service_account))
    base = tokens.plan("gcp", claim, env, layout)._replace(notes=notes, grants=tuple(grants))
    if delivery == "annotation":
        base = _by_annotation(base, claim, text, layout)
    else:
        mount = PlannedMount(layouts.GCP_CREDENTIALS_VOLUME, layout.directory(_CREDENTIALS_DIRECTORY))
        base = base._replace(mounts=(*base.mounts, mount))
        base = (
            _by_config_map(base, claim, text, layout)
            if delivery == "config-map"
            else _by_writer(base, text, layout)
        )
    return init_containers.verified(base, claim.verify, layout)


def _directory(claim: GcpClaim) -> str:
    return f"gcp-{claim.container}" if claim.container else "gcp"


def _by_annotation(base: CloudPlanForPod, claim: GcpClaim, text: str, layout: Layout) -> CloudPlanForPod:
    key = annotation_keys.GCP_CREDENTIALS
    if claim.container:
        key += f".{claim.container}"
    shown = tokens.annotation(layouts.CREDENTIALS_FILE, key)
    volume = tokens.volume("gcp", claim.audience, claim.expiration, shown, container=claim.container)
    mount = PlannedMount(volume.name, layout.directory(_directory(claim)))
    return base._replace(volumes=(volume,), mounts=(mount,), annotations=((key, text),))


def _by_config_map(base: CloudPlanForPod, claim: GcpClaim, text: str, layout: Layout) -> CloudPlanForPod:
    by_content = layout.config_maps == "by-content"
    name = f"{layouts.GCP_CREDENTIALS_VOLUME}-{_digest(claim, text, by_content=by_content)}"
    items = [{"key": layouts.CREDENTIALS_FILE, "path": layouts.CREDENTIALS_FILE}]
    volume = PlannedVolume(layouts.GCP_CREDENTIALS_VOLUME, {"configMap": {"name": name, "items": items}})
    body: dict[str, object] = {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": {"name": name, "labels": {annotation_keys.MANAGED_BY: "cwii"}},
        "data": {layouts.CREDENTIALS_FILE: text},
    }
    if by_content:
        body["immutable"] = True
    return base._replace(volumes=(*base.volumes, volume), config_map=PlannedConfigMap(name, body, "cwii"))


def _by_writer(base: CloudPlanForPod, text: str, layout: Layout) -> CloudPlanForPod:
    size: dict[str, str] = {"sizeLimit": "1Mi"} if layout.helpers == "restricted" else {}
    volume = PlannedVolume(layouts.GCP_CREDENTIALS_VOLUME, {"emptyDir": size})
    return base._replace(volumes=(*base.volumes, volume), helpers=(init_containers.writer(text, layout),))


def _digest(claim: GcpClaim, text: str, *, by_content: bool) -> str:
    if by_content:
        return hashlib.sha256(text.encode()).hexdigest()[:40]  # 160 bits: no one grinds a neighbour's name
    identity = f"{claim.pool_provider}\0{claim.service_account or ''}"
    return hashlib.sha256(identity.encode()).hexdigest()[:12]
