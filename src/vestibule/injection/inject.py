"""Builds the patch of one pod from the prepared fragments.

The fast way is taken by every container that shares no variable, volume or path with what we add. For the
others the rule decides: piece by piece by name, as the upstream webhooks; or one cloud as a whole,
compared by content, with a warning.
"""

from __future__ import annotations

import itertools
from typing import Final

from vestibule import gostrconv
from vestibule.admission import patch, review
from vestibule.api import annotation_keys
from vestibule.injection import fragments, layouts, merge, ordering, podview, validators
from vestibule.injection.facts import Facts
from vestibule.injection.policy import Policy
from vestibule.injection.precedence import LevelNote, RejectedAnnotation


def build_patch(
    pod: review.Pod, facts: Facts, policy: Policy, bundle: fragments.FragmentBundle, notes: list[LevelNote]
) -> tuple[fragments.FragmentBundle, patch.Patch]:
    """The patch, and the clouds that are in it."""
    if not bundle.parts:
        return bundle, patch.NO_PATCH
    view = podview.view(pod.spec)
    caps = policy.settings.pod_limits
    count = len(view.containers) + len(view.init_containers or ())
    if count > caps.containers:
        want = f"at most {caps.containers} (podLimits.containers)"
        raise RejectedAnnotation(0, "spec.containers", f"{count} containers", want)
    longest = max([len(one.name) for one in (*view.containers, *(view.init_containers or ()))], default=0)
    if longest > _LONGEST_NAME:
        want = f"at most {_LONGEST_NAME}, as the API server does"
        raise RejectedAnnotation(0, "spec.containers", f"a name of {longest} characters", want)
    shape = _shape(pod, facts, policy, bundle, view)
    known = bundle.shapes.get(shape) if shape is not None else None
    if known is not None:
        return bundle, known
    noted = len(notes)
    injected, operations = _operations(pod, facts, policy, bundle, view, notes)
    if len(operations) > caps.patch_bytes:
        want = f"at most {caps.patch_bytes} (podLimits.patchBytes)"
        raise RejectedAnnotation(0, "the patch", f"{len(operations)} bytes", want)
    built = patch.Patch(operations)
    if (
        shape is not None
        and injected is bundle
        and len(notes) == noted
        and len(bundle.shapes) < _SHAPES
        and len(operations) <= _LARGEST_PATCH
    ):
        bundle.shapes[shape] = built
        policy.memo.grow(3 * len(operations) + 16 * len(shape))
    return injected, built


_LONGEST_NAME: Final = 63
"""Characters of a container's name; the API server refuses longer ones, but only after admission."""
_SHAPES: Final = 64
"""Maximum number of cached patches, by pod shape; nearly all pods have one of a few."""
_LARGEST_PATCH: Final = 16 * 1024
"""Maximum size in bytes of a cached patch."""


def _shape(
    pod: review.Pod, facts: Facts, policy: Policy, bundle: fragments.FragmentBundle, view: podview.PodView
) -> fragments.Shape | None:
    """The cache key of the patch; None if it depends on more of the pod."""
    if not bundle.plain or policy.rules.write_namespace:
        return None
    if "gcp" in bundle.providers and not validators.subject_fits(facts.namespace, facts.service_account):
        return None
    return merge.shape(pod, view, bundle)


def _operations(
    pod: review.Pod,
    facts: Facts,
    policy: Policy,
    bundle: fragments.FragmentBundle,
    view: podview.PodView,
    notes: list[LevelNote],
) -> tuple[fragments.FragmentBundle, bytes]:
    rules = policy.rules
    if rules.by_content:
        if view.volumes and not bundle.volumes.keys().isdisjoint([volume.name for volume in view.volumes]):
            bundle = _without_taken_volumes(bundle, pod, policy, notes)
        if "gcp" in bundle.providers:
            _check_gcp_subject(facts, notes)
        if bundle.filtered:
            _check_names(bundle, view, notes)
    containers, served = _containers(bundle, view, policy, notes)
    if served is not None and rules.by_content and len(served) < len(bundle.parts):
        bundle = _without_unserved(bundle, served, policy, notes)
    if not bundle.parts:
        return bundle, b""
    if bundle.helpers and rules.by_content:
        _check_helpers(bundle, view, pod, notes)
    helpers = ordering.helpers(bundle, pod, view, rules) if bundle.helpers else ordering.ContainerOperations()
    return bundle, patch.join(
        (
            _namespace(pod, facts) if rules.write_namespace else b"",
            ordering.volumes(bundle, pod, view, rules),
            helpers.appended,
            *containers,
            helpers.inserted,
            _annotations(pod.metadata.annotations, bundle, policy),
            _labels(pod, bundle) if bundle.labels else b"",
        )
    )


def _containers(
    bundle: fragments.FragmentBundle, view: podview.PodView, policy: Policy, notes: list[LevelNote]
) -> tuple[list[bytes], set[int] | None]:
    """The operations of every container, and the plans that at least one takes (None: all of them)."""
    rules = policy.rules
    operations: list[bytes] = []
    served: set[int] = set()
    all_served = False
    filtered = bundle.filtered
    for index, container in enumerate(view.containers):
        if filtered or merge.overlaps(container, bundle):
            operations.append(merge.container("containers", index, container, bundle, rules, served, notes))
        else:
            all_served = True
            operations.append(bundle.container("containers", index, container))
    takers = sum(part.plan.init_containers for part in bundle.parts)
    if view.init_containers and takers:
        filtered = filtered or takers < len(bundle.parts)
        for index, container in enumerate(view.init_containers):
            if rules.by_content and container.name in layouts.HELPERS:
                continue
            if filtered or merge.overlaps(container, bundle):
                operations.append(
                    merge.container("initContainers", index, container, bundle, rules, served, notes)
                )
            else:
                all_served = True
                operations.append(bundle.container("initContainers", index, container))
    return operations, None if all_served else served


