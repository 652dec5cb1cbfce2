"""Metrics, audit lines, logs and health: what is shown, and what never is."""

from __future__ import annotations

import json
import logging
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from prometheus_client.parser import text_string_to_metric_families

from tests.process.webhook import until
from tests.vectors import case
from vestibule.admission import review
from vestibule.admission.verdict import Finding, Verdict, patched, refused, skipped
from vestibule.httpserver.health import Health
from vestibule.httpserver.messages import HttpRequest, HttpResponse
from vestibule.telemetry import audit_log, logs
from vestibule.telemetry.webhook_metrics import WebhookMetrics

POD: dict[str, Any] = {
    "kind": "Pod",
    "metadata": {"generateName": "web-", "annotations": {"secret": "canary-value"}},
    "spec": {"containers": [{"name": "a", "env": [{"name": "PASSWORD", "value": "canary-value"}]}]},
}
REVIEW = review.decode(case.review(POD))


def sample(text: bytes, name: str, **labels: str) -> float:
    for family in text_string_to_metric_families(text.decode()):
        for found in family.samples:
            if found.name == name and found.labels == labels:
                return found.value
    raise AssertionError(f"no sample {name} {labels}")


def test_verdicts_are_counted_by_outcome_reason_and_cloud() -> None:
    metrics = WebhookMetrics()

    metrics.verdict(patched(b"[]", providers=("aws", "gcp")), 0.00003)
    metrics.verdict(skipped("nothing-asked"), 0.5)
    metrics.verdict(refused("x", findings=(Finding("refuse", "x"),)), 9.0)
    metrics.malformed(413)
    text = metrics.render()

    assert sample(text, "vestibule_admission_requests_total", outcome="inject", reason="") == 1
    assert sample(text, "vestibule_admission_requests_total", outcome="skip", reason="nothing-asked") == 1
    assert sample(text, "vestibule_injections_total", provider="gcp") == 1
    assert sample(text, "vestibule_findings_total", severity="refuse") == 1
    assert sample(text, "vestibule_bad_requests_total", code="413") == 1
    assert sample(text, "vestibule_admission_duration_seconds_count") == 3
    assert sample(text, "vestibule_admission_duration_seconds_bucket", le="5e-05") == 1
    assert sample(text, "vestibule_admission_duration_seconds_bucket", le="+Inf") == 3
    assert sample(text, "vestibule_admission_duration_seconds_sum") == pytest.approx(9.50003)


def lines(*verdicts: Verdict) -> list[dict[str, Any]]:
    read, write = os.pipe()
    log = audit_log.AuditLog(write)
    log.start()
    for verdict in verdicts:
        log.note(REVIEW, verdict, 0.000042)
    log.close()
    os.close(write)
    with os.fdopen(read) as stream:
        return [json.loads(line) for line in stream]


def test_every_verdict_leaves_one_line_with_names_and_no_values() -> None:
    findings = (Finding("warn", "Pod team-a/web-: something"),)

    written = lines(patched(b"[]", providers=("aws",), findings=findings), skipped("nothing-asked"))

    assert [line["audit"] for line in written] == ["inject", "skip"]
    assert written[0]["pod"] == "web-"
    assert written[0]["namespace"] == "team-a"
    assert written[0]["micros"] == 42
    assert written[0]["findings"] == ["Pod team-a/web-: something"]
    assert written[1]["reason"] == "nothing-asked"
    assert "canary-value" not in json.dumps(written)


def closed_pipe() -> int:
    read, write = os.pipe()
    os.close(read)
    return write


def full_disk() -> int:
    return os.open("/dev/full", os.O_WRONLY)


