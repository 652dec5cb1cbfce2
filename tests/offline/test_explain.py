"""Explanations: every value with its origin, everything added, everything missing."""

from __future__ import annotations

import json
from typing import Any

from tests.offline.scene import AWS, injected

from vestibule.adapters.cluster.memory import MemoryCluster
from vestibule.apps.offline import explain
from vestibule.apps.offline.explain import Added, Explanation
from vestibule.core.kinds import config


def pod(annotations: dict[str, str], **spec: Any) -> str:
    meta = {"name": "p", "namespace": "team-a", "annotations": annotations}
    spec = {"containers": [{"name": "main", "image": "i"}], **spec}
    return json.dumps({"apiVersion": "v1", "kind": "Pod", "metadata": meta, "spec": spec})


def explained(text: str, *objects: dict[str, Any], settings: config.Settings | None = None) -> Explanation:
    (one,) = explain.explain(injected(text, MemoryCluster(objects), settings))
    return one


def test_a_value_says_where_it_comes_from_and_what_it_shadows() -> None:
    namespace = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "team-a", "annotations": AWS}}
    role = "arn:aws:iam::123456789012:role/mine"

    one = explained(pod({"cwii.dev/aws-role-arn": role}), namespace)
    values = {found.key: found for found in one.values}

    mine = values["cwii.dev/aws-role-arn"]
    assert (role, "pod", "Pod team-a/p") == (mine.value, mine.level, mine.object)
    assert (("Namespace team-a", AWS["cwii.dev/aws-role-arn"]),) == mine.shadowed
    assert values["cwii.dev/aws-inject"].level == "namespace"


def test_everything_in_the_patch_is_listed() -> None:
    inits = [{"name": "setup", "image": "i", "env": [{"name": "X", "value": "1"}]}]

    one = explained(pod(AWS, initContainers=inits))

    path = "/var/run/secrets/cwii.dev/aws"
    assert [
        Added("annotation", "cwii.dev/injected", ""),
        Added("container main env", "AWS_ROLE_ARN", "aws"),
        Added("container main env", "AWS_WEB_IDENTITY_TOKEN_FILE", "aws"),
        Added("container main mount", path, "aws"),
        Added("init container setup env", "AWS_ROLE_ARN", "aws"),
        Added("init container setup env", "AWS_WEB_IDENTITY_TOKEN_FILE", "aws"),
        Added("init container setup mount", path, "aws"),
        Added("volume", "cwii-aws-token", "aws"),
    ] == sorted(one.added)


def test_containers_are_named_right_although_others_were_put_in_front() -> None:
    inits = [{"name": "setup", "image": "i"}]
    asked = {**AWS, "cwii.dev/aws-verify": "true"}

    modes: tuple[config.Mode, ...] = ("better", "strict")
    for mode in modes:
        one = explained(pod(asked, initContainers=inits), settings=config.Settings(mode=mode))
        homes = {thing.where.removesuffix(" env") for thing in one.added if thing.where.endswith(" env")}

        assert Added("init container", "cwii-aws-verify", "aws") in one.added
        assert homes <= {"container main", "init container setup"}


def test_what_is_missing_comes_with_advice() -> None:
    one = explained(pod({"cwii.dev/aws-inject": "true"}))

    assert (one.outcome, one.reason) == ("skip", explain.REASONS["unconfigured"])
    assert [(gap.provider, gap.keys) for gap in one.missing] == [("aws", ("cwii.dev/aws-role-arn",))]
    assert "set cwii.dev/aws-role-arn on" in one.missing[0].advice
    assert one.findings != ()


def test_a_refusal_carries_what_the_author_reads() -> None:
    one = explained(pod({"cwii.dev/aws-inject": "true"}), settings=config.Settings(required=True))

    assert one.outcome == "deny"
    assert "cwii.dev/aws-role-arn is set nowhere" in one.message


def test_a_pod_that_asks_for_nothing_is_told_why_nothing_happens() -> None:
    one = explained(pod({}))

    assert (one.outcome, one.reason, one.added) == ("skip", explain.REASONS["nothing-asked"], ())


def test_the_json_form_is_plain_data() -> None:
    data = explain.as_json([explained(pod(AWS))])

    assert json.loads(json.dumps(data))[0]["values"][0]["from"] == "Pod team-a/p"
