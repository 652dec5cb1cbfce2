"""Cases of the hypershift family about single rules: digests, images, addresses, pauses, the way down."""

from __future__ import annotations

import copy
import datetime
import re
from collections.abc import Iterator
from typing import Any

from tests.vectors.hypershift_given import HOSTED, IMAGES, NOW, deployment, encoded, given, subset
from vestibule import errors
from vestibule.adapters.serving import tls
from vestibule.apps.operator.hosted import (
    attachments,
    flavours,
    guest,
    parity,
    rollout,
    sidecar,
    webhooks,
)
from vestibule.apps.operator.hosted import paused as pauses
from vestibule.apps.operator.hosted import payload as payloads
from vestibule.apps.operator.hosted import teardown as teardowns
from vestibule.core.kinds import azwi, azwi_flags, eks_flags

Json = dict[str, Any]
_BASE64 = re.compile(r"base64\((.*)\)")


def decoded(value: Any) -> Any:
    """The case with ``base64(X)`` as what it stands for."""
    if isinstance(value, dict):
        return {key: decoded(one) for key, one in value.items()}
    if isinstance(value, list):
        return [decoded(one) for one in value]
    match = _BASE64.fullmatch(value) if isinstance(value, str) else None
    return encoded(match[1]) if match else value


def cases(inputs: Json, want: Json) -> Iterator[str]:
    """Cases with nothing but ``cases``: what each of them holds says what it is about."""
    first = inputs["cases"][0]
    if "live" in first:
        yield from _drift(inputs["cases"], want["cases"])
    elif "controllerAvailabilityPolicy" in first:
        yield from _replicas(inputs["cases"], want["cases"])
    else:
        yield f"the runner knows no such cases: {sorted(first)}"


def _drift(given_cases: list[Json], wanted_cases: list[Json]) -> Iterator[str]:
    """What is done about a registration that stands in the guest."""
    desired = guest.configuration(guest.hypershift(webhooks.AZURE, "ROOT-CA-BUNDLE"))
    for case, want in zip(given_cases, wanted_cases, strict=True):
        change = guest.change(decoded(case["live"]), desired)
        if change.writes != want["writes"]:
            yield f"{case['case']}: {change.writes} writes"
        entry = change.thing["webhooks"][0]
        yield from subset(f"{case['case']}: kept", entry, want.get("kept", {}))
        if isinstance(want.get("result"), dict):
            flat = {**entry, **entry["clientConfig"]}
            yield from subset(f"{case['case']}: result", flat, decoded(want["result"]))
        elif str(want.get("result", "")).startswith("recreated") and change.action != "create":
            yield f"{case['case']}: {change.action}"
        if guest.change(change.thing, desired).writes:
            yield f"{case['case']}: a second pass writes"


def _replicas(given_cases: list[Json], wanted_cases: list[Json]) -> Iterator[str]:
    for case, want in zip(given_cases, wanted_cases, strict=True):
        hosted = {
            "metadata": {"annotations": case.get("annotations", {})},
            "spec": {"controllerAvailabilityPolicy": case["controllerAvailabilityPolicy"]},
        }
        found = rollout.of(hosted)
        shown = {"replicas": found.replicas, "rollingUpdate": dict(found.rolling_update)}
        yield from subset(str(case), shown, want)


