"""Handler µs by pod shape: decode → decide → encode in this process, pinned, no socket, no file.

Each repetition times `batches` batches of a shape and keeps the best: the one the machine disturbed least.
The median over the repetitions is told. Shapes take turns, so a slow moment of the machine does not hit
one of them alone.

Two shapes are measured a second time with pods each of which is the first of its workload, by a handler that
has served none of them.
"""

from __future__ import annotations

import statistics
import time

import msgspec

from bench import answers, cluster, cores, figures, fixtures, subject
from bench.figures import Bar, Figure
from bench.pod import Json
from bench.processes import Unavailable
from bench.rig import Rig

NAME = "handler, no I/O"
LOOPS = 6
"""Passes over all bodies per batch: 6 * 32 calls of 30 µs are 6 ms, short enough to escape time slices."""

_AWS = ("AWS_ROLE_ARN", "AWS_WEB_IDENTITY_TOKEN_FILE")
_GCP = ("GOOGLE_APPLICATION_CREDENTIALS",)
_AZ = ("AZURE_CLIENT_ID", "AZURE_TENANT_ID", "AZURE_FEDERATED_TOKEN_FILE")
VARIABLES = {"aws": _AWS, "gcp": _GCP, "az": _AZ, "all": _AWS + _GCP + _AZ, "verify": _AWS}
LABELS: dict[str, tuple[str, Bar | None]] = {
    "none": ("asks for nothing", figures.HANDLER_NOTHING),
    "aws": ("aws", figures.HANDLER),
    "gcp": ("gcp", None),
    "az": ("az", None),
    "all": ("all three", None),
    "verify": ("aws with verify", None),
    "again": ("aws, second pass", None),
    "refused": ("refused", None),
    "none-apart": ("asks for nothing, no two alike", figures.HANDLER_NOTHING),
    "aws-apart": ("aws, no two alike", figures.HANDLER),
}
Handler = subject.Handle


def measure(rig: Rig) -> list[Figure]:
    try:
        handle = subject.handler()
        fresh = subject.handlers([*cluster.objects(), *cluster.workloads(fixtures.APART)])
    except Unavailable as problem:
        return [_unmeasured(shape, str(problem)) for shape in LABELS]
    wrong: dict[str, str] = {}
    shapes: dict[str, list[bytes]] = {}
    for shape in LABELS:
        try:
            shapes[shape] = (
                _apart(fresh(), shape, rig.seed) if _is_apart(shape) else _proven(handle, shape, rig.seed)
            )
        except answers.Wrong as problem:
            wrong[shape] = f"wrong answer: {problem}"
    bests: dict[str, list[float]] = {shape: [] for shape in shapes}
    with cores.pinned(rig.split.server):
        for _ in range(rig.lengths.repetitions):
            batches: dict[str, list[float]] = {shape: [] for shape in shapes}
            for _ in range(rig.lengths.batches):
                for shape, bodies in shapes.items():
                    batches[shape].append(
                        _batch(fresh(), bodies, 1) if _is_apart(shape) else _batch(handle, bodies, LOOPS)
                    )
            for shape, found in batches.items():
                bests[shape].append(min(found))
    return [
        _unmeasured(shape, wrong[shape]) if shape in wrong else _figure(shape, shapes[shape], bests[shape])
        for shape in LABELS
    ]


def _proven(handle: Handler, shape: str, seed: int) -> list[bytes]:
    """The bodies of a shape, after every one of them got the answer it must get. Raises answers.Wrong."""
    if shape == "again":
        return [_second(handle, number, seed) for number in range(fixtures.VARIANTS)]
    bodies = fixtures.bodies(shape, seed)
    for number, body in enumerate(bodies):
        review, answer = fixtures.review(shape, number, seed), handle(body)
        if shape == "none":
            answers.must_be_untouched(review, answer)
        elif shape == "refused":
            answers.must_be_refused(answer)
        else:
            answers.must_have(review, answer, *VARIABLES[shape])
    return bodies


def _second(handle: Handler, number: int, seed: int) -> bytes:
    """The aws review as a reinvocation sends it: with the first patch applied; it must be left alone."""
    review: Json = fixtures.review("aws", number, seed)
    review["request"]["object"] = answers.patched(review, handle(fixtures.body("aws", number, seed)))
    body = msgspec.json.encode(review)
    answers.must_be_untouched(review, handle(body))
    return body


def _is_apart(shape: str) -> bool:
    return shape.endswith("-apart")


def _apart(handle: Handler, name: str, seed: int) -> list[bytes]:
    """The bodies of pods of which no two are alike, proven as the others."""
    shape = name.removesuffix("-apart")
    found: list[bytes] = []
    for number in range(fixtures.APART):
        review = fixtures.apart(shape, number, seed)
        found.append(msgspec.json.encode(review))
        answer = handle(found[-1])
        if shape == "none":
            answers.must_be_untouched(review, answer)
        else:
            answers.must_have(review, answer, *VARIABLES[shape])
    return found


def _batch(handle: Handler, bodies: list[bytes], loops: int) -> float:
    """µs per call."""
    began = time.perf_counter()
    for _ in range(loops):
        for body in bodies:
            handle(body)
    return (time.perf_counter() - began) * 1e6 / (loops * len(bodies))


def _figure(shape: str, bodies: list[bytes], bests: list[float]) -> Figure:
    label, bar = LABELS[shape]
    spread = f"{min(bests):.1f} to {max(bests):.1f}, {len(bodies[0]) / 1000:.1f} KB"
    detail = {"least": min(bests), "most": max(bests), "bytes": float(len(bodies[0]))}
    return Figure(NAME, label, statistics.median(bests), "µs", bar, spread, detail)


def _unmeasured(shape: str, why: str) -> Figure:
    label, bar = LABELS[shape]
    return figures.unmeasured(NAME, label, "µs", why, bar)
