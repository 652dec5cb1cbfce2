"""What render makes of a cluster: left out and told, refused, never overwritten, and otherwise the same."""

from __future__ import annotations

import copy
from typing import Any

import pytest

from vestibule import errors
from vestibule.api.settings import schema
from vestibule.manifests import adapt, cluster_facts, install
from vestibule.manifests.cluster_facts import ApiServerVersion, ClusterFacts

Json = dict[str, Any]
CLUSTER_WIDE = {
    "Namespace", "ClusterRole", "ClusterRoleBinding", "MutatingWebhookConfiguration",
    "ValidatingAdmissionPolicy", "ValidatingAdmissionPolicyBinding",
}  # fmt: skip
OURS = {"app.kubernetes.io/managed-by": "vestibule"}
HELM = {"app.kubernetes.io/managed-by": "Helm"}
PODS_AT_CREATE = {"apiGroups": [""], "apiVersions": ["v1"], "operations": ["CREATE"], "resources": ["pods"]}


def cluster(
    *objects: Json,
    version: tuple[int, int] = (1, 36),
    without: tuple[str, ...] = (),
    groups: tuple[str, ...] = (),
    unseen: tuple[str, ...] = (),
    **data: Any,
) -> ClusterFacts:
    """A cluster that serves every kind we render but those named, and holds these objects."""
    rendered = install.objects(schema.parse(data, "test"))
    return ClusterFacts(
        ApiServerVersion(*version),
        frozenset(groups),
        {
            (obj["apiVersion"], obj["kind"]): cluster_facts.ServedResource(
                "things", obj["kind"] not in CLUSTER_WIDE
            )
            for obj in rendered
            if obj["kind"] not in without and obj["apiVersion"] not in without
        },
        tuple(obj for obj in objects if obj["kind"] in CLUSTER_WIDE),
        tuple(obj for obj in objects if obj["kind"] == "MutatingWebhookConfiguration"),
        unseen,
    )


def adapted(seen: ClusterFacts, **data: Any) -> adapt.AdaptedManifests:
    settings = schema.parse(data, "test")
    return adapt.adapt(install.objects(settings), settings, seen)


def thing(kind: str, name: str = "vestibule", labels: Json | None = None, **more: Any) -> Json:
    return {"kind": kind, "metadata": {"name": name, "labels": labels}, **more}


def registration(name: str, webhook: str, **rule: Any) -> Json:
    hook = {"name": webhook, "rules": [{**PODS_AT_CREATE, **rule}]}
    return thing("MutatingWebhookConfiguration", name, webhooks=[hook])


def kinds(result: adapt.AdaptedManifests) -> set[str]:
    return {one["kind"] for one in result.objects}


# ── the same ───────────────────────────────────────────────────────────────────────────────────────────────


def test_a_new_and_empty_cluster_changes_nothing() -> None:
    assert adapted(cluster()) == (install.objects(schema.Settings()), [])


def test_what_we_made_ourselves_is_no_reason_to_warn() -> None:
    present = [thing(kind, labels=OURS) for kind in CLUSTER_WIDE - {"Namespace"}]
    restricted = {"pod-security.kubernetes.io/enforce": "restricted"}
    namespace = thing("Namespace", "vestibule-system", {**OURS, **restricted})

    result = adapted(cluster(*present, namespace))

    assert result == (install.objects(schema.Settings()), [])


def test_the_objects_given_are_left_as_they_are() -> None:
    given = install.objects(schema.Settings())
    before = copy.deepcopy(given)

    adapt.adapt(given, schema.Settings(), cluster(version=(1, 27)))

    assert given == before


# ── left out, and told ─────────────────────────────────────────────────────────────────────────────────────


def test_the_guard_is_left_out_where_it_is_not_served() -> None:
    guard = {"ValidatingAdmissionPolicy", "ValidatingAdmissionPolicyBinding"}

    result = adapted(cluster(version=(1, 29), without=tuple(guard)))

    assert kinds(result) == kinds(adapted(cluster())) - guard
    assert [one for one in result.warnings if "-certificates" in one] == [
        f"{kind} vestibule-certificates: left out, Kubernetes 1.29 does not serve "
        f"admissionregistration.k8s.io/v1 {kind}, want 1.30 or newer: "
        "with the token of the certificate issuer, every field of the webhook configurations can be changed"
        for kind in sorted(guard)
    ]
    assert [one for one in result.warnings if "-certificates" not in one] == [
        "ValidatingAdmissionPolicy vestibule-guard: left out, Kubernetes 1.29 does not serve "
        "admissionregistration.k8s.io/v1 ValidatingAdmissionPolicy, want 1.30 or newer: "
        "users who may patch pods can change the injected annotations of a running pod",
        "ValidatingAdmissionPolicyBinding vestibule-guard: left out, Kubernetes 1.29 does not serve "
        "admissionregistration.k8s.io/v1 ValidatingAdmissionPolicyBinding, want 1.30 or newer: "
        "the guard is not in force",
    ]


