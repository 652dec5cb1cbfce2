"""Granted is used, and used is granted: the operator's rendered roles against the API server's audit log.

Every way of an installation is gone once: own certificate, sandboxes, cert-manager, drift, pruning, removal.
"""

from __future__ import annotations

import base64
from pathlib import Path
from typing import Any

import pytest

from tests.apiserver.granted import Used, used
from tests.apiserver.operated import API, Operated, operated
from tests.apiserver.witness import AWS
from tests.rig import process
from tests.rig.client import at
from tests.rig.controlplane import ControlPlane
from tests.rig.fixtures import Planes
from tests.serving.authority import Authority
from vestibule.manifests import operator

Json = dict[str, Any]
KATA = "kataconfiguration.openshift.io/v1"
RULES = "kataconfiguration.openshift.io/v1alpha1"


def granted(stand: Operated) -> Used:
    """What the operator may do, without what it only holds to grant it."""
    rules = [
        *operator.cluster_rules(stand.settings),
        *operator.near_rules(stand.settings),
        *operator.event_rules(),
    ]
    held = operator.held(stand.settings)
    return {
        (resource, verb)
        for rule in rules
        if rule not in held
        for resource in rule.get("resources", ())
        for verb in rule["verbs"]
    }


def held(stand: Operated) -> Used:
    """What it holds to grant it, and what its auditor reads with."""
    rules = operator.held(stand.settings)
    return {(resource, verb) for rule in rules for resource in rule["resources"] for verb in rule["verbs"]}


def cert_manager(plane: ControlPlane) -> None:
    """The kinds of cert-manager, as far as we write them."""
    for kind, plural in (("Issuer", "issuers"), ("Certificate", "certificates")):
        schema = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
        version = {"name": "v1", "served": True, "storage": True, "schema": {"openAPIV3Schema": schema}}
        names = {"kind": kind, "plural": plural, "singular": kind.lower(), "listKind": f"{kind}List"}
        where = at("customresourcedefinitions", api="apiextensions.k8s.io/v1")
        thing = {
            "metadata": {"name": f"{plural}.cert-manager.io"},
            "spec": {
                "group": "cert-manager.io",
                "scope": "Namespaced",
                "names": names,
                "versions": [version],
            },
        }
        plane.admin.create(where, thing).object  # noqa: B018 - raises
        plane.admin.wait(at(plural, api="cert-manager.io/v1"), lambda found: "items" in found)


def sandboxes(stand: Operated) -> str:
    """A KataConfig with initdata from another namespace, and a rule; the namespace."""
    admin = stand.admin
    namespace = stand.plane.namespace("initdata")
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


def missed(stand: Operated) -> None:
    """A workload whose pod is there before the webhook is."""
    namespace = stand.plane.namespace("early")
    labels = {"app": "early"}
    template = {
        "metadata": {"labels": labels, "annotations": AWS},
        "spec": {"containers": [{"name": "a", "image": "a"}]},
    }
    thing = {
        "metadata": {"name": "early"},
        "spec": {"replicas": 1, "selector": {"matchLabels": labels}, "template": template},
    }
    stand.admin.create(at("deployments", namespace, api="apps/v1"), thing).object  # noqa: B018 - raises
    process.wait("its pod", lambda: bool(stand.admin.list(at("pods", namespace))), 30)


def issuer(stand: Operated, folder: Path) -> None:
    """An issuer that is published in a directory."""
    thing = {
        "apiVersion": API,
        "kind": "PublishedIssuer",
        "metadata": {"name": stand.name},
        "spec": {"to": f"dir:{folder / 'issuer'}"},
    }
    stand.admin.create(at("publishedissuers", api=API), thing).object  # noqa: B018 - raises


def policy(stand: Operated) -> None:
    """An IdentityPolicy, whose status the operator writes."""
    thing = {
        "apiVersion": API,
        "kind": "IdentityPolicy",
        "metadata": {"name": stand.name},
        "spec": {"match": {"namespaces": ["nowhere"]}, "limits": {"clouds": ["aws"]}},
    }
    stand.admin.create(at("identitypolicies", api=API), thing).object  # noqa: B018 - raises
    path = at("identitypolicies", name=stand.name, api=API)
    stand.admin.wait(path, lambda found: "conditions" in found.get("status", {}))


def accepted(found: Json) -> bool:
    """Whether the operator has written about a KataConfig or an OSCWebhookConfig."""
    told = found.get("status", {}).get("conditions", [])
    return any(one["type"] == "WebhookAccepted" for one in told)


@pytest.mark.slow
def test_granted_is_used_and_used_is_granted(private_control_plane: Planes, tmp_path: Path) -> None:
    plane = private_control_plane()
    cert_manager(plane)
    with operated(plane, tmp_path, install={"evictions": True}) as stand:
        admin = stand.admin
        missed(stand)
        issuer(stand, tmp_path)
        switched = {"sandbox": {"enabled": True}}
        repair = {"mode": "DryRun", "perMinute": 600}
        stand.ask(settings=switched, finalCheck="Warn", audit={"interval": "2s", "repair": repair})
        stand.start()
        stand.serve()
        stand.wait("Available", "True")
        policy(stand)
        namespace = sandboxes(stand)
        admin.wait(stand.where("MutatingWebhookConfiguration", f"00-{stand.name}-sandbox"))
        role = at("roles", namespace, f"{stand.name}-initdata", api="rbac.authorization.k8s.io/v1")
        admin.wait(role)
        admin.wait(at("kataconfigs", name="k", api=KATA), accepted)
        admin.wait(at("oscwebhookconfigs", name="r", api=RULES), accepted)
        stand.wait("RepairWorks", "True", "DryRun")
        # another certificate, whose keeper this test plays; our own Secret goes
        stand.ask(certificate={"mode": "cert-manager"}, guard="Off")
        secret = stand.where("Secret", f"{stand.name}-tls")
        admin.wait_gone(secret)
        admin.wait_gone(role)
        authority = Authority("cert-manager")
        leaf = authority.leaf()
        content = {"tls.crt": leaf.cert, "tls.key": leaf.key, "ca.crt": authority.pem}
        data = {key: base64.b64encode(value).decode() for key, value in content.items()}
        thing = {"metadata": {"name": f"{stand.name}-tls"}, "data": data}
        admin.create(at("secrets", stand.name), thing).object  # noqa: B018 - raises
        certificate = at("certificates", stand.name, f"{stand.name}-tls", api="cert-manager.io/v1")
        admin.wait(certificate)
        registration = stand.where("MutatingWebhookConfiguration")
        admin.wait(
            registration,
            lambda found: (
                found["webhooks"][0]["clientConfig"]["caBundle"] == data["ca.crt"]
                and "cert-manager.io/inject-ca-from" in found["metadata"]["annotations"]
            ),
        )
        admin.delete(stand.path)
        admin.wait_gone(stand.path)

        assert stand.owned() == {}
        assert admin.get(certificate).status == 404
        wanted = granted(stand)
        process.wait("all verbs", lambda: not wanted - used(stand)[0], 15)
        done, refused = used(stand)
        assert refused == set()
        assert done <= wanted | held(stand)
