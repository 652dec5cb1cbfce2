"""Pods as clusters make them, through a real API server and the real process."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from tests.apiserver.hall import Hall, standing
from tests.rig.client import at
from tests.rig.controlplane import ControlPlane

Json = dict[str, Any]
ARN = "arn:aws:iam::123456789012:role/app"
AWS = {"cwii.dev/aws-inject": "true", "cwii.dev/aws-role-arn": ARN}


@pytest.fixture(scope="module")
def hall(control_plane: ControlPlane, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Hall]:
    with standing(control_plane, tmp_path_factory.mktemp("hall"), "hall-admission") as made:
        yield made


def pod(name: str = "p", annotations: Json | None = None, **spec: Any) -> Json:
    meta: Json = {"name": name, **({"annotations": annotations} if annotations else {})}
    return {"metadata": meta, "spec": {"containers": [{"name": "app", "image": "a"}], **spec}}


def env(thing: Json, field: str = "containers", index: int = 0) -> dict[str, str]:
    return {item["name"]: item.get("value", "") for item in thing["spec"][field][index].get("env", [])}


def test_a_pod_that_asks_gets_its_identity(hall: Hall, namespace: str) -> None:
    created = hall.plane.admin.create(at("pods", namespace), pod(annotations=AWS)).object

    assert env(created)["AWS_ROLE_ARN"] == ARN
    assert created["metadata"]["annotations"]["cwii.dev/injected"] == "aws"
