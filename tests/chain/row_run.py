"""One row of the table: admitted, laid out, logged in."""

from __future__ import annotations

from pathlib import Path

from tests.chain.case import Case
from tests.chain.container import Container
from tests.chain.kubelet import LaidOut
from tests.chain.logins import Clouds, Login
from tests.chain.stage import Stages


def wanted(case: Case, laid: LaidOut) -> list[tuple[Container, Login]]:
    """Which login must work in which container."""
    everything = [(name, one) for name in case.inside for one in case.logins]
    some = [(name, one) for name, sdk in case.partly.items() for one in case.logins if one.sdk == sdk]
    return [(Container(laid, name), one) for name, one in everything + some]


def play(stages: Stages, clouds: Clouds, tools: Path, case: Case) -> None:
    """Admit the pod, lay it out, log in from every container that should, and from those that should not."""
    rendered = stages.play(case)
    for one in case.logins:
        one.trust(clouds, stages.issuer, rendered.subject)
    started = [container["name"] for container in rendered.pod["spec"].get("initContainers", [])]
    assert started[: len(case.runs)] == list(case.runs)
    for name in case.runs:
        Container(rendered, name).run(tools)
    assert len(rendered.warnings) == len(case.warned)
    assert all(any(text in warning for warning in rendered.warnings) for text in case.warned)

    inside = wanted(case, rendered)
    for container, _ in inside:
        container.env |= case.built_in
    outcomes = clouds.login([(container, one.sdk) for container, one in inside])
    for (container, one), outcome in zip(inside, outcomes, strict=True):
        assert container.astray() == []
        # strict has the original's modes, whatever user a container has
        assert container.unreadable() == [] or case.settings.get("mode") == "strict"
        assert (outcome.error, outcome.refused) == ("", [])
        one.judge(clouds, outcome)
    strange = [
        claims
        for claims in clouds.issuers.seen
        if not any(claims.audiences == (one.audience,) and claims.life in one.lives for one in case.logins)
    ]
    assert strange == []
    assert clouds.gateway.strays == []

    outside = [(Container(rendered, name), one.sdk) for name in case.outside for one in case.logins]
    assert not any(outcome.ok for outcome in clouds.login(outside))
