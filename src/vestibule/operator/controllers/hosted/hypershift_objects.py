"""What HyperShift's own operators would make for a HostedControlPlane, all of it, for who owns the control
plane: the Deployment of the API server with its sidecar, two Secrets, the guest's objects.

Beside a control plane that HyperShift itself looks after nothing of this is for us; see ``attach_modes``.
"""

from __future__ import annotations

import datetime
from collections.abc import Mapping
from typing import Any, NamedTuple

from vestibule.operator.controllers.hosted import (
    certificates,
    hosted_objects,
    hypershift_webhooks,
    release_image,
    sidecar,
    teardown,
)
from vestibule.operator.controllers.hosted.certificates import HypershiftLifetimes
from vestibule.operator.controllers.hosted.hypershift_webhooks import HypershiftWebhook
from vestibule.operator.controllers.hosted.platforms import hypershift
from vestibule.operator.controllers.hosted.release_image import ReleasePayload

Object = dict[str, Any]


class HypershiftInputs(NamedTuple):
    """What is there."""

    control_plane: Object
    deployment: Object
    release: ReleasePayload
    secrets: Mapping[str, Object]
    """Of the control plane's namespace, by name: ``root-ca``, ``cluster-signer-ca``, and what is kept."""
    ca_bundle: str
    """Text of ConfigMap ``root-ca``: what the guest's API server should trust."""
    lives: HypershiftLifetimes = HypershiftLifetimes()


class HypershiftObjects(NamedTuple):
    """What should be there."""

    deployment: Object
    secrets: tuple[Object, ...] = ()
    guest: tuple[Object, ...] = ()
    withdrawn: tuple[str, ...] = ()
    """Names of Secrets to delete."""
    conditions: tuple[Object, ...] = ()
    reasons: tuple[str, ...] = ()
    """Why certificates are new."""


def all_objects(given: HypershiftInputs, now: datetime.datetime) -> HypershiftObjects:
    """Everything; raises InvalidInput for a platform without its section and for authorities of no use.

    Without the image in the payload there is no container, and then nothing that would point at one.
    """
    control_plane = given.control_plane
    webhook = hypershift_webhooks.of(control_plane)
    bare = sidecar.added(given.deployment, control_plane, {})
    gone = withdrawn(webhook, given.secrets, control_plane)
    if webhook is None:
        return HypershiftObjects(bare, withdrawn=gone)
    found = release_image.lookup(webhook.name, given.release)
    if not found.image:
        return HypershiftObjects(bare, withdrawn=gone, conditions=(found.condition,))
    root, signer = given.secrets.get("root-ca") or {}, given.secrets.get("cluster-signer-ca") or {}
    serving = certificates.serving(
        webhook, control_plane, root, given.secrets.get(webhook.serving_secret), now, given.lives
    )
    client = certificates.kubeconfig(
        webhook,
        control_plane,
        signer,
        certificates.text_of(root, "ca.crt"),
        server(webhook, control_plane),
        given.secrets.get(webhook.kubeconfig_secret),
        now,
        given.lives,
    )
    return HypershiftObjects(
        sidecar.added(given.deployment, control_plane, {webhook.name: found.image}),
        (serving.secret, client.secret),
        tuple(hosted_objects.objects(hosted_objects.hypershift(webhook, given.ca_bundle))),
        gone,
        (found.condition,),
        (*serving.reasons, *client.reasons),
    )


def server(webhook: HypershiftWebhook, control_plane: Object) -> str:
    """How the webhook reaches its API server.

    The one with a readiness probe must not go through the Service: that has no endpoint until the pod is
    ready.
    """
    if webhook.server == "localhost":
        return hypershift.local_url(control_plane)
    return hypershift.service_url(control_plane)


def withdrawn(
    wanted: HypershiftWebhook | None, secrets: Mapping[str, Object], control_plane: Object
) -> tuple[str, ...]:
    """Secrets of webhooks that this platform does not have: kubeconfigs, if they are the control plane's.

    Serving certificates go with the control plane, and the guest's objects stay, as in the original.
    """
    return tuple(
        webhook.kubeconfig_secret
        for webhook in hypershift_webhooks.ALL
        if webhook is not wanted and teardown.owned(secrets.get(webhook.kubeconfig_secret), control_plane)
    )
