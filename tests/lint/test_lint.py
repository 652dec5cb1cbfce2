"""``vestibule lint`` over manifests as people get them wrong."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from vestibule.cli.main import cli

PROVIDER = "//iam.googleapis.com/projects/1/locations/global/workloadIdentityPools/p/providers/c"
GOOD = """\
apiVersion: v1
kind: ServiceAccount
metadata:
  name: app
  namespace: team-a
  annotations:
    eks.amazonaws.com/role-arn: arn:aws:iam::123456789012:role/app
---
apiVersion: apps/v1
kind: Deployment
metadata: {name: web, namespace: team-a}
spec:
  template:
    spec:
      serviceAccountName: app
      containers: [{name: app}]
"""


def lint(tmp_path: Path, text: str, *options: str) -> tuple[int, list[dict[str, Any]]]:
    file = tmp_path / "m.yaml"
    file.write_text(text)
    result = CliRunner().invoke(
        cli, ["lint", "-f", str(file), "-o", "json", *options], catch_exceptions=False
    )
    return result.exit_code, json.loads(result.stdout)


def told(findings: list[dict[str, Any]]) -> list[tuple[str, int]]:
    return [(one["rule"], one["line"]) for one in findings]


def test_what_is_right_is_left_in_peace(tmp_path: Path) -> None:
    assert lint(tmp_path, GOOD) == (0, [])


def test_a_label_on_the_workload_instead_of_the_pod(tmp_path: Path) -> None:
    code, findings = lint(
        tmp_path,
        """\
apiVersion: apps/v1
kind: Deployment
metadata:
  name: web
  labels:
    azure.workload.identity/use: "true"
spec:
  template:
    metadata:
      labels: {app: web}
    spec:
      containers: [{name: app}]
""",
    )

    assert (code, told(findings)) == (3, [("V102", 6)])
    assert findings[0]["advice"] == "move it to metadata.labels in spec.template"


def test_a_label_on_both_is_no_mistake(tmp_path: Path) -> None:
    code, findings = lint(
        tmp_path,
        """\
apiVersion: v1
kind: ServiceAccount
metadata:
  name: app
  annotations:
    azure.workload.identity/client-id: 00000000-0000-0000-0000-000000000001
    azure.workload.identity/tenant-id: 00000000-0000-0000-0000-000000000002
---
apiVersion: batch/v1
kind: CronJob
metadata: {name: c, labels: {azure.workload.identity/use: "true"}}
spec:
  jobTemplate:
    spec:
      template:
        metadata: {labels: {azure.workload.identity/use: "true"}}
        spec:
          serviceAccountName: app
          containers: [{name: app}]
""",
    )

    assert (code, findings) == (0, [])


def test_keys_on_objects_that_nobody_reads_and_as_labels(tmp_path: Path) -> None:
    code, findings = lint(
        tmp_path,
        """\
apiVersion: v1
kind: Service
metadata:
  name: web
  annotations:
    azure.workload.identity/client-id: x
    cloud.google.com/neg: '{"ingress": true}'
---
apiVersion: v1
kind: ServiceAccount
metadata:
  name: app
  labels:
    cwii.dev/aws-inject: "true"
""",
    )

    assert (code, told(findings)) == (3, [("V101", 6), ("V103", 14)])


@pytest.mark.parametrize(
    ("key", "meant"),
    [
        ("azure.workload.identity/client_id", "azure.workload.identity/client-id"),
        ("eks.amazonaws.co/role-arn", "eks.amazonaws.com/role-arn"),
        ("iam.gke.io/gcp-serviceaccount", "iam.gke.io/gcp-service-account"),
    ],
)
def test_near_misses_name_what_was_meant(tmp_path: Path, key: str, meant: str) -> None:
    _, findings = lint(
        tmp_path,
        f"""\
apiVersion: v1
kind: ServiceAccount
metadata:
  name: app
  annotations:
    {key}: x
