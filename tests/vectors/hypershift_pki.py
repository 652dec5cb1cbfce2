"""Cases of the hypershift family about certificates: they are really made, and read with another library's
eyes."""

from __future__ import annotations

import base64
import datetime
import warnings
from collections.abc import Iterator
from typing import Any

import yaml
from cryptography import x509
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import rsa
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

from tests.vectors.hypershift_given import HOSTED, NOW, authority, encoded, given, subset
from vestibule.operator.controllers.hosted import (
    ca_rollover,
    certificates,
    hypershift_objects,
    hypershift_webhooks,
)
from vestibule.pki import certificate_authority as authorities
from vestibule.pki import profile
from vestibule.pki.leaf import CertificatePair

Json = dict[str, Any]
_USAGES = {ExtendedKeyUsageOID.CLIENT_AUTH: "clientAuth", ExtendedKeyUsageOID.SERVER_AUTH: "serverAuth"}
_SIGNERS = {
    "root-ca ca.crt": ("root-ca", "root-ca"),
    "cluster-signer-ca ca.crt": ("cluster-signer-ca", "kube-csr-signer"),
}
_DAY = datetime.timedelta(days=1)


def text(secret: Json, key: str) -> str:
    return base64.b64decode(secret["data"][key]).decode()


def serving(inputs: Json, want: Json) -> Iterator[str]:
    """The Secret with the serving certificate."""
    hosted, signer = inputs["hostedControlPlane"], inputs["rootCASecret"]
    existing = given(hosted).secrets[signer["name"]]
    yield from subset("rootCASecret", sorted(existing["data"]), sorted(signer["keys"]))
    full = hypershift_objects.all_objects(given(hosted), NOW)
    secret = full.secrets[0]
    if not authorities.signed_by(text(secret, "tls.crt"), text(existing, "ca.crt")):
        yield f"{signer['name']} did not sign the certificate"
    for key, expected in want.items():
        if key == "secret":
            yield from _secret(secret, expected)
        elif key == "certificate":
            yield from _certificate(text(secret, "tls.crt"), expected, text(secret, "tls.key"))
        elif key == "secondReconcile":
            stored = {one["metadata"]["name"]: one for one in full.secrets}
            again = hypershift_objects.all_objects(given(hosted, kept=stored), NOW + _DAY)
            if (again.secrets == full.secrets) is not expected["certificateUnchanged"]:
                yield "a second pass changes a Secret"
        else:
            yield f"the case wants {key}, which the runner does not know"


def kubeconfig(inputs: Json, want: Json) -> Iterator[str]:
    """The Secret with the kubeconfig."""
    full = hypershift_objects.all_objects(given(inputs["hostedControlPlane"]), NOW)
    secret = full.secrets[1]
    if "signerSecret" in inputs:
        signer = text(authority(*_SIGNERS[f"{inputs['signerSecret']} ca.crt"]), "ca.crt")
        if not authorities.signed_by(text(secret, "tls.crt"), signer):
            yield f"{inputs['signerSecret']} did not sign the client certificate"
    if "trust" in inputs:
        trusted = encoded(text(authority(*_SIGNERS[inputs["trust"]]), "ca.crt"))
        entry = yaml.safe_load(text(secret, "kubeconfig"))["clusters"][0]["cluster"]
        yield from subset("trust", entry.get("certificate-authority-data"), trusted)
    for key, expected in want.items():
        if key == "secret":
            yield from _secret(secret, expected)
        elif key == "clientCertificate":
            yield from _certificate(text(secret, "tls.crt"), expected)
        elif key == "kubeconfig":
            document = yaml.safe_load(text(secret, "kubeconfig"))
            yield from subset("kubeconfig", document, _filled(expected, secret))
        elif key == "guestServiceAccountObjectCreated":
            if any(one["kind"] == "ServiceAccount" for one in full.guest) != expected:
                yield "a ServiceAccount is made in the guest"
        else:
            yield f"the case wants {key}, which the runner does not know"


def _filled(wanted: Any, secret: Json) -> Any:
    """The case with the values that it describes."""
    if isinstance(wanted, dict):
        return {key: _filled(value, secret) for key, value in wanted.items()}
    if isinstance(wanted, list):
        return [_filled(value, secret) for value in wanted]
    known = {
        "base64(root-ca ca.crt)": encoded(text(authority("root-ca", "root-ca"), "ca.crt")),
        "base64(tls.crt)": secret["data"]["tls.crt"],
        "base64(tls.key)": secret["data"]["tls.key"],
    }
    return known.get(wanted, wanted)


