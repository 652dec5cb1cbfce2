"""``make demo``: pods pass the real webhook, over HTTPS, on a cluster that is a directory of manifests.

Starts ``vestibule webhook`` as a process of its own, sends it every pod of examples/demo/workloads as the API
server would, and shows what came back: the change, the object behind every value, the warnings. Each answer
is held against the offline decision and against what the file expects; any difference ends in exit code 1.
"""

from __future__ import annotations

import base64
import copy
import difflib
import http.client
import itertools
import json
import os
import signal
import ssl
import statistics
import subprocess
import sys
import tempfile
import time
import uuid
from collections.abc import Callable, Iterable, Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any, NamedTuple, NoReturn, TypeVar

from rich.console import Console
from rich.text import Text

from vestibule import errors, settingsfile
from vestibule.admission import apply
from vestibule.diagnose.offline import inject, manifest_files
from vestibule.injection.policy import compile_policy
from vestibule.kube.manifest_directory import DirectoryCluster
from vestibule.manifests import webhook_configurations

ROOT = Path(__file__).resolve().parents[1]
DEMO = Path("examples/demo")
START_SECONDS, CALL_SECONDS, STOP_SECONDS = 20.0, 5.0, 10.0
BURST = 200
WIDTH = 110

plain = bool(os.environ.get("NO_COLOR")) or not sys.stdout.isatty()
console = Console(color_system=None if plain else "auto", highlight=False, markup=False, emoji=False)
T = TypeVar("T")


class Failure(Exception):
    """The demonstration did not go as it should."""


class Answer(NamedTuple):
    """What the webhook said about one pod."""

    allowed: bool
    operations: list[dict[str, Any]]
    warnings: list[str]
    message: str
    milliseconds: float


def say(text: str = "", style: str = "") -> None:
    """One line, never wrapped by us."""
    console.print(Text(text, style=style), soft_wrap=True)


def cut(text: str, limit: int) -> str:
    return text if len(text) <= limit else text[: limit - 1] + "…"


def heading(text: str) -> None:
    say(f"\n── {text} ".ljust(WIDTH + 1, "─"), "bold")


def columns(rows: Iterable[Iterable[str]]) -> list[str]:
    """Rows with aligned columns."""
    table = [list(row) for row in rows]
    widths = [max(len(cell) for cell in column) for column in zip(*table, strict=True)]
    return ["  ".join(map(str.ljust, row, widths)).rstrip() for row in table]


