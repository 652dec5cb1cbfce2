"""A cluster with many sandbox rules: 200 OSCWebhookConfigs over 2,000 namespaces, and a review for each of
these.

No two reviews are alike: namespace, ServiceAccount, owner, image and sizes are each one's own, so that
nothing remembered for one pod answers for another. Every fourth rule makes peer pods, which are sized, and
the ServiceAccount of every second namespace asks for an identity too, as where both are in use.
"""

from __future__ import annotations

import functools
import random
import uuid
from collections.abc import Iterator

import msgspec

from bench import answers, cluster, fixtures
from bench.pod import Json

SHAPE = "sandbox"
"""What loads call these reviews."""
SPACES, RULES = 2_000, 200
PREFIX = "io.katacontainers.config.hypervisor."
_KATA = "kataconfiguration.openshift.io"
_EACH = SPACES // RULES
"""Namespaces of a rule: ten, so that the last digit is the pattern's ``?``."""


def space(number: int) -> str:
    return f"team-{number:04d}"


def objects() -> Iterator[Json]:
    """Everything the reviews refer to, the policy included."""
    yield from (_runtime_class(name) for name in ("kata", "kata-remote"))
    yield _kata_config()
    yield from map(_rule, range(RULES))
    for number in range(SPACES):
        yield from _around(number)


def review(number: int, seed: int) -> Json:
    """The review of a pod in a namespace of its own."""
    found = fixtures.review("aws", number, seed)
    request, pod = found["request"], found["request"]["object"]
    account, deployment = _names(number)
    request["namespace"] = pod["metadata"]["namespace"] = space(number)
    owner = pod["metadata"]["ownerReferences"][0]
    owner |= {"name": f"{deployment}-7d9c5b6f48", "uid": _uid(number, "ReplicaSet")}
    pod["metadata"]["generateName"] = f"{owner['name']}-"
    spec = pod["spec"]
    spec["serviceAccountName"] = spec["serviceAccount"] = account
    for container in spec["containers"]:
        container["image"] += f"-{number}"
        for part in container["resources"].values():
            part["memory"] = f"{256 + number % 512}Mi"
    return found


@functools.cache
def bodies(seed: int) -> list[bytes]:
    """All of them as compact JSON, in an order that has nothing to do with the rules'."""
    created = [msgspec.json.encode(review(number, seed)) for number in range(SPACES)]
    random.Random(seed).shuffle(created)
    return created


def must_be_sandboxed(body: bytes, answer: bytes) -> None:
    """The pod has the class, the annotations of its rule and of the KataConfig, its size if it is a peer pod,
    and its identity if it asks for one. Raises answers.Wrong."""
    requested = msgspec.json.decode(body)
    number = int(requested["request"]["namespace"].removeprefix("team-"))
    pod = answers.patched(requested, answer)
    rule, peer = number // _EACH, number // _EACH % 4 == 0
    expected = {"example.com/rule": str(rule), "example.com/zone": "b"}
    if peer:
        expected |= {f"{PREFIX}default_vcpus": "2", f"{PREFIX}default_memory": str(2 * (256 + number % 512))}
    else:
        expected[f"{PREFIX}default_vcpus"] = "4"
    got = {key: pod["metadata"]["annotations"].get(key) for key in expected}
    if got != expected or pod["spec"].get("runtimeClassName") != ("kata-remote" if peer else "kata"):
        raise answers.Wrong(f"pod of {space(number)} has {pod['spec'].get('runtimeClassName')} and {got}")
    zero = pod["spec"]["containers"][1]["resources"].get("limits") == {"cpu": "0", "memory": "0"}
    if zero != peer:
        raise answers.Wrong(f"pod of {space(number)}: resources are {'' if zero else 'not '}taken away")
    if number % 2:
        answers.must_have(requested, answer, "AWS_ROLE_ARN", "AWS_WEB_IDENTITY_TOKEN_FILE")


def _names(number: int) -> tuple[str, str]:
    """ServiceAccount and Deployment."""
    return f"app-{number}", f"checkout-{number}"


def _uid(number: int, kind: str) -> str:
    return str(uuid.UUID(int=random.Random(f"{kind}/{number}").getrandbits(128), version=4))


def _around(number: int) -> Iterator[Json]:
    namespace = cluster.namespace(space(number))
    namespace["metadata"]["labels"] |= {"sandboxed": "true", "tier": f"t{number % 7}"}
    yield namespace
    account, deployment = _names(number)
    yield {
        "apiVersion": "v1",
        "kind": "ServiceAccount",
        "metadata": {
            "name": account,
            "namespace": space(number),
            "annotations": cluster.ANNOTATIONS["aws" if number % 2 else "none"],
        },
    }
    meta = {"name": deployment, "namespace": space(number), "uid": _uid(number, "Deployment")}
    yield {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": meta}
    owner = {"apiVersion": "apps/v1", "kind": "Deployment", "name": deployment, "uid": meta["uid"]}
    replicas = {
        "name": f"{deployment}-7d9c5b6f48",
        "namespace": space(number),
        "uid": _uid(number, "ReplicaSet"),
        "ownerReferences": [{**owner, "controller": True}],
    }
    yield {"apiVersion": "apps/v1", "kind": "ReplicaSet", "metadata": replicas}


def _runtime_class(name: str) -> Json:
    scheduling = {"nodeSelector": {"node-role.kubernetes.io/kata-oc": ""}}
    return {
        "apiVersion": "node.k8s.io/v1",
        "kind": "RuntimeClass",
        "metadata": {"name": name},
        "handler": name,
        "scheduling": scheduling,
    }


def _kata_config() -> Json:
    selector = {"matchLabels": {"sandboxed": "true"}}
    webhook = {
        "runtimeClassInjection": {"enabled": True, "namespaceSelector": selector},
        "annotations": {"defaultVCPUs": 4, "custom": {"example.com/zone": "b"}},
    }
    return {
        "apiVersion": f"{_KATA}/v1",
        "kind": "KataConfig",
        "metadata": {"name": "bench", "creationTimestamp": "2026-11-16T05:00:00Z"},
        "spec": {"checkNodeEligibility": False, "enablePeerPods": True, "webhook": webhook},
        "status": {"runtimeClasses": ["kata", "kata-remote"]},
    }


def _rule(number: int) -> Json:
    """For ten namespaces by name; of three in a row one looks at labels of the namespace too, and one at
    those of the pod."""
    match: Json = {"namespaces": [f"team-{number:03d}?"]}
    if number % 3 == 1:
        match["namespaceSelector"] = {"matchLabels": {"sandboxed": "true"}}
    elif number % 3 == 2:
        expression = {"key": "app.kubernetes.io/part-of", "operator": "In", "values": ["shop", "bank"]}
        match["podSelector"] = {"matchExpressions": [expression]}
    mutate: Json = {"annotations": {"example.com/rule": str(number)}}
    if number % 4 == 0:
        mutate["runtimeClassName"] = "kata-remote"
    rules = [{"name": "r", "match": match, "mutate": mutate}]
    return {
        "apiVersion": f"{_KATA}/v1alpha1",
        "kind": "OSCWebhookConfig",
        "metadata": {"name": f"rules-{number:03d}"},
        "spec": {"rules": rules},
    }
