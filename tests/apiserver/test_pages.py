"""Lists page by page, as a real API server gives them, and when it forgets its place in between."""

from __future__ import annotations

import asyncio
import json
from typing import Any

import pytest

from tests.rig import closed_sockets
from tests.rig.client import at
from tests.rig.controlplane import ControlPlane
from tests.rig.faults import Status
from vestibule import errors
from vestibule.api import gvk
from vestibule.api.gvk import Kind
from vestibule.kube import kubeconfig, lister
from vestibule.kube.client import Client

Json = dict[str, Any]
NAMES = [f"m-{number:02}" for number in range(17)]


@pytest.fixture
def filled(control_plane: ControlPlane, namespace: str) -> str:
    for name in NAMES:
        obj = {"metadata": {"name": name, "labels": {"half": str(int(name[2:]) % 2)}}}
        control_plane.admin.create(at("configmaps", namespace), obj).object  # noqa: B018 - raises
    return namespace


def listed(
    plane: ControlPlane, kind: Kind, namespace: str, url: str = "", user: str = "", **more: Any
) -> list[list[Json]]:
    path = plane.kubeconfig(user) if user else plane.kubeconfig(url=url)

    async def read() -> list[list[Json]]:
        client = Client(kubeconfig.load([path], None))
        try:
            return [page async for page in lister.pages(client, kind, namespace, **more)]
        finally:
            await client.close()
            await closed_sockets.closed()

    return asyncio.run(read())


def names(found: list[list[Json]]) -> list[str]:
    return [item["metadata"]["name"] for page in found for item in page if item["metadata"]["name"] in NAMES]


def test_all_come_and_each_once(control_plane: ControlPlane, filled: str) -> None:
    found = listed(control_plane, gvk.CONFIG_MAP, filled, size=5)

    assert names(found) == NAMES
    assert [len(page) for page in found[:-1]] == [5] * (len(found) - 1)
    assert {(item["kind"], item["apiVersion"]) for page in found for item in page} == {("ConfigMap", "v1")}


def test_some_by_label(control_plane: ControlPlane, filled: str) -> None:
    found = listed(control_plane, gvk.CONFIG_MAP, filled, size=5, selector="half=1")

    assert names(found) == NAMES[1::2]


def test_a_kind_that_is_not_served_has_none(control_plane: ControlPlane, namespace: str) -> None:
    nothing = Kind("nowhere.example", "v1", "Nothing", "nothings")

    assert listed(control_plane, nothing, namespace) == []


def test_a_server_that_forgets_its_place_is_asked_again(control_plane: ControlPlane, filled: str) -> None:
    with control_plane.proxy() as proxy:
        gone = json.dumps({"kind": "Status", "code": 410, "metadata": {}}).encode()
        proxy.inject(Status(410, gone), path="continue=", times=1)

        found = listed(control_plane, gvk.CONFIG_MAP, filled, proxy.url, size=5)

    assert sorted(set(names(found))) == NAMES  # some come twice, none is lost
    assert len(names(found)) == len(NAMES) + 5 - ("kube-root-ca.crt" in str(found[0]))


def test_a_server_that_always_forgets_is_an_error(control_plane: ControlPlane, filled: str) -> None:
    with control_plane.proxy() as proxy:
        proxy.inject(Status(410, b"{}"), path="continue=")

        with pytest.raises(errors.Gone):
            listed(control_plane, gvk.CONFIG_MAP, filled, proxy.url, size=5)


def test_who_may_not_is_reported(control_plane: ControlPlane, namespace: str) -> None:
    with pytest.raises(errors.Forbidden, match="listing configmaps"):
        listed(control_plane, gvk.CONFIG_MAP, namespace, user="pages:nobody")
