"""The hypershift family: our pure functions against what HyperShift does, and against what is proposed.

A case is known by what it gives and wants, not by its number, so any file of the family runs. What it says
about the behaviour of others (``hypershiftObserved``, ``upstream…``, ``why``, ``effect``) is not ours to
prove. Where ``ours`` stands beside it, that counts. A wish that the runner does not know is a failure.
"""

from __future__ import annotations

import copy
import shlex
from collections.abc import Callable, Iterator
from typing import Any

from tests.vectors import hypershift_attach as attach
from tests.vectors import hypershift_format
from tests.vectors import hypershift_pki as pki
from tests.vectors import hypershift_rules as rules
from tests.vectors.formats import Format
from tests.vectors.hypershift_given import IMAGES, NOW, deployment, differences, given, subset
from vestibule import errors
from vestibule.operator.controllers.hosted import (
    certificates,
    hypershift_objects,
    hypershift_webhooks,
    sidecar,
)

Json = dict[str, Any]
Check = Callable[[Json, Json], Iterator[str]]


def format_of(vector: Json) -> Format:
    """The keys of a case, by what it is about."""
    found = _kind(vector)
    return hypershift_format.format_of(found[0] if found else "")


def check(vector: Json) -> list[str]:
    """Everything in which we differ from the case."""
    vector = copy.deepcopy(vector)
    inputs, want = vector["input"], vector["expect"]
    found = _kind(vector)
    if found is None:
        return [f"the runner knows no such case: {sorted(inputs)} wants {sorted(want)}"]
    problems = list(found[1](inputs, want))
    if vector["compare"] not in hypershift_format.COMPARE:
        problems.append(f"the runner does not compare {vector['compare']!r}")
    if vector["profile"] not in hypershift_format.PROFILES:
        problems.append(f"the runner knows no profile {vector['profile']!r}")
    return problems


def _kind(vector: Json) -> tuple[str, Check] | None:
    """The check of a case, with its name."""
    inputs, want = vector.get("input") or {}, vector.get("expect") or {}
    for name, signs, checked in _CHECKS:
        if all(sign in inputs or sign in want for sign in signs):
            return name, checked
    cases = inputs.get("cases") or [{}]
    return next(((name, checked) for name, sign, checked in _LISTS if sign in cases[0]), None)


# ── the sidecar ─────────────────────────────────────────────────────────────────────────────────────────────


def _sidecar(inputs: Json, want: Json) -> Iterator[str]:
    hosted, images = inputs["hostedControlPlane"], inputs.get("payloadImages") or IMAGES
    before = deployment(hosted)
    created = sidecar.added(before, hosted, images)
    webhook = hypershift_webhooks.of(hosted)
    assert webhook is not None
    for key, expected in want.items():
        if key == "deployment":
            yield from _deployment(created, expected)
        elif key == "kubeconfigServer":
            found = hypershift_objects.server(webhook, hosted)
            if found != expected:
                yield f"kubeconfigServer: got {found}"
        elif key == "flagsInOrder":
            found_flags = _flags(_container(created, webhook.name))
            if found_flags != expected:
                yield f"flags: got {found_flags}"
        elif key == "flagAbsent":
            existing = [flag.partition("=")[0] for flag in _flags(_container(created, webhook.name))]
            yield from (f"{flag} is there" for flag in expected if flag in existing)
        else:
            yield f"the case wants {key}, which the runner does not know"
    if sidecar.added(created, hosted, images) != created:
        yield "a second pass changes the Deployment"


def _refused(inputs: Json, want: Json) -> Iterator[str]:
    hosted, images = inputs["hostedControlPlane"], inputs.get("payloadImages") or IMAGES
    before = deployment(hosted)
    untouched = copy.deepcopy(before)
    try:
        sidecar.added(before, hosted, images)
        yield "no error"
    except errors.InvalidInput as error:
        if want["error"]["contains"] not in str(error):
            yield f"error: got {error}"
    if want.get("deploymentUnchanged") and before != untouched:
        yield "the Deployment changed"
    try:
        hypershift_objects.all_objects(given(hosted, images), NOW)
        yield "something would be written"
    except errors.InvalidInput:
        pass


def _deployment(made: Json, want: Json) -> Iterator[str]:
    pod = made["spec"]["template"]["spec"]
    for key, expected in want.items():
        if key in ("name", "namespace"):
            if made["metadata"][key] != expected:
                yield f"{key}: got {made['metadata'][key]}"
        elif key == "containersContain":
            for one in expected:
                yield from _same_container(_container(made, one["name"]), one)
        elif key == "volumesContain":
            existing = {one["name"]: one for one in pod["volumes"]}
            for one in expected:
                yield from differences(f"volume {one['name']}", existing.get(one["name"], {}), one)
        elif key == "containerPortsDeclared":
            added = [
                one for one in pod["containers"] if one["name"] in {w.name for w in hypershift_webhooks.ALL}
            ]
            ports = [port for one in added for port in one.get("ports", [])]
            if ports != expected:
                yield f"ports: got {ports}"
        elif key == "containerKeysAbsent":
            for one in want["containersContain"]:
                found = _container(made, one["name"])
                yield from (f"{one['name']} has {name}" for name in expected if name in found)
        else:
            yield f"the case wants {key} of the Deployment, which the runner does not know"


def _container(made: Json, name: str) -> Json:
    found: list[Json] = made["spec"]["template"]["spec"]["containers"]
    return next((one for one in found if one["name"] == name), {})


