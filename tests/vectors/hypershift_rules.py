"""Cases of the hypershift family about single rules: digests, images, addresses, pauses, the way down."""

from __future__ import annotations

import copy
import datetime
import re
from collections.abc import Iterator, Mapping
from typing import Any

from tests.vectors.hypershift_format import paired
from tests.vectors.hypershift_given import HOSTED, IMAGES, NOW, deployment, encoded, given, subset
from vestibule import errors
from vestibule.api.settings import azwi
from vestibule.compat import azwi_flags, eks_flags
from vestibule.httpserver import tls
from vestibule.operator.controllers.hosted import (
    attach_modes,
    hosted_objects,
    hypershift_objects,
    hypershift_webhooks,
    platform_table,
    rollout,
    sidecar,
)
from vestibule.operator.controllers.hosted import paused as pauses
from vestibule.operator.controllers.hosted import release_image as payloads
from vestibule.operator.controllers.hosted import teardown as teardowns

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


def drift(inputs: Json, want: Json) -> Iterator[str]:
    """What is done about a webhook configuration that is in the hosted cluster."""
    desired = hosted_objects.configuration(
        hosted_objects.hypershift(hypershift_webhooks.AZURE, "ROOT-CA-BUNDLE")
    )
    for case, expected in paired(inputs["cases"], want["cases"]):
        change = hosted_objects.change(decoded(case["live"]), desired)
        if change.writes != expected["writes"]:
            yield f"{case['case']}: {change.writes} writes"
        entry = change.thing["webhooks"][0]
        yield from subset(f"{case['case']}: kept", entry, expected.get("kept", {}))
        result = expected.get("result", {})
        if isinstance(result, dict):
            flat = {**entry, **entry["clientConfig"]}
            yield from subset(f"{case['case']}: result", flat, decoded(result))
        elif not result.startswith("recreated"):
            yield f"{case['case']}: the runner knows no result {result!r}"
        elif change.action != "create":
            yield f"{case['case']}: {change.action}"
        if hosted_objects.change(change.thing, desired).writes:
            yield f"{case['case']}: a second pass writes"


def replicas(inputs: Json, want: Json) -> Iterator[str]:
    """Replicas and rollout strategy of the API server's Deployment."""
    for case, expected in paired(inputs["cases"], want["cases"]):
        hosted = {
            "metadata": {"annotations": case.get("annotations", {})},
            "spec": {"controllerAvailabilityPolicy": case["controllerAvailabilityPolicy"]},
        }
        found = rollout.of(hosted)
        shown = {"replicas": found.replicas, "rollingUpdate": dict(found.rolling_update)}
        yield from subset(str(case), shown, expected)


def config_hash(inputs: Json, want: Json) -> Iterator[str]:
    """The digest on the template, through a Deployment that mounts everything."""
    secrets, maps = inputs["mountedSecrets"], inputs["mountedConfigMaps"]
    created = deployment(HOSTED)
    created["spec"]["template"]["spec"]["volumes"] = [
        *({"name": one, "secret": {"secretName": one}} for one in secrets),
        *({"name": one, "configMap": {"name": one}} for one in maps),
    ]
    marked = rollout.annotated(created, secrets, maps)
    found = marked["spec"]["template"]["metadata"]["annotations"]
    for key, expected in want.items():
        if key == "annotation" and found != expected:
            yield f"annotation: got {found}"
        elif key == "parts":
            for text, digest in expected.items():
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
            yield from (f"{one} counts" for one in expected if rollout.config_hash({}, {one: {"a": "b"}}))
        elif key == "keysNotHashed":
            if (
                rollout.config_hash({}, {"c": {"a": "1"}}) == rollout.config_hash({}, {"c": {"b": "1"}})
            ) != expected:
                yield "keys count"
        elif key == "missingObject":
            if rollout.config_hash({**secrets, "gone": None}, maps) != rollout.config_hash(secrets, maps):
                yield "a missing object counts"
        elif key != "annotation":
            yield f"the case wants {key}, which the runner does not know"


