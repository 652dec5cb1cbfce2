"""A hosted control plane as HyperShift leaves it, on two real API servers: the guest's authorities, Secrets
and objects in the management cluster, and a kubelet's part for what the operator places beside it."""

from __future__ import annotations

import base64
import contextlib
import copy
import datetime
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from tests.apiserver.sidecar_kubelet import SidecarKubelet
from tests.apiserver.webhook_installation import path_of
from tests.rig import process
from tests.rig.client import at
from tests.rig.controlplane import ControlPlane
from tests.rig.pki import write_private
from tests.rig.process import free_port
from tests.vectors import run
from tests.vectors.hypershift_given import deployment, secrets
from tests.vectors.hypershift_pki import text
from vestibule.operator.controllers.hosted import hypershift_webhooks
from vestibule.operator.controllers.hosted.certificates import by_certificate, kubeconfig_text
from vestibule.pki import profile, tls_secret
from vestibule.pki.leaf import CertificatePair

Json = dict[str, Any]
API = "vestibule.dev/v1alpha1"
HYPERSHIFT = "hypershift.openshift.io/v1beta1"
TENANT = "11111111-2222-3333-4444-555555555555"
SNI = ("localhost", "kubernetes.default.svc")
REGISTRATION = at(
    "mutatingwebhookconfigurations", name=hypershift_webhooks.OURS, api="admissionregistration.k8s.io/v1"
)
VECTOR = next(one for one in run.load(run.HERE / "hypershift.json") if one["id"] == "HV-33")
LABELLED: Json = copy.deepcopy(VECTOR["input"]["cases"][0]["pod"])
LABELLED["metadata"].pop("namespace", None)
ADMINISTRATOR = "system:hosted-admin"
"""Whom the kubeconfig of the control plane names in the guest; the audit log shows what the operator did."""


def now() -> datetime.datetime:
    return datetime.datetime.now(datetime.UTC)


def hosted_cluster_of(
    management: ControlPlane, folder: Path, prefix: str, made: dict[str, Json], *, controllers: bool = False
) -> ControlPlane:
    """A guest, not started, on the management's etcd. It serves ``localhost`` with a certificate of the root
    CA and trusts clients of the cluster's signer; the rig's own authority stays beside, for the test's own
    calls."""
    folder.mkdir(parents=True, exist_ok=True)
    root, signer = made["root-ca"], made["cluster-signer-ca"]
    pair = CertificatePair(text(root, "ca.crt"), text(root, "ca.key"))
    leaf = profile.issue(pair, profile.LeafProfile("kube-apiserver", names=SNI), now())
    (folder / "kas.crt").write_text(leaf.certificate)
    write_private(folder / "kas.key", leaf.key.encode())
    guest = ControlPlane(
        folder / "guest",
        version=management.version,
        prefix=f"/{prefix}",
        etcd=management.etcd,
        controllers=controllers,
        flags={
            "tls-sni-cert-key": f"{folder}/kas.crt,{folder}/kas.key:{','.join(SNI)}",
            "client-ca-file": str(folder / "client-ca.crt"),
        },
    )
    clients = [guest.authority.pem.decode(), text(signer, "ca.crt"), text(root, "ca.crt")]
    (folder / "client-ca.crt").write_text("".join(clients))
    return guest


def hosted_control_plane(namespace: str, name: str = "hcp", platform: str = "KubeVirt") -> Json:
    """One that the real definition takes."""
    published = [
        {"service": one, "servicePublishingStrategy": {"type": "Route"}}
        for one in ("APIServer", "OAuthServer", "Konnectivity", "Ignition")
    ]
    return {
        "apiVersion": HYPERSHIFT,
        "kind": "HostedControlPlane",
        "metadata": {"name": name, "namespace": namespace},
        "spec": {
            "dns": {"baseDomain": "example.com"},
            "etcd": {"managementType": "Managed", "managed": {"storage": {"type": "PersistentVolume"}}},
            "infraID": f"{name}-x",
            "issuerURL": "https://issuer.example.com",
            "platform": {"type": platform},
            "pullSecret": {"name": "pull-secret"},
            "releaseImage": "registry.example/ocp/release:4.22.1",
            "services": published,
            "sshKey": {"name": "ssh-key"},
        },
    }


