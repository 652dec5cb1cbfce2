"""``python -m tests.soak.run``: bounded by admissions and by minutes, resumable, exit code 1 when something
was lost that no fault explains, or came out wrong, or when the API server counted otherwise."""

from __future__ import annotations

import argparse
import contextlib
import functools
import tempfile
import time
from pathlib import Path

from bench import creation

from tests.apiserver.balancer import Balancer
from tests.apiserver.webhook_installation import WebhookInstallation, wait_called
from tests.rig.client import at
from tests.rig.controlplane import ControlPlane
from tests.soak import load as loads
from tests.soak.counted import Counted
from tests.soak.faults import Faults
from tests.soak.tally import Tally

UNAUDITED = {"audit-policy-file": None, "audit-log-path": None}


def options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m tests.soak.run", description=__doc__)
    parser.add_argument(
        "--admissions", type=int, default=20_000, help="in all, those of earlier runs included"
    )
    parser.add_argument("--minutes", type=float, default=120.0, help="end earlier than that in any case")
    parser.add_argument(
        "--state", type=Path, default=None, help="file that keeps the counts; resumes from it"
    )
    parser.add_argument("--every", type=float, default=10.0, help="seconds between two faults")
    parser.add_argument("--accounts", type=int, default=500)
    parser.add_argument("--threads", type=int, default=8)
    parser.add_argument(
        "--old", type=Path, default=None, help="work tree of an earlier version: upgrades and rollbacks"
    )
    return parser.parse_args()


def main() -> int:
    expected = options()
    try:
        tally = Tally(expected.state)
    except ValueError as error:
        raise SystemExit(str(error)) from None
    with tempfile.TemporaryDirectory(prefix="soak-") as scratch, contextlib.ExitStack() as stack:
        plane = stack.enter_context(ControlPlane(Path(scratch) / "plane", controllers=False, flags=UNAUDITED))
        namespace = plane.namespace("soak")
        for number in range(expected.accounts):
            annotations = {"cwii.dev/aws-inject": "true", "cwii.dev/aws-role-arn": loads.role(number)}
            account = {"metadata": {"name": f"app-{number}", "annotations": annotations}}
            assert plane.admin.create(at("serviceaccounts", namespace), account).status == 201
        serving = {"drainSeconds": 2}
        installation = WebhookInstallation(plane, Path(scratch) / "installation", "soak", serving=serving)
        stack.callback(installation.close)
        installation.apply()
        balancer = stack.enter_context(Balancer())
        replicas = [installation.start(), installation.start()]
        for replica in replicas:
            balancer.add(replica.port, replica.ready)
        installation.register(balancer.port, failurePolicy="Fail", timeoutSeconds=10)
        wait_called(installation)
        counted = Counted(functools.partial(_metrics, plane), tally.count)
        faults = Faults(installation, balancer, tally, replicas, counted, expected.old)
        return _soak(expected, plane, namespace, tally, faults, counted)


def _metrics(plane: ControlPlane) -> str:
    answer = plane.admin.get("/metrics")
    assert answer.status == 200, answer.message
    return answer.body.decode()


def _soak(
    wanted: argparse.Namespace,
    plane: ControlPlane,
    namespace: str,
    tally: Tally,
    faults: Faults,
    counted: Counted,
) -> int:
    creator = creation.pod_creator(plane)
    load = loads.Load(
        creator.connection,
        lambda body: creator.create(body, namespace=namespace, dry=True),
        tally,
        faults.cause,
        accounts=wanted.accounts,
        wanted=wanted.admissions,
        threads=wanted.threads,
        seed=int(time.time()),
    )
    began = last = time.monotonic()
    load.start()
    try:
        while not load.over and time.monotonic() - began < wanted.minutes * 60:
            load.stop.wait(wanted.every)
            name = faults.next()
            now = time.monotonic()
            tally.seconds += now - last
            last = now
            tally.save()
            print(
                f"{tally.counts['admissions']:>9,} admissions, {name}; wrong {tally.counts['wrong']}, "
                f"fail open {tally.counts['fail_open']}, unexplained {tally.unexplained}, "
                f"lost {tally.lost or 0}",
                flush=True,
            )
    finally:
        load.join()
        try:
            counted.take()
        finally:
            tally.seconds += time.monotonic() - last
            tally.save()
    print(tally.table())
    for which, examples in sorted(tally.words.items()):
        for words in examples:
            print(f"{which}: {words}")
    problems = tally.problems()
    for problem in problems:
        print(f"FAILED: {problem}")
    return 1 if problems else 0


if __name__ == "__main__":
    raise SystemExit(main())