def payload(inputs: Json, want: Json) -> Iterator[str]:
    """The image in a release."""
    name = hypershift_webhooks.AZURE.name
    for case, expected in paired(inputs["cases"], want["cases"]):
        text, references = case["case"], copy.deepcopy(inputs["imageReferences"])
        match = re.search(r"registry override (\S+) to (\S+)", text)
        if text.startswith("absent"):
            references["spec"]["tags"] = []
        release = payloads.release(references, {match[1]: match[2]} if match else {})
        found = payloads.lookup(name, release)
        if "image" in expected and found.image != expected["image"]:
            yield f"{text}: got {found.image}"
        if "releaseVersion" in expected and release.version != expected["releaseVersion"]:
            yield f"{text}: version {release.version}"
        if "ours" in expected:
            yield from subset(text, found.condition, expected["ours"]["condition"])
            full = hypershift_objects.all_objects(given(HOSTED)._replace(release=release), NOW)
            added = name in [one["name"] for one in full.deployment["spec"]["template"]["spec"]["containers"]]
            if added != expected["ours"]["containerAdded"] or full.guest or full.secrets:
                yield f"{text}: something is attached"
        if "lookupUses" in expected:
            spec = {"releaseImage": "spec.releaseImage", "controlPlaneReleaseImage": expected["lookupUses"]}
            both, one = (
                payloads.release_image({"spec": message})
                for message in (spec, {"releaseImage": expected["else"]})
            )
            if (both, one) != (expected["lookupUses"], expected["else"]):
                yield f"{text}: uses {both}, {one}"


def urls(inputs: Json, want: Json) -> Iterator[str]:
    """Which registrations HyperShift leaves alone."""
    namespace = inputs["controlPlaneNamespace"]
    services = [{"metadata": {**one, "namespace": namespace}} for one in inputs["services"]]
    found = [attach_modes.survives(url, services) for url in inputs["urls"]]
    if found != want["kept"]:
        yield f"kept: got {found}"


def withdrawn(inputs: Json, want: Json) -> Iterator[str]:
    """A Secret that is not wanted any more."""
    assert inputs["predicate"] is False
    names = hypershift_webhooks.AZURE.kubeconfig_secret, hypershift_webhooks.AZURE.serving_secret
    for case, expected in paired(inputs["cases"], want["cases"]):
        existing: dict[str, Json] = {}
        if "ownerReferences" in case:
            meta = {"ownerReferences": case["ownerReferences"]}
            existing = {name: {"metadata": {"name": name, **meta}} for name in names}
        try:
            found = hypershift_objects.withdrawn(None, existing, HOSTED)
            failed = None
        except errors.VestibuleError as error:
            found, failed = (), str(error)
        if failed != expected.get("error"):
            yield f"{case['case']}: error is {failed!r}"
        if "deleted" in expected and (names[0] in found) != expected["deleted"]:
            yield f"{case['case']}: deleted {found}"
        if names[1] in found:
            yield f"{case['case']}: the serving certificate is deleted"
        if set(found) - set(names):
            yield f"{case['case']}: more than Secrets of the webhook is deleted: {found}"
    for key in ("servingCertSecret", "guestObjects"):
        if not str(want.get(key, "never deleted")).startswith("never deleted"):
            yield f"the runner knows no {key} that is {want[key]!r}"


def outlives(desired: Json, live: Json, *, desired_changed: bool) -> bool:
    """HyperShift's operator, played: whether what others added to its object outlives its next pass.

    It looks whether everything desired is in the live object, members of lists by their place, longer lists
    being no difference; and writes its own when not, or when what it desires has changed.
    """
    return not desired_changed and _within(desired, live)


