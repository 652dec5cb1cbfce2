"""HyperShift's sidecar from manifests, for who owns the API server's Deployment: objects of both clusters.

A Deployment that a controller owns is not taken: HyperShift's operator writes its own again. Nothing is
attached without the image in the release payload.
"""

from __future__ import annotations

import datetime
from collections.abc import Iterable, Sequence
from typing import Any, Final, NamedTuple

from vestibule import errors
from vestibule.operator.controllers.hosted import (
    certificates,
    hypershift_objects,
    hypershift_webhooks,
    release_image,
    rollout,
    sidecar,
)
from vestibule.operator.controllers.hosted.control_plane import ControlPlane
from vestibule.operator.controllers.hosted.hypershift_objects import HypershiftInputs, HypershiftObjects

Object = dict[str, Any]
_PAYLOAD: Final = "ImageStream"
"""Kind of ``release-manifests/image-references`` in a release image."""


class SidecarManifests(NamedTuple):
    """What to apply, and what a person should know."""

    management: list[Object]
    guest: list[Object]
    notes: list[str]


def deployment(target: ControlPlane, manifests: Iterable[Object]) -> Object | None:
    """The API server's Deployment; None when it is not given or has a controller."""
    for one in manifests:
        meta = one["metadata"]
        place = one.get("kind"), meta["name"], meta.get("namespace", "default")
        if place == ("Deployment", sidecar.DEPLOYMENT, target.namespace):
            owners = meta.get("ownerReferences") or []
            return None if any(owner.get("controller") for owner in owners) else one
    return None


def plan(
    target: ControlPlane, apiserver: Object, manifests: Sequence[Object], now: datetime.datetime
) -> SidecarManifests:
    """Deployment, Secrets and the hosted cluster's objects.

    Raises InvalidInput for a platform without a webhook, for a payload without its image, and for CAs that
    cannot sign.
    """
    control_plane = target.thing
    if hypershift_webhooks.of(control_plane) is None:
        platform = ((control_plane.get("spec") or {}).get("platform") or {}).get("type", "")
        text = f"platform {platform} has no webhook in a release payload, want --attach deployment"
        raise errors.InvalidInput(errors.InputProblem(str(target), "spec.platform.type", text))
    secrets = _named(manifests, "Secret", target.namespace)
    config_maps = _named(manifests, "ConfigMap", target.namespace)
    made = hypershift_objects.all_objects(
        HypershiftInputs(
            control_plane,
            apiserver,
            release_image.release(_payload(manifests, control_plane)),
            secrets,
            _bundle(config_maps, secrets),
        ),
        now,
    )
    if not made.secrets:
        raise errors.InvalidInput(
            *(errors.InputProblem("-f", "", str(one["message"])) for one in made.conditions)
        )
    rolled = _rolled_out(made, control_plane, secrets, config_maps)
    return SidecarManifests([*made.secrets, rolled], list(made.guest), _notes(made))


def _payload(manifests: Iterable[Object], control_plane: Object) -> Object:
    found = [one for one in manifests if one.get("kind") == _PAYLOAD]
    if len(found) != 1:
        image = release_image.release_image(control_plane) or "the release"
        text = f"has {len(found)} {_PAYLOAD}s, want one: image-references of {image}"
        raise errors.InvalidInput(errors.InputProblem("-f", "", text))
    return found[0]


def _named(manifests: Iterable[Object], kind: str, namespace: str) -> dict[str, Object]:
    return {
        str(one["metadata"]["name"]): one
        for one in manifests
        if one.get("kind") == kind and one["metadata"].get("namespace", "default") == namespace
    }


def _bundle(config_maps: dict[str, Object], secrets: dict[str, Object]) -> str:
    """What the hosted API server should trust: ConfigMap ``root-ca``, else the CA itself."""
    stored = (config_maps.get("root-ca", {}).get("data") or {}).get("ca.crt")
    return str(stored or certificates.text_of(secrets.get("root-ca") or {}, "ca.crt"))


def _rolled_out(
    made: HypershiftObjects, control_plane: Object, secrets: dict[str, Object], config_maps: dict[str, Object]
) -> Object:
    """The Deployment with the digest of what it mounts, its replicas and its strategy."""
    after = {**secrets, **{one["metadata"]["name"]: one for one in made.secrets}}
    marked = rollout.annotated(
        made.deployment,
        {name: one.get("data") or {} for name, one in after.items()},
        {name: one.get("data") or {} for name, one in config_maps.items()},
    )
    pace = rollout.of(control_plane)
    strategy = {"type": "RollingUpdate", "rollingUpdate": dict(pace.rolling_update)}
    return {**marked, "spec": {**marked["spec"], "replicas": pace.replicas, "strategy": strategy}}


def _notes(made: HypershiftObjects) -> list[str]:
    return [
        *(str(one["message"]) for one in made.conditions),
        *(
            f"Secret {name} belongs to a webhook that this platform does not have: delete it"
            for name in made.withdrawn
        ),
        f"applying Deployment {sidecar.DEPLOYMENT} restarts the API server, as does each renewed certificate",
        "apply MutatingWebhookConfiguration only when: the Deployment is rolled out",
    ]