def _secret(secret: Json, want: Json) -> Iterator[str]:
    meta = secret["metadata"]
    for key, expected in want.items():
        if key in ("name", "namespace", "labels"):
            yield from subset(key, meta.get(key), expected)
        elif key == "type":
            yield from subset(key, secret["type"], expected)
        elif key == "dataKeysExactly":
            yield from subset(key, sorted(secret["data"]), sorted(expected))
        elif key == "annotationKeys":
            yield from subset(key, sorted(meta["annotations"]), sorted(expected))
        elif key == "ownerReferencesContain":
            yield from (f"owner {one} is missing" for one in expected if one not in meta["ownerReferences"])
        elif key == "data.ca.crt":
            name = expected.removeprefix("equals ").partition(" (")[0]
            if text(secret, "ca.crt") != text(authority(*_SIGNERS[name]), "ca.crt"):
                yield f"ca.crt is not {name}"
        else:
            yield f"the case wants {key} of a Secret, which the runner does not know"


def _certificate(pem: str, want: Json, key_pem: str = "") -> list[str]:
    with warnings.catch_warnings():  # the name of a ServiceAccount is longer than X.520 allows
        warnings.filterwarnings("ignore", "Attribute's length must be", UserWarning)
        return list(_certified(pem, want, key_pem))


def _certified(pem: str, want: Json, key_pem: str) -> Iterator[str]:
    leaf = x509.load_pem_x509_certificate(pem.encode())
    for key, expected in want.items():
        found = _fact(leaf, key, key_pem)
        if key == "subject":
            yield from subset(key, found, expected)
        elif key == "verifiesAgainst":
            leaf.verify_directly_issued_by(
                x509.load_pem_x509_certificate(text(authority(*_SIGNERS[expected]), "ca.crt").encode())
            )
        elif found != expected:
            yield f"{key}: got {found!r}, want {expected!r}"


def _fact(leaf: x509.Certificate, key: str, key_pem: str) -> Any:
    """What a certificate says, in the words of the cases; None for what is not known."""
    if key == "subject":
        organizations = [
            str(one.value) for one in leaf.subject.get_attributes_for_oid(NameOID.ORGANIZATION_NAME)
        ]
        return {"CN": _common_name(leaf.subject), "O": sorted(organizations)}
    if key in ("ipSANs", "dnsSANs"):
        try:
            names = leaf.extensions.get_extension_for_class(x509.SubjectAlternativeName).value
        except x509.ExtensionNotFound:
            return []
        if key == "dnsSANs":
            return names.get_values_for_type(x509.DNSName)
        return [str(one) for one in names.get_values_for_type(x509.IPAddress)]
    if key == "extKeyUsage":
        return sorted(
            _USAGES[one] for one in leaf.extensions.get_extension_for_class(x509.ExtendedKeyUsage).value
        )
    if key == "keyUsage":
        usage = leaf.extensions.get_extension_for_class(x509.KeyUsage).value
        named = {"digitalSignature": usage.digital_signature, "keyEncipherment": usage.key_encipherment}
        more = (
            usage.content_commitment or usage.data_encipherment or usage.key_agreement or usage.key_cert_sign
        )
        return sorted([name for name, on in named.items() if on] + (["more"] if more else []))
    if key == "key":
        public = leaf.public_key()
        return f"RSA-{public.key_size}" if isinstance(public, rsa.RSAPublicKey) else "another"
    if key == "privateKeyPEM":
        loaded = serialization.load_pem_private_key(key_pem.encode(), None)
        full = key_pem.startswith("-----BEGIN RSA PRIVATE KEY-----") and isinstance(loaded, rsa.RSAPrivateKey)
        return "RSA PRIVATE KEY (PKCS#1)" if full else "another"
    if key == "isCA":
        return leaf.extensions.get_extension_for_class(x509.BasicConstraints).value.ca
    if key == "validityDays":
        return (leaf.not_valid_after_utc - leaf.not_valid_before_utc).days
    if key == "notBefore":
        return "issue time, not back-dated" if leaf.not_valid_before_utc == NOW else "another"
    if key == "issuerCN":
        return _common_name(leaf.issuer)
    return None


def _common_name(name: x509.Name) -> str:
    return str(name.get_attributes_for_oid(NameOID.COMMON_NAME)[0].value)


def dns_names(pem: str) -> list[str]:
    """The DNS names of a certificate."""
    found: list[str] = _fact(x509.load_pem_x509_certificate(pem.encode()), "dnsSANs", "")
    return found


def usages(pem: str) -> list[str]:
    """What it may be used for."""
    found: list[str] = _fact(x509.load_pem_x509_certificate(pem.encode()), "extKeyUsage", "")
    return found


# ── renewal ─────────────────────────────────────────────────────────────────────────────────────────────────