def config_hash(inputs: Json, want: Json) -> Iterator[str]:
    """The digest on the template, through a Deployment that mounts everything."""
    secrets, maps = inputs["mountedSecrets"], inputs["mountedConfigMaps"]
    made = deployment(HOSTED)
    made["spec"]["template"]["spec"]["volumes"] = [
        *({"name": one, "secret": {"secretName": one}} for one in secrets),
        *({"name": one, "configMap": {"name": one}} for one in maps),
    ]
    marked = rollout.annotated(made, secrets, maps)
    found = marked["spec"]["template"]["metadata"]["annotations"]
    for key, wanted in want.items():
        if key == "annotation" and found != wanted:
            yield f"annotation: got {found}"
        elif key == "parts":
            for text, digest in wanted.items():
                kind, value = re.fullmatch(r"(bytes|string)\('(.*)'\)", text).groups()  # type: ignore[union-attr]
                one = {"x": encoded(value) if kind == "bytes" else value}
                part = (
                    rollout.config_hash({"s": one}, {})
                    if kind == "bytes"
                    else rollout.config_hash({}, {"c": one})
                )
                if part != digest:
                    yield f"{text}: got {part}"
        elif key == "excludedConfigMaps":
            yield from (f"{one} counts" for one in wanted if rollout.config_hash({}, {one: {"a": "b"}}))
        elif key == "keysNotHashed":
            if (
                rollout.config_hash({}, {"c": {"a": "1"}}) == rollout.config_hash({}, {"c": {"b": "1"}})
            ) != wanted:
                yield "keys count"
        elif key == "missingObject":
            if rollout.config_hash({**secrets, "gone": None}, maps) != rollout.config_hash(secrets, maps):
                yield "a missing object counts"
        elif key != "annotation":
            yield f"the case wants {key}, which the runner does not know"


def payload(inputs: Json, want: Json) -> Iterator[str]:
    """The image in a release."""
    name = webhooks.AZURE.name
    for case, wanted in zip(inputs["cases"], want["cases"], strict=True):
        text, references = case["case"], copy.deepcopy(inputs["imageReferences"])
        match = re.search(r"registry override (\S+) to (\S+)", text)
        if text.startswith("absent"):
            references["spec"]["tags"] = []
        release = payloads.release(references, {match[1]: match[2]} if match else {})
        found = payloads.lookup(name, release)
        if "image" in wanted and found.image != wanted["image"]:
            yield f"{text}: got {found.image}"
        if "releaseVersion" in wanted and release.version != wanted["releaseVersion"]:
            yield f"{text}: version {release.version}"
        if "ours" in wanted:
            yield from subset(text, found.condition, wanted["ours"]["condition"])
            whole = parity.whole(given(HOSTED)._replace(release=release), NOW)
            added = name in [
                one["name"] for one in whole.deployment["spec"]["template"]["spec"]["containers"]
            ]
            if added != wanted["ours"]["containerAdded"] or whole.guest or whole.secrets:
                yield f"{text}: something is attached"
        if "lookupUses" in wanted:
            spec = {"releaseImage": "spec.releaseImage", "controlPlaneReleaseImage": wanted["lookupUses"]}
            both, one = (
                payloads.release_image({"spec": said}) for said in (spec, {"releaseImage": wanted["else"]})
            )
            if (both, one) != (wanted["lookupUses"], wanted["else"]):
                yield f"{text}: uses {both}, {one}"


def urls(inputs: Json, want: Json) -> Iterator[str]:
    """Which registrations HyperShift leaves alone."""
    services = [{"metadata": one} for one in inputs["services"]]
    found = [attachments.survives(url, services) for url in inputs["urls"]]
    if found != want["kept"]:
        yield f"kept: got {found}"


def withdrawn(inputs: Json, want: Json) -> Iterator[str]:
    """A Secret that is not wanted any more."""
    assert inputs["predicate"] is False
    names = webhooks.AZURE.kubeconfig_secret, webhooks.AZURE.serving_secret
    for case, wanted in zip(inputs["cases"], want["cases"], strict=True):
        there: dict[str, Json] = {}
        if "ownerReferences" in case:
            meta = {"ownerReferences": case["ownerReferences"]}
            there = {name: {"metadata": {"name": name, **meta}} for name in names}
        found = parity.withdrawn(None, there, HOSTED)
        if "deleted" in wanted and (names[0] in found) != wanted["deleted"]:
            yield f"{case['case']}: deleted {found}"
        if str(want.get("servingCertSecret", "")).startswith("never deleted") and names[1] in found:
            yield f"{case['case']}: the serving certificate is deleted"


