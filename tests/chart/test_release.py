"""Releases on a real API server: installed, upgraded, rolled back, removed; pods served by what was
installed."""

from __future__ import annotations

import base64
import json
import time
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.apiserver.admitted_pod import AWS
from tests.apiserver.webhook_installation import path_of
from tests.chart.kubelet import pod
from tests.chart.release import CHART, Helm
from tests.rig import process
from tests.rig.client import STRATEGIC, at
from tests.rig.controlplane import ControlPlane
from tests.rig.fixtures import Planes

pytestmark = pytest.mark.slow

Object = dict[str, Any]
REGISTRATIONS = "admissionregistration.k8s.io/v1"
DEFINITIONS = "apiextensions.k8s.io/v1"
ROUTED = {"enable-aggregator-routing": "true"}
"""The API server goes to endpoints directly, since nothing routes here."""


class Release:
    """One release and what Helm says about it."""

    def __init__(self, helm: Path, home: Path, plane: ControlPlane, name: str, namespace: str) -> None:
        self.plane, self.name, self.namespace = plane, name, namespace
        home.mkdir(parents=True, exist_ok=True)
        self._helm = Helm(helm, home, plane.kubeconfig())

    def run(self, verb: str, *words: str, values: Object | None = None) -> str:
        """A verb with the chart; raises AssertionError with what Helm says."""
        chart = [str(CHART)] if verb in ("install", "upgrade") else []
        ran = self._helm.run(verb, self.name, *chart, "--namespace", self.namespace, *words, values=values)
        assert ran.returncode == 0, ran.stderr
        return ran.stdout

    def refused(self, verb: str, values: Object) -> str:
        ran = self._helm.run(verb, self.name, str(CHART), "--namespace", self.namespace, values=values)
        assert ran.returncode != 0, ran.stdout
        return ran.stderr

    def objects(self) -> list[Object]:
        """What the release consists of, as the cluster has it."""
        ran = self._helm.run("get", "manifest", self.name, "--namespace", self.namespace)
        assert ran.returncode == 0, ran.stderr
        return [self.plane.admin.get(path_of(obj)).object for obj in yaml.safe_load_all(ran.stdout) if obj]

    def versions(self) -> dict[str, str]:
        """Versions of everything but the Lease, which its holder renews."""
        return {
            f"{obj['kind']} {obj['metadata']['name']}": obj["metadata"]["resourceVersion"]
            for obj in self.objects()
            if obj["kind"] != "Lease"
        }


def asks(plane: ControlPlane, namespace: str) -> Object:
    """A pod that asks for an identity, as the API server would store it."""
    obj = {
        "metadata": {"generateName": "p-", "annotations": AWS},
        "spec": {"containers": [{"name": "app", "image": "a"}]},
    }
    return plane.admin.create(at("pods", namespace), obj, dryRun="All").object


def served(plane: ControlPlane, namespace: str) -> bool:
    return "cwii.dev/injected" in asks(plane, namespace)["metadata"]["annotations"]


def bundle(plane: ControlPlane, name: str) -> str:
    where = at("mutatingwebhookconfigurations", name=name, api=REGISTRATIONS)
    found = plane.admin.get(where).object["webhooks"][0]["clientConfig"].get("caBundle", "")
    return str(found)


