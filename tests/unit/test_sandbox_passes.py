"""One pod, several passes: the policy may change between two of them, other webhooks may add containers, and
the objects behind a policy may change while they are read."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable
from typing import Any

import pytest

from tests.unit.test_sandbox import INITDATA, PREFIX, kata, namespace, pod, said
from tests.vectors import case
from vestibule import errors
from vestibule.api import gvk
from vestibule.api.gvk import Kind
from vestibule.kube.memory_cluster import MemoryCluster
from vestibule.kube.policy_sources import PolicySources
from vestibule.kube.sandbox_sources import SandboxSources
from vestibule.settingsfile import WatchedSettings
from vestibule.webhook import policy_reload
from vestibule.webhook.handler import Handler

Json = dict[str, Any]
MARK, ASKED = "vestibule.dev/sandbox", "vestibule.dev/asked"


def webhook(own: str, **annotations: Any) -> Json:
    """A policy that has a key of its own and one that all have."""
    custom = {"example.com/both": own, f"example.com/only-{own}": "1"}
    return {"annotations": {"custom": custom, **annotations}}


def whole(own: str) -> Json:
    return {"example.com/both": own, f"example.com/only-{own}": "1"}


class Process:
    """A webhook process over a cluster whose KataConfig can be changed, with a clock that can be turned."""

    def __init__(self, kata_config: Json) -> None:
        self.now = 0.0
        self._cluster = MemoryCluster([namespace()])
        watched = WatchedSettings(None, {"sandbox": {"enabled": True}})
        self._policies = policy_reload.CurrentPolicy(watched, PolicySources(self._cluster), lambda: self.now)
        self._recorder = case.Recorder()
        self._handler = Handler(
            self._policies.current, self._cluster, self._cluster, self._cluster, self._recorder
        )
        self.change(kata_config)

    def change(self, kata_config: Json) -> None:
        """The KataConfig is another, and it is seen."""
        self._cluster.put(kata_config)
        asyncio.run(self._policies.refresh())

    def wait(self, seconds: float) -> None:
        self.now += seconds
        self._policies.check()

    def ask(self, one: Json) -> case.Answer:
        return case.through(self._handler, self._recorder, one)


# ── a policy that changes ──────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize("overwrite", ["IfNotPresent", "Always"])
def test_a_pod_is_finished_with_the_policy_it_was_begun_with(overwrite: str) -> None:
    process = Process(kata(webhook("old", overwritePolicy=overwrite)))
    begun = process.ask(pod("kata"))

    process.change(kata(webhook("new", overwritePolicy=overwrite)))

    assert said(begun) == whole("old")
    assert process.ask(begun.pod).operations == []
    assert said(process.ask(pod("kata"))) == whole("new")


def test_after_a_moment_an_old_mark_brings_back_no_old_policy() -> None:
    process = Process(kata(webhook("old", overwritePolicy="Always")))
    begun = process.ask(pod("kata"))
    process.change(kata(webhook("new", overwritePolicy="Always")))

    process.wait(policy_reload.MOMENT + 1)

    assert said(process.ask(begun.pod)) == {**whole("new"), "example.com/only-old": "1"}


def test_a_replica_that_does_not_know_the_policy_yet_adds_nothing_of_its_own() -> None:
    first, second = Process(kata(webhook("new"))), Process(kata(webhook("old")))
    begun = first.ask(pod("kata"))

    assert second.ask(begun.pod).operations == []


def test_replicas_with_the_same_objects_mark_pods_alike() -> None:
    marks = {Process(kata(webhook("a"))).ask(pod("kata")).pod["metadata"]["annotations"][MARK] for _ in "ab"}

    assert len(marks) == 1
    other = Process(kata(webhook("b"))).ask(pod("kata")).pod["metadata"]["annotations"][MARK]
    assert other not in marks


FORGED: dict[str, tuple[Json, Json, Json]] = {
    "no class": (
        {**webhook("a"), "runtimeClassInjection": {"enabled": True}},
        pod("", {MARK: "forged"}),
        whole("a"),
    ),
    "what always overwrites": (
        webhook("a", overwritePolicy="Always"),
        pod("kata", {MARK: "forged", "example.com/both": "mine"}),
        whole("a"),
    ),
    "a confidential guest": (
        {"annotations": {"initdata": INITDATA}, "enforce": {"namespaces": ["team-*"]}},
        pod("kata-cc", {MARK: "forged"}),
        {f"{PREFIX}cc_init_data": INITDATA},
    ),
}


@pytest.mark.parametrize("sentence", FORGED)
def test_a_forged_mark_declines_nothing_that_a_tenant_could_not_decline_anyway(sentence: str) -> None:
    config_, forged, expected = FORGED[sentence]
    process = Process(kata(config_))

    answer = process.ask(forged)

    assert said(answer) == expected
    assert process.ask(answer.pod).operations == []


def test_upstream_marks_no_pod_and_heeds_no_mark() -> None:
    cluster = MemoryCluster([namespace(), kata(webhook("a"))])
    supplements = PolicySources(cluster)
    watched = WatchedSettings(None, {"mode": "strict", "sandbox": {"enabled": True}})
    created = policy_reload.CurrentPolicy(watched, supplements)
    asyncio.run(created.refresh())
    recorder = case.Recorder()

    handler = Handler(created.current, cluster, cluster, cluster, recorder)

    plain = case.through(handler, recorder, pod("kata-remote"))
    marked = case.through(handler, recorder, pod("kata-remote", {MARK: "other"}))

    assert not {MARK, ASKED} & set(plain.pod["metadata"]["annotations"])
    assert said(plain) == said(marked) == whole("a")


# ── containers that others add ─────────────────────────────────────────────────────────────────────────────


def asks(**resources: str) -> Json:
    return {"requests": resources, "limits": resources}


def peer(process: Process, *passes: list[Json]) -> Json:
    """The annotations of a peer pod after a pass for each list of containers that were added, in order."""
    one = pod("kata-remote", containers=[])
    for containers in passes:
        one["spec"]["containers"] += containers
        one = process.ask(one).pod
    assert process.ask(one).operations == []
    found: Json = one["metadata"]["annotations"]
    return found


APP: Json = {"name": "app", "resources": asks(cpu="1500m", memory="1Gi")}
LATER: Json = {"name": "later", "resources": asks(cpu="1200m", memory="300Mi")}
CASES: dict[str, tuple[Json, list[Json]]] = {
    "both ask": ({}, [APP, LATER]),
    "the first asks for nothing, and the KataConfig has a default": (
        {"annotations": {"defaultVCPUs": 8}},
        [{"name": "app"}, LATER],
    ),
    "the second asks for what nobody has asked for": (
        {},
        [APP, {"name": "later", "resources": asks(**{"nvidia.com/gpu": "1"})}],
    ),
    "nobody asks": ({"annotations": {"defaultVCPUs": 8}}, [{"name": "app"}, {"name": "later"}]),
}


@pytest.mark.parametrize("mode", ["Zero", "Strip"])
@pytest.mark.parametrize("sentence", CASES)
def test_sizes_are_the_same_in_one_pass_and_in_two(sentence: str, mode: str) -> None:
    config_, containers = CASES[sentence]
    process = Process(kata({**config_, "resourceMode": mode}, peer_pods=True))

    at_once = peer(process, containers)

    assert peer(process, containers[:1], containers[1:]) == at_once


def test_sums_are_made_before_anything_is_rounded() -> None:
    found = peer(Process(kata({}, peer_pods=True)), [APP], [LATER])

    assert (found[f"{PREFIX}default_vcpus"], found[f"{PREFIX}default_memory"]) == ("3", "1324")
    assert json.loads(found[ASKED]) == {
        "containers": {
            "app": {"cpu": "1500m", "memory": "1Gi"},
            "later": {"cpu": "1200m", "memory": "300Mi"},
        }
    }


def test_a_size_of_the_pods_own_that_equals_ours_stays_when_something_is_added() -> None:
    process = Process(kata({}, peer_pods=True))
    one = pod("kata-remote", {f"{PREFIX}default_vcpus": "2"}, containers=[APP])
    begun = process.ask(one).pod
    begun["spec"]["containers"].append(LATER)

    found = process.ask(begun).pod["metadata"]["annotations"]

    assert (found[f"{PREFIX}default_vcpus"], found[f"{PREFIX}default_memory"]) == ("2", "1324")


@pytest.mark.parametrize(
    "text", ["", "{", "[]", '{"containers": {"app": 3}}', '{"containers": {"app": {"cpu": "x"}}}']
)
def test_nonsense_among_what_was_asked_is_passed_over(text: str) -> None:
    process = Process(kata({}, peer_pods=True))

    answer = process.ask(pod("kata-remote", {ASKED: text}, containers=[APP]))

    assert said(answer) == {f"{PREFIX}default_vcpus": "2", f"{PREFIX}default_memory": "1024"}


# ── objects that change while they are read ────────────────────────────────────────────────────────────────


class Restless(MemoryCluster):
    """A cluster in which something happens just after a kind was listed."""

    def __init__(self, objects: list[Json], after: Kind, happens: Callable[[MemoryCluster], None]) -> None:
        super().__init__(objects)
        self._after, self._happens = after, happens
        self.lists = 0

    async def listing(self, kind: Kind) -> list[Json]:
        self.lists += 1
        found = await super().listing(kind)
        if kind == self._after:
            self._happens(self)
        return found


def rules(value: str) -> Json:
    mutate = {"annotations": {"example.com/rule": value}}
    return {
        "apiVersion": "kataconfiguration.openshift.io/v1alpha1",
        "kind": "OSCWebhookConfig",
        "metadata": {"name": "r"},
        "spec": {"rules": [{"name": "r", "mutate": mutate}]},
    }


def seen(sandboxes: SandboxSources) -> tuple[str, str]:
    """Which KataConfig and which rules are in force."""
    configs, sets, *_ = sandboxes.state()
    assert isinstance(configs, list)
    assert isinstance(sets, list)
    custom = configs[0]["spec"]["webhook"]["annotations"]["custom"]
    return custom["example.com/both"], sets[0]["spec"]["rules"][0]["mutate"]["annotations"][
        "example.com/rule"
    ]


def test_a_kataconfig_and_rules_that_never_stood_together_are_not_read_together() -> None:
    def change(cluster: MemoryCluster) -> None:
        cluster.put(kata(webhook("new")))
        cluster.put(rules("new"))

    cluster = Restless([kata(webhook("old")), rules("old")], gvk.KATA_CONFIG, change)
    sandboxes = SandboxSources(cluster)

    asyncio.run(sandboxes.look())

    assert seen(sandboxes) == ("new", "new")


def test_what_stands_still_is_read_once() -> None:
    cluster = Restless([kata(webhook("a")), rules("a")], gvk.KATA_CONFIG, lambda _: None)
    sandboxes = SandboxSources(cluster)
    asyncio.run(sandboxes.look())
    before = cluster.lists

    asyncio.run(sandboxes.look())

    assert cluster.lists == before + 3


def test_what_never_stands_still_leaves_the_policy_as_it_was() -> None:
    metrics = iter(range(1_000))
    cluster = Restless([kata(webhook("old")), rules("old")], gvk.RUNTIME_CLASS, lambda _: None)
    sandboxes = SandboxSources(cluster)
    asyncio.run(sandboxes.look())
    restless = Restless(
        [kata(webhook("x")), rules("x")],
        gvk.OSC_WEBHOOK_CONFIG,
        lambda one: one.put(kata(webhook(f"v{next(metrics)}"))),
    )
    sandboxes._cluster = restless

    with pytest.raises(errors.Unavailable, match="changed each of 8 times"):
        asyncio.run(sandboxes.look())

    assert seen(sandboxes) == ("old", "old")
