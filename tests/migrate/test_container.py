"""How a container starts its program, as the kubelet puts it together."""

from __future__ import annotations

from typing import Any

from vestibule.diagnose.migrate import container, flags
from vestibule.diagnose.migrate.container import ContainerCommand

MAPS = {"config": {"A": "1", "REGION": "r"}}


def started(**fields: Any) -> ContainerCommand:
    return container.started(fields, MAPS.get)


def test_the_binary_is_no_argument() -> None:
    assert started(command=["/webhook", "--a=1"], args=["--b"]).arguments == ("--a=1", "--b")
    assert started(args=["--b"]).arguments == ("--b",)


def test_variables_come_from_maps_and_are_expanded() -> None:
    found = started(
        args=["--region=$(REGION)", "$$(A)", "$(NOBODY)"],
        env=[
            {"name": "B", "value": "$(A)-2"},
            {"name": "C", "valueFrom": {"configMapKeyRef": {"name": "config", "key": "A"}}},
            {"name": "POD", "valueFrom": {"fieldRef": {"fieldPath": "metadata.name"}}},
        ],
        envFrom=[{"configMapRef": {"name": "config"}}, {"prefix": "P_", "configMapRef": {"name": "config"}}],
    )

    assert found.environment == {"A": "1", "REGION": "r", "P_A": "1", "P_REGION": "r", "B": "1-2", "C": "1"}
    assert found.arguments == ("--region=r", "$(A)", "$(NOBODY)")
    assert (found.unread, found.problems) == ({}, ())


def test_what_is_not_read_is_named() -> None:
    found = started(
        env=[
            {"name": "S", "valueFrom": {"secretKeyRef": {"name": "s", "key": "k"}}},
            {"name": "M", "valueFrom": {"configMapKeyRef": {"name": "gone", "key": "k"}}},
        ],
        envFrom=[{"secretRef": {"name": "t"}}, {"configMapRef": {"name": "gone"}}],
    )

    assert found.unread == {"S": "Secret s key k", "M": "ConfigMap gone key k"}
    assert found.problems == (
        "has variables from Secret t, which is not read",
        "has variables from ConfigMap gone, which does not exist",
    )


def test_a_script_is_not_read() -> None:
    found = started(command=["/bin/sh", "-c", "exec /manager --a"])

    assert found.arguments == ()
    assert "its flags are in a script" in found.problems[0]


def test_a_file_out_of_a_config_map() -> None:
    pod = {
        "volumes": [
            {"name": "v", "configMap": {"name": "config"}},
            {"name": "w", "configMap": {"name": "config", "items": [{"key": "A", "path": "deep/file"}]}},
        ]
    }
    mounts = {
        "volumeMounts": [
            {"name": "v", "mountPath": "/etc/v"},
            {"name": "w", "mountPath": "/etc/w/"},
            {"name": "v", "mountPath": "/etc/one", "subPath": "A"},
        ]
    }

    def text(path: str) -> str | None:
        return container.file(pod, mounts, path, MAPS.get)

    assert text("/etc/v/A") == "1"
    assert text("/etc/w/deep/file") == "1"
    assert text("/etc/one") == "1"
    assert text("/etc/v/none") is None
    assert text("/elsewhere") is None


def test_our_own_command_line_in_the_place_of_another() -> None:
    words = [
        "webhook",
        "--as",
        "azwi",
        "--mode=strict",
        "--audience=a",
        "--metrics-addr=:1",
        "--odd",
        "--addr",
        "x",
    ]

    found = flags.stand_in(words, {"AZURE_TENANT_ID": "t"})

    assert found is not None
    assert (found["mode"], found["vocabularies"]) == ("strict", ["azwi"])
    assert found["azwi"] == {"tenantId": "t", "audience": "a"}
    assert flags.stand_in(["webhook", "--settings=/etc/x"], {}) is None
    assert flags.stand_in(["webhook", "--as", "nobody"], {}) is None
