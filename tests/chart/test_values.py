"""Values: what is refused, and what the others do to the objects."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec
import pytest
import yaml
from scripts.charts import schema
from scripts.charts.values import Values

from tests.chart.release import CHART, NAMESPACE, ROOT, Helm, by_key
from vestibule import errors
from vestibule.api.settings import schema as settings_schema

Object = dict[str, Any]
FREE = {
    "settings.policies",
    "settings.wif.setupResources",
    "extraVolumes",
    "extraEnv.valueFrom",
    "affinity.nodeAffinity",
    "affinity.podAffinity",
    "affinity.podAntiAffinity",
    "operator.affinity.nodeAffinity",
    "operator.affinity.podAffinity",
    "operator.affinity.podAntiAffinity",
    "podSecurityContext.seLinuxOptions",
    "podSecurityContext.seccompProfile",
    "podSecurityContext.appArmorProfile",
    "networkPolicy.egress.to",
    "containerSecurityContext",
    "mutatingWebhookAnnotations",
    "mutatingWebhookNamespaceSelector",
    "global",
}
"""Objects of Kubernetes or of others whose names we do not list."""


def test_the_generated_files_are_fresh() -> None:
    ran = subprocess.run(
        [sys.executable, "-m", "scripts.chart", "--check"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )

    assert (ran.returncode, ran.stderr) == (0, "")


def test_lint_finds_nothing(program: Helm) -> None:
    ran = program.run("lint", "--strict", str(CHART))

    assert ran.returncode == 0, ran.stdout
    assert "[WARNING]" not in ran.stdout
    assert "[ERROR]" not in ran.stdout


def test_the_package_is_the_chart_and_the_same_twice(program: Helm, tmp_path: Path) -> None:
    created = []
    for name in ("one", "two"):
        ran = subprocess.run(
            [sys.executable, "-m", "scripts.chart", "--package", str(tmp_path / name)],
            cwd=ROOT,
            capture_output=True,
            text=True,
            check=True,
        )
        created.append(Path(ran.stdout.splitlines()[-1]))

    assert created[0].read_bytes() == created[1].read_bytes()
    ran = program.run("template", "vestibule", str(created[0]), "--namespace", NAMESPACE)
    assert [obj for obj in yaml.safe_load_all(ran.stdout) if obj] == program.template()


def open_objects(part: Object, path: str) -> Iterator[str]:
    """Objects that take any name."""
    kinds = part.get("type", [])
    if "object" in ([kinds] if isinstance(kinds, str) else kinds):
        if part.get("additionalProperties", True) is True:
            yield path
        elif isinstance(part["additionalProperties"], dict):
            yield from open_objects(part["additionalProperties"], path)
    if not kinds and not {"enum", "anyOf"} & part.keys():
        yield path
    for name, inner in part.get("properties", {}).items():
        yield from open_objects(inner, f"{path}.{name}".removeprefix("."))
    for inner in part.get("anyOf", ()):
        yield from open_objects(inner, path)
    if kinds == "array":
        yield from open_objects(part.get("items", {}), path)


def test_no_object_takes_a_name_that_it_does_not_know() -> None:
    full = json.loads((CHART / "values.schema.json").read_text())

    assert set(open_objects(full, "")) == FREE


def test_the_settings_of_the_chart_are_those_of_the_settings_file() -> None:
    full = json.loads((CHART / "values.schema.json").read_text())
    known = {field.encode_name for field in msgspec.structs.fields(settings_schema.Settings)}

    assert full["properties"]["settings"]["properties"].keys() == known - {
        "install",
        "webhook",
        "selfCertificate",
    }


def test_values_yaml_has_the_defaults_of_the_types() -> None:
    given = yaml.safe_load((CHART / "values.yaml").read_text())
    assert given.pop("settings") == {}

    full: Object = json.loads(msgspec.json.encode(Values()))
    full.pop("settings")

    assert given == full


@pytest.mark.parametrize("path", schema.RANGES)
def test_a_range_of_the_schema_is_one_of_the_settings(path: str) -> None:
    """Beyond a limit the settings say no, and at it they do not."""
    limits = schema.RANGES[path]
    names = path.removeprefix("settings.").split(".")
    tried: list[tuple[Any, bool]] = []
    if "minimum" in limits:
        tried += [(limits["minimum"], True), (limits["minimum"] - 1, False)]
    if "maximum" in limits:
        tried += [(limits["maximum"], True), (limits["maximum"] + 1, False)]
    if "pattern" in limits:
        tried += [("/x" if "Root" in path else "0.0.0.0:9000", True), ("x", False)]
    if "items" in limits:
        tried += [(["team-*", "a.b"], True), (["Team"], False), (["-a"], False)]
    assert tried
    for value, fine in tried:
        data = value
        for name in reversed(names):
            data = {name: data}
        # short enough for the lowest limit that tokens can have
        given = {"tokenExpirationSeconds": 600, **data}
        if fine:
            settings_schema.parse(given, "test")
        else:
            with pytest.raises(errors.InvalidSettings, match=names[-1]):
                settings_schema.parse(given, "test")
        text = value[0] if isinstance(value, list) else value
        pattern = limits.get("pattern") or limits.get("items", {}).get("pattern")
        if pattern:
            assert bool(re.search(pattern, text)) is fine


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ({"replicaCuont": 3}, "additional properties 'replicaCuont' not allowed"),
        ({"image": {"name": "x"}}, "at '/image': additional properties 'name' not allowed"),
        ({"settings": {"vocabulary": []}}, "at '/settings': additional properties 'vocabulary' not allowed"),
        ({"settings": {"install": {}}}, "at '/settings': additional properties 'install' not allowed"),
        ({"settings": {"eks": {"mapping": {"a/b": {"Arn": "x"}}}}}, "/settings/eks/mapping/a~1b"),
        ({"settings": {"vocabularies": ["aks"]}}, "at '/settings/vocabularies/0'"),
        ({"settings": {"verify": {"timeoutSeconds": 0}}}, "at '/settings/verify/timeoutSeconds'"),
        ({"replicaCount": 0}, "at '/replicaCount'"),
        ({"webhook": {"failurePolicy": "fail"}}, "at '/webhook/failurePolicy'"),
        ({"certificate": {"mode": "files"}}, "at '/certificate/mode'"),
        ({"tolerations": [{"keys": "x"}]}, "at '/tolerations/0'"),
        ({"image": {"digest": "sha256:123"}}, "at '/image/digest'"),
        ({"providers": {"gcp": {"delivery": "x"}}}, "at '/providers/gcp'"),
        ({"podSecurityContext": {"runAsUser": 0}}, "at '/podSecurityContext/runAsUser'"),
        ({"operator": {"hostedNamespaces": ["Team"]}}, "at '/operator/hostedNamespaces/0'"),
        ({"operator": {"hostedNamespaces": ["a", "a"]}}, "at '/operator/hostedNamespaces'"),
        ({"operator": {"aroKinds": ["network.azure.com/*/*"]}}, "at '/operator/aroKinds/0'"),
        ({"operator": {"aroKinds": ["apps/Deployment/deployments"]}}, "at '/operator/aroKinds/0'"),
        ({"operator": {"hosted": "yes"}}, "at '/operator/hosted'"),
        ({"operator": {"arohcp": True}}, "at '/operator': additional properties 'arohcp' not allowed"),
    ],
)
def test_the_schema_refuses_with_the_path(program: Helm, values: Object, message: str) -> None:
    assert message in program.refused(values)


@pytest.mark.parametrize(
    ("values", "message"),
    [
        (
            {"podDisruptionBudget": {"minAvailable": 2}},
            "podDisruptionBudget.minAvailable is 2 of 2 replicas: no node with a replica could be drained",
        ),
        (
            {"podDisruptionBudget": {"minAvailable": 1, "maxUnavailable": 1}},
            "podDisruptionBudget.minAvailable and podDisruptionBudget.maxUnavailable exclude each other",
        ),
        ({"certificate": {"caBundle": "Q0E="}}, "certificate.caBundle is for certificate.mode secret"),
        ({"certificate": {"secretName": "x"}}, "certificate.secretName is for certificate.mode secret"),
        (
            {"certificate": {"issuer": {"name": "x"}}},
            "certificate.issuer.name is for certificate.mode cert-man",
        ),
        ({"fullnameOverride": "x" * 41}, "want at most 40 lower case letters"),
        ({"fullnameOverride": "Hall"}, "fullnameOverride is Hall, want at most 40 lower case letters"),
        ({"webhook": {"enabled": False}}, "nothing would be installed"),
        ({"finalCheck": True}, "finalCheck is true, want off, warn, audit or deny"),
        (
            {"operator": {"enabled": True}, "rbac": {"create": False}},
            "the operator cannot do without its roles",
        ),
        (
            {"operator": {"enabled": True, "hostedNamespaces": ["a"]}},
            "operator.hostedNamespaces is for operator.hosted, and that is false",
        ),
        (
            {"operator": {"enabled": True, "aroKinds": ["network.azure.com/NatGateway/natgateways"]}},
            "operator.aroKinds is for operator.aro, and that is false",
        ),
        (
            {"operator": {"enabled": True, "hosted": True}},
            "operator.hostedNamespaces is empty, want the namespaces of control planes",
        ),
        (
            {"operator": {"enabled": True, "hostedAllNamespaces": True}},
            "operator.hostedAllNamespaces is true, want false without operator.hosted",
        ),
        ({"operator": {"hosted": True}}, "operator.hosted is for operator.enabled, and that is false"),
        ({"operator": {"aro": True}}, "operator.aro is for operator.enabled, and that is false"),
        ({"operator": {"evictions": True}}, "operator.evictions is for operator.enabled, and that is false"),
    ],
)
def test_what_contradicts_itself_is_refused(program: Helm, values: Object, message: str) -> None:
    assert message in program.refused(values)


@pytest.mark.parametrize("namespace", ["vestibule-system", "elsewhere"])
@pytest.mark.parametrize(
    "values",
    [
        {},
        {"settings": {"exclude": {"namespaces": []}}},
        {"settings": {"exclude": {"namespaces": ["a", "b-*"]}}},
        {"webhook": {"namespaceSelector": {"matchLabels": {"identity": "on"}}}},
        {
            "webhook": {
                "namespaceSelector": {
                    "matchExpressions": [
                        {"key": "kubernetes.io/metadata.name", "operator": "In", "values": ["kube-system"]}
                    ]
                }
            }
        },
        {"mutatingWebhookNamespaceSelector": {"matchLabels": {"kubernetes.io/metadata.name": "kube-system"}}},
    ],
)
def test_own_and_system_namespaces_are_always_out(program: Helm, values: Object, namespace: str) -> None:
    objects = program.template({**values, "finalCheck": "deny"}, namespace=namespace)
    [configuration] = [obj for obj in objects if obj["kind"] == "MutatingWebhookConfiguration"]
    [final] = [
        obj
        for obj in objects
        if obj["kind"] == "ValidatingAdmissionPolicy" and obj["metadata"]["name"].endswith("-final")
    ]

    for selector in (
        configuration["webhooks"][0]["namespaceSelector"],
        final["spec"]["matchConstraints"]["namespaceSelector"],
    ):
        first = selector["matchExpressions"][0]
        assert (first["key"], first["operator"]) == ("kubernetes.io/metadata.name", "NotIn")
        assert {"kube-system", "kube-node-lease", namespace} <= set(first["values"])


def pod_of(objects: list[Object], name: str = "vestibule") -> Object:
    found: Object = by_key(objects)["Deployment", NAMESPACE, name]["spec"]["template"]
    return found


def test_pods_as_asked(program: Helm) -> None:
    values: Object = {
        "image": {"repository": "r.example/v", "digest": "sha256:" + "a" * 64, "pullPolicy": "Always"},
        "imagePullSecrets": [{"name": "pull"}],
        "resources": {"limits": {"memory": "200Mi"}},
        "priorityClassName": "high",
        "topologySpreadConstraints": [
            {"maxSkew": 2, "topologyKey": "x", "whenUnsatisfiable": "DoNotSchedule"}
        ],
        "affinity": {"nodeAffinity": {"a": "b"}},
        "nodeSelector": {"pool": "infra"},
        "tolerations": [{"key": "infra", "operator": "Exists"}],
        "podLabels": {"team": "x", "app.kubernetes.io/name": "never"},
        "podAnnotations": {"note": "y"},
        "podSecurityContext": {"runAsUser": None, "fsGroup": 7},
        "extraEnv": [{"name": "A", "value": "b"}],
        "extraVolumes": [{"name": "more", "emptyDir": {}}],
        "extraVolumeMounts": [{"name": "more", "mountPath": "/more"}],
        "serviceAccount": {"name": "other", "annotations": {"n": "z"}},
        "labels": {"all": "of-them"},
        "annotations": {"every": "one"},
        "service": {"annotations": {"s": "t"}},
        "revisionHistoryLimit": 2,
    }
    objects = program.template(values)
    template = pod_of(objects)
    pod, [container] = template["spec"], template["spec"]["containers"]

    assert container["image"] == "r.example/v@sha256:" + "a" * 64
    assert container["imagePullPolicy"] == "Always"
    assert container["resources"]["limits"] == {"memory": "200Mi"}
    assert {"name": "A", "value": "b"} in container["env"]
    assert {"name": "more", "mountPath": "/more"} in container["volumeMounts"]
    assert {"name": "more", "emptyDir": {}} in pod["volumes"]
    assert pod["imagePullSecrets"] == [{"name": "pull"}]
    assert pod["priorityClassName"] == "high"
    assert [one["topologyKey"] for one in pod["topologySpreadConstraints"]] == ["x"]
    assert pod["affinity"] == {"nodeAffinity": {"a": "b"}}
    assert pod["nodeSelector"] == {"pool": "infra"}
    assert pod["tolerations"] == [{"key": "infra", "operator": "Exists"}]
    assert template["metadata"]["labels"]["team"] == "x"
    assert template["metadata"]["labels"]["app.kubernetes.io/name"] == "vestibule"
    assert template["metadata"]["annotations"] == {"note": "y"}
    assert "runAsUser" not in pod["securityContext"]
    assert pod["securityContext"]["fsGroup"] == 7
    assert pod["securityContext"]["runAsNonRoot"] is True
    assert pod["serviceAccountName"] == "other"
    for obj in objects:
        assert obj["metadata"]["labels"]["all"] == "of-them"
        assert obj["metadata"]["annotations"]["every"] == "one"
        assert all(
            subject["name"] in ("other", "vestibule-certificates") for subject in obj.get("subjects", ())
        )
    issuer = pod_of(objects, "vestibule-certificates")["spec"]
    assert issuer["containers"][0]["image"] == container["image"]
    assert issuer["containers"][0]["imagePullPolicy"] == "Always"
    for field in ("imagePullSecrets", "affinity", "nodeSelector", "tolerations"):
        assert issuer[field] == values[field]
    assert issuer["serviceAccountName"] == "vestibule-certificates"
    account = by_key(objects)["ServiceAccount", NAMESPACE, "other"]
    assert account["metadata"]["annotations"] == {"every": "one", "n": "z"}
    assert by_key(objects)["Service", NAMESPACE, "vestibule"]["metadata"]["annotations"]["s"] == "t"


def test_pods_are_restricted_whatever_is_said(program: Helm) -> None:
    for values in ({}, {"operator": {"enabled": True}, "podSecurityContext": {"fsGroup": 1}}):
        for obj in program.template(values):
            if obj["kind"] != "Deployment":
                continue
            pod = obj["spec"]["template"]["spec"]
            assert pod["securityContext"]["runAsNonRoot"] is True
            assert pod["securityContext"]["seccompProfile"] == {"type": "RuntimeDefault"}
            for container in pod["containers"]:
                assert container["securityContext"] == {
                    "allowPrivilegeEscalation": False,
                    "capabilities": {"drop": ["ALL"]},
                    "readOnlyRootFilesystem": True,
                }


def test_an_issuer_of_ones_own(program: Helm) -> None:
    values = {
        "certificate": {
            "mode": "cert-manager",
            "issuer": {"name": "corp", "kind": "ClusterIssuer"},
            "duration": "48h",
        }
    }
    found = [obj for obj in program.template(values) if "cert-manager.io" in obj["apiVersion"]]

    assert [obj["kind"] for obj in found] == ["Certificate"]
    spec = found[0]["spec"]
    assert spec["issuerRef"] == {"name": "corp", "kind": "ClusterIssuer", "group": "cert-manager.io"}
    assert spec["duration"] == "48h"


def test_a_secret_of_ones_own_has_its_name(program: Helm) -> None:
    values = {"certificate": {"mode": "secret", "caBundle": "Q0E=", "secretName": "mine"}}
    volumes = pod_of(program.template(values))["spec"]["volumes"]

    assert [one["secret"]["secretName"] for one in volumes if one["name"] == "tls"] == ["mine"]


def test_lives_of_our_own_certificate(program: Helm) -> None:
    values = {"certificate": {"authorityLife": "100h", "leafLife": "10h", "overlap": "1m"}}
    settings = by_key(program.template(values))["ConfigMap", NAMESPACE, "vestibule-settings"]
    own = settings_schema.parse(json.loads(settings["data"]["settings.json"]), "map").self_certificate

    assert (own.authority_life, own.leaf_life, own.overlap) == ("100h", "10h", "1m")
    assert own.secret == "vestibule-tls"


def test_the_network_policy_as_asked(program: Helm) -> None:
    values = {
        "networkPolicy": {
            "reviewsFrom": [{"ipBlock": {"cidr": "10.0.0.0/24"}}],
            "metricsFrom": [{"namespaceSelector": {"matchLabels": {"a": "b"}}}],
            "egress": [{"ports": [{"protocol": "TCP", "port": 4317}]}],
        }
    }
    objects = by_key(program.template(values))
    policy = objects["NetworkPolicy", NAMESPACE, "vestibule"]
    issuer = objects["NetworkPolicy", NAMESPACE, "vestibule-certificates"]

    assert [rule["from"] for rule in issuer["spec"]["ingress"]] == [values["networkPolicy"]["metricsFrom"]]
    assert issuer["spec"]["egress"][-1] == {"ports": [{"protocol": "TCP", "port": 4317}]}
    assert policy["spec"]["ingress"] == [
        {"ports": [{"port": "https", "protocol": "TCP"}], "from": [{"ipBlock": {"cidr": "10.0.0.0/24"}}]},
        {
            "ports": [{"port": "metrics", "protocol": "TCP"}],
            "from": [{"namespaceSelector": {"matchLabels": {"a": "b"}}}],
        },
    ]
    assert policy["spec"]["egress"][-1] == {"ports": [{"protocol": "TCP", "port": 4317}]}


def test_what_is_switched_off_is_not_there(program: Helm) -> None:
    values = {
        "podDisruptionBudget": {"enabled": False},
        "networkPolicy": {"enabled": False},
        "rbac": {"create": False},
        "serviceAccount": {"create": False},
        "guard": False,
    }
    objects = program.template(values)
    kinds = {obj["kind"] for obj in objects} - {"ServiceAccount"}
    accounts = [obj["metadata"]["name"] for obj in objects if obj["kind"] == "ServiceAccount"]

    assert kinds == {"ConfigMap", "Secret", "Lease", "Deployment", "Service", "MutatingWebhookConfiguration"}
    assert accounts == ["vestibule-certificates"]


def test_a_change_that_needs_a_restart_changes_the_pods_and_others_do_not(program: Helm) -> None:
    plain = pod_of(program.template())

    assert pod_of(program.template({"settings": {"vocabularies": ["eks"]}})) == plain
    assert pod_of(program.template({"settings": {"serving": {"maxInflight": 5}}})) != plain
    assert pod_of(program.template({"settings": {"serving": {"maxInflight": 5}}})) != pod_of(
        program.template({"settings": {"serving": {"maxInflight": 6}}})
    )


def test_selectors_and_conditions_of_the_release(program: Helm) -> None:
    values = {
        "webhook": {
            "objectSelector": {
                "matchLabels": {"identity": "on"},
                "matchExpressions": [{"key": "skip", "operator": "DoesNotExist"}],
            },
            "matchConditions": [{"name": "mine", "expression": "true"}],
            "annotations": {"admissions.enforcer/disabled": "true"},
        }
    }
    [configuration] = [
        obj for obj in program.template(values) if obj["kind"] == "MutatingWebhookConfiguration"
    ]
    entry = configuration["webhooks"][0]

    assert entry["objectSelector"] == values["webhook"]["objectSelector"]
    assert [one["name"] for one in entry["matchConditions"]] == ["not-a-mirror-pod", "mine"]
    assert configuration["metadata"]["annotations"] == {"admissions.enforcer/disabled": "true"}


def test_old_clusters_get_no_policies_and_too_old_ones_nothing(program: Helm) -> None:
    kinds = {obj["kind"] for obj in program.template({"finalCheck": "warn"}, "--kube-version", "v1.29.4")}

    assert "ValidatingAdmissionPolicy" not in kinds
    assert "MutatingWebhookConfiguration" in kinds
    assert "incompatible with Kubernetes v1.27.0" in program.refused({}, "--kube-version", "v1.27.0")
    assert program.template({}, "--kube-version", "v1.33.5-eks-1234567") == program.template()


def test_the_name_of_the_release_is_the_name_of_the_objects(program: Helm) -> None:
    for release, name in (
        ("vestibule", "vestibule"),
        ("hall", "hall-vestibule"),
        ("my-vestibule", "my-vestibule"),
    ):
        deployments = [obj for obj in program.template(name=release) if obj["kind"] == "Deployment"]

        assert {obj["metadata"]["name"] for obj in deployments} == {name, f"{name}-certificates"}


def test_two_renderings_are_the_same_text(program: Helm) -> None:
    words = ("template", "vestibule", str(CHART), "--set", "operator.enabled=true,dashboard.enabled=true")

    assert program.run(*words).stdout == program.run(*words).stdout


def test_below_another_chart_global_values_pass(program: Helm) -> None:
    assert program.template({"global": {"region": "x"}}) == program.template()


@pytest.mark.parametrize("values", ["operator.enabled=true", "operator.enabled=true,webhook.enabled=false"])
def test_the_operator_as_asked(program: Helm, values: str) -> None:
    requested: Object = {
        "operator": {
            "replicaCount": 3,
            "priorityClassName": "high",
            "nodeSelector": {"pool": "infra"},
            "podLabels": {"team": "x"},
            "podAnnotations": {"n": "m"},
            "serviceAccount": {"name": "keeper"},
            "resources": {"limits": {"memory": "1Gi"}},
            "hosted": True,
            "hostedNamespaces": ["clusters"],
            "aro": True,
        }
    }
    objects = program.template(requested, "--set", values)
    template = pod_of(objects, "vestibule-operator")

    assert template["spec"]["priorityClassName"] == "high"
    assert template["spec"]["nodeSelector"] == {"pool": "infra"}
    assert template["spec"]["serviceAccountName"] == "keeper"
    assert template["metadata"]["labels"]["team"] == "x"
    assert template["metadata"]["annotations"] == {"n": "m"}
    assert ("ServiceAccount", NAMESPACE, "keeper") in by_key(objects)
    assert template["spec"]["containers"][0]["resources"] == {
        "requests": {"cpu": "10m", "memory": "96Mi"},
        "limits": {"memory": "1Gi"},
    }
    bindings = [
        obj
        for obj in objects
        if obj["kind"].endswith("RoleBinding")
        and obj["metadata"]["labels"]["app.kubernetes.io/name"] == "vestibule-operator"
    ]
    policy = by_key(objects)["ValidatingAdmissionPolicy", "", "vestibule-operator"]
    assert ":keeper'" in policy["spec"]["matchConditions"][0]["expression"]
    assert len(bindings) == 4
    assert {subject["name"] for obj in bindings for subject in obj["subjects"]} == {"keeper"}
