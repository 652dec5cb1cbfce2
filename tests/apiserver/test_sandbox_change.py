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

from tests.apiserver.hall import Hall, wait_called
from tests.apiserver.sandboxed import (
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


class Stand(NamedTuple):
    """Our webhook, and the proxy through which it reads the cluster."""

    hall: Hall
    proxy: FaultProxy


@pytest.fixture(scope="module")
def stand(control_plane: ControlPlane, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Stand]:
    plane = control_plane
    settings: Json = {"sandbox": {"enabled": True}, "identityPolicies": True}
    with contextlib.ExitStack() as held:
        hall = Hall(plane, tmp_path_factory.mktemp("hall"), "hall-change", **settings)
        held.callback(hall.close)
        hall.apply()
        proxy = held.enter_context(plane.proxy(hall.user, ()))
        hall.kubeconfig = plane.kubeconfig(hall.user, url=proxy.url)
        hall.register(hall.start().port)
        wait_called(hall)
        classes(plane)
        held.callback(remove, plane)
        yield Stand(hall, proxy)


@pytest.mark.parametrize("overwrite", ["IfNotPresent", "Always"])
def test_every_pod_shows_the_old_policy_or_the_new_one(stand: Stand, namespace: str, overwrite: str) -> None:
    hall = stand.hall
    sides = (("kata", 2, "old"), ("kata-remote", 4, "new"))
    wanted = [whole(*side) for side in sides]
    label(hall, namespace, sandboxed="true")
    configure(hall, policy(*sides[0], overwrite), peer_pods=False)
    eventually(hall, namespace, lambda pod: shown(pod) == wanted[0])
    found: Counter[Shown] = Counter()
    numbers, over = itertools.count(), threading.Event()

    def creator() -> None:
        while not over.is_set():
            found[shown(create(hall, namespace, f"p{next(numbers)}"))] += 1

    with ThreadPoolExecutor(THREADS) as pool:
        running = [pool.submit(creator) for _ in range(THREADS)]
        try:
            for change in range(1, CHANGES + 1):
                side = change % 2
                before = found[wanted[side]]
                configure(hall, policy(*sides[side], overwrite), peer_pods=False)
                _until(found, wanted[side], before + 30)
        finally:
            over.set()
    for one in running:
        one.result()

    last = Counter(shown(create(hall, namespace, f"q{number}")) for number in range(20))
    assert set(found) == set(wanted), found
    assert sum(found.values()) > 300
    assert last == {wanted[CHANGES % 2]: 20}


def test_a_kataconfig_and_rules_that_never_stood_together_are_never_in_force(
    stand: Stand, namespace: str
) -> None:
    """Both change after the KataConfig was read and before the rules are: the old one and the new ones were
    never there at the same time."""
    hall, proxy = stand
    label(hall, namespace, sandboxed="true")
    found: set[tuple[str, str]] = set()

    def stands(own: str) -> None:
        annotations = {"custom": {"example.com/config": own}}
        configure(hall, {"runtimeClassInjection": INJECTION, "annotations": annotations}, peer_pods=False)
        rule(hall, "r", {"annotations": {"example.com/rule": own}})

    def both(pod: Json) -> tuple[str, str]:
        said = pod["metadata"].get("annotations", {})
        values = (said.get("example.com/config", ""), said.get("example.com/rule", ""))
        found.add(values)
        return values

    stands("old")
    eventually(hall, namespace, lambda pod: both(pod) == ("old", "old"))
    found.clear()
    late = proxy.inject(Delay(2.0), path="oscwebhookconfigs", times=1)
    process.wait("the rules to be asked for", lambda: late.hits > 0, 15)
    stands("new")

    eventually(hall, namespace, lambda pod: both(pod) == ("new", "new"))

    assert found <= {("old", "old"), ("new", "old"), ("new", "new")}
