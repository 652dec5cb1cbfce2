"""Values of the charts of cwii and of Azure Workload Identity: taken under their names, or refused with
ours."""

from __future__ import annotations

from typing import Any

import pytest
import yaml

from tests.chart.release import CHART, Helm

Object = dict[str, Any]
NAMES: list[Object] = yaml.safe_load((CHART / "files" / "othernames.yaml").read_text())
SAMPLES: dict[str, tuple[Any, Any]] = {
    "logLevel": ("warn", "warning"),
    "mountRoot": ("/var/run/x", "/var/run/x"),
    "tokenExpirationSeconds": (7200, 7200),
    "otel.enabled": (True, True),
    "otel.endpoint": ("http://collector:4317", "http://collector:4317"),
    "providers.gcp.enabled": (False, False),
    "providers.gcp.defaultAudience": ("//iam/x", "//iam/x"),
    "providers.gcp.deliveryMode": ("initContainer", "init-container"),
    "providers.gcp.initImage": ("box:1", "box:1"),
    "providers.gcp.verifyImage": ("gcloud:1", "gcloud:1"),
    "providers.aws.enabled": (False, False),
    "providers.aws.defaultAudience": ("sts.x", "sts.x"),
    "providers.aws.verifyImage": ("aws:1", "aws:1"),
    "providers.az.enabled": (False, False),
    "providers.az.defaultAudience": ("api://x", "api://x"),
    "providers.az.verifyImage": ("az:1", "az:1"),
    "compat.nativeAnnotations": (True, True),
    "webhook.namespaceSelector.excludeNamespaces": (["a", "b-*"], ["a", "b-*"]),
    "tls.certManager.enabled": (True, "cert-manager"),
    "tls.certManager.issuer.name": ("mine", "mine"),
    "tls.certManager.issuer.kind": ("ClusterIssuer", "ClusterIssuer"),
    "tls.certManager.duration": ("100h", "100h"),
    "tls.certManager.renewBefore": ("10h", "10h"),
    "tls.selfSigned.durationDays": (10, "240h"),
    "service.targetPort": (9443, "0.0.0.0:9443"),
    "image.release": ("v9", "v9"),
    "azureTenantID": ("t", "t"),
    "azureEnvironment": ("AzureChinaCloud", "AzureChinaCloud"),
    "metricsAddr": (":8095", "0.0.0.0:8095"),
    "mutatingWebhookAnnotations": ({"a": "b"}, {"a": "b"}),
    "mutatingWebhookNamespaceSelector": ({"matchLabels": {"a": "b"}}, {"matchLabels": {"a": "b"}}),
    "customTokenEndpoint.annotationSuffix": ("s", "s"),
    "customTokenEndpoint.audience": ("api://s", "api://s"),
    "customTokenEndpoint.azureKubernetesTokenProxy": ("https://p", "https://p"),
    "customTokenEndpoint.azureKubernetesSniName": ("sni", "sni"),
    "customTokenEndpoint.azureKubernetesCaData": ("pem", "pem"),
    "customTokenEndpoint.azureKubernetesCAConfigMapName": ("map", "map"),
    "customTokenEndpoint.azureKubernetesCACTBSignerName": ("signer", "signer"),
    "customTokenEndpoint.azureKubernetesCACTBLabelSelector": ("{}", "{}"),
}
NEEDS: dict[str, Object] = {
    "tls.certManager.issuer.name": {"certificate": {"mode": "cert-manager"}},
    "tls.certManager.issuer.kind": {"certificate": {"mode": "cert-manager", "issuer": {"name": "x"}}},
    "tls.certManager.duration": {"certificate": {"mode": "cert-manager"}},
    "tls.certManager.renewBefore": {"certificate": {"mode": "cert-manager"}},
}
CWII: Object = {
    "image": {"tag": "1.0", "pullPolicy": "IfNotPresent"},
    "replicaCount": 3,
    "logLevel": "info",
    "mountRoot": "/var/run/secrets/cwii.dev",
    "tokenExpirationSeconds": 3600,
    "otel": {"enabled": False, "endpoint": ""},
    "providers": {
        "gcp": {
            "enabled": True,
            "defaultAudience": "",
            "deliveryMode": "configMap",
            "initImage": "busybox:1",
        },
        "aws": {"enabled": True},
        "az": {"enabled": False},
    },
    "compat": {"nativeAnnotations": False},
    "webhook": {
        "failurePolicy": "Ignore",
        "reinvocationPolicy": "Never",
        "matchPolicy": "Equivalent",
        "timeoutSeconds": 10,
        "sideEffects": "NoneOnDryRun",
        "namespaceSelector": {"excludeNamespaces": ["infra"], "matchLabels": {}},
        "objectSelector": {},
        "matchConditions": [],
    },
    "tls": {"certManager": {"enabled": True, "createIssuer": True, "issuer": {"name": "", "kind": "Issuer"}}},
    "service": {"type": "ClusterIP", "port": 443, "targetPort": 8443, "annotations": {}},
    "resources": {"requests": {"cpu": "25m", "memory": "64Mi"}, "limits": {"memory": "128Mi"}},
    "podDisruptionBudget": {"enabled": True, "minAvailable": 1, "maxUnavailable": ""},
    "networkPolicy": {"enabled": False},
    "rbac": {"create": True},
    "serviceAccount": {"create": True, "name": "", "annotations": {}},
}
AZURE: Object = {
    "replicaCount": 2,
    "image": {"pullPolicy": "IfNotPresent", "release": "v1.5.1"},
    "imagePullSecrets": [],
    "serviceAccount": {"automountServiceAccountToken": False},
    "nodeSelector": {"kubernetes.io/os": "linux"},
    "tolerations": [],
    "affinity": {},
    "topologySpreadConstraints": [],
    "service": {"type": "ClusterIP", "port": 443, "targetPort": 9443},
    "azureEnvironment": "AzurePublicCloud",
    "azureTenantID": "11111111-2222-3333-4444-555555555555",
    "logLevel": "info",
    "metricsAddr": ":8095",
    "metricsBackend": "prometheus",
    "priorityClassName": "system-cluster-critical",
    "mutatingWebhookAnnotations": {},
    "podLabels": {},
    "podAnnotations": {},
    "mutatingWebhookNamespaceSelector": {},
    "podDisruptionBudget": {"minAvailable": 1},
    "revisionHistoryLimit": 3,
    "customTokenEndpoint": {"annotationSuffix": "", "audience": ""},
}