class HostedEnvironment:
    """One control plane and its guest, and the request for its webhook."""

    def __init__(
        self,
        management: ControlPlane,
        guest: ControlPlane,
        namespace: str,
        made: dict[str, Json],
        *,
        server: str = "",
        name: str = "hcp",
    ) -> None:
        self.management, self.guest, self.namespace, self.name = management, guest, namespace, name
        self.admin, self.port = management.admin, free_port()
        self.server = server or f"https://localhost:{guest.apiserver.port}"
        self.path = at("hostedwebhooks", namespace, name, api=API)
        self.control_plane = at("hostedcontrolplanes", namespace, name, api=HYPERSHIFT)
        self._lay(made)

    def _lay(self, made: dict[str, Json]) -> None:
        """What HyperShift would have made."""
        signer = CertificatePair(*(text(made["cluster-signer-ca"], key) for key in ("ca.crt", "ca.key")))
        expected = profile.LeafProfile(
            ADMINISTRATOR, organizations=("system:masters",), usages=("clientAuth",)
        )
        pair = profile.issue(signer, expected, now())
        message = kubeconfig_text(self.server, text(made["root-ca"], "ca.crt"), by_certificate(pair))
        kubeconfig = {
            "apiVersion": "v1",
            "kind": "Secret",
            "metadata": {"name": "service-network-admin-kubeconfig", "namespace": self.namespace},
            "data": {"kubeconfig": base64.b64encode(message.encode()).decode()},
        }
        obj = hosted_control_plane(self.namespace, self.name)
        runs = deployment(obj)
        runs["spec"] |= {"replicas": 0, "selector": {"matchLabels": {"app": "kube-apiserver"}}}
        runs["spec"]["template"]["metadata"] = {"labels": {"app": "kube-apiserver"}}
        for one in (*made.values(), kubeconfig, runs):
            self.admin.apply(path_of(one), one, "hypershift", force=True).object  # noqa: B018 - raises
        self.admin.apply(self.control_plane, obj, "hypershift", force=True).object  # noqa: B018 - raises

    def ask(self, **spec: Any) -> Json:
        """The request, answered at a port of this machine."""
        obj = {
            "apiVersion": API,
            "kind": "HostedWebhook",
            "metadata": {"name": self.name, "namespace": self.namespace},
            "spec": {
                "target": {"flavour": "hypershift", "name": self.name},
                "tenantId": TENANT,
                "url": f"https://127.0.0.1:{self.port}",
                "server": self.server,
                **spec,
            },
        }
        return self.admin.apply(self.path, obj, "test", force=True).object

    def condition(self, kind: str) -> Json:
        answer = self.admin.get(self.path)
        found = answer.object.get("status", {}).get("conditions", []) if answer.status == 200 else []
        return next((one for one in found if one["type"] == kind), {})

    def wait(self, kind: str, status: str, seconds: float = 30.0) -> None:
        """Until a condition is as wanted."""
        try:
            process.wait(
                f"{kind}={status}", lambda: self.condition(kind).get("status") == status, seconds, every=0.1
            )
        except TimeoutError as error:
            raise AssertionError(f"{error}: {self.admin.get(self.path).body.decode()}") from error

    def bundle(self) -> list[str]:
        """The authorities that the guest trusts for the webhook."""
        answer = self.guest.admin.get(REGISTRATION)
        return tls_secret.trusted_cas(answer.object["webhooks"][0]) if answer.status == 200 else []

    def secret(self, what: str) -> str:
        return at("secrets", self.namespace, f"{hypershift_webhooks.OURS}-{what}")

    def pods(self) -> str:
        """A namespace of the guest with the account that the pods of the cases run as."""
        namespace = self.guest.namespace("ns")
        account = copy.deepcopy(VECTOR["input"]["serviceAccount"])
        account["metadata"]["namespace"] = namespace
        self.guest.admin.create(at("serviceaccounts", namespace), account).object  # noqa: B018 - raises
        return namespace

    def owned(self) -> list[str]:
        """What of ours is left in the two clusters, namespaces in the guest apart."""
        label = "vestibule.dev/owner"
        kinds = [("secrets", "v1"), ("services", "v1"), ("deployments", "apps/v1")]
        kinds += [("poddisruptionbudgets", "policy/v1"), ("networkpolicies", "networking.k8s.io/v1")]
        wide = [("clusterroles", "rbac.authorization.k8s.io/v1")]
        wide += [("clusterrolebindings", "rbac.authorization.k8s.io/v1")]
        wide += [("mutatingwebhookconfigurations", "admissionregistration.k8s.io/v1")]
        found = []
        for plural, api in kinds:
            where = at(plural, self.namespace, api=api)
            found += [
                f"{plural}/{one['metadata']['name']}" for one in self.admin.list(where, labelSelector=label)
            ]
        for plural, api in [*wide, ("serviceaccounts", "v1")]:
            objects = self.guest.admin.list(at(plural, api=api), labelSelector=label)
            found += [f"guest {plural}/{one['metadata']['name']}" for one in objects]
        return found


