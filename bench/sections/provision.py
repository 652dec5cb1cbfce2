"""200 CredentialsRequests against the simulated Azure: how long, how many calls, and a second run.

The simulator is a process of its own. The time is mostly that of some 1,400 calls over TLS on one machine, so
what matters is that calls go side by side, at most as many as asked for, and that a run with nothing to do is
short.
"""

from __future__ import annotations

import json
import subprocess
import sys
import time
from pathlib import Path

from bench import cores, figures, processes
from bench.figures import Figure, Row
from bench.processes import Unavailable
from bench.rig import Rig

NAME = "200 CredentialsRequests"
REQUESTS = 200
PARALLEL = 8
LIMIT = 600.0
START = 30.0
_REQUEST = """apiVersion: cloudcredential.openshift.io/v1
kind: CredentialsRequest
metadata:
  name: cr{number}
spec:
  serviceAccountNames: [sa-one, sa-two]
  secretRef: {{name: secret{number}, namespace: ns1}}
  providerSpec:
    kind: AzureProviderSpec
    roleBindings:
    - role: Contributor
    permissions:
    - Microsoft.Compute/disks/read
"""
ROWS: list[Row] = [
    (f"planned and performed, {PARALLEL} calls at a time", "s", None),
    ("a second run, with nothing to do", "s", None),
    ("the plan alone", "s", None),
    ("calls that came before Retry-After let them", "", figures.NO_ERRORS),
]


def measure(rig: Rig) -> list[Figure]:
    folder = rig.scratch / "provision"
    requests = folder / "requests"
    requests.mkdir(parents=True)
    for number in range(REQUESTS):
        (requests / f"{number:03}.yaml").write_text(_REQUEST.format(number=number))
    command = processes.python("vestibule", "simulate", "azure", "--dir", str(folder / "sim"))
    try:
        with processes.running(command, rig.scratch / "simulator.log", rig.split.server) as child:
            ready = folder / "sim" / "env.sh"
            processes.wait_until(child, ready.exists, START)
            return figures.filled(NAME, ROWS, _measured(rig, folder, requests, _variables(ready)))
    except (Unavailable, OSError, subprocess.SubprocessError) as problem:
        return figures.unfilled(NAME, ROWS, processes.clean(str(problem)))


def _measured(rig: Rig, folder: Path, requests: Path, variables: dict[str, str]) -> list[tuple[float, str]]:
    arguments = [
        "azure", "create-all", "--name", "demo1", "--region", "eastus",
        "--subscription-id", variables["AZURE_SUBSCRIPTION_ID"], "--tenant-id", variables["AZURE_TENANT_ID"],
        "--credentials-requests-dir", str(requests), "--output-dir", str(folder / "out"),
        "--cloud", str(folder / "sim" / "cloud.json"), "--parallel", str(PARALLEL),
    ]  # fmt: skip
    first = _timed(rig, arguments, variables)
    calls = _calls(variables)
    second = _timed(rig, arguments, variables)
    more = _calls(variables)
    plan = _timed(rig, [*arguments, "--plan"], variables)
    wrote = [call for call in more[0][len(calls[0]) :] if call["method"] in ("PUT", "PATCH", "DELETE")]
    arm = [call for call in wrote if call["path"].startswith("/subscriptions")]
    return [
        (first, f"{len(calls[0]):,} calls, {len(calls[0]) / first:,.0f} a second"),
        (second, f"{len(more[0]) - len(calls[0]):,} calls, {len(arm)} writes"),
        (plan, "only reads"),
        (float(more[1]), f"of {len(more[0]):,}"),
    ]


def _timed(rig: Rig, arguments: list[str], variables: dict[str, str]) -> float:
    began = time.perf_counter()
    with cores.pinned(rig.split.loader):
        done = subprocess.run(
            [sys.executable, "-m", "vestibule", *arguments],
            capture_output=True,
            text=True,
            timeout=LIMIT,
            check=False,
            env=processes.environment(variables),
        )
    if done.returncode:
        raise Unavailable(f"create-all ends with {done.returncode}: {done.stderr.strip()[-200:]}")
    return time.perf_counter() - began


def _calls(variables: dict[str, str]) -> tuple[list[dict[str, str]], int]:
    """Every call so far, and how many of them came too early."""
    import ssl
    import urllib.request

    trust = ssl.create_default_context(cafile=variables["SSL_CERT_FILE"])
    url = f"{variables['VESTIBULE_SIMULATOR']}/_simulate/calls"
    with urllib.request.urlopen(url, context=trust, timeout=60) as answer:  # noqa: S310 - our own address
        found = json.load(answer)
    return found["calls"], len(found["retryAfterViolations"])


def _variables(file: Path) -> dict[str, str]:
    pairs = (
        line.removeprefix("export ").partition("=")
        for line in file.read_text().splitlines()
        if line.startswith("export ")
    )
    return {name: value.strip("'\"") for name, _, value in pairs}
