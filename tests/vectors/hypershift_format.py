"""The keys of the hypershift family, by the check that a case runs through."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from tests.vectors.formats import ANY, PROSE, Each, Format
from vestibule.operator.controllers.hosted import platform_table

Json = dict[str, Any]
COMPARE = ("exact", "exact-on-listed-keys", "subset")
PROFILES = ("hypershift-parity", "proposed")


def _keys(*names: str) -> dict[str, Format]:
    return dict.fromkeys(names, ANY)


_CONTRACT = _keys("one_script_argument", "blocks_until_ok", "probe_is", "then_exec", "flags_in_order")
_CONTAINER: Format = {
    **_keys("name", "image", "imagePullPolicy", "command", "args", "env", "ports", "resources"),
    **_keys("securityContext", "volumeMounts", "livenessProbe", "readinessProbe", "startupProbe"),
    **_keys("terminationMessagePolicy", "terminationMessagePath", "lifecycle", "workingDir"),
    "argv_contract": _CONTRACT,
}
_DEPLOYMENT: Format = {
    **_keys("name", "namespace", "volumesContain", "containerPortsDeclared", "containerKeysAbsent"),
    "containersContain": [_CONTAINER],
}
_SECRET: Format = {
    **_keys("name", "namespace", "labels", "type", "dataKeysExactly", "annotationKeys"),
    **_keys("ownerReferencesContain", "data.ca.crt"),
}
_CERTIFICATE: Format = {
    **_keys("ipSANs", "dnsSANs", "extKeyUsage", "keyUsage", "key", "privateKeyPEM", "isCA", "validityDays"),
    **_keys("notBefore", "issuerCN", "verifiesAgainst"),
    "subject": _keys("CN", "O"),
}
_REQUEST = _keys("tenantID", "azureEnvironment", "attach")
_PLACE: Format = _keys("secret", "key", "keys", "server", "otherKeys")
_PROVIDER: Format = {
    "kubeconfig": _PLACE,
    "ca": _PLACE,
    "clientSigner": _PLACE,
    "external": _keys("from", "default"),
    **_keys("pausedBy", "workload", "attachVia", "rewriteServer"),
}
_MANAGED: Format = {
    **_keys("kind", "name", "namespace", "labels", "podLabels", "ports"),
    "certificate": _keys("dnsSANs", "extKeyUsage"),
}
_POD: Format = {
    **_keys("case", "admitted", "volume", "mountPath", "mutated", "webhookCalled"),
    "env": Each(ANY),
    "mutatedAfterDeleteAndRecreateOnceUp": ANY,
    "because": PROSE,
}

FORMATS: Mapping[str, tuple[Format, Format]] = {
    "others": (
        _keys("hostedControlPlanes"),
        {"forEach": _keys("containersAbsent", "volumesAbsent", "secretsAbsent", "guestAbsent")},
    ),
    "serving": (
        {**_keys("hostedControlPlane"), "rootCASecret": _keys("name", "keys")},
        {"secret": _SECRET, "certificate": _CERTIFICATE, "secondReconcile": _keys("certificateUnchanged")},
    ),
    "kubeconfig": (
        _keys("hostedControlPlane", "signerSecret", "trust"),
        {
            "secret": _SECRET,
            "clientCertificate": _CERTIFICATE,
            **_keys("kubeconfig", "guestServiceAccountObjectCreated"),
        },
    ),
    "guest": (
        _keys("hostedControlPlane", "rootCABundle"),
        _keys("guestObjects", "guestKindsCreatedExactly"),
    ),
    "separate": (
        {**_keys("hostedControlPlane"), "request": _REQUEST},
        {
            "managementObjects": [_MANAGED],
            **_keys("guestWebhookURL", "kubeApiserverDeploymentTouched"),
            **_keys("mustHoldBeforeGuestConfigurationIsCreated"),
        },
    ),
    "built_in": (
        {
            **_keys("hostedControlPlane", "liveKubeApiserverContainers"),
            "guest": _keys("mutatingWebhookConfigurations"),
        },
        {"status": _keys("mode", "conditions"), **_keys("writes", "ifTakeoverRequested")},
    ),
    "sidecar": (
        _keys("hostedControlPlane", "payloadImages"),
        {"deployment": _DEPLOYMENT, **_keys("kubeconfigServer", "flagsInOrder", "flagAbsent")},
    ),
    "refused": (
        _keys("hostedControlPlane", "payloadImages"),
        {"error": _keys("contains"), **_keys("deploymentUnchanged")},
    ),
    "renewal": (
        {
            **_keys("validityDays", "renewBelowDays", "env"),
            "cases": [_keys("validityDays", "remainingDays", "other", "env")],
        },
        {**_keys("reissue"), "oursDiffersOn": _keys("index", "reissue")},
    ),
    "new_authority": (
        {"leaf": _keys("signedBy", "remainingDays"), **_keys("caSecret")},
        {"hypershiftObserved": PROSE, "ours": _keys("leafReissued", "caBundleDuringChange", "order")},
    ),
    "config_hash": (
        _keys("mountedSecrets", "mountedConfigMaps"),
        _keys("annotation", "parts", "excludedConfigMaps", "keysNotHashed", "missingObject"),
    ),
    "ca_hash": (_keys("caSecret"), _keys("annotation")),
    "payload": (
        {**_keys("imageReferences"), "cases": [_keys("case")]},
        {
            "cases": [
                {
                    **_keys("case", "image", "releaseVersion", "lookupUses", "else"),
                    "ours": _keys("containerAdded", "condition"),
                    "hypershiftObserved": PROSE,
                }
            ]
        },
    ),
    "urls": (
        {**_keys("controlPlaneNamespace", "urls"), "services": [_keys("name", "labels")]},
        _keys("kept"),
    ),
    "withdrawn": (
        {**_keys("predicate"), "cases": [_keys("case", "ownerReferences")]},
        {"cases": [_keys("case", "deleted", "error")], **_keys("servingCertSecret", "guestObjects")},
    ),
    "foreign": (
        {**_keys("live"), "cases": [_keys("case")]},
        {"cases": [_keys("case", "foreignContainerKept")], **_keys("rule")},
    ),
    "paused": (_keys("values", "now"), _keys("paused", "requeueSeconds")),
    "clouds": (_keys("clouds"), _keys("authorityHost", "upstreamCrashesOn")),
    "spellings": (
        _keys("tls-min-version", "tls-cipher-suites"),
        {**_keys("accepted", "ciphersAccepted"), "upstream_v1_6_0": PROSE},
    ),
    "kamaji": (
        {**_keys("tenantControlPlane"), "request": _REQUEST},
        {
            "readModifyWriteOf": _keys(
                "kind", "name", "guardedBy", "ourEntries", "foreignEntriesKept", "secondRunWrites"
            ),
            "guestKubeconfigSource": _keys("secret", "keyPreference"),
            "apiserverCA": _keys("secret", "keys"),
            **_keys("ifOwnedByKamajiControlPlane", "guestWebhookURL"),
            "why": PROSE,
        },
    ),
    "providers": (_keys("providers", "name", "namespace"), dict.fromkeys(platform_table.ALL, _PROVIDER)),
    "end_to_end": (
        {**_keys("serviceAccount"), "cases": [_keys("case", "pod", "webhook", "rbac")]},
        {
            "cases": [_POD],
            "layoutOfUpstream_v1_6_0": _keys("volumeName", "mountPath", "tokenPath"),
        },
    ),
    "teardown": (
        {**_keys("delete"), "cases": [_keys("case")]},
        {"cases": [_keys("case", "order", "finalizerReleased", "event", "guestCleanup")]},
    ),
    "drift": (
        {"cases": [_keys("case", "live")]},
        {"cases": [_keys("case", "writes", "kept", "result")]},
    ),
    "replicas": (
        {"cases": [_keys("controllerAvailabilityPolicy", "annotations")]},
        {"cases": [_keys("replicas", "rollingUpdate")]},
    ),
}
"""What a case gives and what it wants, by the name of its check."""


def format_of(name: str) -> Format:
    """The keys of a case of this check; a check that nobody knows has none."""
    given, expected = FORMATS.get(name, ({}, {}))
    return {
        **_keys("id", "name", "profile", "compare"),
        **dict.fromkeys(("title", "provenance", "notes"), PROSE),
        "input": given,
        "expect": expected,
    }


def paired(given: list[Json], wanted: list[Json]) -> list[tuple[Json, Json]]:
    """The cases of a case with what each wants; a name on both sides must be the same."""
    pairs = list(zip(given, wanted, strict=True))
    for case, want in pairs:
        if want.get("case", case.get("case")) != case.get("case"):
            raise AssertionError(f"{want['case']!r} stands where {case.get('case')!r} is given")
    return pairs
