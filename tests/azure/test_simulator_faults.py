"""Faults on demand, and who does not wait."""

from __future__ import annotations

import json
import ssl
import time
import urllib.error
import urllib.request
from pathlib import Path
from typing import Any

import pytest
from azure.core.exceptions import ServiceResponseError

from tests.azure.clients import ACCOUNT, clients, refused
from tests.azure.simulator import Simulated

GROUP = {"location": "eastus", "tags": {"a": "b"}}


def control(simulator: Simulated, method: str, name: str, body: Any = None) -> Any:
    """The control endpoint, as curl would use it."""
    request = urllib.request.Request(  # noqa: S310 - our own address
        f"{simulator.base}/_simulate/{name}",
        method=method,
        data=None if body is None else json.dumps(body).encode(),
    )
    trust = ssl.create_default_context(cafile=simulator.bundle)
    with urllib.request.urlopen(request, context=trust) as answer:  # noqa: S310
        content = answer.read()
    return json.loads(content) if content else None


def test_a_throttled_call_is_repeated_when_it_is_reported_to(simulator: Simulated) -> None:
    simulator.fault(on="GET */resourcegroups/rg", times=1, status=429, retry_after=1)
    with clients(simulator, retry_total=3) as azure:
        azure.groups.resource_groups.create_or_update("rg", GROUP)
        begun = time.monotonic()
        azure.groups.resource_groups.get("rg")

    assert time.monotonic() - begun >= 1.0
    assert simulator.violations == []


def test_who_does_not_wait_is_noted(simulator: Simulated) -> None:
    simulator.fault(on="GET */resourcegroups/rg", times=1, status=429, retry_after=30)
    with clients(simulator) as azure:
        with refused(429, "TooManyRequests"):
            azure.groups.resource_groups.get("rg")
        with refused(404, "ResourceGroupNotFound"):
            azure.groups.resource_groups.get("rg")

    (found,) = simulator.violations
    assert found["method"] == "GET"
    assert 28 < found["early"] <= 30


def test_an_answer_can_be_lost_after_the_work_is_done(simulator: Simulated) -> None:
    simulator.fault(on="PUT */resourcegroups/rg", mode="after", cut=True)
    with clients(simulator) as azure:
        with pytest.raises(ServiceResponseError):
            azure.groups.resource_groups.create_or_update("rg", GROUP)

        assert azure.groups.resource_groups.get("rg").tags == {"a": "b"}


def test_an_answer_can_be_another_after_the_work_is_done(simulator: Simulated) -> None:
    simulator.fault(on="PUT */resourcegroups/rg", mode="after", status=503)
    with clients(simulator) as azure:
        with refused(503, "ServiceUnavailable"):
            azure.groups.resource_groups.create_or_update("rg", GROUP)

        assert azure.groups.resource_groups.get("rg").tags == {"a": "b"}


def test_work_can_be_done_by_half(simulator: Simulated) -> None:
    simulator.fault(on="PUT */resourcegroups/rg", mode="partial", status=500)
    with clients(simulator) as azure:
        with refused(500, "InternalServerError"):
            azure.groups.resource_groups.create_or_update("rg", GROUP)
        found = azure.groups.resource_groups.get("rg")

    assert (found.tags, found.properties.provisioning_state) == ({}, "Failed")


def test_a_policy_forbids_bodies_that_say_something(simulator: Simulated) -> None:
    simulator.fault(
        on="PUT */storageAccounts/*",
        times=0,
        status=403,
        code="RequestDisallowedByPolicy",
        when={"properties.allowBlobPublicAccess": True},
    )
    with clients(simulator) as azure:
        azure.groups.resource_groups.create_or_update("rg", GROUP)
        with refused(403, "RequestDisallowedByPolicy"):
            azure.storage.storage_accounts.begin_create("rg", "demo1", ACCOUNT)
        azure.storage.storage_accounts.begin_create("rg", "demo1", {**ACCOUNT, "properties": {}}).result()


def test_faults_let_some_calls_pass_and_end_after_some(simulator: Simulated) -> None:
    rule = simulator.fault(on="GET */resourcegroups/*", skip=1, times=2, status=409)
    with clients(simulator) as azure:
        azure.groups.resource_groups.create_or_update("rg", GROUP)
        azure.groups.resource_groups.get("rg")
        for _ in range(2):
            with refused(409, "Conflict"):
                azure.groups.resource_groups.get("rg")
        azure.groups.resource_groups.get("rg")

    assert rule.hits == 2


def test_an_answer_can_be_late(simulator: Simulated) -> None:
    simulator.fault(on="GET */resourcegroups/rg", delay=0.5)
    with clients(simulator, read_timeout=0.1) as azure:
        azure.groups.resource_groups.create_or_update("rg", GROUP)
        with pytest.raises(ServiceResponseError):
            azure.groups.resource_groups.get("rg")


def test_control_works_without_a_login_and_shows_no_secret(simulator: Simulated) -> None:
    control(simulator, "POST", "faults", [{"on": "GET *", "status": 503, "code": "X"}])
    rules = control(simulator, "GET", "faults")
    control(simulator, "DELETE", "faults")
    with clients(simulator) as azure:
        azure.groups.resource_groups.create_or_update("rg", GROUP)
    found = control(simulator, "GET", "calls")
    stored = control(simulator, "GET", "state")
    control(simulator, "PUT", "state", {"resources": []})

    assert [rule["code"] for rule in rules] == ["X"]
    assert control(simulator, "GET", "faults") == []
    assert [one["body"] for one in found["calls"] if one["method"] == "PUT"] == [GROUP]
    assert simulator.settings.client_secret not in json.dumps(found)
    assert [one["name"] for one in stored["resources"] if one["type"].endswith("resourceGroups")] == ["rg"]
    assert all(one["type"].endswith("Assignments") for one in simulator.state["resources"])
    assert simulator.settings.client_secret == stored["settings"]["clientSecret"]


def test_wrong_control_is_refused_in_words(simulator: Simulated) -> None:
    for name, body in (("faults", [{"no": 1}]), ("nothing", {}), ("state", [])):
        method = "PUT" if name == "state" else "POST"
        with pytest.raises(urllib.error.HTTPError) as caught:
            control(simulator, method, name, body)
        with caught.value as answer:
            assert json.loads(answer.read())["error"]["message"]


def test_a_state_survives_a_restart(tmp_path: Path) -> None:
    file = tmp_path / "state.json"
    with Simulated(tmp_path / "a", state=file) as first, clients(first) as azure:
        azure.groups.resource_groups.create_or_update("rg", GROUP)
    with Simulated(tmp_path / "b", state=file) as second, clients(second) as azure:
        assert azure.groups.resource_groups.get("rg").tags == {"a": "b"}
    assert oct(file.stat().st_mode)[-3:] == "600"
