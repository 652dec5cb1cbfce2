"""The command line as a person meets it: words, exit codes, standard output apart from standard error."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest
import yaml

CLUSTER = """\
apiVersion: v1
kind: Namespace
metadata:
  name: team-a
  annotations:
    cwii.dev/aws-inject: "true"
    cwii.dev/aws-role-arn: arn:aws:iam::123456789012:role/default
---
apiVersion: v1
kind: ServiceAccount
metadata:
  name: app
  namespace: team-a
  annotations:
    cwii.dev/aws-role-arn: arn:aws:iam::123456789012:role/app
"""
DEPLOYMENT = """\
# the shop
apiVersion: apps/v1
kind: Deployment
metadata:
  name: web # front
  namespace: team-a
spec:
  selector: {matchLabels: {app: web}}
  template:
    metadata:
      labels: {app: web}
    spec:
      serviceAccountName: app
      containers:
        - name: web
          image: web:1 # pinned
"""


@pytest.fixture
def files(tmp_path: Path) -> Path:
    (tmp_path / "cluster").mkdir()
    (tmp_path / "cluster" / "all.yaml").write_text(CLUSTER)
    (tmp_path / "deploy.yaml").write_text(DEPLOYMENT)
    return tmp_path


def run(*arguments: str, cwd: Path | None = None, stdin: str = "") -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "vestibule", *arguments]
    return subprocess.run(
        command, cwd=cwd, input=stdin, capture_output=True, text=True, timeout=60, check=False
    )


@pytest.mark.parametrize("command", [[], ["webhook"], ["inject"], ["explain"], ["render"]], ids=" ".join)
def test_help_teaches(command: list[str]) -> None:
    result = run(*command, "--help")

    assert result.returncode == 0
    assert "Usage: vestibule" in result.stdout or "Usage: python -m vestibule" in result.stdout


def test_inject_prints_the_file_with_comments_and_the_identity(files: Path) -> None:
    result = run("inject", "-f", "deploy.yaml", "--cluster", "cluster", cwd=files)

    assert result.returncode == 0
    assert result.stderr == ""
    assert "# the shop" in result.stdout
    assert "image: web:1 # pinned" in result.stdout
    spec = yaml.safe_load(result.stdout)["spec"]["template"]["spec"]
    assert {"name": "AWS_ROLE_ARN", "value": "arn:aws:iam::123456789012:role/app"} in spec["containers"][0][
        "env"
    ]


def test_inject_twice_is_inject_once(files: Path) -> None:
    once = run("inject", "-f", "deploy.yaml", "--cluster", "cluster", cwd=files).stdout
    twice = run("inject", "-f", "-", "--cluster", "cluster", cwd=files, stdin=once).stdout

    assert twice == once


def test_inject_shows_a_diff_without_colour_in_a_pipe(files: Path) -> None:
    result = run("inject", "-f", "deploy.yaml", "--cluster", "cluster", "-o", "diff", cwd=files)

    assert "+            - name: AWS_ROLE_ARN" in result.stdout
    assert "\x1b[" not in result.stdout


def test_inject_gives_patches_in_the_documents_own_pointers(files: Path) -> None:
    result = run("inject", "-f", "deploy.yaml", "--cluster", "cluster", "-o", "patch", cwd=files)

    patches = json.loads(result.stdout)
    assert patches[0]["object"] == "Deployment team-a/web"
    assert all(
        operation["path"].startswith(("/spec/template/spec/", "/spec/template/metadata/"))
        for operation in patches[0]["patch"]
    )


def test_explain_says_where_each_value_comes_from_and_what_it_shadows(files: Path) -> None:
    result = run("explain", "-f", "deploy.yaml", "--cluster", "cluster", cwd=files)

    assert result.returncode == 0
    assert "ServiceAccount team-a/app" in result.stdout
    assert "'arn:aws:iam::123456789012:role/default' on Namespace team-a" in result.stdout
    assert "AWS_WEB_IDENTITY_TOKEN_FILE" in result.stdout


def test_explain_says_what_is_missing_and_what_to_do(files: Path) -> None:
    pod = """\
apiVersion: v1
kind: Pod
metadata:
  name: p
  namespace: team-b
  annotations:
    cwii.dev/az-inject: "true"
spec:
  containers: [{name: a, image: a}]
"""
    result = run("explain", "-f", "-", cwd=files, stdin=pod)
    data = json.loads(run("explain", "-f", "-", "-o", "json", cwd=files, stdin=pod).stdout)

    assert "cwii.dev/az-client-id" in result.stdout
    assert data[0]["missing"][0]["keys"] == ["cwii.dev/az-client-id", "cwii.dev/az-tenant-id"]
    assert data[0]["missing"][0]["advice"].startswith("set cwii.dev/az-client-id")


def test_a_refused_pod_is_said_on_standard_error_and_exits_3(files: Path) -> None:
    (files / "settings.toml").write_text("required = true\n")
    (files / "cluster" / "all.yaml").write_text(
        CLUSTER.replace("cwii.dev/aws-role-arn", "cwii.dev/aws-audience")
    )

    result = run(
        "inject", "-f", "deploy.yaml", "--cluster", "cluster", "--settings", "settings.toml", cwd=files
    )

    assert result.returncode == 3
    assert "refused: deploy.yaml:2: Deployment team-a/web" in result.stderr
    assert "cwii.dev/aws-role-arn is set nowhere" in result.stderr
    assert yaml.safe_load(result.stdout) == yaml.safe_load(DEPLOYMENT)


BAD = {
    "a file that does not exist": (["inject", "-f", "no.yaml"], "no.yaml"),
    "an unknown option": (["inject", "--what"], "--what"),
    "an unknown command": (["injekt"], "injekt"),
    "a form that is none": (["inject", "-f", "deploy.yaml", "-o", "xml"], "xml"),
    "a flag with a bad value": (
        ["render", "--aws-enabled", "yes"],
        "--aws-enabled: is 'yes', want true or false",
    ),
}


@pytest.mark.parametrize("sentence", BAD)
def test_wrong_input_exits_2_and_names_it(files: Path, sentence: str) -> None:
    arguments, words = BAD[sentence]

    result = run(*arguments, cwd=files)

    assert result.returncode == 2
    assert words in result.stderr
    assert "Traceback" not in result.stderr
    assert result.stdout == ""


def test_all_problems_of_all_files_are_reported_at_once(files: Path) -> None:
    (files / "one.yaml").write_text("kind: Pod\n")
    (files / "two.yaml").write_text("a: [\n")

    result = run("inject", "-f", "one.yaml", "-f", "two.yaml", cwd=files)

    assert result.returncode == 2
    assert "two.yaml:" in result.stderr


def test_render_prints_yaml_that_parses_and_json_that_parses() -> None:
    documents = list(yaml.safe_load_all(run("render").stdout))
    listed = json.loads(run("render", "-o", "json").stdout)

    assert [obj["kind"] for obj in documents] == [obj["kind"] for obj in listed["items"]]
    assert documents == listed["items"]


def test_the_version_is_printed() -> None:
    from vestibule import __version__

    assert run("--version").stdout.strip().endswith(__version__)