def test_a_release_serves_pods_is_upgraded_rolled_back_and_removed(
    helm: Path, private_control_plane: Planes, tmp_path: Path
) -> None:
    plane = private_control_plane(flags=ROUTED)
    hosted_clusters = plane.namespace("guests")
    release = Release(helm, tmp_path / "home", plane, "vestibule", "hall")
    message = release.run("install", "--create-namespace", values={"logLevel": "info"})

    assert "the webhook vestibule in hall, 2 replicas" in message
    assert "never served    hall, kube-node-lease, kube-system" in message
    assert "note: logLevel is settings.serving.logLevel here" in message
    assert not bundle(plane, "vestibule")

    with (
        pod(plane, "hall", "vestibule-certificates", tmp_path / "issuer") as issuer,
        pod(plane, "hall", "vestibule", tmp_path / "pod") as replica,
    ):
        issuer.start("--metrics-addr", f"127.0.0.1:{issuer.plain}")
        running = replica.start(
            *replica.certificate(),
            *("--addr", f"{replica.address}:{replica.port}", "--metrics-addr", f"127.0.0.1:{replica.plain}"),
        )
        process.wait("a CA in the registration", lambda: bool(bundle(plane, "vestibule")), 30)
        replica.publish("vestibule")
        process.wait("a pod with its identity", lambda: served(plane, hosted_clusters), 30)
        process.wait("readiness", lambda: running.get("/readyz")[0] == 200, 30)

        # nothing is written by an upgrade that changes nothing, and what the webhook wrote stays
        before, trusted = release.versions(), bundle(plane, "vestibule")
        release.run("upgrade", values={"logLevel": "info"})
        assert release.versions() == before
        assert bundle(plane, "vestibule") == trusted

        # a change of settings is taken up by the pod that runs
        release.run("upgrade", values={"logLevel": "info", "settings": {"aws": {"enabled": False}}})
        after = release.versions()
        changed = {name for name in before if before[name] != after[name]}
        assert changed == {"ConfigMap vestibule-settings"}
        replica.lay_out()
        process.wait("no identity", lambda: not served(plane, hosted_clusters), 30)

        assert "at '/settings/aws'" in release.refused("upgrade", {"settings": {"aws": {"enable": True}}})
        assert release.versions() == after

        release.run("rollback", "2")
        replica.lay_out()
        process.wait("a pod with its identity again", lambda: served(plane, hosted_clusters), 30)
        assert bundle(plane, "vestibule") == trusted

        own = {path_of(obj) for obj in release.objects()}
        release.run("uninstall")
        for path in own:
            plane.admin.wait_gone(path)
        process.wait("no identity", lambda: not served(plane, hosted_clusters), 30)


MODES: dict[str, Object] = {
    "self": {},
    "service-ca": {"certificate": {"mode": "service-ca"}},
    "secret": {"certificate": {"mode": "secret", "caBundle": ""}},
    "everything": {
        "settings": {
            "sandbox": {"enabled": True},
            "identityPolicies": True,
            "vocabularies": ["cwii", "azwi", "eks", "wif", "gke"],
            "exclude": {"namespaces": ["infra-*"], "hostNetwork": True},
        },
        "finalCheck": "warn",
        "operator": {
            "enabled": True,
            "evictions": True,
            "hosted": True,
            "hostedAllNamespaces": True,
            "aro": True,
        },
        "dashboard": {"enabled": True},
        "networkPolicy": {"metricsFrom": [{"namespaceSelector": {}}]},
        "podDisruptionBudget": {"minAvailable": "50%"},
    },
}


@pytest.mark.parametrize("mode", MODES)
def test_every_object_is_accepted_and_a_second_upgrade_writes_nothing(
    helm: Path, control_plane: ControlPlane, namespace: str, tmp_path: Path, mode: str
) -> None:
    name = f"chart-{mode}"
    # pods of other tests are not sent here
    narrow = {"namespaceSelector": {"matchLabels": {"chart": name}}}
    values = {**MODES[mode], "fullnameOverride": name, "webhook": narrow}
    if mode == "secret":
        values["certificate"] = {"mode": "secret", "caBundle": authority(control_plane)}
    release = Release(helm, tmp_path / "home", control_plane, name, namespace)
    release.run("install", values=values)
    try:
        entry = control_plane.admin.get(
            at("mutatingwebhookconfigurations", name=name, api=REGISTRATIONS)
        ).object["webhooks"][0]
        assert entry["clientConfig"]["service"] == {
            "name": name,
            "namespace": namespace,
            "path": "/mutate",
            "port": 443,
        }
        before = _settled(release)
        release.run("upgrade", values=values)
        assert release.versions() == before
        by_hand = {"replicas": 5}
        where = at("deployments", namespace, name, api="apps/v1")
        control_plane.admin.patch(where, {"spec": by_hand}).object  # noqa: B018 - raises
        release.run("upgrade", values=values)
        assert control_plane.admin.get(where).object["spec"]["replicas"] == 2
    finally:
        release.run("uninstall")


