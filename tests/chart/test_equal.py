"""What the chart installs is what ``vestibule render`` prints, object by object, for the same settings."""

from __future__ import annotations

import copy
import json
from typing import Any

import msgspec
import pytest

from tests.chart.release import Helm, by_key, without_helm
from vestibule import __version__
from vestibule.api.settings import schema
from vestibule.manifests import aro_crds, install, operator

Object = dict[str, Any]
OF_WEBHOOK = ("failurePolicy", "timeoutSeconds", "reinvocationPolicy")
CASES: dict[str, Object] = {
    "nothing said": {},
    "cert-manager": {"certificate": {"mode": "cert-manager"}},
    "service-ca": {"certificate": {"mode": "service-ca"}},
    "a Secret of one's own": {"certificate": {"mode": "secret", "caBundle": "Q0E="}},
    "sandboxes": {"settings": {"sandbox": {"enabled": True}}},
    "sandboxes with cert-manager": {
        "settings": {"sandbox": {"enabled": True}},
        "certificate": {"mode": "cert-manager"},
    },
    "sandboxes with service-ca": {
        "settings": {"sandbox": {"enabled": True}},
        "certificate": {"mode": "service-ca"},
    },
    "identity policies": {"settings": {"identityPolicies": True}},
    "no metrics": {"settings": {"serving": {"metricsAddr": ""}}},
    "no metrics, a Secret": {
        "settings": {"serving": {"metricsAddr": ""}},
        "certificate": {"mode": "secret", "caBundle": "Q0E="},
    },
    "other ports and times": {
        "settings": {
            "serving": {
                "addr": "[::]:9443",
                "metricsAddr": "0.0.0.0:9090",
                "drainSeconds": 7.5,
                "graceSeconds": 31,
            }
        }
    },
    "strict writes ConfigMaps": {"settings": {"mode": "strict"}},
    "writes without Google Cloud": {"settings": {"mode": "strict", "gcp": {"enabled": False}}},
    "writes allowed": {"settings": {"gcp": {"allowConfigMapWrites": True}}},
    "writes forbidden in strict": {"settings": {"mode": "strict", "gcp": {"allowConfigMapWrites": False}}},
    "eks with a mapping": {
        "settings": {"vocabularies": ["eks"], "eks": {"mappingConfigMap": "kube-system/pod-identity"}}
    },
    "a mapping without eks": {"settings": {"eks": {"mappingConfigMap": "kube-system/pod-identity"}}},
    "azwi alone": {"settings": {"vocabularies": ["azwi"]}, "finalCheck": "deny"},
    "azwi without the label": {"settings": {"vocabularies": ["azwi"], "azwi": {"requireLabel": False}}},
    "every vocabulary": {
        "settings": {
            "vocabularies": ["gke", "wif", "eks", "azwi", "cwii"],
            "wif": {"annotationPrefix": "wif.example"},
            "eks": {"annotationPrefix": "eks.example"},
        },
        "finalCheck": "audit",
    },
    "final check with exclusions": {
        "settings": {"exclude": {"namespaces": ["a", "team-*", "*.x"], "hostNetwork": True}},
        "finalCheck": "warn",
    },
    "exclusions that would bring in what is always out": {"settings": {"exclude": {"namespaces": []}}},
    "no guard": {"guard": False},
    "fail": {"webhook": {"failurePolicy": "Fail", "timeoutSeconds": 7, "reinvocationPolicy": "Never"}},
    "three replicas": {"replicaCount": 3},
}
OF_OPERATOR = ("evictions", "hosted", "hostedNamespaces", "hostedAllNamespaces", "aro", "aroKinds")
ASKED: dict[str, Object] = {
    "evictions": {"evictions": True},
    "hosted": {"hosted": True, "hostedAllNamespaces": True},
    "hosted in one namespace": {"hosted": True, "hostedNamespaces": ["clusters-a"]},
    "hosted in two namespaces": {"hosted": True, "hostedNamespaces": ["clusters-b", "clusters-a"]},
    "aro": {"aro": True},
    "aro with kinds of one's own": {
        "aro": True,
        "aroKinds": [
            "network.azure.com/NatGateway/natgateways",
            "containerservice.azure.com/ManagedCluster/managedclusters",
        ],
    },
    "aro and evictions": {"aro": True, "evictions": True},
    "hosted and evictions": {"hosted": True, "hostedAllNamespaces": True, "evictions": True},
    "hosted and aro": {"hosted": True, "hostedAllNamespaces": True, "aro": True},
    "everything": {"evictions": True, "hosted": True, "hostedAllNamespaces": True, "aro": True},
    "everything, hosted in two namespaces": {
        "evictions": True,
        "hosted": True,
        "hostedNamespaces": ["clusters-a", "clusters-b"],
        "aro": True,
    },
}
"""What the operator is asked for besides webhooks."""


def settings(values: Object, namespace: str, name: str = "vestibule") -> schema.Settings:
    """The settings that say what the values say."""
    data = copy.deepcopy(values.get("settings", {}))
    certificate = values.get("certificate", {})
    data["install"] = {
        "name": name,
        "namespace": namespace,
        "image": f"vestibule:{__version__}",
        "replicas": values.get("replicaCount", 2),
        "certificate": certificate.get("mode", "self"),
        "caBundle": certificate.get("caBundle", ""),
        "guard": values.get("guard", True),
        "finalCheck": values.get("finalCheck", "off"),
        **{field: value for field, value in values.get("operator", {}).items() if field in OF_OPERATOR},
    }
    data["webhook"] = {
        field: value for field, value in values.get("webhook", {}).items() if field in OF_WEBHOOK
    }
    return schema.parse(data, "test")


