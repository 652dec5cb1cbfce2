"""Certificates of the webhook that we place ourselves: an authority per control plane, a leaf for its names,
and who the webhook is in the guest.

The root key of a control plane is not needed to serve. To be somebody in the guest there are two ways: a
token that is asked for there and renewed (``credential``), or, where the Secret with the guest's signing
authority is at hand, a client certificate. The second cannot be revoked; it is for who runs without the
operator, and for machines whose files nobody renews.
"""

from __future__ import annotations

import datetime
from typing import Any, Final, NamedTuple

from vestibule.operator.controllers.hosted import ca_rollover, certificates
from vestibule.operator.controllers.hosted.ca_rollover import TrustState
from vestibule.operator.controllers.hosted.control_plane import ControlPlane, KubeconfigSecret
from vestibule.operator.controllers.hosted.hypershift_webhooks import OURS
from vestibule.pki import certificate_authority, profile
from vestibule.pki.leaf import CertificatePair
from vestibule.pki.profile import DAY, YEAR, LeafProfile

Object = dict[str, Any]
GUEST_NAMESPACE: Final = "vestibule-system"
"""Namespace of our ServiceAccount in the guest."""
_CA_LIFE: Final = 10 * YEAR
LEAF_LIFE: Final = 90 * DAY
_SKEW: Final = datetime.timedelta(hours=1)


class ServingSecrets(NamedTuple):
    """The two Secrets of the serving side, and why something in them is new."""

    ca: Object
    serving: Object
    bundle: str
    """What the guest must trust, PEM."""
    reasons: tuple[str, ...]
    step: ca_rollover.Step = "none"
    """What is under way while one authority takes over from another."""


def serving_profile(names: tuple[str, ...], life: datetime.timedelta = LEAF_LIFE) -> LeafProfile:
    """A leaf that can serve and nothing else."""
    return LeafProfile(
        common_name=names[0][:64],
        names=names,
        usages=("serverAuth",),
        key="p-256",
        life=life,
        skew=_SKEW,
        renew_below=life / 3,
    )


def served(
    target: ControlPlane,
    names: tuple[str, ...],
    kept_ca: Object | None,
    kept: Object | None,
    now: datetime.datetime,
    standing: TrustState = ca_rollover.NOTHING,
    life: datetime.timedelta = LEAF_LIFE,
) -> ServingSecrets:
    """The authority and the leaf; both as they are while they are good. A new authority signs only after the
    guest trusts it beside the old one, and the old one goes when nobody serves with it any more."""
    held = _pair(kept_ca, ("ca.crt", "ca.key"))
    reasons: tuple[str, ...] = ()
    if not _lasts(held, now):
        held = certificate_authority.new_ca(
            f"{OURS} {target.namespace}/{target.name}"[:64], now=now, life=_CA_LIFE
        )
        reasons = ("there is no authority that lasts",)
    wanted = serving_profile(names, life)
    leaf = _pair(kept, ("tls.crt", "tls.key"))
    why = profile.faults(leaf, held.certificate, wanted, now)
    published = [one for one in standing.published if _until(one) > now]
    endpoints = standing.endpoints
    if endpoints is None:
        # nobody can look; but once leaves of the old authority have ended, nobody serves with one
        endpoints = {"": now - certificate_authority.dates(held.certificate).since > life + 2 * _SKEW}
    following = ca_rollover.following(
        ca_rollover.ObservedTrust(published, held.certificate, leaf_is_current=not why, endpoints=endpoints)
    )
    early = bool(published) and (following.step == "publish" or not standing.settled)
    if why and not (early and leaf.key and _until(leaf.certificate) - now > _SKEW):
        leaf = profile.issue(held, wanted, now)
    bundle = "".join(following.bundle or (held.certificate,))
    ca = secret(target, target.secret("ca"), {"ca.crt": held.certificate, "ca.key": held.key})
    data = {"ca.crt": bundle, "tls.crt": leaf.certificate, "tls.key": leaf.key}
    serving = secret(target, target.secret("serving-cert"), data)
    step = following.step if published else "none"
    return ServingSecrets(ca, serving, bundle, (*reasons, *why), step)


def client_profile() -> LeafProfile:
    """Our ServiceAccount in the guest, by name."""
    return LeafProfile(
        common_name=f"system:serviceaccount:{GUEST_NAMESPACE}:{OURS}",
        organizations=("system:serviceaccounts", f"system:serviceaccounts:{GUEST_NAMESPACE}"),
        usages=("clientAuth",),
        key="p-256",
        skew=_SKEW,
    )


class HostedServerAddress(NamedTuple):
    """How the webhook reaches the guest's API server."""

    address: str
    trusted: str = ""
    """Its authority, PEM."""
    name: str = ""
    """The name in its certificate, where the address is not."""


def kubeconfig(
    target: ControlPlane,
    server: HostedServerAddress,
    signer: Object,
    kept: Object | None,
    now: datetime.datetime,
) -> Object:
    """The Secret with a kubeconfig by client certificate; raises InvalidInput when the signer is no use."""
    source: KubeconfigSecret = target.signer or target.ca
    pair = _pair(signer, (source.keys[0], source.keys[1] if len(source.keys) > 1 else ""))
    as_ca = secret(target, source.secret, {"ca.crt": pair.certificate, "ca.key": pair.key})
    made, _ = certificates.leaf(as_ca, kept, client_profile(), now)
    data = {
        "kubeconfig": certificates.kubeconfig_text(
            server.address, server.trusted, certificates.by_certificate(made), server.name
        ),
        "tls.crt": made.certificate,
        "tls.key": made.key,
    }
    return secret(target, target.secret("kubeconfig"), data)


def secret(target: ControlPlane, name: str, data: dict[str, str]) -> Object:
    """A Secret of ours beside a control plane."""
    return {
        "apiVersion": "v1",
        "kind": "Secret",
        "metadata": {
            "name": name,
            "namespace": target.namespace,
            "labels": {"app": target.own, "app.kubernetes.io/managed-by": "vestibule"},
        },
        "type": "Opaque",
        "data": {key: certificates.encoded(value) for key, value in data.items()},
    }


def _pair(kept: Object | None, keys: tuple[str, str]) -> CertificatePair:
    return CertificatePair(*(certificates.text_of(kept or {}, key) if key else "" for key in keys))


def _lasts(held: CertificatePair, now: datetime.datetime) -> bool:
    """Whether an authority is there and outlives the leaves that it would sign."""
    return _until(held.certificate) - now > 2 * LEAF_LIFE and bool(held.key)


def _until(certificate: str) -> datetime.datetime:
    """When it ends; long ago when it is none."""
    try:
        return certificate_authority.dates(certificate).until
    except ValueError:
        return datetime.datetime.min.replace(tzinfo=datetime.UTC)
