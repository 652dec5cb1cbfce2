"""``render`` as a person meets it: pure without a cluster, and what it says when there is none to ask."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
import yaml

from tests.process.webhook import free_port


def run(*arguments: str, stdin: str = "", **environment: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "vestibule", "render", *arguments]
    env = {**os.environ, **environment}
    return subprocess.run(
        command, input=stdin, capture_output=True, text=True, timeout=60, check=False, env=env
    )


def kubeconfig(path: Path, server: str) -> Path:
    document = {
        "current-context": "here",
        "contexts": [{"name": "here", "context": {"cluster": "c"}}],
        "clusters": [{"name": "c", "cluster": {"server": server}}],
    }
    path.write_text(yaml.safe_dump(document))
    return path


@pytest.mark.parametrize("output", ["yaml", "json"])
def test_without_a_cluster_nothing_of_the_machine_counts(tmp_path: Path, output: str) -> None:
    """Neither a kubeconfig in the environment nor a pod's variables make it look anywhere."""
    closed = kubeconfig(tmp_path / "config", f"http://127.0.0.1:{free_port()}")
    in_pod = {"KUBERNETES_SERVICE_HOST": "127.0.0.1", "KUBERNETES_SERVICE_PORT": "1"}

    here = run("-o", output)
    existing = run("-o", output, KUBECONFIG=str(closed), HOME=str(tmp_path), **in_pod)

    assert (existing.returncode, existing.stderr) == (0, "")
    assert here.stdout == existing.stdout
    # the webhook configuration, two policies and their bindings, and the list of what is restored
    assert here.stdout.count("admissionregistration.k8s.io/v1") == 6


ASKED = {
    "a path": ["--kubeconfig", "{}"],
    "a path behind an equals sign": ["--kubeconfig={}"],
    "the usual one": ["--kubeconfig"],
    "the usual one, before another option": ["--kubeconfig", "-o", "json"],
    "a context of the usual one": ["--context", "here"],
}


@pytest.mark.parametrize("sentence", ASKED)
def test_a_cluster_that_is_not_there_is_an_error_and_prints_nothing(tmp_path: Path, sentence: str) -> None:
    port = free_port()
    file = kubeconfig(tmp_path / "config", f"http://127.0.0.1:{port}")

    result = run(*(word.format(file) for word in ASKED[sentence]), KUBECONFIG=str(file))

    assert result.returncode == 1
    assert result.stdout == ""
    assert result.stderr.startswith(f"error: http://127.0.0.1:{port}: ")
    assert "Traceback" not in result.stderr


BAD = {
    "a file that does not exist": (["--kubeconfig", "no.yaml"], "no.yaml: does not exist, want a kubeconfig"),
    "a context that does not exist": (["--context", "there"], "has no 'there', want one of here"),
}


@pytest.mark.parametrize("sentence", BAD)
def test_a_way_that_leads_nowhere_exits_2_and_names_it(tmp_path: Path, sentence: str) -> None:
    arguments, words = BAD[sentence]
    file = kubeconfig(tmp_path / "config", "http://127.0.0.1:1")

    result = run(*arguments, KUBECONFIG=str(file))

    assert result.returncode == 2
    assert words in result.stderr
    assert result.stdout == ""


KATA = {
    "apiVersion": "kataconfiguration.openshift.io/v1",
    "kind": "KataConfig",
    "metadata": {"name": "k"},
    "spec": {"webhook": {"runtimeClassInjection": {"enabled": True}}},
    "status": {"runtimeClasses": ["kata"]},
}


def registrations(result: subprocess.CompletedProcess[str]) -> list[str]:
    assert result.returncode == 0, result.stderr
    kind = "MutatingWebhookConfiguration"
    return [one["metadata"]["name"] for one in yaml.safe_load_all(result.stdout) if one["kind"] == kind]


@pytest.mark.parametrize("way", ["--cluster", "-f", "-f -"])
def test_a_kataconfig_brings_its_webhook_configuration_from_wherever_it_is_read(
    tmp_path: Path, way: str
) -> None:
    (tmp_path / "settings.json").write_text('{"sandbox": {"enabled": true}}')
    folder = tmp_path / "manifests"
    folder.mkdir()
    (folder / "kata.yaml").write_text(yaml.safe_dump(KATA))
    given = {"--cluster": ["--cluster", str(folder)], "-f": ["-f", str(folder / "kata.yaml")]}
    command = ["--settings", str(tmp_path / "settings.json"), *given.get(way, ["-f", "-"])]

    found = run(*command, stdin=yaml.safe_dump(KATA))
    off = run("--settings", str(tmp_path / "settings.json"))

    assert registrations(found) == ["vestibule", "00-vestibule-sandbox"]
    assert registrations(off) == ["vestibule"]
    assert found.stderr == off.stderr == ""


def test_a_kataconfig_that_does_not_count_is_reported(tmp_path: Path) -> None:
    (tmp_path / "kata.yaml").write_text(yaml.safe_dump(KATA))

    found = run("-f", str(tmp_path / "kata.yaml"))

    assert registrations(found) == ["vestibule"]
    assert found.stderr == "warning: KataConfig k: ignored, sandbox.enabled is false, want true\n"


def test_a_file_that_cannot_be_read_is_an_error(tmp_path: Path) -> None:
    found = run("-f", str(tmp_path / "none.yaml"))

    assert (found.returncode, found.stdout) == (2, "")
    assert "none.yaml" in found.stderr


def test_the_help_says_what_a_cluster_is_asked_for() -> None:
    text = " ".join(run("--help").stdout.split())

    assert "--kubeconfig [PATH]" in text
    assert "left out with a warning on standard error" in text