@pytest.mark.parametrize(
    ("broken", "words"),
    [(closed_pipe, "Broken pipe"), (full_disk, "No space left on device")],
    ids=["a closed pipe", "a full disk"],
)
def test_lines_that_cannot_be_written_are_counted_reported_and_written_when_it_is_over(
    broken: Callable[[], int], words: str, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """The thread goes on; before, the first failure ended it for ever, and nothing was counted."""
    caplog.set_level("INFO")
    descriptor = broken()
    log = audit_log.AuditLog(descriptor)
    log.start()
    log.note(REVIEW, skipped("first"), 0.0)
    until(lambda: log.failures >= 2, "a second try")
    assert log.failing

    with (tmp_path / "audit").open("wb") as good:
        os.dup2(good.fileno(), descriptor)
    log.note(REVIEW, skipped("second"), 0.0)
    until(lambda: not log.failing, "recovery")
    log.close()
    os.close(descriptor)

    written = [json.loads(line) for line in (tmp_path / "audit").read_text().splitlines()]
    assert [line["reason"] for line in written] == ["first", "second"]
    assert log.dropped == 0
    assert [record.message for record in caplog.records] == [
        "audit lines cannot be written, trying again",
        "audit lines are written again",
    ]
    assert vars(caplog.records[0])["error"] == words


def test_a_line_that_was_half_written_goes_on_where_it_stopped(tmp_path: Path) -> None:
    """Here the disk is full after 150 bytes."""
    program = """
import os, resource, sys
from tests.unit.test_observe import REVIEW, skipped, until
from vestibule.telemetry import audit_log
descriptor = os.open(sys.argv[1], os.O_WRONLY | os.O_CREAT)
resource.setrlimit(resource.RLIMIT_FSIZE, (150, resource.RLIM_INFINITY))
log = audit_log.AuditLog(descriptor)
for number in range(3):
    log.note(REVIEW, skipped(str(number)), 0.0)
log.start()
until(lambda: log.failing, "a failure")
resource.setrlimit(resource.RLIMIT_FSIZE, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
log.close()
print(log.dropped)
"""
    path = tmp_path / "audit"
    done = subprocess.run([sys.executable, "-c", program, path], capture_output=True, text=True, check=False)

    assert done.stdout == "0\n", done.stderr
    assert [json.loads(line)["reason"] for line in path.read_text().splitlines()] == ["0", "1", "2"]


def test_lines_that_are_never_written_are_counted_at_the_end(caplog: pytest.LogCaptureFixture) -> None:
    descriptor = closed_pipe()
    log = audit_log.AuditLog(descriptor)
    log.start()
    for _ in range(3):
        log.note(REVIEW, skipped("x"), 0.0)
    log.close()
    os.close(descriptor)

    assert log.dropped == 3
    assert caplog.records[-1].message == "audit lines lost at the end"


def test_lines_that_find_no_room_are_counted(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(audit_log, "_WAITING", 200)
    read, write = os.pipe()
    log = audit_log.AuditLog(write)

    for _ in range(5):
        log.note(REVIEW, skipped("x"), 0.0)
    log.start()
    log.close()
    os.close(write)

    with os.fdopen(read) as stream:
        assert [json.loads(line)["audit"] for line in stream] == ["skip"] * (5 - log.dropped)
    assert log.dropped in (3, 4)  # a line is about a hundred bytes


def test_a_log_line_is_json_with_constant_text_and_fields() -> None:
    record = logging.makeLogRecord(
        {"name": "x", "levelname": "INFO", "msg": "certificate loaded", "generation": 3}
    )

    line = json.loads(logs.JsonFormatter().format(record))

    assert line["text"] == "certificate loaded"
    assert line["generation"] == 3
    assert line["level"] == "info"


def get(health: Health, path: str) -> HttpResponse | None:
    return health.answer(HttpRequest("GET", path, "", b"", "", 0.0))


def test_ready_names_every_check_and_what_is_wrong() -> None:
    state = {"cache": ""}
    health = Health({"cache": lambda: state["cache"], "certificate": lambda: ""})

    good = get(health, "/readyz")
    state["cache"] = "not synced yet"
    bad = get(health, "/readyz")

    assert good is not None
    assert (good.status, good.body) == (200, b"[+]cache ok\n[+]certificate ok\n")
    assert bad is not None
    assert (bad.status, bad.body) == (503, b"[-]cache: not synced yet\n[+]certificate ok\n")


def test_draining_is_alive_and_not_ready() -> None:
    health = Health({})
    health.draining = True

    alive, ready = get(health, "/healthz"), get(health, "/readyz")

    assert alive is not None
    assert alive.status == 200
    assert ready is not None
    assert ready.status == 503
    assert get(health, "/elsewhere") is None
