"""The three servers of the bench, each started, proven to do its work, and handed over as a load target.

| name  | what it is                                            | proof before the timing                   |
|-------|-------------------------------------------------------|-------------------------------------------|
| ours  | our webhook over a directory of manifests             | the aws pod gets role, token file, volume |
| empty | the same engine, a constant small answer: our ceiling | status 200                                |
| eks   | the EKS pod identity webhook over a stub API server   | the same as ours                          |
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, ExitStack, contextmanager

from bench import answers, eks, fixtures, processes, subject
from bench.loads import Target
from bench.processes import Unavailable
from bench.rig import Rig

START_LIMIT = 15.0
"""Seconds until a server must be ready and right; the slowest needs 1."""


@contextmanager
def ours(rig: Rig, environment: Mapping[str, str] | None = None) -> Iterator[Target]:
    """`environment` is added to the one of our image; it chooses another source tree."""
    port, metrics = processes.free_port(), processes.free_port()
    command = subject.webhook_command(port, metrics, rig.cluster_dir, rig.pair.cert, rig.pair.key)
    log = rig.scratch / f"ours-{port}.log"
    extra = {**subject.webhook_environment(), **(environment or {})}
    with processes.running(command, log, rig.split.server, extra) as child:
        url = subject.ready_url(port, metrics)
        processes.wait_until(child, lambda: processes.answers_200(url, rig.trust), START_LIMIT)
        target = Target(child, port, rig.pair.cert, rig.seed)
        _prove(rig, target)
        yield target


@contextmanager
def empty(rig: Rig) -> Iterator[Target]:
    port = processes.free_port()
    command = processes.python("bench.empty_engine", str(port), str(rig.pair.cert), str(rig.pair.key))
    with processes.running(command, rig.scratch / "empty.log", rig.split.server) as child:
        body = fixtures.body("aws", 0, rig.seed)

        def ready() -> bool:
            try:
                return _post(rig, port, body)[0] == 200
            except OSError:
                return False

        processes.wait_until(child, ready, START_LIMIT)
        yield Target(child, port, rig.pair.cert, rig.seed)


@contextmanager
def eks_webhook(rig: Rig) -> Iterator[Target]:
    program = eks.binary()
    port, metrics, api = processes.free_port(), processes.free_port(), processes.free_port()
    with ExitStack() as stack:
        stub = stack.enter_context(
            processes.running(
                processes.python("bench.stub_apiserver", str(api)), rig.scratch / "stub.log", rig.split.loader
            )
        )
        accounts = f"http://127.0.0.1:{api}/api/v1/serviceaccounts"
        processes.wait_until(stub, lambda: processes.answers_200(accounts, rig.trust), START_LIMIT)
        command = eks.command(
            program, port=port, metrics_port=metrics, api_port=api, cert=rig.pair.cert, key=rig.pair.key
        )
        log = rig.scratch / "eks.log"
        child = stack.enter_context(processes.running(command, log, rig.split.server))
        health = f"https://127.0.0.1:{port}/healthz"
        processes.wait_until(child, lambda: processes.answers_200(health, rig.trust), START_LIMIT)
        target = Target(child, port, rig.pair.cert, rig.seed)
        # it serves before its cache is filled, so the first right answer is what says ready
        processes.wait_until(child, lambda: _mutates(rig, target), START_LIMIT)
        _prove(rig, target)
        yield target


ALL: dict[str, Callable[[Rig], AbstractContextManager[Target]]] = {
    "ours": ours,
    "empty": empty,
    "eks": eks_webhook,
}


def _mutates(rig: Rig, target: Target) -> bool:
    try:
        _prove(rig, target)
    except Unavailable:
        return False
    return True


def _prove(rig: Rig, target: Target) -> None:
    """Three different reviews are mutated as they must be. Raises Unavailable with what is wrong."""
    for number in range(3):
        review = fixtures.review("aws", number, rig.seed)
        try:
            status, answer = _post(rig, target.port, fixtures.body("aws", number, rig.seed))
        except OSError as problem:
            raise Unavailable(f"no answer: {problem}") from problem
        if status != 200:
            raise Unavailable(f"answers {status}: {answer[:120]!r}")
        try:
            answers.must_be_aws(review, answer)
        except answers.Wrong as problem:
            raise Unavailable(f"does not mutate the review: {problem}") from problem


def _post(rig: Rig, port: int, body: bytes) -> tuple[int, bytes]:
    return processes.exchange(f"127.0.0.1:{port}", "POST", fixtures.PATH, body, rig.trust)
