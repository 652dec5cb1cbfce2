"""The ccoctl family: our command line against the simulator, or one function of ours.

``better`` wins over ``expected`` where it says something that can be compared. Of ARM calls the writes are
compared, bodies and all, in any order; reads are our own affair, because we observe first. ``<uuid4>`` is any
GUID: ours are made of what they name, as ``better`` has it. An empty list of calls means no call at all.
"""

from __future__ import annotations

import copy
import json
from collections.abc import Iterator
from typing import Any

from tests.vectors import ccoctl_facts as facts
from tests.vectors import ccoctl_library as library
from tests.vectors import ccoctl_more as more
from tests.vectors import ccoctl_operator as operator_installed
from tests.vectors.ccoctl_format import format_of
from tests.vectors.ccoctl_run import Run, ran
from vestibule_simulators.azure import state

__all__ = ["check", "format_of"]
Json = dict[str, Any]


def check(vector: Json) -> list[str]:
    """Everything in which we differ from the case."""
    vector = copy.deepcopy(vector)
    program, _, name = str(vector["command"]).partition(": ")
    inputs, expected = vector.get("inputs") or {}, vector.get("expected") or {}
    better = vector.get("better") or {}
    if program == "library" and name == "scoping_groups":
        return library.scopes(inputs, expected, better, vector["flags"])
    if program == "library" and name == "retry":
        return [*more.retries(inputs, expected)]
    if program == "library":
        return library.LIBRARY[name](inputs, expected, better)
    if program == "operator":
        return operator_installed.check(name, inputs, expected)
    if program == "aws create-iam-roles":
        return library.aws_roles(vector)
    if program == "aws create-identity-provider":
        return library.aws_issuer(vector)
    if program == "gcp create-service-accounts":
        return library.gcp_accounts(vector)
    if program == "gcp create-workload-identity-provider":
        return library.gcp_issuer(vector)
    if not program.startswith("azure "):
        return [f"{program}: there is no such command yet"]
    if "--cloud" in (vector.get("flags") or {}):
        return [*more.cloud(vector, better)]
    if "existing_fic" in inputs:
        return [*more.credentials(vector, inputs, expected, better)]
    return [*_command(vector, expected, better)]


def _command(vector: Json, expected: Json, better: Json) -> Iterator[str]:
    want = _wanted(expected, better, vector["inputs"].get("existing_files") or {})
    with ran(vector) as run:
        if "exit" in want and run.exit != want["exit"]:
            yield f"exit: got {run.exit}, want {want['exit']}: {run.err[-400:]}"
        yield from _words(want, better, run)
        yield from _calls(want, better, run)
        yield from _kept(want, run)
        yield from _files(want, better, run)
        yield from _assignments(want, run)
        yield from _waits(want, better, run)
        yield from _promised(want, better, run)
    yield from more.again(vector, expected, better)


def _wanted(expected: Json, better: Json, existing: Json) -> Json:
    """What is expected, with what is better laid over it; file by file."""
    want = {**expected, **{key: value for key, value in better.items() if key != "files"}}
    merged = dict(expected["files"]) if isinstance(expected.get("files"), dict) else None
    for name, message in (better.get("files") or {}).items():
        merged = merged or {}
        merged[name] = {**merged.get(name, {}), **message}
    if merged is not None:
        want["files"] = merged
    if better.get("exit") and isinstance(want.get("files"), dict):  # a refusal leaves what was there
        want["files"] = {name: message for name, message in want["files"].items() if name in existing}
    if "derive" in better:  # or refuse before anything is written
        want["files"] = want.pop("files_present", None) and []
    if str(better.get("default", "")).startswith("report"):
        want["deleted"] = []
    if "only validate the account name when" in str(better.get("why", "")):
        for key in ("exit", "error", "arm_calls"):
            want.pop(key, None)
        want["exit"] = 0
    return want