class Webhook:
    """The running process and a connection to it, made as the API server makes one."""

    def __init__(self, process: subprocess.Popen[bytes], log: Path) -> None:
        self._process, self._log, self.pid = process, log, process.pid
        port, self._metrics_port = self._until("to listen", self._ports)
        # the certificate was made a moment ago by the process we started: take it, then trust no other
        pem = ssl.get_server_certificate(("127.0.0.1", port), timeout=CALL_SECONDS)
        tls = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
        tls.load_verify_locations(cadata=pem)
        self._to = http.client.HTTPSConnection("127.0.0.1", port, context=tls, timeout=CALL_SECONDS)
        self.ready = self._until("to be ready", lambda: self.get("/readyz") if self.alive() else None)

    def alive(self) -> bool:
        """Raises Failure with the end of the log when the process is gone."""
        if self._process.poll() is not None:
            end = self._log.read_text().strip().splitlines()[-5:]
            raise Failure("\n".join([f"the webhook ended with code {self._process.returncode}:", *end]))
        return True

    def _ports(self) -> tuple[int, int] | None:
        """The ports that the kernel picked, from the log."""
        lines = [line for line in self._log.read_text().splitlines(keepends=True) if line.endswith("}\n")]
        reported = {
            entry["server"]: entry for entry in map(json.loads, lines) if entry["text"] == "listening"
        }
        if self.alive() and {"webhook", "metrics"} <= reported.keys():
            return reported["webhook"]["addresses"][0][1], reported["metrics"]["addresses"][0][1]
        return None

    @staticmethod
    def _until(what: str, attempt: Callable[[], T | None]) -> T:
        deadline = time.monotonic() + START_SECONDS
        while (found := attempt()) is None:
            if time.monotonic() > deadline:
                raise Failure(f"the webhook took more than {START_SECONDS:.0f} seconds {what}")
            time.sleep(0.02)
        return found

    def get(self, path: str) -> str | None:
        """The body of a 200; None for anything else."""
        self._to.request("GET", path)
        response = self._to.getresponse()
        body = response.read().decode()
        return body if response.status == 200 else None

    def close(self) -> None:
        self._to.close()

    def metrics(self) -> list[str]:
        """The lines about reviews, from the port for scrapers."""
        with closing(http.client.HTTPConnection("127.0.0.1", self._metrics_port, timeout=CALL_SECONDS)) as to:
            to.request("GET", "/metrics")
            text = to.getresponse().read().decode()
        return [line for line in text.splitlines() if line.startswith("vestibule_admission_requests_total")]

    def review(self, pod: dict[str, Any]) -> Answer:
        """Send one AdmissionReview and take the answer apart."""
        uid = str(uuid.uuid4())
        request = {
            "uid": uid,
            "kind": {"group": "", "version": "v1", "kind": "Pod"},
            "resource": {"group": "", "version": "v1", "resource": "pods"},
            "operation": "CREATE",
            "userInfo": {"username": "demo"},
            "namespace": pod["metadata"]["namespace"],
            "object": pod,
        }
        review = {"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview", "request": request}
        body = json.dumps(review)
        started = time.perf_counter()
        self._to.request("POST", "/mutate?timeout=5s", body, {"Content-Type": "application/json"})
        response = self._to.getresponse()
        data = response.read()
        milliseconds = (time.perf_counter() - started) * 1000
        if response.status != 200:
            raise Failure(f"the webhook answered {response.status}: {data.decode(errors='replace')}")
        answer = json.loads(data)["response"]
        if answer["uid"] != uid:
            raise Failure("the answer belongs to another request")
        operations = json.loads(base64.b64decode(answer["patch"])) if "patch" in answer else []
        message = answer.get("status", {}).get("message", "")
        return Answer(answer["allowed"], operations, answer.get("warnings", []), message, milliseconds)


@contextmanager
def webhook() -> Iterator[Webhook]:
    """A webhook process that is gone afterwards, whatever happens."""
    words = f"webhook --cluster {DEMO}/cluster --settings {DEMO}/settings.toml --self-signed"
    words += " --addr 127.0.0.1:0 --metrics-addr 127.0.0.1:0"
    say(f"$ vestibule {words}", "dim")
    ours = ("CWII_", "VESTIBULE_", "RUST_LOG")
    env = {name: value for name, value in os.environ.items() if not name.startswith(ours)}
    with tempfile.TemporaryDirectory(prefix="vestibule-demo-") as scratch:
        log, audit = Path(scratch, "log"), Path(scratch, "audit")
        command = [sys.executable, "-m", "vestibule", *words.split()]
        with log.open("wb") as errs, audit.open("wb") as out:
            # in a session of its own: Ctrl-C reaches us alone, and we end the child in order
            process = subprocess.Popen(command, stdout=out, stderr=errs, env=env, start_new_session=True)
        try:
            with closing(Webhook(process, log)) as running:
                yield running
        finally:
            process.terminate()
            try:
                code = process.wait(STOP_SECONDS)
            except subprocess.TimeoutExpired:
                process.kill()
                code = process.wait()
        if code != 0:
            raise Failure(f"the webhook ended with code {code}, want 0")
        say(f"the last line of its audit log:\n  {audit.read_text().splitlines()[-1]}", "dim")


def comment(result: inject.PodResult, beginning: str = "# ") -> str:
    """The first comment of the pod's file that begins so."""
    lines = result.before.text.splitlines()
    return next((line.removeprefix(beginning) for line in lines if line.startswith(beginning)), "")


