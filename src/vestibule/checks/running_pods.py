"""Running pods, compared with the decision that the webhook would make today.

The webhook decides once, when a pod is created. If it was not asked then, or if annotations, settings or
policies have changed since, the pod runs with another identity than it should, and nothing says so. A second
pass over a pod that is as it should be changes nothing; what it would add is what the pod lacks. What it
would not see, because containers may bring values of their own, is compared with the plans themselves.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final, Literal, NamedTuple

import msgspec

from vestibule.admission import pointer
from vestibule.admission.verdict import Verdict
from vestibule.api import annotation_keys
from vestibule.api.settings.schema import Settings
from vestibule.injection.plan import CloudPlanForPod
from vestibule.injection.policy import PreparedIdentity

Object = Mapping[str, Any]
State = Literal["missing", "partial", "stale", "refused", "unserved"]
_METADATA_AT_CREATION: Final = (
    "name",
    "generateName",
    "namespace",
    "labels",
    "annotations",
    "ownerReferences",
)
_OVER: Final = frozenset({"Succeeded", "Failed"})


class PodDrift(NamedTuple):
    """How a running pod differs from the pod that would be created today."""

    state: State
    clouds: tuple[str, ...]
    text: str


def alive(pod: Object) -> bool:
    """Whether the pod runs, or will: it is not over, not on its way out, and not a mirror of a static pod."""
    meta = pod["metadata"]
    if meta.get("deletionTimestamp") or annotation_keys.MIRROR_POD in (meta.get("annotations") or {}):
        return False
    return (pod.get("status") or {}).get("phase") not in _OVER


def ready(pod: Object) -> bool:
    """Whether the pod's condition Ready is True."""
    found = (pod.get("status") or {}).get("conditions") or ()
    return any(one.get("type") == "Ready" and one.get("status") == "True" for one in found)


def as_created(pod: Object) -> dict[str, Any]:
    """The pod as admission saw it: names that the API server draws are drawn later."""
    meta = {key: value for key, value in pod["metadata"].items() if key in _METADATA_AT_CREATION}
    if meta.get("generateName") and (controller(pod) or {}).get("kind") != "StatefulSet":
        meta.pop("name", None)
    return {"apiVersion": "v1", "kind": "Pod", "metadata": meta, "spec": pod["spec"]}


def controller(pod: Object) -> Object | None:
    """The controller owner reference; None for a pod without a controller."""
    references = pod["metadata"].get("ownerReferences") or ()
    return next((one for one in references if one.get("controller")), None)


def template(owner: Object | None, pod: Object) -> Object | None:
    """The spec as its author wrote it: the owner's template or the last applied one; None if unknown."""
    if owner is not None:
        found = ((owner.get("spec") or {}).get("template") or {}).get("spec")
        return found if isinstance(found, Mapping) else None
    applied = (pod["metadata"].get("annotations") or {}).get(_APPLIED)
    if not applied:
        return None
    try:
        spec = msgspec.json.decode(applied, type=dict[str, Any]).get("spec")
    except msgspec.MsgspecError:
        return None
    return spec if isinstance(spec, Mapping) else None


_APPLIED: Final = "kubectl.kubernetes.io/last-applied-configuration"


def drift(
    pod: Object,
    verdict: Verdict,
    operations: Sequence[Object],
    prepared: PreparedIdentity,
    settings: Settings,
    written: Object | None = None,
) -> Iterator[PodDrift]:
    """Everything that is not as it would be made today, the worst first. ``written`` is the spec as its
    author wrote it: its values are the author's own, not injected."""
    if not verdict.allowed:
        yield PodDrift("refused", (), verdict.message)
        return
    plans = [part.plan for part in prepared.bundle.parts]
    yield from _lacking(pod, operations, plans)
    stale = [*_values(pod, plans, written or {}), *_volumes(pod, plans)]
    if stale:
        clouds = tuple(dict.fromkeys(cloud for cloud, _ in stale))
        yield PodDrift("stale", clouds, "; ".join(text for _, text in stale))
    given = {volume.name for plan in plans for volume in plan.volumes}
    given |= {volume.get("name") for volume in (written or {}).get("volumes") or ()}
    for name, cloud in _tokens(pod, settings):
        if name not in given:
            text = f"has the token volume {name}, which it would not get today"
            yield PodDrift("stale", (cloud,), text)
    for gap in verdict.missing:
        text = f"{gap.provider} identity is requested, but {' and '.join(gap.keys)} is missing; {gap.advice}"
        yield PodDrift("unserved", (gap.provider,), text)


# ── what a second pass would add ───────────────────────────────────────────────────────────────────────────