def _words(want: Json, better: Json, run: Run) -> Iterator[str]:
    if isinstance(want.get("error"), str) and run.exit and (wrong := facts.said(want["error"], run.err)):
        yield wrong
    for part in want.get("error_contains", ()) if run.exit else ():
        if part not in run.err:
            yield f"{part!r} is not in {run.err[-300:]!r}"
    for name in want.get("missing", ()):
        if f"--{name}: is required" not in run.err:
            yield f"--{name} is not told to be missing"
    for name in want.get("skipped", ()):
        if f"{name} " not in run.err or "skipped:" not in run.err:
            yield f"{name} is not told to be skipped: {run.err!r}"
    if "offer" in better:
        for word in ("CDN", "existing account", "--issuer-mode none"):
            if word not in run.err:
                yield f"{word!r} is not offered: {run.err!r}"
    if better.get("cleanup_hint") and "goes on from there" not in run.err:
        yield f"nothing says what is left and what to do: {run.err!r}"
    if ("plan" in better or better.get("prints_plan")) and not run.out.strip():
        yield "no plan is printed"


def _calls(want: Json, better: Json, run: Run) -> Iterator[str]:
    if want.get("arm_calls") == []:
        yield from (f"a call: {call['method']} {call['path']}" for call in run.arm)
    elif "arm_calls" in want:
        yield from facts.writes(want["arm_calls"], run)
    if "arm_calls_prefix" in want:
        expected = facts.shapes(want["arm_calls_prefix"], run)
        yield from (f"missing write {one}" for one in expected if one not in facts.shapes(run.writes, run))
    if "arm_calls_tail" in want:
        expected = facts.shapes(want["arm_calls_tail"], run)
        found = facts.shapes(run.writes, run)[-len(expected) :]
        if found != expected:
            yield f"the last writes are {found}"
    done = {f"{call['method']} {call['path']}".lower() for call in run.writes}
    yield from (f"was called: {one}" for one in want.get("not_called", ()) if one.lower() in done)
    if "blob_calls" in want:
        yield from facts.blobs(want["blob_calls"], better, run)
    if "deletes" in want and (gone := [call["path"] for call in run.writes if call["method"] == "DELETE"]):
        yield f"was deleted: {gone}"
    if "deleted" in want:
        gone = [call["path"].rpartition("/")[2] for call in run.writes if call["method"] == "DELETE"]
        if gone != want["deleted"]:
            yield f"deleted: got {gone}, want {want['deleted']}"
    if (
        "created" in want
        and (
            created := [
                one["path"]
                for one in run.writes
                if "/roleassignments/" in one["path"].lower() and one["method"] == "PUT"
            ]
        )
        != want["created"]
    ):
        yield f"created: got {created}"
    if want.get("order") == ["issuer", "installation group", "identities"]:
        paths = [call["path"].lower() for call in run.calls if call["method"] == "PUT"]
        group = f"{run.before.root}/resourcegroups/{run.before.installation}".lower()
        later = [one for one in paths[paths.index(group) :] if one.startswith(f"/{run.account}/")]
        if later or not any(one.startswith(f"/{run.account}/") for one in paths):
            yield f"the issuer is not made first: {paths}"


_KINDS = {"resource group": state.GROUP, "identity": state.IDENTITY, "role definition": state.ROLE}


def _kept(want: Json, run: Run) -> Iterator[str]:
    existing = {(one.get("type"), one.get("name")) for one in run.resources}
    for text in want.get("kept", ()):
        kind, _, name = text.rpartition(" ")
        if (_KINDS[kind], name) not in existing:
            yield f"not kept: {text}"


