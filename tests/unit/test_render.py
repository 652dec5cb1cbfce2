"""What render prints: as narrow as the settings allow, hardened, and the same every time."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from vestibule import errors, settingsfile
from vestibule.api.settings import schema
from vestibule.manifests import install

Json = dict[str, Any]


def rendered(**data: Any) -> dict[str, Json]:
    objects = install.objects(schema.parse(data, "test"))
    return {f"{obj['kind']}/{obj['metadata']['name']}": obj for obj in objects}


def hook(**data: Any) -> Json:
    entry: Json = rendered(**data)["MutatingWebhookConfiguration/vestibule"]["webhooks"][0]
    return entry


def test_the_same_settings_print_the_same_objects() -> None:
    assert install.objects(schema.Settings()) == install.objects(schema.Settings())


def test_everything_a_cluster_needs_is_there() -> None:
    objects = install.objects(schema.Settings())
    permissions = ["ServiceAccount", "ClusterRole", "ClusterRoleBinding", "Role"]
    policy = ["ValidatingAdmissionPolicy", "ValidatingAdmissionPolicyBinding"]

    assert [obj["kind"] for obj in objects] == [
        "Namespace",
        # who issues the certificate
        *permissions,
        "RoleBinding",
        "Secret",
        "Secret",
        "Lease",
        "ConfigMap",
        *policy,
        "NetworkPolicy",
        "Deployment",
        # who serves
        *permissions,
        "ConfigMap",
        "Deployment",
        "Service",
        "PodDisruptionBudget",
        "NetworkPolicy",
        "MutatingWebhookConfiguration",
        *policy,
    ]


@pytest.mark.parametrize("namespaces", [[], ["kube-system"], ["other"]])
def test_own_namespace_and_the_system_are_always_out(namespaces: list[str]) -> None:
    selector = hook(exclude={"namespaces": namespaces}, install={"namespace": "hall"})["namespaceSelector"]

    out = set(selector["matchExpressions"][0]["values"])
    assert out == {"hall", "kube-system", "kube-node-lease", *namespaces}


def test_mirror_pods_are_out_by_a_condition_that_cannot_fail() -> None:
    assert hook()["matchConditions"] == [
        {
            "name": "not-a-mirror-pod",
            "expression": "!has(object.metadata.annotations) || "
            "!('kubernetes.io/config.mirror' in object.metadata.annotations)",
        }
    ]


def test_conditions_are_written_so_that_1_28_takes_them() -> None:
    data = {"exclude": {"namespaces": ["infra-*"], "hostNetwork": True}}

    assert [
        condition for condition in hook(**data)["matchConditions"] if "?" in condition["expression"]
    ] == []


def test_globs_and_host_network_become_conditions() -> None:
    conditions = hook(exclude={"namespaces": ["infra-*", "a.b*"], "hostNetwork": True})["matchConditions"]

    assert conditions[1]["expression"] == "!request.namespace.matches('^(a[.]b.*|infra-.*)$')"
    assert conditions[2]["expression"] == "!has(object.spec.hostNetwork) || !object.spec.hostNetwork"


def test_no_write_and_no_secret_unless_config_maps_are_asked_for() -> None:
    stored = {"certificate": "cert-manager"}
    rules = rendered(install=stored)["ClusterRole/vestibule"]["rules"]
    more = rendered(install=stored, gcp={"allowConfigMapWrites": True})["ClusterRole/vestibule"]["rules"]

    verbs = {verb for rule in rules for verb in rule["verbs"]}
    assert verbs == {"get", "list", "watch"}
    assert not any("secrets" in rule["resources"] for rule in more)
    assert {"apiGroups": [""], "resources": ["configmaps"], "verbs": ["create", "patch"]} in more


def test_side_effects_are_computed_not_chosen() -> None:
    assert hook()["sideEffects"] == "None"
    assert hook(gcp={"allowConfigMapWrites": True})["sideEffects"] == "NoneOnDryRun"
    assert hook(gcp={"allowConfigMapWrites": True, "enabled": False})["sideEffects"] == "None"


def test_our_pods_pass_the_restricted_profile_of_their_own_namespace() -> None:
    objects = rendered()
    spec = objects["Deployment/vestibule"]["spec"]["template"]["spec"]
    container = spec["containers"][0]

    assert (
        objects["Namespace/vestibule-system"]["metadata"]["labels"]["pod-security.kubernetes.io/enforce"]
        == "restricted"
    )
    assert spec["securityContext"]["runAsNonRoot"] is True
    assert spec["securityContext"]["seccompProfile"] == {"type": "RuntimeDefault"}
    assert spec["automountServiceAccountToken"] is False
    assert container["securityContext"]["allowPrivilegeEscalation"] is False
    assert container["securityContext"]["capabilities"] == {"drop": ["ALL"]}
    assert "cpu" not in container["resources"]["limits"]


def test_a_rollout_never_takes_a_replica_away_before_another_serves() -> None:
    deployment = rendered()["Deployment/vestibule"]["spec"]

    assert deployment["strategy"]["rollingUpdate"] == {"maxSurge": 1, "maxUnavailable": 0}
    assert deployment["template"]["spec"]["terminationGracePeriodSeconds"] == 30


def test_a_single_replica_can_be_drained() -> None:
    budget = rendered(install={"replicas": 1})["PodDisruptionBudget/vestibule"]["spec"]

    assert budget["maxUnavailable"] == 1


CERTIFICATES: dict[str, tuple[Json, str]] = {
    "cert-manager": ({"certificate": "cert-manager"}, "cert-manager.io/inject-ca-from"),
    "service-ca": ({"certificate": "service-ca"}, "service.beta.openshift.io/inject-cabundle"),
}


@pytest.mark.parametrize("sentence", CERTIFICATES)
def test_the_trust_is_injected_by_who_makes_the_certificate(sentence: str) -> None:
    data, annotation = CERTIFICATES[sentence]

    configuration = rendered(install=data)["MutatingWebhookConfiguration/vestibule"]

    assert list(configuration["metadata"]["annotations"]) == [annotation]


def test_the_leaf_comes_from_a_ca_so_that_renewal_does_not_break_the_trust() -> None:
    objects = rendered(install={"certificate": "cert-manager"})

    assert objects["Certificate/vestibule-ca"]["spec"]["isCA"] is True
    assert objects["Certificate/vestibule-tls"]["spec"]["issuerRef"]["name"] == "vestibule-ca"


def test_a_secret_of_ones_own_needs_a_ca_bundle() -> None:
    with pytest.raises(errors.InvalidSettings, match=r"install\.caBundle"):
        rendered(install={"certificate": "secret"})

    configuration = rendered(install={"certificate": "secret", "caBundle": "Zm9v"})
    client = configuration["MutatingWebhookConfiguration/vestibule"]["webhooks"][0]["clientConfig"]
    assert client["caBundle"] == "Zm9v"


def test_the_settings_travel_as_a_config_map_with_only_what_differs() -> None:
    stored = {"certificate": "cert-manager"}
    objects = rendered(mode="strict", gcp={"defaultAudience": "x"}, install=stored)
    data = objects["ConfigMap/vestibule-settings"]["data"]

    assert data["settings.json"] == '{\n  "gcp": {\n    "defaultAudience": "x"\n  },\n  "mode": "strict"\n}\n'


def test_the_settings_that_travel_mean_the_same(tmp_path: Path) -> None:
    given = schema.parse(
        {"mode": "strict", "exclude": {"namespaces": ["x"]}, "install": {"namespace": "hall"}}, "test"
    )
    objects = {obj["kind"]: obj for obj in install.objects(given)}
    path = tmp_path / "settings.json"
    path.write_text(objects["ConfigMap"]["data"]["settings.json"])

    arrived = settingsfile.load(path, {})

    assert (arrived.mode, arrived.exclude, arrived.install) == (given.mode, given.exclude, given.install)
    assert arrived.self_certificate == schema.CertificateSettings(
        secret="vestibule-tls",
        webhook_configuration="vestibule",
        lease="vestibule",
        names=("vestibule.hall.svc", "vestibule.hall.svc.cluster.local"),
    )


def test_who_issues_our_own_certificate_has_permissions_by_name_only() -> None:
    objects = rendered()
    wide = objects["ClusterRole/vestibule-certificates"]["rules"]
    near = objects["Role/vestibule-certificates"]["rules"]
    write = ["create", "get", "patch", "update"]

    assert [(rule["resources"], rule["resourceNames"], rule["verbs"]) for rule in [*near, *wide]] == [
        (["secrets"], ["vestibule-authority", "vestibule-tls"], write),
        (["leases"], ["vestibule"], write),
        (["mutatingwebhookconfigurations"], ["vestibule"], ["create", "get", "patch"]),
        (["clusterroles"], ["vestibule"], ["get"]),
    ]


@pytest.mark.parametrize("certificate", ["self", "cert-manager", "service-ca", "secret"])
def test_who_serves_has_no_right_on_secrets_leases_or_webhook_configurations(certificate: str) -> None:
    on = {"sandbox": {"enabled": True}, "identityPolicies": True, "gcp": {"allowConfigMapWrites": True}}
    objects = rendered(install={"certificate": certificate, "caBundle": "AA=="}, **on)
    bound = [
        objects[f"{obj['roleRef']['kind']}/{obj['roleRef']['name']}"]
        for obj in objects.values()
        if obj["kind"].endswith("RoleBinding") and [one["name"] for one in obj["subjects"]] == ["vestibule"]
    ]

    resources = {one for role in bound for rule in role["rules"] for one in rule["resources"]}
    assert not {one for one in resources if one.partition("/")[0] in ("secrets", "leases", "*")}
    assert not {one for one in resources if "webhookconfigurations" in one or "policies" in one} - {
        "identitypolicies"
    }
    # the role of earlier versions is emptied by the one that is applied over it
    assert certificate != "self" or objects["Role/vestibule"]["rules"] == []


def test_replicas_see_their_own_pair_and_no_key_of_the_authority() -> None:
    pod = rendered()["Deployment/vestibule"]["spec"]["template"]["spec"]
    (volume,) = (one["secret"] for one in pod["volumes"] if "secret" in one)

    assert volume["secretName"] == "vestibule-tls"
    assert [item["key"] for item in volume["items"]] == ["tls.crt", "tls.key"]


def test_no_service_sends_reviews_to_who_issues_certificates() -> None:
    objects = rendered()
    expected = objects["Service/vestibule"]["spec"]["selector"]
    labels = objects["Deployment/vestibule-certificates"]["spec"]["template"]["metadata"]["labels"]

    assert not expected.items() <= labels.items()


def test_every_namespaced_object_lives_in_our_namespace() -> None:
    cluster_wide = {
        "Namespace", "ClusterRole", "ClusterRoleBinding", "MutatingWebhookConfiguration",
        "ValidatingAdmissionPolicy", "ValidatingAdmissionPolicyBinding",
    }  # fmt: skip
    objects = install.objects(schema.parse({"install": {"namespace": "hall"}}, "test"))

    stray = [
        o["kind"]
        for o in objects
        if o["kind"] not in cluster_wide and o["metadata"].get("namespace") != "hall"
    ]
    assert stray == []


def test_probes_use_the_plain_port_which_answers_before_there_is_a_certificate() -> None:
    deployment = rendered()["Deployment/vestibule"]
    container = deployment["spec"]["template"]["spec"]["containers"][0]

    assert container["readinessProbe"]["httpGet"] == {"path": "/readyz", "scheme": "HTTP", "port": "metrics"}


def test_how_long_our_own_certificates_live_reaches_the_process() -> None:
    created = rendered(selfCertificate={"leafLife": "24h", "overlap": "5m"})
    settings = created["ConfigMap/vestibule-settings"]
    text = next(iter(settings["data"].values()))
    found = json.loads(text)["selfCertificate"]

    assert (found["leafLife"], found["overlap"], found["secret"]) == ("24h", "5m", "vestibule-tls")


def test_reviews_come_from_anywhere_unless_the_settings_name_the_api_servers() -> None:
    open_to_all = rendered()["NetworkPolicy/vestibule"]["spec"]["ingress"]
    narrow = rendered(install={"apiServers": ["10.0.0.0/24", "fd00::1"]})["NetworkPolicy/vestibule"]["spec"]

    assert open_to_all == [
        {"ports": [{"protocol": "TCP", "port": "https"}, {"protocol": "TCP", "port": "metrics"}]}
    ]
    assert narrow["ingress"] == [
        {
            "from": [{"ipBlock": {"cidr": "10.0.0.0/24"}}, {"ipBlock": {"cidr": "fd00::1/128"}}],
            "ports": [{"protocol": "TCP", "port": "https"}],
        },
        {"ports": [{"protocol": "TCP", "port": "metrics"}]},
    ]


def test_api_servers_that_are_no_networks_are_all_refused_at_once() -> None:
    with pytest.raises(errors.InvalidSettings) as refused:
        rendered(install={"apiServers": ["10.0.0.1/24", "api.example"]})

    assert [problem.field for problem in refused.value.problems] == [
        "install.apiServers[0]",
        "install.apiServers[1]",
    ]


def test_the_client_ca_is_mounted_and_asked_for() -> None:
    found = rendered(install={"clientCa": "api-ca"}, serving={"clientNames": ["kube-apiserver"]})
    pod = found["Deployment/vestibule"]["spec"]["template"]["spec"]
    settings = json.loads(found["ConfigMap/vestibule-settings"]["data"]["settings.json"])

    assert {"name": "client-ca", "configMap": {"name": "api-ca"}} in pod["volumes"]
    mounts = {mount["name"]: mount["mountPath"] for mount in pod["containers"][0]["volumeMounts"]}
    assert settings["serving"]["clientCa"] == f"{mounts['client-ca']}/ca.crt"
    assert settings["serving"]["clientNames"] == ["kube-apiserver"]
    assert pod["containers"][0]["readinessProbe"]["httpGet"]["scheme"] == "HTTP"


def test_a_client_ca_without_a_plain_port_for_probes_is_refused() -> None:
    with pytest.raises(errors.InvalidSettings, match="the kubelet's probes show no certificate"):
        rendered(install={"clientCa": "api-ca"}, serving={"metricsAddr": ""})