def renewal(inputs: Json, want: Json) -> Iterator[str]:
    """Each leaf is really made, as the case describes it, and looked at when so much of its life is left."""
    signer = authority("root-ca", "root-ca")
    pair = CertificatePair(text(signer, "ca.crt"), text(signer, "ca.key"))
    expected = list(want["reissue"])
    if "oursDiffersOn" in want:
        expected[want["oursDiffersOn"]["index"]] = want["oursDiffersOn"]["reissue"]
    for number, (case, wanted) in enumerate(zip(inputs["cases"], expected, strict=True)):
        env = case.get("env", inputs["env"])
        life = case.get("validityDays", inputs["validityDays"]) * _DAY
        chosen = certificates.lives_of(
            env.get("CERTIFICATE_VALIDITY", f"{inputs['validityDays'] * 24}h"),
            env.get("CERTIFICATE_RENEWAL_PERCENTAGE", ""),
        )
        requested = certificates.serving_profile(chosen)
        if chosen.life != life:
            yield f"case {number}: a life of {chosen.life}"
        if not env and chosen.renew_below != inputs["renewBelowDays"] * _DAY:
            yield f"case {number}: renewed below {chosen.renew_below}"
        created, requested = _made(case["other"], pair, requested)
        left = case["remainingDays"]
        end = (
            x509.load_pem_x509_certificate(created.certificate.encode()).not_valid_after_utc if left else NOW
        )
        why = profile.faults(created, pair.certificate, requested, end - (left or 0) * _DAY)
        if bool(why) != wanted:
            yield f"case {number} ({case['other']}, {left} days left): reissue is {bool(why)}: {why}"


def _made(
    other: str, signer: CertificatePair, requested: profile.LeafProfile
) -> tuple[CertificatePair, profile.LeafProfile]:
    """A leaf with the flaw that a case names, and the profile it is held against."""
    if other == "all fields match":
        return profile.issue(signer, requested, NOW), requested
    if other == "IP SAN differs":
        return profile.issue(signer, requested._replace(names=("127.0.0.2",)), NOW), requested
    if other == "CN differs":
        return profile.issue(signer, requested._replace(common_name="localhost"), NOW), requested
    if other == "EKU differs":
        return profile.issue(signer, requested._replace(usages=("serverAuth",)), NOW), requested
    if other == "key does not match certificate":
        one, two = (profile.issue(signer, requested, NOW) for _ in range(2))
        return CertificatePair(one.certificate, two.key), requested
    if other == "tls.crt empty":
        return CertificatePair("", ""), requested
    if other.startswith("configured validity was changed to 30 days"):
        return profile.issue(signer, requested, NOW), requested._replace(life=30 * _DAY)
    raise ValueError(f"no such flaw is known: {other}")


def new_authority(inputs: Json, want: Json) -> Iterator[str]:
    """The authority is replaced while the leaf is otherwise good."""
    hosted_ca, fresh_ca = authority("root-ca", "root-ca"), authority("root-ca", "root-ca:new")
    old, new = text(hosted_ca, "ca.crt"), text(fresh_ca, "ca.crt")
    webhook, names = hypershift_webhooks.AZURE, {old: "old CA", new: "new CA"}
    if (inputs["leaf"]["signedBy"], inputs["caSecret"]) != ("old CA", "new CA"):
        yield f"the runner knows no such CAs: {inputs}"
    first = certificates.serving(webhook, HOSTED, hosted_ca, None, NOW)
    later = NOW + (365 - inputs["leaf"]["remainingDays"]) * _DAY
    second = certificates.serving(webhook, HOSTED, fresh_ca, first.secret, later)
    ours = want["ours"]
    if (second.secret["data"]["tls.crt"] != first.secret["data"]["tls.crt"]) != ours["leafReissued"]:
        yield f"leafReissued is not {ours['leafReissued']}: {second.reasons}"
    if not authorities.signed_by(text(second.secret, "tls.crt"), new):
        yield "the new authority did not sign the leaf"
    observed = ca_rollover.ObservedTrust(
        [old], new, leaf_is_current=False, endpoints={"a": False, "b": False}
    )
    order: list[str] = []
    during: list[str] = []
    for _ in range(10):
        step = ca_rollover.following(observed)
        if step.step == "none":
            break
        order.append(ca_rollover.WORDS[step.step])
        during = [names[one] for one in step.bundle] if step.step != "drop" else during
        observed = observed._replace(
            published=step.bundle,
            leaf_is_current=observed.leaf_is_current or step.step == "reissue",
            endpoints={"a": True, "b": True} if step.step == "confirm" else observed.endpoints,
        )
    if order != ours["order"]:
        yield f"order: got {order}"
    if during != ours["caBundleDuringChange"]:
        yield f"bundle: got {during}"