def foreign(inputs: Json, want: Json) -> Iterator[str]:
    """A container that somebody else added to the API server's Deployment."""
    desired = sidecar.added(deployment(HOSTED), HOSTED, IMAGES)
    for case, wanted in zip(inputs["cases"], want["cases"], strict=True):
        live = copy.deepcopy(desired)
        pod = live["spec"]["template"]["spec"]
        pod["containers"].insert(0 if "before" in case["case"] else 99, {"name": "foreign", "image": "x"})
        pod["volumes"].append({"name": "foreign", "emptyDir": {}})
        found = attachments.outlives(desired, live, desired_changed="any change" in case["case"])
        if found != wanted["foreignContainerKept"]:
            yield f"{case['case']}: kept is {found}"
    target = flavours.ALL["hypershift"].target(HOSTED, [], NOW)
    choice = attachments.choose("sidecar", target, attachments.Seen(["kube-apiserver"]))
    if choice.way is not None:
        yield f"attaching by patching is allowed: {choice}"


def paused(inputs: Json, want: Json) -> Iterator[str]:
    """``spec.pausedUntil``."""
    now = datetime.datetime.fromisoformat(inputs["now"].replace("Z", "+00:00"))
    found = [pauses.until(value, now) for value in inputs["values"]]
    if [one.paused for one in found] != want["paused"]:
        yield f"paused: got {found}"
    if [one.seconds for one in found] != want["requeueSeconds"]:
        yield f"requeueSeconds: got {found}"


def clouds(inputs: Json, want: Json) -> Iterator[str]:
    """Where tokens are exchanged, and what happens where nobody knows."""
    for cloud, wanted in zip(inputs["clouds"], want["authorityHost"], strict=True):
        settings = azwi.Azwi(cloud=cloud)
        found = azwi.authority(settings, strict=False)
        if wanted.startswith("https://"):
            if found != wanted:
                yield f"{cloud}: got {found}"
            continue
        # not fatal: no problem of the settings, and nothing is guessed; a host that is given counts
        if found is not None or list(azwi.problems(settings, strict=False)):
            yield f"{cloud}: got {found}"
        explicit = azwi.Azwi(cloud=cloud, authority_host="https://login.example/")
        if azwi.authority(explicit, strict=False) != "https://login.example/":
            yield f"{cloud}: the explicit host does not count"
    for text in want.get("upstreamCrashesOn", ()):
        cloud = text.partition(" ")[0]
        if not list(azwi.problems(azwi.Azwi(cloud=cloud), strict=True)):
            yield f"{cloud}: strict starts"


def spellings(inputs: Json, want: Json) -> Iterator[str]:
    """Flags about TLS, as both programs take them."""
    for program in (azwi_flags, eks_flags):
        found = []
        for text in inputs["tls-min-version"]:
            try:
                program.settings({"tls-min-version": text}, {})
                found.append(True)
            except errors.InvalidSettings:
                found.append(False)
        if found != want["accepted"]:
            yield f"{program.__name__}: accepted {found}"
        for suite, wanted in zip(inputs["tls-cipher-suites"], want["ciphersAccepted"], strict=True):
            program.settings({"tls-cipher-suites": suite}, {})
            told = tls.left_out([suite]) == [suite]
            if told == (wanted is True):
                yield f"{suite}: left out is {told}"
            if wanted is True and ":" in tls.ciphers([suite]):
                yield f"{suite}: gives {tls.ciphers([suite])}"


def teardown(inputs: Json, want: Json) -> Iterator[str]:
    """The way down."""
    known = {
        "guest reachable": teardowns.Guest(reachable=True),
        "guest API unreachable for longer than the limit": teardowns.Guest(
            reachable=False, silent_since=NOW - 2 * teardowns.LIMIT
        ),
        "HostedControlPlane has deletionTimestamp": teardowns.Guest(
            reachable=False, control_plane_deleting=True
        ),
    }
    for case, wanted in zip(inputs["cases"], want["cases"], strict=True):
        plan = teardowns.plan(known[case["case"]], NOW)
        facts = {
            "order": list(plan.order),
            "finalizerReleased": plan.finalizer_released,
            "event": plan.event,
            "guestCleanup": "skipped" if plan.guest_skipped else "done",
        }
        yield from subset(case["case"], facts, {key: value for key, value in wanted.items() if key != "case"})