def _lacking(
    pod: Object, operations: Sequence[Object], plans: Sequence[CloudPlanForPod]
) -> Iterator[PodDrift]:
    volumes: set[str] = set()
    missing: dict[str, list[str]] = {}
    running = False
    for steps, value in _additions(operations):
        match steps:
            case ["spec", "volumes", *_]:
                volumes.add(value["name"])
            case ["spec", ("containers" | "initContainers") as field, index, ("env" | "volumeMounts"), *_]:
                container = pod["spec"][field][int(index)]
                element = value.get("mountPath") or value["name"]
                missing.setdefault(container["name"], []).append(element)
                running |= field == "containers" or container.get("restartPolicy") == "Always"
            case ["spec", ("containers" | "initContainers"), *_]:
                missing.setdefault(value["name"], []).append("the container itself")
    absent = tuple(
        dict.fromkeys(plan.provider for plan in plans if {one.name for one in plan.volumes} & volumes)
    )
    if absent:
        yield PodDrift("missing", absent, f"has no {' and no '.join(absent)} identity")
    elif missing:
        words = "; ".join(f"container {name} lacks {', '.join(lacks)}" for name, lacks in missing.items())
        clouds = tuple(dict.fromkeys(plan.provider for plan in plans))
        # init containers have run: it matters only when the pod is recreated
        yield PodDrift("partial" if running else "stale", clouds, words)


def _additions(operations: Sequence[Object]) -> Iterator[tuple[list[str], Object]]:
    """Each element that is added to a list of the pod, with its path."""
    for operation in operations:
        steps = pointer.tokens(operation["path"])
        value = operation["value"]
        for one in value if isinstance(value, list) else [value]:
            if isinstance(one, Mapping) and "name" in one:
                yield steps, one


# ── what a second pass takes for the container's own value ──────────────────────────────────────────────────


def _values(pod: Object, plans: Sequence[CloudPlanForPod], written: Object) -> Iterator[tuple[str, str]]:
    spec = pod["spec"]
    own = {
        (container.get("name"), one.get("name"))
        for container in (*(written.get("initContainers") or ()), *(written.get("containers") or ()))
        for one in container.get("env") or ()
    }
    for container in (*(spec.get("initContainers") or ()), *spec["containers"]):
        mounted = {mount["name"] for mount in container.get("volumeMounts") or ()}
        current = {one["name"]: one.get("value") for one in container.get("env") or ()}
        for plan in plans:
            if mounted.isdisjoint(volume.name for volume in plan.volumes):
                continue
            for variable in plan.env:
                value = current.get(variable.name)
                if (container["name"], variable.name) in own:
                    continue
                if variable.role != "extra" and not variable.field and value and value != variable.value:
                    where = f"container {container['name']}: {variable.name}"
                    yield plan.provider, f"{where} is {value!r}, today {variable.value!r}"


def _volumes(pod: Object, plans: Sequence[CloudPlanForPod]) -> Iterator[tuple[str, str]]:
    """Token volumes with another audience; the lifetime of a token is no part of the identity."""
    current = {volume["name"]: _audiences(volume) for volume in pod["spec"].get("volumes") or ()}
    for plan in plans:
        for volume in plan.volumes:
            audiences, desired = current.get(volume.name), _audiences(volume.body())
            if audiences and desired and audiences != desired:
                yield (
                    plan.provider,
                    f"volume {volume.name}: audience is {audiences[0]!r}, today {desired[0]!r}",
                )


def _audiences(volume: Object) -> list[str]:
    sources = (volume.get("projected") or {}).get("sources") or ()
    tokens = [source["serviceAccountToken"] for source in sources if source.get("serviceAccountToken")]
    return [str(token.get("audience", "")) for token in tokens]


_NAMES: Final[dict[str, tuple[tuple[str, str], ...]]] = {
    "cwii": tuple((f"cwii-{cloud}-token", cloud) for cloud in annotation_keys.PROVIDERS),
    "azwi": (("azure-identity-token", "az"), ("azure-workload-identity-reserved-", "az")),
    "eks": (("aws-iam-token", "aws"),),
    "wif": (("gcp-iam-token", "gcp"),),
    "gke": (("gcp-iam-token", "gcp"),),
}
"""The name prefixes of token volumes, by dialect."""


def _tokens(pod: Object, settings: Settings) -> Iterator[tuple[str, str]]:
    """Injected token volumes, with their clouds."""
    known = [pair for dialect in settings.vocabularies for pair in _NAMES[dialect]]
    agent = settings.eks.container_credentials
    if "eks" in settings.vocabularies and (agent.identities or not agent.file):
        known.append((agent.volume_name, "aws"))
    for volume in pod["spec"].get("volumes") or ():
        cloud = next((cloud for start, cloud in known if volume["name"].startswith(start)), "")
        if cloud and _audiences(volume):
            yield volume["name"], cloud
