"""Cases of the ccoctl family that take several runs, or none that calls: variants, retries, clouds."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

from tests.vectors.ccoctl_before import CONSTANTS, Before, flag
from tests.vectors.ccoctl_run import Run, ran
from vestibule.clouds.azure import endpoints
from vestibule_simulators.azure import state

Json = dict[str, Any]


def again(vector: Json, expected: Json, better: Json) -> Iterator[str]:
    """The other runs that a case speaks of."""
    compare = str(better.get("compare", ""))
    oidc = flag(vector, "--oidc-resource-group-name")
    if "case-insensitively" in compare and oidc:
        with ran(vector, oidc_resource_group_name=oidc.upper()) as run:
            if run.exit != expected["exit"] or run.arm:
                yield f"{oidc.upper()} is not {oidc}: exit {run.exit}"
    if "'East US'" in compare:
        before = Before(vector)
        for one in before.resources.values():
            if one["type"] == state.GROUP:
                one["location"] = "East US"
        with ran(vector, before) as run:
            if run.exit != 0:
                yield f"'East US' is not 'eastus': {run.err[-300:]}"
    if "with_preserve_existing_roles" in expected:
        with ran(vector, preserve_existing_roles=True) as run:
            gone = [call["path"].rpartition("/")[2] for call in run.writes if call["method"] == "DELETE"]
            if gone != expected["with_preserve_existing_roles"]["deleted"]:
                yield f"--preserve-existing-roles deletes: {gone}"
    if "role_assignment_name" in better:
        yield from _same_names(vector, better["role_assignment_name"])
    if str(better.get("default", "")).startswith("report"):
        with ran(vector) as run:
            if "left alone" not in run.err:
                yield f"what is left alone is not told: {run.err}"
        with ran(vector, None, "--remove-foreign-roles") as run:
            gone = [call["path"].rpartition("/")[2] for call in run.writes if call["method"] == "DELETE"]
            if gone != expected["deleted"]:
                yield f"--remove-foreign-roles deletes {gone}"
    if "only validate the account name when" in str(better.get("why", "")):
        with ran(vector, delete_oidc_resource_group=True) as run:
            if run.exit != 0 or any(one.get("name") == run.before.oidc for one in run.resources):
                yield f"the group stays: {run.err[-300:]}"


def _same_names(vector: Json, message: str) -> Iterator[str]:
    """Two runs from nothing give the same names to the same role assignments."""
    if not message.startswith("deterministic"):
        yield f"the runner knows no role assignment name that is {message!r}"
    found = []
    for _ in range(2):
        with ran(vector) as run:
            paths = [call["path"].lower() for call in run.writes if call["method"] == "PUT"]
            found.append(sorted(path for path in paths if "/roleassignments/" in path))
    if found[0] != found[1] or not found[0]:
        yield f"role assignments have other names in a second run: {found}"


def foreign_account(run: Run, message: str) -> Iterator[str]:
    """Every storage account that was deleted carried the tag of this name."""
    if "owned tag" not in message:
        yield f"the runner knows no storage account that is {message!r}"
    for call in run.writes:
        if call["method"] != "DELETE" or "/storageaccounts/" not in call["path"].lower():
            continue
        existing = run.before.resources.get(call["path"].lower()) or {}
        if not run.before.owned.items() <= (existing.get("tags") or {}).items():
            yield f"deleted without the tag: {call['path']}"


def credentials(vector: Json, inputs: Json, expected: Json, better: Json) -> Iterator[str]:
    """One run for each credential that may be there."""
    for number, (existing, want) in enumerate(zip(inputs["existing_fic"], expected["put"], strict=True)):
        before = Before(vector)
        before.credential("sa-one", **existing)
        with ran(vector, before) as run:
            paths = [call["path"].lower() for call in run.writes if call["method"] == "PUT"]
            found = any("/federatedidentitycredentials/" in path for path in paths)
            if found != want or run.exit:
                yield f"put[{number}]: got {found}, exit {run.exit}: {run.err[-200:]}"
    if "also" in better:
        before = Before(vector)
        before.credential(
            "sa-gone", **{**inputs["existing_fic"][0], "subject": "system:serviceaccount:ns1:sa-gone"}
        )
        with ran(vector, before) as run:
            gone = [call["path"].rpartition("/")[2] for call in run.writes if call["method"] == "DELETE"]
            if gone != ["sa-gone"]:
                yield f"stale credentials: deleted {gone}"


_PASSING = {
    "PrincipalNotFound": ("roleAssignments", 400),
    "RoleDefinitionDoesNotExist": ("roleAssignments", 400),
    "RoleDefinitionWithSameNameExists": ("roleDefinitions", 409),
    "ParentResourceNotFound": ("federatedIdentityCredentials", 404),
}
"""Where each passing fault comes from."""
_FLAGS = {
    "--name": "demo1",
    "--region": "eastus",
    "--subscription-id": CONSTANTS["subscription"],
    "--issuer-url": CONSTANTS["issuer"],
    "--credentials-requests-dir": "crs",
    "--output-dir": "out",
}


def retries(inputs: Json, expected: Json) -> Iterator[str]:
    """Each fault for ever: how often it is met, how long we wait between, and how it ends."""
    if expected["then"] != "exit 1":
        yield f"the runner knows no end {expected['then']!r}"
    for code in inputs["always"]:
        want = expected["attempts"][code]
        what, status = _PASSING.get(code, ("roleDefinitions", 0))
        method, role = ("PUT", "Contributor") if status else ("GET", "Nobody Has This Role")
        permissions = {"permissions": ["Microsoft.Compute/disks/read"]} if what == "roleDefinitions" else {}
        fault = {"on": f"PUT {what}", "status": status, "error_code": code}
        given: Json = {"wanted_roles": [role], **permissions, **({"faults": [fault]} if status else {})}
        case = {
            "command": "azure create-managed-identities",
            "flags": _FLAGS,
            "inputs": given,
            "expected": {},
        }
        with ran(case) as run:
            tried = [
                one
                for one in run.arm
                if one["method"] == method
                and one["path"].rpartition(f"/{what}")[1]
                and ("fault" in one or not status)
            ]
            if len(tried) != want or set(run.slept) - {expected["delay_seconds"]} or run.exit != 1:
                yield f"{code}: {len(tried)} attempts, want {want}; waits {run.slept[:3]}; exit {run.exit}"


def cloud(vector: Json, better: Json) -> Iterator[str]:
    """Another cloud: its addresses, and the issuer in the files; nothing is called."""
    found = endpoints.of(flag(vector, "--cloud"))
    same = {"arm_endpoint": found.resource_manager, "arm_scope": found.scope, "authority": found.authority}
    yield from (f"{key}: got {value}" for key, value in same.items() if value != better.get(key, value))
    with ran(vector, dry_run=True) as run:
        path = run.folder / flag(vector, "--output-dir", ".") / "openid-configuration"
        issuer = json.loads(path.read_text())["issuer"] if path.is_file() else run.err
        if issuer != better.get("issuer_url", issuer):
            yield f"issuer: got {issuer}"
