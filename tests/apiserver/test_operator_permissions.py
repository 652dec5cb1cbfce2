"""Granted is used, and used is granted: the operator's rendered roles against the API server's audit log.

Every way of an installation is gone once: own certificate, sandboxes, cert-manager, drift, pruning, removal.
"""

from __future__ import annotations

import base64
from pathlib import Path
from typing import Any

import pytest

from tests.apiserver.admitted_pod import AWS
from tests.apiserver.operator_installation import API, OperatorInstallation, operator_installed
from tests.apiserver.used_permissions import Used, used
from tests.rig import process
from tests.rig.client import at
from tests.rig.controlplane import ControlPlane
from tests.rig.fixtures import Planes
from tests.serving.authority import Authority
from vestibule.manifests import operator

Json = dict[str, Any]
KATA = "kataconfiguration.openshift.io/v1"
RULES = "kataconfiguration.openshift.io/v1alpha1"


def granted(environment: OperatorInstallation) -> Used:
    """What the operator may do, without what it only holds to grant it."""
    rules = [
        *operator.cluster_rules(environment.settings),
        *operator.near_rules(environment.settings),
        *operator.event_rules(),
    ]
    held = operator.held(environment.settings)
    return {
        (resource, verb)
        for rule in rules
        if rule not in held
        for resource in rule.get("resources", ())
        for verb in rule["verbs"]
    }


def held(environment: OperatorInstallation) -> Used:
    """What it holds to grant it, and what its auditor reads with."""
    rules = operator.held(environment.settings)
    return {(resource, verb) for rule in rules for resource in rule["resources"] for verb in rule["verbs"]}


def cert_manager(plane: ControlPlane) -> None:
    """The kinds of cert-manager, as far as we write them."""
    for kind, plural in (("Issuer", "issuers"), ("Certificate", "certificates")):
        schema = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
        version = {"name": "v1", "served": True, "storage": True, "schema": {"openAPIV3Schema": schema}}
        names = {"kind": kind, "plural": plural, "singular": kind.lower(), "listKind": f"{kind}List"}
        where = at("customresourcedefinitions", api="apiextensions.k8s.io/v1")
        obj = {
            "metadata": {"name": f"{plural}.cert-manager.io"},
            "spec": {
                "group": "cert-manager.io",
                "scope": "Namespaced",
                "names": names,
                "versions": [version],
            },
        }
        plane.admin.create(where, obj).object  # noqa: B018 - raises
        plane.admin.wait(at(plural, api="cert-manager.io/v1"), lambda found: "items" in found)


def sandboxes(environment: OperatorInstallation) -> str:
    """A KataConfig with initdata from another namespace, and a rule; the namespace."""
    admin = environment.admin
    namespace = environment.plane.namespace("initdata")
    reference = {"namespace": namespace, "name": "initdata"}
    kata = {
        "apiVersion": KATA,
        "kind": "KataConfig",
        "metadata": {"name": "k"},
        "spec": {
            "checkNodeEligibility": False,
            "webhook": {
                "annotations": {"initdataFrom": reference},
                "runtimeClassInjection": {"enabled": True},
            },
        },
    }
    admin.create(at("kataconfigs", api=KATA), kata).object  # noqa: B018 - raises
    classes = {"status": {"runtimeClasses": ["kata"]}}
    admin.patch(at("kataconfigs", name="k", sub="status", api=KATA), classes).object  # noqa: B018 - raises
    mutate = {"annotations": {"example.com/a": "b"}}
    rules = {
        "apiVersion": RULES,
        "kind": "OSCWebhookConfig",
        "metadata": {"name": "r"},
        "spec": {"rules": [{"name": "r", "mutate": mutate}]},
    }
    admin.create(at("oscwebhookconfigs", api=RULES), rules).object  # noqa: B018 - raises
    return namespace


def missed(environment: OperatorInstallation) -> None:
    """A workload whose pod is there before the webhook is."""
    namespace = environment.plane.namespace("early")
    labels = {"app": "early"}
    template = {
        "metadata": {"labels": labels, "annotations": AWS},
        "spec": {"containers": [{"name": "a", "image": "a"}]},
    }
    obj = {
        "metadata": {"name": "early"},
        "spec": {"replicas": 1, "selector": {"matchLabels": labels}, "template": template},
    }
    environment.admin.create(at("deployments", namespace, api="apps/v1"), obj).object  # noqa: B018 - raises
    process.wait("its pod", lambda: bool(environment.admin.list(at("pods", namespace))), 30)


