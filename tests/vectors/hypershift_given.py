"""What the cases of the hypershift family stand on: a control plane's authorities, its Deployment, a moment;
and how two objects are compared."""

from __future__ import annotations

import base64
import datetime
import functools
from collections.abc import Iterator
from typing import Any

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import rsa
from cryptography.x509.oid import NameOID

from vestibule.operator.controllers.hosted import hypershift_objects
from vestibule.operator.controllers.hosted.release_image import ReleasePayload

Json = dict[str, Any]
NOW = datetime.datetime(2026, 8, 22, 12, 0, tzinfo=datetime.UTC)
IMAGES = {
    "azure-workload-identity-webhook": "registry.example/azwi@sha256:aaaa",
    "aws-pod-identity-webhook": "registry.example/eks@sha256:bbbb",
}
HOSTED: Json = {
    "apiVersion": "hypershift.openshift.io/v1beta1",
    "kind": "HostedControlPlane",
    "metadata": {"name": "hcp", "namespace": "clusters-hcp", "uid": "8a0f3b1e-0000-4000-8000-000000000001"},
    "spec": {
        "releaseImage": "registry.example/ocp/release:4.22.1",
        "networking": {},
        "platform": {
            "type": "Azure",
            "azure": {"tenantID": "11111111-2222-3333-4444-555555555555", "cloud": "AzurePublicCloud"},
        },
    },
}


def encoded(text: str) -> str:
    return base64.b64encode(text.encode()).decode()


@functools.cache
def _authority(name: str) -> tuple[str, str]:
    """An RSA authority as HyperShift makes them."""
    key = rsa.generate_private_key(65_537, 2048)
    subject = x509.Name(
        [
            x509.NameAttribute(NameOID.ORGANIZATIONAL_UNIT_NAME, "openshift"),
            x509.NameAttribute(NameOID.COMMON_NAME, name.partition(":")[0]),
        ]
    )
    days = datetime.timedelta(days=3650)
    created = (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(subject)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(NOW - days / 10)
        .not_valid_after(NOW + days)
        .add_extension(x509.BasicConstraints(ca=True, path_length=None), critical=True)
        .sign(key, hashes.SHA256())
    )
    private = key.private_bytes(
        serialization.Encoding.PEM,
        serialization.PrivateFormat.TraditionalOpenSSL,
        serialization.NoEncryption(),
    )
    return created.public_bytes(serialization.Encoding.PEM).decode(), private.decode()


def authority(secret: str, common_name: str, namespace: str = "clusters-hcp") -> Json:
    """The Secret of an authority, tls pair and all; the same for the same question."""
    certificate, key = _authority(common_name)
    data = {"ca.crt": certificate, "ca.key": key, "tls.crt": certificate, "tls.key": key}
    return {
        "apiVersion": "v1",
        "kind": "Secret",
        "metadata": {"name": secret, "namespace": namespace},
        "data": {name: encoded(value) for name, value in data.items()},
    }


def secrets(namespace: str = "clusters-hcp") -> dict[str, Json]:
    """The authorities of a control plane."""
    return {
        "root-ca": authority("root-ca", "root-ca", namespace),
        "cluster-signer-ca": authority("cluster-signer-ca", "kube-csr-signer", namespace),
    }


def deployment(hosted: Json) -> Json:
    """The API server without a sidecar."""
    containers = [{"name": "kube-apiserver", "image": "kas"}, {"name": "konnectivity-server", "image": "k"}]
    return {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"name": "kube-apiserver", "namespace": hosted["metadata"]["namespace"]},
        "spec": {"template": {"metadata": {}, "spec": {"containers": containers, "volumes": []}}},
    }


def given(
    hosted: Json,
    images: Json | None = None,
    bundle: str = "ROOT-CA-BUNDLE",
    kept: dict[str, Json] | None = None,
) -> hypershift_objects.HypershiftInputs:
    """A control plane with everything that its owner has."""
    namespace = hosted["metadata"]["namespace"]
    return hypershift_objects.HypershiftInputs(
        hosted,
        deployment(hosted),
        ReleasePayload("4.22.1", IMAGES if images is None else images),
        {**secrets(namespace), **(kept or {})},
        bundle,
    )


def differences(place: str, found: Json, want: Json) -> Iterator[str]:
    """Keys that are wanted and differ; each value is the whole value."""
    for key, value in want.items():
        if found.get(key) != value:
            yield f"{place}: {key} is {found.get(key)!r}, want {value!r}"


def subset(place: str, found: Any, want: Any) -> Iterator[str]:
    """Everything wanted that is not there; lists have the same length, member for member."""
    if isinstance(want, dict):
        if not isinstance(found, dict):
            yield f"{place}: got {found!r}"
            return
        for key, value in want.items():
            if key not in found:
                yield f"{place}: {key} is missing"
            else:
                yield from subset(f"{place}.{key}", found[key], value)
    elif isinstance(want, list):
        if not isinstance(found, list) or len(found) != len(want):
            yield f"{place}: got {found!r}, want {want!r}"
            return
        for number, (one, other) in enumerate(zip(found, want, strict=True)):
            yield from subset(f"{place}[{number}]", one, other)
    elif found != want:
        yield f"{place}: got {found!r}, want {want!r}"