def test_a_guard_that_is_switched_off_is_not_missed() -> None:
    data: Json = {"install": {"guard": False}}

    result = adapted(cluster(without=("ValidatingAdmissionPolicy",), **data), **data)

    assert result.warnings == []


def test_the_budget_is_left_out_where_it_is_not_served() -> None:
    result = adapted(cluster(without=("PodDisruptionBudget",)))

    assert "PodDisruptionBudget" not in kinds(result)
    (warning,) = result.warnings
    assert warning.startswith("PodDisruptionBudget vestibule-system/vestibule: left out")


def test_match_conditions_are_left_out_before_1_28_and_selectors_stay() -> None:
    data: Json = {"exclude": {"namespaces": ["infra-*", "billing"]}}
    new, old = (adapted(cluster(version=version), **data) for version in ((1, 28), (1, 27)))

    before, after = (
        next(one for one in result.objects if one["kind"] == "MutatingWebhookConfiguration")["webhooks"][0]
        for result in (new, old)
    )
    conditions = before.pop("matchConditions")
    assert after == before
    assert {"kube-system", "billing"} <= set(after["namespaceSelector"]["matchExpressions"][0]["values"])
    assert [condition["name"] for condition in conditions] == [
        "not-a-mirror-pod",
        "not-an-excluded-namespace",
    ]
    assert new.warnings == []
    assert old.warnings == [
        "MutatingWebhookConfiguration vestibule: webhooks[pods.vestibule.dev].matchConditions "
        "(not-a-mirror-pod, not-an-excluded-namespace) left out, Kubernetes 1.27 does not know them, want "
        "1.28 or newer: such pods are sent to the webhook, which leaves them alone"
    ]


def test_in_strict_mode_a_lost_condition_is_reported_with_its_danger() -> None:
    (warning,) = adapted(cluster(version=(1, 27)), mode="strict").warnings

    assert warning.endswith("which in strict mode mutates what it is sent, mirror pods included")


def test_what_could_not_be_looked_at_is_reported() -> None:
    assert adapted(cluster(unseen=("reading /x: forbidden",))).warnings == ["not read: reading /x: forbidden"]


# ── refused ────────────────────────────────────────────────────────────────────────────────────────────────


def test_cert_manager_that_is_not_there_is_an_error_with_a_way_out() -> None:
    data: Json = {"install": {"certificate": "cert-manager"}}

    with pytest.raises(errors.InvalidInput) as caught:
        adapted(cluster(without=("cert-manager.io/v1",), **data), **data)

    assert [str(problem) for problem in caught.value.problems] == [
        "settings: install.certificate: is 'cert-manager', and the cluster does not serve cert-manager.io/v1"
        ": install cert-manager first, or want 'self', which needs nothing"
    ]


def test_cert_manager_that_is_there_is_used() -> None:
    data: Json = {"install": {"certificate": "cert-manager"}}

    assert {"Issuer", "Certificate"} <= kinds(adapted(cluster(**data), **data))


def test_a_kind_that_cannot_be_spared_is_an_error() -> None:
    with pytest.raises(errors.InvalidInput) as caught:
        adapted(cluster(without=("Deployment",)))

    assert str(caught.value) == "\n".join(
        f"Deployment vestibule-system/{name}: apiVersion: is apps/v1, and the cluster (Kubernetes 1.36) "
        "does not serve that Deployment; want one that does"
        for name in ("vestibule-certificates", "vestibule")
    )


@pytest.mark.parametrize("kind", sorted(CLUSTER_WIDE - {"Namespace"}))
@pytest.mark.parametrize(
    "labels", [HELM, {}, None], ids=["somebody else's", "without our label", "no labels"]
)
def test_nothing_that_is_not_ours_is_overwritten(kind: str, labels: Json | None) -> None:
    name = "vestibule-guard" if kind.startswith("Validating") else "vestibule"

    with pytest.raises(errors.InvalidInput) as caught:
        adapted(cluster(thing(kind, name, labels)))

    message = "is 'Helm'" if labels else "is not set"
    assert str(caught.value) == (
        f"{kind} {name}: metadata.labels[app.kubernetes.io/managed-by]: {message}, want 'vestibule': it "
        "exists and is not ours, and we overwrite nothing that is not ours; remove it, or choose another "
        "install.name"
    )


def test_all_problems_are_reported_at_once() -> None:
    data: Json = {"install": {"certificate": "cert-manager"}}
    seen = cluster(thing("ClusterRole"), without=("cert-manager.io/v1", "Service"), **data)

    with pytest.raises(errors.InvalidInput) as caught:
        adapted(seen, **data)

    assert [problem.place for problem in caught.value.problems] == [
        "settings",
        "Service vestibule-system/vestibule",
        "ClusterRole vestibule",
    ]