def test_with_cert_manager_everything_is_accepted(
    helm: Path, private_control_plane: Planes, tmp_path: Path
) -> None:
    plane = private_control_plane()
    release = Release(helm, tmp_path / "home", plane, "vestibule", "hall")
    values = {"certificate": {"mode": "cert-manager"}, "settings": {"sandbox": {"enabled": True}}}
    assert 'no matches for kind "Certificate"' in release.refused("install", values)
    certificates(plane)
    release.run("install", "--create-namespace", values=values)

    where = at("certificates", "hall", "vestibule-tls", api="cert-manager.io/v1")
    assert plane.admin.get(where).object["spec"]["issuerRef"] == {"kind": "Issuer", "name": "vestibule-ca"}
    for kind in ("mutatingwebhookconfigurations", "validatingwebhookconfigurations"):
        found = plane.admin.get(at(kind, name="vestibule", api=REGISTRATIONS)).object
        assert found["metadata"]["annotations"]["cert-manager.io/inject-ca-from"] == "hall/vestibule-tls"
    before = _settled(release)
    # what cert-manager writes into a registration stays
    name = found["webhooks"][0]["name"]
    given = {"webhooks": [{"name": name, "clientConfig": {"caBundle": authority(plane)}}]}
    path = at("validatingwebhookconfigurations", name="vestibule", api=REGISTRATIONS)
    written = plane.admin.patch(path, given, STRATEGIC).object
    release.run("upgrade", values=values)
    after = release.versions()
    assert after.pop("ValidatingWebhookConfiguration vestibule") == written["metadata"]["resourceVersion"]
    before.pop("ValidatingWebhookConfiguration vestibule")
    assert after == before


def authority(plane: ControlPlane) -> str:
    return base64.b64encode(plane.authority.pem).decode()


def certificates(plane: ControlPlane) -> None:
    """The kinds of cert-manager, as far as we write them."""
    for plural, kind in (("certificates", "Certificate"), ("issuers", "Issuer")):
        schema = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
        version = {"name": "v1", "served": True, "storage": True, "schema": {"openAPIV3Schema": schema}}
        names = {"plural": plural, "singular": kind.lower(), "kind": kind}
        definition = {
            "apiVersion": DEFINITIONS,
            "kind": "CustomResourceDefinition",
            "metadata": {"name": f"{plural}.cert-manager.io"},
            "spec": {
                "group": "cert-manager.io",
                "scope": "Namespaced",
                "names": names,
                "versions": [version],
            },
        }
        plane.admin.create(at("customresourcedefinitions", api=DEFINITIONS), definition).object  # noqa: B018
        plane.admin.wait(at(plural, api="cert-manager.io/v1"), lambda found: "items" in found)


def _settled(release: Release) -> dict[str, str]:
    """Versions once controllers have written what they write: status of Deployment and budget."""
    deadline = time.monotonic() + 30
    before = release.versions()
    while time.monotonic() < deadline:
        now = release.versions()
        if now == before and all(map(_done, release.objects())):
            return now
        before = now
        time.sleep(0.2)
    raise AssertionError("the release does not settle")


def _done(obj: Object) -> bool:
    status = obj.get("status", {})
    if obj["kind"] == "Deployment":
        return bool(
            status.get("observedGeneration") == obj["metadata"]["generation"] and status.get("replicas")
        )
    if obj["kind"] == "CustomResourceDefinition":
        return any(one["type"] == "Established" for one in status.get("conditions", ()))
    return True