def issuer(environment: OperatorInstallation, folder: Path) -> None:
    """An issuer that is published in a directory."""
    obj = {
        "apiVersion": API,
        "kind": "PublishedIssuer",
        "metadata": {"name": environment.name},
        "spec": {"to": f"dir:{folder / 'issuer'}"},
    }
    environment.admin.create(at("publishedissuers", api=API), obj).object  # noqa: B018 - raises


def policy(environment: OperatorInstallation) -> None:
    """An IdentityPolicy, whose status the operator writes."""
    obj = {
        "apiVersion": API,
        "kind": "IdentityPolicy",
        "metadata": {"name": environment.name},
        "spec": {"match": {"namespaces": ["nowhere"]}, "limits": {"clouds": ["aws"]}},
    }
    environment.admin.create(at("identitypolicies", api=API), obj).object  # noqa: B018 - raises
    path = at("identitypolicies", name=environment.name, api=API)
    environment.admin.wait(path, lambda found: "conditions" in found.get("status", {}))


def accepted(found: Json) -> bool:
    """Whether the operator has written about a KataConfig or an OSCWebhookConfig."""
    reported = found.get("status", {}).get("conditions", [])
    return any(one["type"] == "WebhookAccepted" for one in reported)


@pytest.mark.slow
def test_granted_is_used_and_used_is_granted(private_control_plane: Planes, tmp_path: Path) -> None:
    plane = private_control_plane()
    cert_manager(plane)
    with operator_installed(plane, tmp_path, install={"evictions": True}) as environment:
        admin = environment.admin
        missed(environment)
        issuer(environment, tmp_path)
        switched = {"sandbox": {"enabled": True}}
        repair = {"mode": "DryRun", "perMinute": 600}
        environment.ask(settings=switched, finalCheck="Warn", audit={"interval": "2s", "repair": repair})
        environment.start()
        environment.serve()
        environment.wait("Available", "True")
        policy(environment)
        namespace = sandboxes(environment)
        admin.wait(environment.where("MutatingWebhookConfiguration", f"00-{environment.name}-sandbox"))
        role = at("roles", namespace, f"{environment.name}-initdata", api="rbac.authorization.k8s.io/v1")
        admin.wait(role)
        admin.wait(at("kataconfigs", name="k", api=KATA), accepted)
        admin.wait(at("oscwebhookconfigs", name="r", api=RULES), accepted)
        environment.wait("RepairWorks", "True", "DryRun")
        # another certificate, whose keeper this test plays; our own Secret goes
        environment.ask(certificate={"mode": "cert-manager"}, guard="Off")
        secret = environment.where("Secret", f"{environment.name}-tls")
        admin.wait_gone(secret)
        admin.wait_gone(role)
        authority = Authority("cert-manager")
        leaf = authority.leaf()
        content = {"tls.crt": leaf.cert, "tls.key": leaf.key, "ca.crt": authority.pem}
        data = {key: base64.b64encode(value).decode() for key, value in content.items()}
        obj = {"metadata": {"name": f"{environment.name}-tls"}, "data": data}
        admin.create(at("secrets", environment.name), obj).object  # noqa: B018 - raises
        certificate = at(
            "certificates", environment.name, f"{environment.name}-tls", api="cert-manager.io/v1"
        )
        admin.wait(certificate)
        configuration = environment.where("MutatingWebhookConfiguration")
        admin.wait(
            configuration,
            lambda found: (
                found["webhooks"][0]["clientConfig"]["caBundle"] == data["ca.crt"]
                and "cert-manager.io/inject-ca-from" in found["metadata"]["annotations"]
            ),
        )
        admin.delete(environment.path)
        admin.wait_gone(environment.path)

        assert environment.owned() == {}
        assert admin.get(certificate).status == 404
        expected = granted(environment)
        process.wait("all verbs", lambda: not expected - used(environment)[0], 15)
        done, refused = used(environment)
        assert refused == set()
        assert done <= expected | held(environment)