def _namespace(pod: review.Pod, facts: Facts) -> bytes:
    """AZWI writes the namespace of the request into a pod without one."""
    return (
        b""
        if pod.metadata.namespace
        else patch.operation("/metadata/namespace", patch.render(facts.namespace))
    )


def _labels(pod: review.Pod, bundle: fragments.FragmentBundle) -> bytes:
    existing = review.labels(pod)
    values = {key: value for key, value in bundle.labels.items() if (existing or {}).get(key) != value}
    return patch.annotate(values, exists=existing is not None, field="labels")


def _without_unserved(
    bundle: fragments.FragmentBundle, served: set[int], policy: Policy, notes: list[LevelNote]
) -> fragments.FragmentBundle:
    """Leave out the plans that no container takes."""
    taken = {bundle.parts[position].plan.provider for position in served}
    notes += [
        LevelNote(
            f"{provider} identity is asked for, but no container takes it", blocking=True, provider=provider
        )
        for provider in bundle.providers
        if provider not in taken
    ]
    return bundle.only(sorted(served))


def _without_taken_volumes(
    bundle: fragments.FragmentBundle, pod: review.Pod, policy: Policy, notes: list[LevelNote]
) -> fragments.FragmentBundle:
    """Leave out the clouds whose volume name belongs to another volume in this pod."""
    present = {str(volume.get("name")): volume for volume in podview.raw_list(pod.spec.volumes)}
    remaining: list[int] = []
    for index, part in enumerate(bundle.parts):
        taken = [
            v.name
            for v in part.plan.volumes
            if v.name in present and not ordering.covers(present[v.name], v.source)
        ]
        if taken:
            notes.append(
                LevelNote(
                    f"the pod has another volume {taken[0]}: {part.plan.provider} identity not injected",
                    blocking=True,
                    provider=part.plan.provider,
                )
            )
        else:
            remaining.append(index)
    return bundle if len(remaining) == len(bundle.parts) else bundle.only(remaining)


def _check_helpers(
    bundle: fragments.FragmentBundle, view: podview.PodView, pod: review.Pod, notes: list[LevelNote]
) -> None:
    """A container of the user's with one of our names is preserved, with a warning."""
    if bundle.helpers.keys().isdisjoint(
        container.name for container in (*view.containers, *(view.init_containers or ()))
    ):
        return
    listed = (*podview.raw_list(pod.spec.init_containers), *podview.raw_list(pod.spec.containers))
    present = {str(container.get("name")): container for container in listed}
    for helper in (helper for part in bundle.parts for helper in part.plan.helpers):
        found = present.get(helper.name)
        ours = [helper.body.get(field) for field in _WHAT_RUNS]
        if found is not None and [found.get(field) for field in _WHAT_RUNS] != ours:
            notes.append(LevelNote(f"the pod has a container {helper.name} of its own: kept, ours left out"))


_WHAT_RUNS: Final = ("image", "command", "args")


def _annotations(existing: dict[str, str] | None, bundle: fragments.FragmentBundle, policy: Policy) -> bytes:
    rules = policy.rules
    if not existing or bundle.annotations.keys().isdisjoint(existing):
        return bundle.annotation_operations(exists=existing is not None)
    values = dict(bundle.annotations)
    if not rules.own_marker:
        written = map(gostrconv.trim, existing.get(annotation_keys.INJECTED, "").split(","))
        values[annotation_keys.INJECTED] = ",".join(sorted({*bundle.providers, *filter(None, written)}))
    again = () if rules.quiet_when_done else (annotation_keys.INJECTED,)
    values = {key: value for key, value in values.items() if key in again or existing.get(key) != value}
    return patch.annotate(values, exists=True)


def _check_gcp_subject(facts: Facts, notes: list[LevelNote]) -> None:
    subject = validators.subject(facts.namespace, facts.service_account)
    if len(subject) > validators.GCP_SUBJECT_LIMIT:
        notes.append(
            LevelNote(
                f"the token's subject {subject} has {len(subject)} bytes, and Google Cloud takes "
                f"{validators.GCP_SUBJECT_LIMIT}: shorten the namespace or ServiceAccount name",
                blocking=True,
                provider="gcp",
            )
        )


def _check_names(bundle: fragments.FragmentBundle, view: podview.PodView, notes: list[LevelNote]) -> None:
    names = {container.name for container in (*view.containers, *(view.init_containers or ()))}
    names |= bundle.helpers.keys()  # a pod that was injected before has them, too
    listed = fragments.ContainerNames(
        [n for part in bundle.parts for n in (*part.plan.include, *part.plan.skip)]
    )
    for name in itertools.islice(listed.unmatched(names), _UNMATCHED):
        notes.append(LevelNote(f"no container is called {name!r}, which an include or skip list names"))


_UNMATCHED: Final = 10
"""Maximum number of reported names that no container has."""