# ── what is there already ──────────────────────────────────────────────────────────────────────────────────


def test_a_namespace_of_another_user_is_a_warning() -> None:
    result = adapted(cluster(thing("Namespace", "vestibule-system", HELM)))

    assert result.objects == install.objects(schema.Settings())
    assert result.warnings == [
        "Namespace vestibule-system: exists and is not ours (app.kubernetes.io/managed-by is 'Helm'): "
        "applying adds our labels to it, and deleting what is printed here deletes it with everything in it"
    ]


def test_a_namespace_with_another_pod_security_profile_is_a_warning() -> None:
    labels = {**OURS, "pod-security.kubernetes.io/enforce": "privileged"}

    assert adapted(cluster(thing("Namespace", "vestibule-system", labels))).warnings == [
        "Namespace vestibule-system: pod-security.kubernetes.io/enforce is 'privileged', and applying makes "
        "it 'restricted': pods there that need more are not admitted any more"
    ]


KNOWN = {
    "cwii": registration("any-release", "mutate.cwii.dev"),
    "Azure workload identity": registration(
        "azure-wi-webhook-mutating-webhook-configuration", "mutation.azure-workload-identity.io"
    ),
    "Azure workload identity on OpenShift": registration(
        "pod-identity-webhook", "pod-identity-webhook.azure.mutate.io"
    ),
    "the EKS pod identity webhook": registration("pod-identity-webhook", "renamed.example"),
    "the GCP workload identity federation webhook": registration(
        "gcp-workload-identity-federation-webhook-mutating-webhook-configuration", "mpod.kb.io"
    ),
    "another installation of Vestibule": registration("hall-two", "pods.vestibule.dev"),
}


@pytest.mark.parametrize("product", KNOWN)
def test_a_webhook_that_does_the_same_work_is_a_warning(product: str) -> None:
    found = KNOWN[product]

    (warning,) = adapted(cluster(found)).warnings

    name, webhook = found["metadata"]["name"], found["webhooks"][0]["name"]
    assert warning.startswith(f"MutatingWebhookConfiguration {name}: {webhook} is {product}")


HARMLESS = {
    "a stranger": registration("istio-sidecar-injector", "namespace.sidecar-injector.istio.io"),
    "one that only sees updates": registration("x", "mutate.cwii.dev", operations=["UPDATE"]),
    "one that sees other things": registration("x", "mutate.cwii.dev", resources=["services"]),
    "one of another group": registration("x", "mutate.cwii.dev", apiGroups=["apps"]),
    "one without rules": thing("MutatingWebhookConfiguration", "x", webhooks=[{"name": "mutate.cwii.dev"}]),
    "one without webhooks": thing("MutatingWebhookConfiguration", "pod-identity-webhook"),
}


@pytest.mark.parametrize("sentence", HARMLESS)
def test_a_webhook_that_does_other_work_is_not(sentence: str) -> None:
    assert adapted(cluster(HARMLESS[sentence])).warnings == []


@pytest.mark.parametrize("resources", [["*"], ["*/*"], ["pods/*"], ["services", "pods"]], ids=str)
def test_a_wide_rule_counts(resources: list[str]) -> None:
    found = registration("x", "mutate.cwii.dev", resources=resources, operations=["*"], apiGroups=["*"])

    assert len(adapted(cluster(found)).warnings) == 1


def test_a_service_ca_outside_of_openshift_is_a_warning() -> None:
    data: Json = {"install": {"certificate": "service-ca"}}

    assert len(adapted(cluster(**data), **data).warnings) == 1
    assert adapted(cluster(groups=("route.openshift.io",), **data), **data).warnings == []


# ── the documents of discovery ─────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(
    ("document", "version"),
    [
        ({"major": "1", "minor": "36"}, (1, 36)),
        ({"major": "1", "minor": "28+"}, (1, 28)),
        ({"major": "", "minor": ""}, None),
        ({}, None),
    ],
    ids=["plain", "of a cloud", "empty", "none"],
)
def test_versions_are_read(document: Json, version: tuple[int, int] | None) -> None:
    assert cluster_facts.version(document) == version


def test_subresources_are_no_kinds() -> None:
    document = {
        "resources": [
            {"name": "pods", "kind": "Pod", "namespaced": True},
            {"name": "pods/eviction", "kind": "Eviction", "namespaced": True},
            {"name": "nodes", "kind": "Node", "namespaced": False},
        ]
    }

    assert cluster_facts.resources("v1", document) == {
        ("v1", "Pod"): ("pods", True),
        ("v1", "Node"): ("nodes", False),
    }