def _files(want: Json, better: Json, run: Run) -> Iterator[str]:
    listed = want.get("files")
    if isinstance(listed, dict):
        yield from facts.files(listed, run)
    elif listed == []:
        given = {"crs", "pub.pem"}
        left = [
            p
            for p in run.folder.rglob("*")
            if p.is_file() and p.relative_to(run.folder).parts[0] not in given
        ]
        yield from (f"file {path.relative_to(run.folder)}: nobody wants it" for path in left)
    for name in want.get("files_present") or ():
        if not (run.folder / name).is_file():
            yield f"{name}: is missing"
    for name in want.get("absent", ()):
        if (run.folder / name).exists():
            yield f"{name}: should not be there"
    for name in want.get("dirs_present", ()):
        if not (run.folder / name).is_dir():
            yield f"{name}: is no directory"
    for name, mode in (want.get("dirs") or {}).items():
        path = run.folder / name
        found = f"{path.stat().st_mode & 0o777:04o}" if path.is_dir() else "missing"
        if found != mode:
            yield f"directory {name}: {found}, want {mode}"
    if "last_line" in want:
        for path in run.folder.glob("*/manifests/*-credentials.yaml"):
            if path.read_text().splitlines()[-1] != want["last_line"]:
                yield f"{path.name} ends otherwise"


def _assignments(want: Json, run: Run) -> Iterator[str]:
    mine = [
        one for one in run.writes if "/roleassignments/" in one["path"].lower() and one["method"] == "PUT"
    ]
    given = [
        {
            "scope": one["path"].rpartition("/providers/")[0],
            "role": facts.title(one["body"]["properties"]["roleDefinitionId"], run),
        }
        for one in mine
    ]
    if "role_assignments" in want:
        expected = [
            {"scope": one["scope"], "role": facts.title(one["roleDefinitionId"], run)}
            for one in want["role_assignments"]
        ]
        if sorted(given, key=str) != sorted(expected, key=str):
            yield f"role assignments: got {given}"
    titles = want.get("assigned_role_names_in_order")
    if titles is not None and sorted(one["role"] for one in given) != sorted(titles):
        yield f"assigned: got {given}"
    roles = [
        one["body"]["properties"]
        for one in run.writes
        if "/roledefinitions/" in one["path"].lower() and one["method"] == "PUT"
    ]
    if want.get("no_custom_role") and roles:
        yield f"custom roles: {roles}"
    if "custom_role" in want and not any(_within(want["custom_role"], one) for one in roles):
        yield f"custom roles: got {roles}"
    if "federated_credentials" in want and not run.exit:
        found = [
            {"name": one["name"], **one["properties"]}
            for one in run.resources
            if one.get("type") == state.CREDENTIAL
        ]
        if sorted(map(_sorted, found)) != sorted(map(_sorted, want["federated_credentials"])):
            yield f"credentials: got {found}"


def _promised(want: Json, better: Json, run: Run) -> Iterator[str]:
    """The address of the issuer, and what is better about assignments and the storage account."""
    if "issuer_url" in want:
        found = [json.loads(path.read_text())["issuer"] for path in run.folder.rglob("openid-configuration")]
        if found != [want["issuer_url"]]:
            yield f"issuer_url: got {found}"
    mine = [
        one for one in run.writes if "/roleassignments/" in one["path"].lower() and one["method"] == "PUT"
    ]
    for key, value in better.get("role_assignment_body_adds", {}).items():
        wrong = [one["path"] for one in mine if one["body"]["properties"].get(key) != value]
        if wrong or not mine:
            yield f"{key} of role assignments is not {value!r}: {wrong}"
    if "storage_account" in better:
        yield from more.foreign_account(run, better["storage_account"])


def _waits(want: Json, better: Json, run: Run) -> Iterator[str]:
    if "sleeps_seconds" in want and sorted(run.slept) != sorted(want["sleeps_seconds"]):
        yield f"waits: got {run.slept}"
    if want.get("same_role_assignment_name_on_each_try"):
        tried = {
            one["path"]
            for one in run.arm
            if "/roleassignments/" in one["path"].lower() and one["method"] == "PUT"
        }
        if len(tried) != 1:
            yield f"assignments have several names: {tried}"
    if better.get("retry") is False and run.slept:
        yield f"it waits: {run.slept}"


def _within(small: Any, large: Any) -> bool:
    if isinstance(small, dict):
        return isinstance(large, dict) and all(_within(value, large.get(key)) for key, value in small.items())
    return bool(small == large)


def _sorted(one: Json) -> str:
    return json.dumps(one, sort_keys=True)