def _within(desired: Any, live: Any) -> bool:
    if isinstance(desired, Mapping):
        return isinstance(live, Mapping) and all(
            key in live and _within(value, live[key]) for key, value in desired.items() if value
        )
    if isinstance(desired, list):
        return (
            isinstance(live, list)
            and len(live) >= len(desired)
            and all(_within(one, other) for one, other in zip(desired, live, strict=False))
        )
    return bool(not desired or desired == live)


_LIVE = "CPO desired state + one extra container at the end of containers + one extra volume at the end"


def foreign(inputs: Json, want: Json) -> Iterator[str]:
    """A container that somebody else added to the API server's Deployment."""
    desired = sidecar.added(deployment(HOSTED), HOSTED, IMAGES)
    if inputs["live"] != _LIVE or want["rule"] != "never attach by patching this Deployment":
        yield f"the runner knows no such Deployment or rule: {inputs['live']}; {want['rule']}"
    for case, expected in paired(inputs["cases"], want["cases"]):
        live = copy.deepcopy(desired)
        pod = live["spec"]["template"]["spec"]
        pod["containers"].insert(0 if "before" in case["case"] else 99, {"name": "foreign", "image": "x"})
        pod["volumes"].append({"name": "foreign", "emptyDir": {}})
        found = outlives(desired, live, desired_changed="any change" in case["case"])
        if found != expected["foreignContainerKept"]:
            yield f"{case['case']}: kept is {found}"
    target = platform_table.ALL["hypershift"].target(HOSTED, [], NOW)
    choice = attach_modes.choose("sidecar", target, attach_modes.AttachObservation(["kube-apiserver"]))
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
    for cloud, expected in zip(inputs["clouds"], want["authorityHost"], strict=True):
        settings = azwi.AzwiSettings(cloud=cloud)
        found = azwi.authority(settings, strict=False)
        if expected.startswith("https://"):
            if found != expected:
                yield f"{cloud}: got {found}"
            continue
        # not fatal: no problem of the settings, and nothing is guessed; a host that is given counts
        if found is not None or list(azwi.problems(settings, strict=False)):
            yield f"{cloud}: got {found}"
        explicit = azwi.AzwiSettings(cloud=cloud, authority_host="https://login.example/")
        if azwi.authority(explicit, strict=False) != "https://login.example/":
            yield f"{cloud}: the explicit host does not count"
    for text in want.get("upstreamCrashesOn", ()):
        cloud = text.partition(" ")[0]
        if not list(azwi.problems(azwi.AzwiSettings(cloud=cloud), strict=True)):
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
        for suite, expected in zip(inputs["tls-cipher-suites"], want["ciphersAccepted"], strict=True):
            program.settings({"tls-cipher-suites": suite}, {})
            reported = tls.left_out([suite]) == [suite]
            if reported == (expected is True):
                yield f"{suite}: left out is {reported}"
            if expected is True and ":" in tls.ciphers([suite]):
                yield f"{suite}: gives {tls.ciphers([suite])}"


def teardown(inputs: Json, want: Json) -> Iterator[str]:
    """The way down."""
    known = {
        "guest reachable": teardowns.TeardownObservation(reachable=True),
        "guest API unreachable for longer than the limit": teardowns.TeardownObservation(
            reachable=False, silent_since=NOW - 2 * teardowns.LIMIT
        ),
        "HostedControlPlane has deletionTimestamp": teardowns.TeardownObservation(
            reachable=False, control_plane_deleting=True
        ),
    }
    if inputs["delete"] != "the request object":
        yield f"the runner knows no deletion of {inputs['delete']!r}"
    for case, expected in paired(inputs["cases"], want["cases"]):
        plan = teardowns.plan(known[case["case"]], NOW)
        facts = {
            "order": list(plan.order),
            "finalizerReleased": teardowns.FINALIZER in plan.order,
            "event": plan.event,
            "guestCleanup": "skipped" if plan.guest_skipped else "done",
        }
        yield from subset(
            case["case"], facts, {key: value for key, value in expected.items() if key != "case"}
        )