def _same_container(found: Json, want: Json) -> Iterator[str]:
    if not found:
        yield f"container {want['name']} is missing"
        return
    plain = {key: value for key, value in want.items() if key != "argv_contract"}
    yield from differences(f"container {want['name']}", found, plain)
    contract = want.get("argv_contract") or {}
    script = "\n".join(found.get("args", []))
    for key, expected in contract.items():
        holds: dict[str, Callable[[], bool]] = {
            "one_script_argument": lambda: (len(found["args"]) == 1) == expected,  # noqa: B023
            "blocks_until_ok": lambda: script.startswith("until curl ") and f" {expected};" in script,  # noqa: B023
            "probe_is": lambda: (
                expected == _PROBE  # noqa: B023
                and all(word in script for word in ("--fail", "--insecure", "sleep 2;"))
                and not any(word in script for word in ("--header", "--cert", "--user"))
            ),
            "then_exec": lambda: f"\nexec {expected} " in script,  # noqa: B023
            "flags_in_order": lambda: _flags(found) == expected,  # noqa: B023
        }
        if key not in holds or not holds[key]():
            yield f"{key} is not {expected!r}: {script!r}"


_PROBE = "curl, TLS unverified, fail on HTTP error, every 2 s, anonymous"


def _flags(container: Json) -> list[str]:
    """The flags of the program that a container ends up running."""
    if container["command"][0] != "/bin/sh":
        return list(container["command"][1:])
    words = shlex.split(container["args"][0].rpartition("exec ")[2].replace("\\\n", " "))
    return words[1:]


def _others(inputs: Json, want: Json) -> Iterator[str]:
    """Platforms that have no webhook."""
    absent = want["forEach"]
    for hosted in inputs["hostedControlPlanes"]:
        place = hosted["spec"]["platform"]["type"]
        full = hypershift_objects.all_objects(given(hosted), NOW)
        pod = full.deployment["spec"]["template"]["spec"]
        existing = {
            "containersAbsent": [one["name"] for one in pod["containers"]],
            "volumesAbsent": [one["name"] for one in pod["volumes"]],
            "secretsAbsent": [one["metadata"]["name"] for one in full.secrets],
            "guestAbsent": [{"kind": one["kind"], "name": one["metadata"]["name"]} for one in full.guest],
        }
        for key, names in absent.items():
            if key not in existing:
                yield f"the case wants {key}, which the runner does not know"
            yield from (f"{place}: {name} is there" for name in names if name in existing.get(key, []))
        if full.guest or full.secrets:
            yield f"{place}: {len(full.guest)} guest objects and {len(full.secrets)} Secrets"


def _guest(inputs: Json, want: Json) -> Iterator[str]:
    """The guest's objects."""
    full = hypershift_objects.all_objects(
        given(inputs["hostedControlPlane"], bundle=inputs["rootCABundle"]), NOW
    )
    existing = {one["kind"]: one for one in full.guest}
    for key, wanted in want.items():
        if key == "guestObjects":
            for one in wanted:
                expected = rules.decoded(one)
                yield from subset(f"{one['kind']}", existing.get(one["kind"], {}), expected)
        elif key == "guestKindsCreatedExactly":
            if sorted(existing) != sorted(wanted) or len(full.guest) != len(wanted):
                yield f"kinds: got {[one['kind'] for one in full.guest]}"
        else:
            yield f"the case wants {key}, which the runner does not know"


def _ca_hash(inputs: Json, want: Json) -> Iterator[str]:
    found = {certificates.CA_HASH: certificates.ca_hash({"data": inputs["caSecret"]})}
    if found != want["annotation"]:
        yield f"annotation: got {found}"


_CHECKS: tuple[tuple[str, tuple[str, ...], Check], ...] = (
    ("others", ("hostedControlPlanes", "forEach"), _others),
    ("serving", ("hostedControlPlane", "rootCASecret"), pki.serving),
    ("kubeconfig", ("hostedControlPlane", "clientCertificate"), pki.kubeconfig),
    ("guest", ("hostedControlPlane", "guestObjects"), _guest),
    ("separate", ("hostedControlPlane", "managementObjects"), attach.separate),
    ("built_in", ("hostedControlPlane", "liveKubeApiserverContainers"), attach.built_in),
    ("refused", ("hostedControlPlane", "error"), _refused),
    ("sidecar", ("hostedControlPlane",), _sidecar),
    ("renewal", ("reissue",), pki.renewal),
    ("new_authority", ("leaf", "caSecret"), pki.new_authority),
    ("config_hash", ("mountedSecrets",), rules.config_hash),
    ("ca_hash", ("caSecret",), _ca_hash),
    ("payload", ("imageReferences",), rules.payload),
    ("urls", ("urls", "services"), rules.urls),
    ("withdrawn", ("predicate",), rules.withdrawn),
    ("foreign", ("live", "rule"), rules.foreign),
    ("paused", ("values", "now"), rules.paused),
    ("clouds", ("clouds",), rules.clouds),
    ("spellings", ("tls-min-version",), rules.spellings),
    ("kamaji", ("tenantControlPlane",), attach.kamaji),
    ("providers", ("providers",), attach.providers),
    ("end_to_end", ("serviceAccount", "cases"), attach.end_to_end),
    ("teardown", ("delete", "cases"), rules.teardown),
)
"""Name, what a case gives or wants, check; the first that fits."""
_LISTS: tuple[tuple[str, str, Check], ...] = (
    ("drift", "live", rules.drift),
    ("replicas", "controllerAvailabilityPolicy", rules.replicas),
)
"""Cases with nothing but ``cases``: what the first of them holds says what it is about."""