def test_a_dry_run_asks_the_cluster_and_writes_nothing(
    helm: Path, control_plane: ControlPlane, namespace: str, tmp_path: Path
) -> None:
    release = Release(helm, tmp_path / "home", control_plane, "chart-dry", namespace)
    message = release.run("install", "--dry-run=server", values={"fullnameOverride": "chart-dry"})

    assert "kind: MutatingWebhookConfiguration" in message
    where = at("mutatingwebhookconfigurations", name="chart-dry", api=REGISTRATIONS)
    assert control_plane.admin.get(where).status == 404
    assert control_plane.admin.list(at("deployments", namespace, api="apps/v1")) == []


def test_definitions_of_others_are_left_alone_and_ours_outlive_the_release(
    helm: Path, private_control_plane: Planes, tmp_path: Path
) -> None:
    plane = private_control_plane()
    kata = "kataconfigs.kataconfiguration.openshift.io"
    theirs = yaml.safe_load((CHART / "files" / "crds" / f"{kata}.yaml").read_text())
    theirs["metadata"]["labels"] = {"of": "its-operator"}
    plane.admin.create(at("customresourcedefinitions", api=DEFINITIONS), theirs).object  # noqa: B018 - raises
    release = Release(helm, tmp_path / "home", plane, "vestibule", "hall")
    values = {"operator": {"enabled": True}, "webhook": {"enabled": False}}
    message = release.run("install", "--create-namespace", values=values)

    assert f"note: the CRD {kata} belongs to another owner and was not changed" in message
    assert kata not in {obj["metadata"]["name"] for obj in release.objects()}
    where = at("customresourcedefinitions", name=kata, api=DEFINITIONS)
    assert plane.admin.get(where).object["metadata"]["labels"] == {"of": "its-operator"}

    # drift of a definition of ours is put right by the next upgrade
    ours = at("customresourcedefinitions", name="vestibulewebhooks.vestibule.dev", api=DEFINITIONS)
    names = {"spec": {"names": {"shortNames": ["odd"]}}}
    plane.admin.patch(ours, names).object  # noqa: B018 - raises
    before = json.loads(json.dumps(plane.admin.get(ours).object["spec"]["names"]))
    assert before["shortNames"] == ["odd"]
    api = "vestibule.dev/v1alpha1"
    requested = {"apiVersion": api, "kind": "VestibuleWebhook", "metadata": {"name": "kept"}, "spec": {}}
    process.wait(
        "the kind to be served",
        lambda: plane.admin.create(at("vestibulewebhooks", api=api), requested).status in (201, 409),
        30,
    )
    release.run("upgrade", values=values)
    release.run("uninstall")
    assert plane.admin.get(ours).status == 200
    assert plane.admin.get(at("vestibulewebhooks", name="kept", api=api)).status == 200

    release.run("install", values=values)
    other = Release(helm, tmp_path / "other", plane, "second", "elsewhere")
    message = other.run("install", "--create-namespace", values=values)
    assert "belongs to release hall/vestibule and was not changed" in message


def test_the_operator_of_a_release_installs_what_the_notes_ask_for(
    helm: Path, private_control_plane: Planes, tmp_path: Path
) -> None:
    plane = private_control_plane()
    release = Release(helm, tmp_path / "home", plane, "vestibule", "hall")
    values = {
        "operator": {"enabled": True},
        "webhook": {"enabled": False, "failurePolicy": "Fail"},
        "settings": {"vocabularies": ["eks"]},
    }
    message = release.run("install", "--create-namespace", values=values)
    text = message.partition("<<EOF\n")[2].partition("EOF")[0]
    requested = yaml.safe_load(text)
    assert requested["spec"] == {"failurePolicy": "Fail", "settings": {"vocabularies": ["eks"]}}
    with pod(plane, "hall", "vestibule-operator", tmp_path / "pod") as operator:
        operator.start("--metrics-addr", f"127.0.0.1:{operator.plain}", "--namespace", "hall")
        plane.admin.create(at("vestibulewebhooks", api=requested["apiVersion"]), requested).object  # noqa: B018 - raises
        created = plane.admin.wait(at("deployments", "hall", "vestibule", api="apps/v1"), seconds=60)

    assert created["spec"]["template"]["spec"]["containers"][0]["args"][0] == "webhook"