---
apiVersion: v1
kind: Pod
metadata: {{name: p, labels: {{azure.workload.identity/use: "true"}}}}
spec: {{serviceAccountName: app, containers: [{{name: app}}]}}
""",
    )

    assert any(meant in one["text"] + one["advice"] and one["line"] == 6 for one in findings), findings


def test_values_that_do_not_fit_are_reported_where_they_stand(tmp_path: Path) -> None:
    text = GOOD.replace("arn:aws:iam::123456789012:role/app", "role/app")

    code, findings = lint(tmp_path, text)

    assert (code, told(findings)) == (0, [("V002", 7)])
    assert "want arn:<partition>:iam::<account>:role/<name>" in findings[0]["text"]
    assert lint(tmp_path, text, "--strict-warnings")[0] == 3


def test_an_identity_that_cannot_be_served_and_a_subject_too_long(tmp_path: Path) -> None:
    name = "n" * 60
    _, findings = lint(
        tmp_path,
        f"""\
apiVersion: v1
kind: Pod
metadata:
  name: p
  namespace: {name}
  annotations:
    cwii.dev/aws-inject: "true"
    cwii.dev/gcp-inject: "true"
    cwii.dev/gcp-audience: {PROVIDER}
spec: {{serviceAccountName: {name}, containers: [{{name: app}}]}}
""",
    )

    assert {"V002", "V003"} <= {one["rule"] for one in findings}
    assert any("has 143 bytes, and Google Cloud takes 127" in one["text"] for one in findings)


def test_a_broken_policy_is_reported_with_its_line(tmp_path: Path) -> None:
    code, findings = lint(
        tmp_path,
        """\
apiVersion: vestibule.dev/v1alpha1
kind: IdentityPolicy
metadata: {name: teams}
spec:
  match:
    namespaces: ["Team A"]
  limits: {clouds: []}
""",
    )

    assert (code, told(findings)) == (3, [("V105", 6)])


def test_mistakes_of_sandbox_objects_are_reported_with_their_line(tmp_path: Path) -> None:
    code, findings = lint(
        tmp_path,
        """\
apiVersion: kataconfiguration.openshift.io/v1
kind: KataConfig
metadata: {name: k}
spec:
  webhook:
    annotations:
      defaultVCPUs: 0
      custom:
        io.katacontainers.config.hypervisor.virtio_fs_cache: sometimes
""",
    )

    assert (code, told(findings)) == (3, [("V106", 7), ("V106", 9)])


def test_an_account_that_is_in_no_file_is_noted(tmp_path: Path) -> None:
    _, findings = lint(tmp_path, GOOD.partition("---\n")[2])

    assert [(one["rule"], one["severity"]) for one in findings] == [("V004", "note")]


def test_sarif_has_rules_levels_and_lines(tmp_path: Path) -> None:
    file = tmp_path / "m.yaml"
    file.write_text(GOOD.replace("arn:aws:iam::123456789012:role/app", "role/app"))

    result = CliRunner().invoke(cli, ["lint", "-f", str(file), "-o", "sarif"], catch_exceptions=False)

    report = json.loads(result.stdout)
    run = report["runs"][0]
    finding = run["results"][0]
    assert report["version"] == "2.1.0"
    assert run["tool"]["driver"]["rules"][finding["ruleIndex"]]["id"] == finding["ruleId"] == "V002"
    assert finding["level"] == "warning"
    assert finding["locations"][0]["physicalLocation"]["region"] == {"startLine": 7}


def test_people_get_a_line_each_and_a_count(tmp_path: Path) -> None:
    file = tmp_path / "m.yaml"
    file.write_text(GOOD.replace("arn:aws:iam::123456789012:role/app", "role/app"))

    result = CliRunner().invoke(cli, ["lint", "-f", str(file)], catch_exceptions=False)

    assert result.stdout.startswith(f"{file}:7: warning: Deployment team-a/web: ServiceAccount team-a/app: ")
    assert result.stderr == "1 warning\n"
