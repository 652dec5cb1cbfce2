"""A login that is forked is as much on its own as one in a new interpreter."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.chain.case import EVERYWHERE, Case, Meta
from tests.chain.container import LOGIN, Container
from tests.chain.logins import Clouds
from tests.chain.rows.cwii import ALL
from tests.chain.sdks import Sdks
from tests.chain.stage import Stages

WITNESS = """
import json, os, sys, threading
def is_open(number):
    try:
        return bool(os.fstat(number))
    except OSError:
        return False
files = [number for number in range(3, 1000) if is_open(number)]
sys.stderr.write("on the other stream")
print(json.dumps({
    "environment": dict(os.environ),
    "for programs": [one.split("=")[0] for one in os.popen("/usr/bin/env").read().split()],
    "folder": os.getcwd(), "arguments": sys.argv[1:], "name": __name__, "input": sys.stdin.read(),
    "files": files, "threads": threading.active_count(), "process": os.getpid(),
}))
"""


@pytest.mark.parametrize("fork", [True, False])
def test_a_program_has_what_it_was_given_and_nothing_else(sdks: Sdks, tmp_path: Path, fork: bool) -> None:
    program = tmp_path / "witness.py"
    program.write_text(WITNESS)
    given = {"HOME": str(tmp_path), "AWS_REGION": "eu-west-1"}

    ran = [sdks.run(program, ["a", "b c"], given, tmp_path, fork=fork) for _ in range(2)]

    assert [(one.code, one.err) for one in ran] == [(0, "on the other stream")] * 2
    first, second = (json.loads(one.out) for one in ran)
    assert first.pop("process") != second["process"]
    # a new interpreter chooses its encoding by a variable of its own
    own = {} if fork else {"LC_CTYPE": "C.UTF-8"}
    assert first.pop("environment") == {**given, **own}
    assert {"HOME", "AWS_REGION"} <= set(first.pop("for programs")) <= {*given, *own, "PWD", "SHLVL", "_"}
    assert first == {
        "folder": str(tmp_path),
        "arguments": ["a", "b c"],
        "name": "__main__",
        "input": "",
        "files": [],
        "threads": 1,
    }


def test_one_that_fails_or_dies_is_reported(sdks: Sdks, tmp_path: Path) -> None:
    program = tmp_path / "witness.py"
    program.write_text("import os, sys\nprint('half')\nos.kill(os.getpid(), 9) if sys.argv[1:] else 1 / 0\n")

    failed = sdks.run(program, [], {}, tmp_path)
    assert (failed.code, failed.out) == (1, "half\n")
    assert "ZeroDivisionError" in failed.err
    assert sdks.run(program, ["die"], {}, tmp_path).code == -9


def test_what_is_read_while_they_are_imported_is_known(sdks: Sdks) -> None:
    """Who sets one of these has a new interpreter; the folders that a container has by default are empty."""
    assert {"CLOUDSDK_CONFIG", "GCE_METADATA_HOST", "HOME"} <= sdks.early
    assert sdks.early.isdisjoint({"AWS_ROLE_ARN", "AZURE_CLIENT_ID", "GOOGLE_APPLICATION_CREDENTIALS"})


def test_a_new_interpreter_logs_in_the_same_way(stages: Stages, clouds: Clouds) -> None:
    rendered = stages.play(Case("new interpreter", EVERYWHERE, account=Meta(ALL)))
    app = Container(rendered, "app")
    environment = app.environment(clouds.gateway)
    for one in EVERYWHERE:
        one.trust(clouds, stages.issuer, rendered.subject)
        reported, requested = [], []
        for fork in (True, False):
            done = clouds.sdks.run(LOGIN, [one.sdk], environment, app.folder, fork=fork)
            reported.append(json.loads(done.out))
            requested.append(sorted((call.host, call.method, call.path) for call in clouds.gateway.calls))
            clouds.gateway.calls.clear()

        assert [(each["ok"], each["error"], each["refused"]) for each in reported] == [(True, "", [])] * 2
        assert reported[0]["who"].keys() == reported[1]["who"].keys()
        assert requested[0] == requested[1]