def test_the_operator_of_a_release_does_what_the_values_ask_for_and_may_do_no_more(
    helm: Path, private_control_plane: Planes, tmp_path: Path
) -> None:
    plane = private_control_plane()
    for namespace in ("clusters", "others"):
        plane.admin.create(at("namespaces"), {"metadata": {"name": namespace}}).object  # noqa: B018 - raises
    release = Release(helm, tmp_path / "home", plane, "vestibule", "hall")
    requested: Object = {"enabled": True, "hosted": True, "hostedNamespaces": ["clusters"], "aro": True}
    release.run(
        "install", "--create-namespace", values={"operator": requested, "webhook": {"enabled": False}}
    )
    creator = at("validatingwebhookconfigurations", name="vestibule-operator-aro", api=REGISTRATIONS)
    hosted = {
        "apiVersion": "vestibule.dev/v1alpha1",
        "kind": "HostedWebhook",
        "metadata": {"name": "h"},
        "spec": {"target": {"flavour": "kubeconfig", "name": "nowhere"}},
    }
    where = at("hostedwebhooks", "clusters", api="vestibule.dev/v1alpha1")
    with pod(plane, "hall", "vestibule-operator", tmp_path / "pod") as operator:
        operator.start(
            "--metrics-addr",
            f"127.0.0.1:{operator.plain}",
            "--namespace",
            "hall",
            "--aro-webhook-addr",
            f"127.0.0.1:{operator.port}",
        )
        created = plane.admin.wait(creator, seconds=60)
        plane.admin.create(where, hosted).object  # noqa: B018 - raises
        reported = plane.admin.wait(
            at("hostedwebhooks", "clusters", "h", api="vestibule.dev/v1alpha1"),
            lambda found: "conditions" in found.get("status", {}),
            seconds=60,
        )

    service = created["webhooks"][0]["clientConfig"]["service"]
    assert (service["name"], service["namespace"]) == ("vestibule-operator-aro", "hall")
    assert plane.admin.get(at("services", "hall", service["name"])).status == 200
    assert reported["status"]["conditions"]
    assert [may(plane, "create", "secrets", namespace) for namespace in ("clusters", "others")] == [
        True,
        True,
    ]

    release.run("upgrade", values={"operator": {**requested, "aro": False}, "webhook": {"enabled": False}})
    assert [may(plane, "create", "secrets", namespace) for namespace in ("clusters", "others")] == [
        True,
        False,
    ]
    assert plane.admin.get(at("services", "hall", service["name"])).status == 404

    release.run("upgrade", values={"operator": {"enabled": True}, "webhook": {"enabled": False}})
    assert not may(plane, "create", "secrets", "clusters")
    # the definitions stay, with the objects of their kinds
    assert plane.admin.get(at("hostedwebhooks", "clusters", "h", api="vestibule.dev/v1alpha1")).status == 200


def may(plane: ControlPlane, verb: str, resource: str, namespace: str) -> bool:
    """Whether the operator's account may do this, as the API server sees it."""
    review = {
        "spec": {
            "user": "system:serviceaccount:hall:vestibule-operator",
            "resourceAttributes": {"verb": verb, "resource": resource, "namespace": namespace},
        }
    }
    where = at("subjectaccessreviews", api="authorization.k8s.io/v1")
    return bool(plane.admin.create(where, review).object["status"]["allowed"])
