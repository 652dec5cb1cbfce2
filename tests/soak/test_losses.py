"""Losses by the words of real errors: messages of an API server (1.36) whose webhook was made to fail in each
of these ways, and of Python's sockets."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.soak import counted, losses
from tests.soak.losses import GRACE, KILL, RESTART, UNEXPLAINED, Window
from tests.soak.tally import EXAMPLES, LENGTH, Tally

CALL = 'Internal error occurred: failed calling webhook "pods.vestibule.dev": failed to call webhook: '
POST = f'{CALL}Post "https://127.0.0.1:4443/mutate?timeout=10s": '
DENIED = 'admission webhook "pods.vestibule.dev" denied the request'
INVALID = 'Internal error occurred: failed calling webhook "pods.vestibule.dev": received '
SOCKET = "read tcp 127.0.0.1:38270->127.0.0.1:4443: read: "
NO_PATH = "the request has been made before all known HTTP paths have been installed, please try again"
NO_KEY = "error in remove for path: '/spec/nothing': Unable to remove nonexistent key: nothing: missing value"
NO_LIST = "json: cannot unmarshal number into Go struct field PodSpec.spec.containers of type []v1.Container"
MESSAGES: tuple[tuple[str, int, str], ...] = (
    (losses.AWAY, 0, "ConnectionRefusedError: [Errno 111] Connection refused"),
    (losses.AWAY, 0, "ConnectionResetError: [Errno 104] Connection reset by peer"),
    (losses.AWAY, 0, "BrokenPipeError: [Errno 32] Broken pipe"),
    (
        losses.AWAY,
        0,
        "SSLEOFError: [SSL: UNEXPECTED_EOF_WHILE_READING] EOF occurred in violation of protocol",
    ),
    (losses.AWAY, 0, "Closed: closed by the server"),
    (losses.AWAY, 503, "apiserver is shutting down"),
    (losses.AWAY, 429, "The apiserver is shutting down, please try again later."),
    (losses.AWAY, 503, NO_PATH),
    (losses.AWAY, 500, "etcdserver: leader changed"),
    (losses.AWAY, 403, 'pods "soak-" is forbidden: not yet ready to handle request'),
    (losses.BROKEN, 500, f"{POST}EOF"),
    (losses.BROKEN, 500, f"{POST}{SOCKET}connection reset by peer"),
    (losses.BROKEN, 500, f"{POST}http: server closed idle connection"),
    (losses.BROKEN, 500, f"{POST}use of closed network connection"),
    (
        losses.BROKEN,
        500,
        f"{CALL}unexpected error when reading response body. Please retry. Original error: unexpected EOF",
    ),
    (losses.UNREACHED, 500, f"{POST}dial tcp 127.0.0.1:4443: connect: connection refused"),
    (losses.LATE, 500, f"{POST}context deadline exceeded"),
    (losses.LATE, 500, f"{POST}net/http: TLS handshake timeout"),
    (
        losses.LATE,
        504,
        "Timeout: request did not complete within requested timeout - context deadline exceeded",
    ),
    (
        losses.UNTRUSTED,
        500,
        f"{POST}tls: failed to verify certificate: x509: certificate signed by unknown authority",
    ),
    (losses.FAILED, 500, f"{POST}http: server gave HTTP response to HTTPS client"),
    (
        losses.FAILED,
        500,
        f'{CALL}an error on the server ("unknown") has prevented the request from succeeding',
    ),
    (losses.FAILED, 500, f"{CALL}the server is currently unable to handle the request"),
    (losses.FAILED, 500, f"{INVALID}invalid webhook response: webhook response was absent"),
    (losses.FAILED, 500, f"{INVALID}undecodable patch in webhook response: invalid character 'r'"),
    (losses.REFUSED, 400, f"{DENIED} without explanation"),
    (losses.REFUSED, 500, f"{DENIED}: mutation failed"),
    (losses.REFUSED, 403, f"{DENIED}: ServiceAccount a/b: etcdserver: shutting down, EOF"),
    (losses.OTHER, 500, f"Internal error occurred: {NO_KEY}"),
    (losses.OTHER, 500, f"Internal error occurred: {NO_LIST}"),
    (losses.OTHER, 422, 'Pod "probe" is invalid: spec.containers: Required value'),
    (losses.OTHER, 404, "shutting down"),
    (losses.OTHER, 504, "Timeout: request did not complete within the allotted timeout"),
    (losses.OTHER, 0, "Closed: no answer in 20 s"),
    (losses.OTHER, 0, "Closed: server took no bytes for 10 s"),
    (losses.OTHER, 0, "TimeoutError: timed out"),
    (losses.OTHER, 0, "SSLCertVerificationError: certificate verify failed: unable to get local issuer"),
)


@pytest.mark.parametrize(("kind", "status", "words"), MESSAGES)
def test_a_loss_is_what_its_error_says(kind: str, status: int, words: str) -> None:
    assert losses.kind(status, words) == kind


def test_every_kind_has_a_message() -> None:
    kinds = {kind for kind, _, _ in MESSAGES}

    assert kinds >= losses.EXPECTED.keys()
    assert len(kinds) == 8


def test_only_its_own_fault_explains_a_loss_and_only_while_it_lasts() -> None:
    windows = [Window(KILL, 100.0, 100.2), Window(RESTART, 200.0, 206.0)]

    def cause(kind: str, instant: float) -> str:
        return losses.cause(kind, instant, windows)

    assert cause(losses.BROKEN, 100.1) == cause(losses.BROKEN, 100.2 + GRACE) == KILL
    assert cause(losses.AWAY, 200.0) == cause(losses.AWAY, 206.0 + GRACE) == RESTART
    assert cause(losses.BROKEN, 99.9) == cause(losses.BROKEN, 101.3) == UNEXPLAINED
    assert cause(losses.AWAY, 199.9) == cause(losses.AWAY, 207.1) == UNEXPLAINED
    assert cause(losses.BROKEN, 203.0) == cause(losses.AWAY, 100.1) == UNEXPLAINED
    for kind, _, _ in MESSAGES:
        if kind not in losses.EXPECTED:
            assert cause(kind, 100.1) == cause(kind, 203.0) == UNEXPLAINED


def test_a_fault_that_lasts_explains_a_loss() -> None:
    assert losses.cause(losses.AWAY, 1e9, [Window(RESTART, 200.0)]) == RESTART


def test_the_message_of_a_status() -> None:
    head = b"HTTP/1.1 500 Internal Server Error\r\nContent-Type: application/json\r\n\r\n"

    assert losses.said(head + b'{"kind":"Status","message":"no","code":500}') == "no"
    assert losses.said(head + b"[]") == "[]"
    assert losses.said(head + b"\xff" * 1000) == "\ufffd" * 300


REJECTION = (
    'apiserver_admission_webhook_rejection_count{{error_type="{}",name="{}",operation="CREATE",'
    'rejection_code="{}",type="admit"}} {}'
)


def metrics(failed: int, refused: int = 0, unfit: int = 0, opened: int = 0) -> str:
    """As the API server prints them."""
    ours = "pods.vestibule.dev"
    return "\n".join(
        [
            "# TYPE apiserver_admission_webhook_rejection_count counter",
            REJECTION.format("calling_webhook_error", ours, 503, failed),
            REJECTION.format("calling_webhook_error", ours, 500, 1),
            REJECTION.format("calling_webhook_error", "somebody.else", 503, 7),
            REJECTION.format("no_error", ours, 403, refused),
            REJECTION.format("apiserver_internal_error", ours, 0, unfit),
            f'apiserver_admission_webhook_fail_open_count{{name="{ours}",type="admit"}} {opened}',
        ]
    )


def test_what_an_api_server_counted() -> None:
    assert counted.counts(metrics(12, 2, 3, 4)) == {
        counted.FAILED: 13,
        counted.REFUSED: 5,
        counted.OPEN: 4,
    }
    assert set(counted.counts("").values()) == {0}


def test_counters_are_followed_over_a_restart() -> None:
    texts = iter([metrics(5), metrics(8), metrics(8), metrics(2)])
    tally = Tally(None)
    count = counted.Counted(lambda: next(texts), tally.count)

    count.take()
    count.take()
    count.restarted()
    count.take()

    assert tally.counted[counted.FAILED] == 3 + 0 + 3


def test_a_run_fails_for_each_of_these() -> None:
    tally = Tally(None)
    assert tally.problems() == ["nothing was admitted"]
    tally.add("admissions")
    assert tally.problems() == []

    tally.lose(losses.AWAY, RESTART, "gone")
    tally.lose(losses.BROKEN, KILL, "EOF")
    assert tally.problems() == ["the API server counted other failed calls than the loader saw"]
    tally.count({counted.FAILED: 1})
    assert tally.problems() == []

    tally.lose(losses.OTHER, UNEXPLAINED, "what?")
    tally.add("wrong")
    tally.count({counted.OPEN: 1, counted.REFUSED: 1})
    assert tally.problems() == ["wrong identity", "fail open", "refused by the webhook", "unexplained loss"]


def test_a_state_file_is_resumed_or_refused(tmp_path: Path) -> None:
    path = tmp_path / "state.json"
    tally = Tally(path)
    tally.add("admissions")
    tally.count({counted.FAILED: 1})
    for number in range(10):
        tally.lose(losses.BROKEN, KILL, f"{number}" * 1000)
    tally.save()

    again = Tally(path)
    assert again.table() == tally.table()
    assert again.failed_calls == 10
    assert [len(words) for words in again.words[f"{losses.BROKEN}; {KILL}"]] == [LENGTH] * EXAMPLES

    path.write_text('{"admissions": 1000011, "lost": {"in flight at restart of the API server": 9096}}')
    with pytest.raises(ValueError, match="another version of the soak"):
        Tally(path)
