"""What stands beside the settings: read, kept when it cannot be, told."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import Any

from tests.vectors import case
from vestibule.api.settings import schema
from vestibule.injection.policy import compile_policy
from vestibule.kube.policy_sources import PolicySources

ROLE = {"RoleARN": "arn:aws:iam::111122223333:role/from-configmap"}


def mapping(text: str) -> dict[str, Any]:
    return {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": {"name": "pod-identity-webhook", "namespace": "eks"},
        "data": {"config": text},
    }


def eks(**section: Any) -> schema.Settings:
    return schema.parse({"vocabularies": ["eks"], "eks": section}, "test")


def look(supplements: PolicySources, settings: schema.Settings) -> bool:
    return asyncio.run(supplements.look(settings))


def test_a_broken_entry_of_the_mapping_is_left_out_and_reported() -> None:
    entries = {"default/app": ROLE, "no-slash": ROLE, "default/null": None, "default/odd": {"RoleARN": 5}}
    cluster = case.cluster_of([mapping(json.dumps(entries))])
    supplements, settings = PolicySources(cluster), eks(mappingConfigMap="eks/pod-identity-webhook")

    assert supplements.missing(settings) == "mappingConfigMap not read yet"
    assert look(supplements, settings)
    assert list(supplements.applied(settings).eks.mapping) == ["default/app"]
    assert sorted(supplements.problems) == [
        f"ConfigMap eks/pod-identity-webhook: data.config: {key}"
        for key in ("default/null", "default/odd", "no-slash")
    ]
    assert supplements.missing(settings) == ""
    assert not look(supplements, settings)


def test_a_mapping_that_is_no_json_changes_nothing_and_one_that_is_gone_clears() -> None:
    cluster = case.cluster_of([mapping(json.dumps({"default/app": ROLE}))])
    supplements, settings = PolicySources(cluster), eks(mappingConfigMap="eks/pod-identity-webhook")
    look(supplements, settings)

    cluster.put(mapping("{"))
    assert not look(supplements, settings)
    assert "the last good one stays in use" in supplements.problems["ConfigMap eks/pod-identity-webhook"]
    cluster.replace_all([])
    assert look(supplements, settings)
    assert supplements.applied(settings).eks.mapping == {}


def test_a_lookup_that_fails_keeps_what_was_read_and_says_why_we_are_not_ready() -> None:
    cluster = case.cluster_of([mapping("{}")], {"GET configmaps/pod-identity-webhook": 503})
    supplements, settings = PolicySources(cluster), eks(mappingConfigMap="eks/pod-identity-webhook")

    assert not look(supplements, settings)
    assert supplements.missing(settings).startswith(
        "mappingConfigMap not read yet (mappingConfigMap: reading"
    )


def test_associations_follow_their_file_and_a_swapped_directory(tmp_path: Path) -> None:
    def write(number: int, text: str) -> None:
        version = tmp_path / f"..{number}"
        version.mkdir()
        (version / "identities.json").write_text(text)
        (tmp_path / "..tmp").symlink_to(version)
        (tmp_path / "..tmp").rename(tmp_path / "..data")

    file = tmp_path / "identities.json"
    file.symlink_to(tmp_path / "..data" / "identities.json")
    settings = eks(containerCredentials={"file": str(file)})
    supplements = PolicySources(case.cluster_of([]))

    look(supplements, settings)
    assert supplements.applied(settings).eks.container_credentials.identities == ()
    write(1, json.dumps({"identities": [{"namespace": "a", "serviceAccount": "b"}]}))
    assert look(supplements, settings)
    write(2, "{")
    assert not look(supplements, settings)
    assert str(file) in supplements.problems
    applied = supplements.applied(settings)
    assert [(one.namespace, one.service_account) for one in applied.eks.container_credentials.identities] == [
        ("a", "b")
    ]
    write(3, "")
    assert look(supplements, settings)
    assert supplements.applied(settings).eks.container_credentials.identities == ()


def test_identity_policies_of_the_cluster_are_used_and_broken_ones_counted() -> None:
    objects = [
        {
            "apiVersion": "vestibule.dev/v1alpha1",
            "kind": "IdentityPolicy",
            "metadata": {"name": name},
            "spec": {"identities": {"aws": {"roleArn": f"arn:aws:iam::123456789012:role/{role}"}}},
        }
        for name, role in (("good", "{namespace}"), ("bad", "{typo}"))
    ]
    settings = schema.parse({"identityPolicies": True}, "test")
    supplements = PolicySources(case.cluster_of([*objects]))

    look(supplements, settings)
    policy = compile_policy(supplements.applied(settings), supplements.objects)

    assert [problem.place for problem in policy.broken] == ["IdentityPolicy bad"]
    sources, _ = policy.central.levels("team-a", "app")[1], None
    assert [source.annotations.get("cwii.dev/aws-role-arn") for source in sources] == [
        "arn:aws:iam::123456789012:role/team-a"
    ]
