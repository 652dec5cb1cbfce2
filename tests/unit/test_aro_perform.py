"""Writes of one reconcile: a failure of one object holds up no other, whatever the API server answers."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from vestibule import errors
from vestibule.aro import ownership
from vestibule.aro.ports import ReconcileResult
from vestibule.operator.controllers.aro.apply import ApplyFailures, AroApplier
from vestibule.operator.fenced_client import LeadershipLost

Json = dict[str, Any]
FAILED = [
    errors.Unavailable("applying: status 500 expected map"),
    errors.Overloaded("429"),
    errors.Gone("410"),
    errors.Forbidden("403"),
    errors.NotFound("404"),
    errors.InvalidInput(errors.InputProblem("applying", "", "422")),
]


def resource(name: str) -> Json:
    return {
        "apiVersion": "resources.azure.com/v1api20200601",
        "kind": "ResourceGroup",
        "metadata": {"name": name, "namespace": "team", "uid": f"uid-{name}"},
    }


class Recorder(AroApplier):
    """Performs without an API server: objects with an error fail."""

    def __init__(self, failing: dict[str, Exception], seconds: float = 0.0) -> None:
        nothing: Any = None
        super().__init__(nothing, nothing, nothing, nothing, nothing)
        self._failing, self._seconds = failing, seconds
        self.sent: list[str] = []

    async def _send(self, verb: str, name: str) -> bool:
        self.sent.append(f"{verb} {name}")
        error = self._failing.get(name)
        if error is not None:
            if self._seconds:
                loop = asyncio.get_running_loop()
                now = loop.time() + self._seconds
                loop.time = lambda: now  # type: ignore[method-assign]
            raise error
        return True

    async def _changed(self, change: Any) -> bool:
        return await self._send("change", change.ref.name)

    async def _apply(self, one: Json) -> bool:
        return await self._send("apply", one["metadata"]["name"])

    async def _delete(self, one: Json) -> bool:
        return await self._send("delete", one["metadata"]["name"])


@pytest.mark.parametrize("error", FAILED, ids=lambda one: type(one).__name__)
def test_whatever_fails_for_one_object_the_others_are_written(error: Exception) -> None:
    performer = Recorder({"b": error})
    created = ReconcileResult(
        desired=(resource("a"), resource("b"), resource("c")),
        secrets=(resource("s"),),
        deletions=(resource("d"),),
    )
    with pytest.raises(ApplyFailures) as caught:
        asyncio.run(performer.inside(created))

    assert performer.sent == ["apply a", "apply b", "apply c", "apply s", "delete d"]
    assert [(one.ref.name, one.text) for one in caught.value.failures] == [("b", str(error))]


def test_a_conflict_is_reported_after_the_others_are_written() -> None:
    performer = Recorder({"a": errors.Conflict("409")})
    with pytest.raises(errors.Conflict, match="409"):
        asyncio.run(performer.inside(ReconcileResult(desired=(resource("a"), resource("b")))))

    assert performer.sent == ["apply a", "apply b"]


def test_nothing_is_written_once_leadership_is_lost() -> None:
    performer = Recorder({"a": LeadershipLost("lost")})
    with pytest.raises(LeadershipLost):
        asyncio.run(performer.inside(ReconcileResult(desired=(resource("a"), resource("b")))))

    assert performer.sent == ["apply a"]


@pytest.mark.parametrize("error", [*FAILED, errors.Conflict("409")], ids=lambda one: type(one).__name__)
def test_an_object_whose_policy_could_not_be_restored_is_not_deleted(error: Exception) -> None:
    """While it is skipped, Azure Service Operator would forget it and leave its resource in Azure."""
    performer = Recorder({"a": error})
    created = ReconcileResult(
        changes=tuple(ownership.change(resource(name), {"metadata": {}}) for name in ("a", "b")),
        deletions=(resource("a"), resource("b")),
    )
    with pytest.raises(errors.VestibuleError):
        asyncio.run(performer.inside(created))

    assert performer.sent == ["change a", "change b", "delete b"]


def test_writes_that_take_long_are_tried_last_and_leave_time_for_the_status() -> None:
    """Otherwise a few that hang would use up the time of each reconcile, before the others."""
    performer = Recorder({"a": errors.Unavailable("no answer in 10 s")}, seconds=41.0)
    created = ReconcileResult(desired=(resource("a"), resource("b")))
    with pytest.raises(ApplyFailures, match="b was not written"):
        asyncio.run(performer.inside(created))
    assert performer.sent == ["apply a"]
    performer.sent.clear()
    with pytest.raises(ApplyFailures, match="no answer"):
        asyncio.run(performer.inside(created))

    assert performer.sent == ["apply b", "apply a"]