def plain(obj: Object) -> Object:
    """Settings by what they mean, and what the API server would fill in with the same."""
    obj = copy.deepcopy(without_helm(obj))
    if obj["kind"] == "CustomResourceDefinition":
        # one definition serves webhook and operator, whose labels differ
        obj["metadata"].pop("labels")
    if obj["kind"] == "ConfigMap" and "registrations.json" in obj["data"]:
        found = json.loads(obj["data"]["registrations.json"])
        obj["data"] = [{**one, "metadata": {"name": one["metadata"]["name"]}} for one in found]
    elif obj["kind"] == "ConfigMap":
        obj["data"] = {file: schema.parse(json.loads(text), file) for file, text in obj["data"].items()}
    if obj["kind"] == "Deployment":
        assert obj["spec"].pop("revisionHistoryLimit", 10) == 10
        for container in obj["spec"]["template"]["spec"]["containers"]:
            assert container.pop("imagePullPolicy", "IfNotPresent") == "IfNotPresent"
        annotations = obj["spec"]["template"]["metadata"].get("annotations", {})
        annotations.pop("vestibule.dev/restart", None)
        if not annotations:
            obj["spec"]["template"]["metadata"].pop("annotations", None)
    return obj


NAMES = (("vestibule", "vestibule-system"), ("hall", "elsewhere"))


@pytest.mark.parametrize(
    ("case", "name", "namespace"), [(case, *NAMES[i % 2]) for i, case in enumerate(CASES)]
)
def test_the_webhook(program: Helm, case: str, name: str, namespace: str) -> None:
    values = {**CASES[case], "fullnameOverride": name}
    printed = install.objects(settings(values, namespace, name))

    ours = by_key([plain(obj) for obj in printed if obj["kind"] != "Namespace"])
    theirs = by_key([plain(obj) for obj in program.template(values, namespace=namespace)])

    assert theirs == ours


@pytest.mark.parametrize("case", [case for case in CASES if "settings" in CASES[case] or not CASES[case]])
def test_the_operator(program: Helm, case: str) -> None:
    values = {**CASES[case], "operator": {"enabled": True}}
    values["webhook"] = {**values.get("webhook", {}), "enabled": False}
    printed = operator.objects(settings(values, "vestibule-system"))

    ours = by_key([plain(obj) for obj in printed if obj["kind"] != "Namespace"])
    theirs = by_key([plain(obj) for obj in program.template(values)])

    assert theirs == ours


@pytest.mark.parametrize(
    ("case", "name", "namespace"), [(case, *NAMES[i % 2]) for i, case in enumerate(ASKED)]
)
@pytest.mark.parametrize("also", [{}, {"settings": CASES["every vocabulary"]["settings"]}], ids=["", "much"])
def test_the_operator_asked_for_more(
    program: Helm, case: str, name: str, namespace: str, also: Object
) -> None:
    values = {
        **also,
        "operator": {"enabled": True, **ASKED[case]},
        "webhook": {"enabled": False},
        "fullnameOverride": name,
    }
    printed = operator.objects(settings(values, namespace, name))

    ours = by_key([plain(obj) for obj in printed if obj["kind"] != "Namespace"])
    theirs = by_key([plain(obj) for obj in program.template(values, namespace=namespace)])

    assert theirs == ours


def test_every_setting_of_the_operator_is_a_value() -> None:
    """A setting for ``render --operator`` that the chart does not know is found here."""
    hosted = schema.InstallSettings(hosted=True)
    others: dict[type, Any] = {bool: True, int: 7, str: "other", tuple: ("other",)}
    heard = set()
    for field in msgspec.structs.fields(schema.InstallSettings):
        value = others[type(field.default)] if field.name != "hosted" else False
        changed = msgspec.structs.replace(hosted, **{field.name: value})
        if operator.objects(schema.Settings(install=changed)) != operator.objects(
            schema.Settings(install=hosted)
        ):
            heard.add(field.encode_name)

    assert heard == {"name", "namespace", "image", *OF_OPERATOR}


def test_by_default_the_settings_are_the_same_text(program: Helm) -> None:
    printed = install.objects(settings({}, "vestibule-system"))
    ours, theirs = (
        [obj["data"] for obj in manifests if obj["metadata"]["name"] == "vestibule-settings"]
        for manifests in (printed, program.template())
    )

    assert len(ours) == 1
    assert theirs == ours


def test_definitions_stay_when_the_release_goes(program: Helm) -> None:
    values = {"operator": {"enabled": True}, "settings": {"sandbox": {"enabled": True}}}
    found = [obj for obj in program.template(values) if obj["kind"] == "CustomResourceDefinition"]

    assert len(found) >= 4
    for obj in found:
        assert obj["metadata"]["annotations"]["helm.sh/resource-policy"] == "keep"


def test_clusterctl_moves_what_the_chart_defines(program: Helm) -> None:
    """Without its label it leaves ARO objects behind when it moves their Cluster."""
    values = {"operator": {"enabled": True, "aro": True}, "webhook": {"enabled": False}}
    printed = [
        obj
        for obj in program.template(values)
        if obj["kind"] == "CustomResourceDefinition" and obj["metadata"]["name"].startswith("aro")
    ]

    assert len(printed) == 3
    for obj in (*printed, *aro_crds.definitions()):
        labels = obj["metadata"]["labels"]
        assert labels["clusterctl.cluster.x-k8s.io"] == ""
        assert labels["cluster.x-k8s.io/v1beta2"] == "v1beta2"


def test_without_definitions(program: Helm) -> None:
    values = {"operator": {"enabled": True}, "crds": {"install": False}}

    assert "CustomResourceDefinition" not in {obj["kind"] for obj in program.template(values)}