def nested(path: str, value: Any) -> Object:
    for name in reversed(path.split(".")):
        value = {name: value}
    return value  # type: ignore[no-any-return]


def merged(*given: Object) -> Object:
    created: Object = {}
    for one in given:
        for name, value in one.items():
            both = isinstance(value, dict) and isinstance(created.get(name), dict)
            created[name] = merged(created[name], value) if both else value
    return created


def test_every_name_has_a_sample() -> None:
    assert {one["name"] for one in NAMES if "ours" in one} == SAMPLES.keys()


@pytest.mark.parametrize("one", [one for one in NAMES if "ours" in one], ids=lambda one: one["name"])
def test_their_name_does_what_ours_does(program: Helm, one: Object) -> None:
    theirs, ours = SAMPLES[one["name"]]
    more = NEEDS.get(one["name"], {})
    also = [nested(path, value) for path, value in one.get("also", {}).items()]

    by_theirs = program.template(merged(more, nested(one["name"], theirs)))
    by_ours = program.template(merged(more, nested(one["ours"], ours), *also))

    assert by_theirs == by_ours
    assert by_theirs != program.template(more)


@pytest.mark.parametrize("one", [one for one in NAMES if "values" in one], ids=lambda one: one["name"])
def test_a_value_without_a_counterpart_is_refused_with_our_name(program: Helm, one: Object) -> None:
    if one["type"] == "boolean":
        assert set(one["values"]) == {"true", "false"}
        return

    message = program.refused(nested(one["name"], "nonsense"))

    assert f"{one['name']} is nonsense, want" in message
    assert f"the name here is {one['ours']}" in message


@pytest.mark.parametrize("one", [one for one in NAMES if "only" in one], ids=lambda one: one["name"])
def test_what_cannot_be_changed_is_taken_as_it_is_and_refused_otherwise(program: Helm, one: Object) -> None:
    other = 8443 if one["type"] == "integer" else "Other"

    assert program.template(nested(one["name"], one["only"])) == program.template()
    assert f"{one['name']} is {other}, want {one['only']}" in program.refused(nested(one["name"], other))


@pytest.mark.parametrize("one", [one for one in NAMES if "ignored" in one], ids=lambda one: one["name"])
def test_what_is_not_needed_changes_nothing(program: Helm, one: Object) -> None:
    value = True if one["type"] == "boolean" else "NoneOnDryRun"

    assert program.template(nested(one["name"], value)) == program.template()


@pytest.mark.parametrize("one", [one for one in NAMES if "refused" in one], ids=lambda one: one["name"])
def test_what_cannot_be_is_refused_with_a_reason(program: Helm, one: Object) -> None:
    assert f"{one['name']}: {one['refused']}" in program.refused(nested(one["name"], {"a": "b"}))


def test_both_names_with_different_values_are_refused(program: Helm) -> None:
    message = program.refused({"logLevel": "info", "settings": {"serving": {"logLevel": "debug"}}})

    assert (
        "logLevel and settings.serving.logLevel say different things; keep settings.serving.logLevel"
        in message
    )


def test_all_that_is_wrong_is_reported_at_once(program: Helm) -> None:
    message = program.refused(
        {"logLevel": "loud", "service": {"type": "NodePort"}, "certificate": {"mode": "secret"}}
    )

    assert "logLevel is loud" in message
    assert "service.type is NodePort, want ClusterIP" in message
    assert "certificate.caBundle is empty" in message


def test_a_values_file_of_cwii_is_taken_as_it_is(program: Helm) -> None:
    objects = {obj["kind"]: obj for obj in program.template(CWII)}

    entry = objects["MutatingWebhookConfiguration"]["webhooks"][0]
    assert entry["timeoutSeconds"] == 10
    assert "infra" in entry["namespaceSelector"]["matchExpressions"][0]["values"]
    assert objects["PodDisruptionBudget"]["spec"]["minAvailable"] == 1
    assert objects["Deployment"]["spec"]["replicas"] == 3
    assert "Certificate" in objects


def test_a_values_file_of_azure_is_taken_as_it_is(program: Helm) -> None:
    objects = {obj["kind"]: obj for obj in program.template(AZURE)}

    entry = objects["MutatingWebhookConfiguration"]["webhooks"][0]
    assert entry["objectSelector"] == {"matchLabels": {"azure.workload.identity/use": "true"}}
    ports = objects["Deployment"]["spec"]["template"]["spec"]["containers"][0]["ports"]
    assert [port["containerPort"] for port in ports] == [9443, 8095]


@pytest.mark.parametrize("image", ["ghcr.example/x/cwii", "r.example/oss/azure/workload-identity/webhook"])
def test_the_image_of_the_other_webhook_is_refused(program: Helm, image: str) -> None:
    assert "the image of another webhook" in program.refused({"image": {"repository": image}})


def test_the_memory_of_the_other_webhook_is_refused(program: Helm) -> None:
    message = program.refused({"resources": {"limits": {"memory": "30Mi"}}})

    assert "resources.limits.memory is 30Mi, want 64Mi or more" in message
