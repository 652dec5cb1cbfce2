"""A KataConfig that changes while pods are created: every pod shows one policy as a whole, never two.

Each creation is two calls, since the class brings overhead and the API server asks again: a policy that
changes in between must not finish what another has begun.
"""

from __future__ import annotations

import contextlib
import itertools
import threading
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any, NamedTuple

import pytest

from tests.apiserver.sandbox_installation import (
    INJECTION,
    PREFIX,
    classes,
    configure,
    create,
    eventually,
    label,
    remove,
    rule,
)
from tests.apiserver.webhook_installation import WebhookInstallation, wait_called
from tests.rig import process
from tests.rig.controlplane import ControlPlane
from tests.rig.faultproxy import FaultProxy
from tests.rig.faults import Delay

pytestmark = pytest.mark.slow

Json = dict[str, Any]
Shown = tuple[tuple[str, str], ...]
THREADS, CHANGES = 6, 4
"""Creators, which end with the last change; how often the policy changes."""


def policy(runtime_class: str, vcpus: int, own: str, overwrite: str = "IfNotPresent") -> Json:
    """Differs from its sister in class, vCPUs, one value of a key that both have, and one key."""
    custom = {"example.com/both": own, f"example.com/only-{own}": "yes"}
    return {
        "runtimeClassInjection": {**INJECTION, "defaultRuntimeClass": runtime_class},
        "annotations": {"defaultVCPUs": vcpus, "custom": custom, "overwritePolicy": overwrite},
    }


def shown(pod: Json) -> Shown:
    """What a pod shows of a policy."""
    annotations = pod["metadata"].get("annotations", {})
    found = {key: value for key, value in annotations.items() if key.startswith(("example.com/", PREFIX))}
    return tuple(sorted({**found, "class": pod["spec"].get("runtimeClassName", "")}.items()))


def whole(runtime_class: str, vcpus: int, own: str) -> Shown:
    """The same of a pod that has all of one policy."""
    return (
        ("class", runtime_class),
        ("example.com/both", own),
        (f"example.com/only-{own}", "yes"),
        (f"{PREFIX}default_vcpus", str(vcpus)),
    )


def _until(found: Counter[Shown], wanted: Shown, count: int) -> None:
    process.wait("pods with the policy", lambda: found[wanted] > count, 30)


class SandboxEnvironment(NamedTuple):
    """Our webhook, and the proxy through which it reads the cluster."""

    installation: WebhookInstallation
    proxy: FaultProxy


@pytest.fixture(scope="module")
def environment(
    control_plane: ControlPlane, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[SandboxEnvironment]:
    plane = control_plane
    settings: Json = {"sandbox": {"enabled": True}, "identityPolicies": True}
    with contextlib.ExitStack() as held:
        installation = WebhookInstallation(
            plane, tmp_path_factory.mktemp("installation"), "webhook-change", **settings
        )
        held.callback(installation.close)
        installation.apply()
        proxy = held.enter_context(plane.proxy(installation.user, ()))
        installation.kubeconfig = plane.kubeconfig(installation.user, url=proxy.url)
        installation.register(installation.start().port)
        wait_called(installation)
        classes(plane)
        held.callback(remove, plane)
        yield SandboxEnvironment(installation, proxy)


@pytest.mark.parametrize("overwrite", ["IfNotPresent", "Always"])
def test_every_pod_shows_the_old_policy_or_the_new_one(
    environment: SandboxEnvironment, namespace: str, overwrite: str
) -> None:
    installation = environment.installation
    sides = (("kata", 2, "old"), ("kata-remote", 4, "new"))
    expected = [whole(*side) for side in sides]
    label(installation, namespace, sandboxed="true")
    configure(installation, policy(*sides[0], overwrite), peer_pods=False)
    eventually(installation, namespace, lambda pod: shown(pod) == expected[0])
    found: Counter[Shown] = Counter()
    metrics, over = itertools.count(), threading.Event()

    def creator() -> None:
        while not over.is_set():
            found[shown(create(installation, namespace, f"p{next(metrics)}"))] += 1

    with ThreadPoolExecutor(THREADS) as pool:
        running = [pool.submit(creator) for _ in range(THREADS)]
        try:
            for change in range(1, CHANGES + 1):
                side = change % 2
                before = found[expected[side]]
                configure(installation, policy(*sides[side], overwrite), peer_pods=False)
                _until(found, expected[side], before + 30)
        finally:
            over.set()
    for one in running:
        one.result()

    last = Counter(shown(create(installation, namespace, f"q{number}")) for number in range(20))
    assert set(found) == set(expected), found
    assert sum(found.values()) > 300
    assert last == {expected[CHANGES % 2]: 20}


def test_a_kataconfig_and_rules_that_never_stood_together_are_never_in_force(
    environment: SandboxEnvironment, namespace: str
) -> None:
    """Both change after the KataConfig was read and before the rules are: the old one and the new ones were
    never there at the same time."""
    installation, proxy = environment
    label(installation, namespace, sandboxed="true")
    found: set[tuple[str, str]] = set()

    def stands(own: str) -> None:
        annotations = {"custom": {"example.com/config": own}}
        configure(
            installation, {"runtimeClassInjection": INJECTION, "annotations": annotations}, peer_pods=False
        )
        rule(installation, "r", {"annotations": {"example.com/rule": own}})

    def both(pod: Json) -> tuple[str, str]:
        message = pod["metadata"].get("annotations", {})
        values = (message.get("example.com/config", ""), message.get("example.com/rule", ""))
        found.add(values)
        return values

    stands("old")
    eventually(installation, namespace, lambda pod: both(pod) == ("old", "old"))
    found.clear()
    late = proxy.inject(Delay(2.0), path="oscwebhookconfigs", times=1)
    process.wait("the rules to be asked for", lambda: late.hits > 0, 15)
    stands("new")

    eventually(installation, namespace, lambda pod: both(pod) == ("new", "new"))

    assert found <= {("old", "old"), ("new", "old"), ("new", "new")}
