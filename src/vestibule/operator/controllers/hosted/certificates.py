"""Secrets with certificates for a webhook beside a hosted API server: what it serves with, and whom it is.

HyperShift's shapes, made and kept by our rules. A leaf is kept only if the authority at hand signed it, it
says what is wanted and enough of its life is left; HyperShift never compares the issuer, so a new authority
there breaks the webhook until the leaf ends by itself. A Secret that is right comes back as it is, so a
second pass writes nothing.
"""

from __future__ import annotations

import base64
import binascii
import copy
import datetime
import hashlib
from collections.abc import Mapping
from typing import Any, Final, NamedTuple

import msgspec

from vestibule import errors, gostrconv
from vestibule.operator.controllers.hosted.hypershift_webhooks import ACCOUNT_NAMESPACE, HypershiftWebhook
from vestibule.pki import profile
from vestibule.pki.leaf import CertificatePair
from vestibule.pki.profile import DAY, YEAR, LeafProfile

Object = dict[str, Any]
CA_HASH: Final = "hypershiftlite.openshift.io/ca-hash"
STATE_HASH: Final = "hypershift.openshift.io/desired-state-hash"
_VALIDITY: Final = "hypershift.openshift.io/certificate-validity"
_RENEWAL: Final = "hypershift.openshift.io/certificate-renewal"


class HypershiftLifetimes(NamedTuple):
    """How long HyperShift's leaves live, and when they are renewed."""

    life: datetime.timedelta = YEAR
    renew_below: datetime.timedelta = 30 * DAY


class CertificateSecret(NamedTuple):
    """A Secret as it should be, and why its certificate was made anew; nothing: it was kept."""

    secret: Object
    reasons: tuple[str, ...]


def lives(annotations: Mapping[str, str]) -> HypershiftLifetimes:
    """What the annotations of a HostedCluster ask for; what cannot be read counts as not said."""
    return lives_of(annotations.get(_VALIDITY, ""), annotations.get(_RENEWAL, ""))


def lives_of(validity: str, renewal: str) -> HypershiftLifetimes:
    """A Go duration and a fraction, as HyperShift's operator gets them in its environment."""
    seconds = gostrconv.duration(validity)
    life = datetime.timedelta(seconds=seconds) if seconds else YEAR
    try:
        fraction = float(renewal)
    except ValueError:
        return HypershiftLifetimes(life, 30 * DAY)
    return HypershiftLifetimes(life, life * fraction if 0 < fraction < 1 else 30 * DAY)


def serving_profile(chosen: HypershiftLifetimes) -> LeafProfile:
    """A leaf for the loopback of the API server's pod."""
    return LeafProfile(
        common_name="127.0.0.1",
        names=("127.0.0.1",),
        usages=("clientAuth", "serverAuth"),
        life=chosen.life,
        renew_below=chosen.renew_below,
    )


def client_profile(webhook: HypershiftWebhook, chosen: HypershiftLifetimes) -> LeafProfile:
    """A client certificate that names a ServiceAccount; RBAC goes by the name, no such object is needed."""
    groups = ("system:serviceaccounts", f"system:serviceaccounts:{ACCOUNT_NAMESPACE}")
    return LeafProfile(
        common_name=webhook.user,
        organizations=groups,
        usages=("clientAuth",),
        life=chosen.life,
        renew_below=chosen.renew_below,
    )


def serving(
    webhook: HypershiftWebhook,
    control_plane: Object,
    root_ca: Object,
    kept: Object | None,
    now: datetime.datetime,
    chosen: HypershiftLifetimes | None = None,
) -> CertificateSecret:
    """The Secret with the serving certificate, signed by the root CA."""
    wanted = serving_profile(chosen or HypershiftLifetimes())
    pair, reasons = leaf(root_ca, kept, wanted, now)
    data = {"ca.crt": text_of(root_ca, "ca.crt"), "tls.crt": pair.certificate, "tls.key": pair.key}
    return CertificateSecret(_secret(webhook.serving_secret, control_plane, root_ca, kept, data, {}), reasons)


def kubeconfig(
    webhook: HypershiftWebhook,
    control_plane: Object,
    signer_ca: Object,
    root_ca: str,
    server: str,
    kept: Object | None,
    now: datetime.datetime,
    chosen: HypershiftLifetimes | None = None,
) -> CertificateSecret:
    """The Secret with the kubeconfig: a client certificate of the cluster's signer, trust in the root CA."""
    pair, reasons = leaf(signer_ca, kept, client_profile(webhook, chosen or HypershiftLifetimes()), now)
    data = {
        "ca.crt": text_of(signer_ca, "ca.crt"),
        "kubeconfig": kubeconfig_text(server, root_ca, by_certificate(pair)),
        "tls.crt": pair.certificate,
        "tls.key": pair.key,
    }
    labels = {"hypershift.openshift.io/kubeconfig": "local"}
    made = _secret(webhook.kubeconfig_secret, control_plane, signer_ca, kept, data, labels)
    return CertificateSecret(_stated(made), reasons)