class Kubelet:
    """Runs the container of the Deployment that the operator makes, and keeps its files as the Secrets are;
    a new template is a new process."""

    def __init__(self, environment: HostedEnvironment, folder: Path) -> None:
        self._stand, self._folder = environment, folder
        self._stop, self._thread = threading.Event(), threading.Thread(target=self._run, daemon=True)
        self.beside: SidecarKubelet | None = None
        self.failed = ""

    def __enter__(self) -> Kubelet:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._stop.set()
        self._thread.join(30)
        assert not self.failed, self.failed

    def _run(self) -> None:
        admin = self._stand.management.client("rig:kubelet", ["system:masters"])
        where = at("deployments", self._stand.namespace, hypershift_webhooks.OURS, api="apps/v1")
        template: Json = {}
        rendered: list[str] = []
        number = 0
        try:
            while not self._stop.wait(0.1):
                answer = admin.get(where)
                if answer.status != 200:
                    continue
                names = [self._stand.secret(what) for what in ("serving-cert", "kubeconfig")]
                files = [admin.get(name) for name in names]
                if any(one.status != 200 for one in files):
                    continue
                versions = [str(one.object["metadata"]["resourceVersion"]) for one in files]
                if answer.object["spec"]["template"] != template:
                    template, number = answer.object["spec"]["template"], number + 1
                    if self.beside is not None:
                        self.beside.stop()
                    port = self._stand.port
                    home = self._folder / f"pod-{number}"
                    self.beside = SidecarKubelet(
                        home, admin, answer.object, hypershift_webhooks.OURS, 9443, port
                    )
                    self.beside.start()
                elif versions != rendered and self.beside is not None:
                    self.beside.lay_out()
                rendered = versions
        except BaseException as error:  # noqa: BLE001 - a thread that dies must be told
            self.failed = repr(error)
        finally:
            if self.beside is not None:
                self.beside.stop()


class Load:
    """Pods, one after the other, none of which may go without its identity."""

    def __init__(self, environment: HostedEnvironment, namespace: str) -> None:
        self._stand, self._namespace = environment, namespace
        self._stop, self._thread = threading.Event(), threading.Thread(target=self._run, daemon=True)
        self.created, self.failures = 0, list[str]()

    def __enter__(self) -> Load:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._stop.set()
        self._thread.join(30)

    def _run(self) -> None:
        client = self._stand.guest.client("rig:load", ["system:masters"])
        while not self._stop.is_set():
            answer = client.create(at("pods", self._namespace), LABELLED, dryRun="All")
            self.created += 1
            if answer.status != 201 or not mutated(answer.object):
                self.failures.append(f"{answer.status} {answer.message[:300]}")
            time.sleep(0.04)


def mutated(pod: Json) -> bool:
    return any(one["name"] == "azure-identity-token" for one in pod["spec"].get("volumes", ()))


@contextlib.contextmanager
def hosted_environment(
    management: ControlPlane, folder: Path, *, controllers: bool = False
) -> Iterator[HostedEnvironment]:
    """A control plane in a namespace of its own, and its guest, gone afterwards."""
    namespace = management.namespace("clusters-hcp")
    created = secrets(namespace)
    guest = hosted_cluster_of(management, folder, namespace, created, controllers=controllers)
    guest.start()
    try:
        yield HostedEnvironment(management, guest, namespace, created)
    finally:
        guest.stop()
        management.admin.delete(at("namespaces", name=namespace))


def everything(plane: ControlPlane) -> dict[str, str]:
    """The version of every object of a cluster; leases, events and what the API server writes about itself
    apart."""
    found: dict[str, str] = {}
    groups = [("v1", plane.admin.get("/api/v1").object)]
    for group in plane.admin.get("/apis").object["groups"]:
        version = group["preferredVersion"]["groupVersion"]
        groups.append((version, plane.admin.get(f"/apis/{version}").object))
    for api, resources in groups:
        for one in resources["resources"]:
            if "list" not in one["verbs"] or one["name"] in ("events", "leases", "componentstatuses"):
                continue
            # a kind that is new is not served for a moment
            listed = plane.admin.wait(at(one["name"], api=api), lambda found: "items" in found)
            for item in listed["items"]:
                meta = item["metadata"]
                place = f"{api} {one['name']} {meta.get('namespace', '')}/{meta.get('name', '')}"
                found[place] = str(meta.get("resourceVersion"))
    return found