def show(number: int, result: inject.PodResult, installation: Webhook) -> tuple[str, ...]:
    """Send one pod and tell what happened; raises Failure when it is not what should have happened."""
    pod, verdict = result.template.pod, result.verdict
    heading(f"{number}. {comment(result)}")
    answer = installation.review(pod)
    if answer.operations != result.pod_operations or answer.allowed != verdict.allowed:
        raise Failure(f"{result.template}: the webhook and the offline decision differ")
    outcome = ",".join(verdict.providers) or ("nothing" if answer.allowed else "refused")
    if outcome != comment(result, "# expect: "):
        raise Failure(f"{result.template} got {outcome}, want {comment(result, '# expect: ')}")
    if answer.operations:
        show_diff(result.before.text, result.after.text)
    say("where it comes from", "bold")
    for line in columns(origins(result)):
        say(f"  {line}")
    if not answer.allowed:
        denied = f'admission webhook "{webhook_configurations.WEBHOOK_NAME}" denied the request:'
        say(f"what the author of the pod reads\n  {denied} {answer.message}", "red")
    elif answer.warnings:
        reported = "".join(f"\n  Warning: {warning}" for warning in answer.warnings)
        say(f"what the author of the pod reads{reported}", "yellow")
    elif not answer.operations:
        say("the pod passes as it is", "green")
    after = copy.deepcopy(pod)
    apply.patch(after, answer.operations)
    if installation.review(after).operations:
        raise Failure(f"{result.template}: the second pass changed the pod again")
    again = "no change" if answer.operations else "-"
    return str(result.template), outcome, again, f"{answer.milliseconds:.1f} ms"


def show_diff(before: str, after: str) -> None:
    """The pod's own file, before and after; what one container gets like the one before is said once."""
    lines = list(difflib.unified_diff(before.splitlines(), after.splitlines(), lineterm="", n=2))[2:]
    reported: set[tuple[str, ...]] = set()
    for sign, group in itertools.groupby(lines, key=lambda line: line[0]):
        run = tuple(group)
        if sign == "@":
            say("  ⋮", "cyan")
        elif run in reported and len(run) > 3:
            say(f"  +      … the same {len(run)} lines as above", "green")
        else:
            reported.add(run)
            for line in run:
                say(f"  {cut(line, WIDTH)}", {"+": "green", "-": "red"}.get(sign, "dim"))


def origins(result: inject.PodResult) -> Iterator[tuple[str, str, str]]:
    """Key, value, and the object that said so; a key that several clouds read stands once."""
    for found in dict.fromkeys(result.verdict.values):
        shadowed = "".join(f", stronger than {value} of {where}" for where, value in found.shadowed)
        yield found.key, cut(found.value, 48), found.object + shadowed


def main() -> None:
    started = time.monotonic()
    os.chdir(ROOT)
    policy = compile_policy(settingsfile.load(DEMO / "settings.toml", {}))
    cluster = DirectoryCluster(DEMO / "cluster")
    cluster.load()
    files = manifest_files.read([str(DEMO / "workloads")], sys.stdin.buffer)
    results = inject.run(files, cluster, policy).results
    say(f"{len(results)} pods pass the webhook; the cluster is the directory {DEMO}/cluster", "bold")
    with webhook() as installation:
        say(f"process {installation.pid} is ready\n{installation.ready.strip()}", "green")
        rows = [show(number, result, installation) for number, result in enumerate(results, 1)]
        calls = [installation.review(results[0].template.pod).milliseconds for _ in range(BURST)]
        heading("summary")
        for line in columns([("pod", "got", "second pass", "first answer"), *rows]):
            say(f"  {line}")
        p99 = statistics.quantiles(calls, n=100)[98]
        say(f"  {BURST} more reviews of pod 1, one after the other over TLS, the client's time included:")
        say(f"  p50 {statistics.median(calls):.2f} ms, p99 {p99:.2f} ms (a look; make bench measures)")
        for line in installation.metrics():
            say(f"  {line}", "dim")
    say(f"all as expected, {time.monotonic() - started:.1f} s", "green")
    say("\nwhat to try next", "bold")
    say(f"  .venv/bin/vestibule explain -f {DEMO}/workloads --cluster {DEMO}/cluster")
    say("  .venv/bin/vestibule inject -f examples/gcp.yaml -o diff")
    say(f"  .venv/bin/vestibule webhook --cluster {DEMO}/cluster --addr 127.0.0.1:8443 --self-signed")


def stop(number: int, _frame: object) -> NoReturn:
    """SIGTERM passes every ``with``, as Ctrl-C does."""
    sys.exit(128 + number)


if __name__ == "__main__":
    signal.signal(signal.SIGTERM, stop)
    try:
        main()
    except KeyboardInterrupt:
        sys.exit(130)
    except (Failure, errors.VestibuleError, OSError, http.client.HTTPException) as error:
        print(f"demo failed: {error}", file=sys.stderr)
        sys.exit(1)