def leaf(
    ca: Object, kept: Object | None, wanted: LeafProfile, now: datetime.datetime
) -> tuple[CertificatePair, tuple[str, ...]]:
    """The kept pair, or a new one and the reasons; raises InvalidInput when the CA's Secret is no use."""
    held = CertificatePair(text_of(kept or {}, "tls.crt"), text_of(kept or {}, "tls.key"))
    reasons = profile.faults(held, text_of(ca, "ca.crt"), wanted, now)
    if not reasons:
        return held, ()
    try:
        return profile.issue(
            CertificatePair(text_of(ca, "ca.crt"), text_of(ca, "ca.key")), wanted, now
        ), reasons
    except ValueError as error:
        meta = ca.get("metadata") or {}
        place = f"Secret {meta.get('namespace', '')}/{meta.get('name', '')}"
        raise errors.InvalidInput(
            errors.InputProblem(place, "data[ca.crt], data[ca.key]", str(error))
        ) from error


def by_certificate(pair: CertificatePair) -> dict[str, str]:
    """A user who has a client certificate, as a kubeconfig says it."""
    return {"client-certificate-data": encoded(pair.certificate), "client-key-data": encoded(pair.key)}


def kubeconfig_text(server: str, trusted: str, user: Mapping[str, str], server_name: str = "") -> str:
    """A kubeconfig as HyperShift words it; JSON, which is YAML. ``server_name`` is the name to verify where
    the address is not in the server's certificate."""
    named = {"tls-server-name": server_name} if server_name else {}
    whole = {
        "apiVersion": "v1",
        "kind": "Config",
        "clusters": [
            {
                "name": "cluster",
                "cluster": {"certificate-authority-data": encoded(trusted), "server": server, **named},
            }
        ],
        "contexts": [
            {"name": "admin", "context": {"cluster": "cluster", "namespace": "default", "user": "admin"}}
        ],
        "current-context": "admin",
        "preferences": {},
        "users": [
            {
                "name": "admin",
                "user": dict(user),
            }
        ],
    }
    return msgspec.json.format(msgspec.json.encode(whole), indent=2).decode() + "\n"


def ca_hash(ca: Object) -> str:
    """MD5 of the CA's certificate and key, as HyperShift writes it on what they signed; it tells, no more."""
    content = (text_of(ca, "ca.crt") + text_of(ca, "ca.key")).encode()
    return hashlib.md5(content, usedforsecurity=False).hexdigest()


def owner(control_plane: Object) -> Object:
    """The reference by which a Secret goes with its control plane."""
    meta = control_plane["metadata"]
    return {
        "apiVersion": control_plane["apiVersion"],
        "kind": control_plane["kind"],
        "name": meta["name"],
        "uid": meta.get("uid", ""),
        "controller": True,
        "blockOwnerDeletion": True,
    }


def encoded(value: str) -> str:
    """Base64 of a text."""
    return base64.b64encode(value.encode()).decode()


def text_of(secret: Object, key: str) -> str:
    """A value of a Secret as text; empty when it is missing or no text."""
    value = (secret.get("data") or {}).get(key)
    if value is None:
        return str((secret.get("stringData") or {}).get(key, ""))
    try:
        return base64.b64decode(value, validate=True).decode()
    except (binascii.Error, ValueError):
        return ""


def _secret(
    name: str,
    control_plane: Object,
    ca: Object,
    kept: Object | None,
    data: dict[str, str],
    labels: dict[str, str],
) -> Object:
    """The kept Secret with what must stand in it; what others wrote beside stays."""
    made: Object = copy.deepcopy(kept) if kept else {"apiVersion": "v1", "kind": "Secret", "metadata": {}}
    made.setdefault("type", "Opaque")
    meta = made["metadata"]
    meta |= {"name": name, "namespace": control_plane["metadata"]["namespace"]}
    if labels:
        meta["labels"] = {**(meta.get("labels") or {}), **labels}
    meta["annotations"] = {**(meta.get("annotations") or {}), CA_HASH: ca_hash(ca)}
    reference = owner(control_plane)
    others = [one for one in meta.get("ownerReferences") or () if one.get("uid") != reference["uid"]]
    meta["ownerReferences"] = [*others, reference]
    made["data"] = {**(made.get("data") or {}), **{key: encoded(value) for key, value in data.items()}}
    return made


def _stated(secret: Object) -> Object:
    """With a digest of what it should be, as HyperShift compares before it looks closer."""
    meta = secret["metadata"]
    annotations = {key: value for key, value in meta["annotations"].items() if key != STATE_HASH}
    said = {
        "annotations": annotations,
        "data": secret["data"],
        "labels": meta.get("labels"),
        "name": meta["name"],
        "namespace": meta["namespace"],
    }
    meta["annotations"] = {**annotations, STATE_HASH: hashlib.sha256(_json(said)).hexdigest()}
    return secret


def _json(value: Any) -> bytes:
    return msgspec.json.encode(value, order="sorted")
