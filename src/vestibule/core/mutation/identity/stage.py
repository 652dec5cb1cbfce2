"""The identity stage: lays the prepared pieces over one pod and says what came of it.

The fast way is taken by every container that shares no variable, volume or path with what we add. For the
others the rule decides: piece by piece by name, as the original; or one cloud as a whole, compared by
content, and told.
"""

from __future__ import annotations

from typing import Any, Final

import msgspec

from vestibule.core.admission import patch, review
from vestibule.core.admission import verdict as verdicts
from vestibule.core.kinds import selectors, text, vocabulary
from vestibule.core.mutation import podview
from vestibule.core.mutation.facts import Facts
from vestibule.core.mutation.identity import checks, conclusion, fit, layouts, likeness, render
from vestibule.core.mutation.identity.levels import Note
from vestibule.core.mutation.policy import Policy

_OUR_PREFIX: Final = vocabulary.CWII_PREFIX.encode()


def run(pod: review.Pod, facts: Facts, policy: Policy) -> verdicts.Verdict:
    """Decide the identity of one pod: ``skipped``, ``patched`` or ``refused``."""
    spec, labels = pod.spec, pod.metadata.labels
    windows = (spec.os is not None or spec.node_selector is not None) and podview.is_windows(spec)
    prepared = policy.prepare(facts.annotations, windows)
    if prepared.refusal:
        return verdicts.refused(prepared.refusal, code=0, reason="invalid", levels=facts.levels)
    notes: list[Note] = []
    if policy.rules.tell:
        notes += prepared.notes
        if labels is not review.ABSENT and _OUR_PREFIX in bytes(labels):
            notes += _label_notes(labels)
    if not prepared.bundle.parts and not notes and not facts.notes:
        reason = "unconfigured" if prepared.missing else prepared.idle
        return verdicts.Verdict(
            "skip",
            patch.NO_PATCH,
            "",
            0,
            (),
            (),
            prepared.origins,
            facts.levels,
            prepared.missing,
            (),
            reason,
        )
    bundle, patched = _remembered(pod, facts, policy, prepared.bundle, notes)
    return conclusion.conclude(bundle, patched, notes, facts, policy, prepared)


def _remembered(
    pod: review.Pod, facts: Facts, policy: Policy, bundle: render.Bundle, notes: list[Note]
) -> tuple[render.Bundle, patch.Patch]:
    """The patch of a pod like one seen before, or else worked out, and kept if it may be."""
    clean = likeness.clean(pod, facts, bundle)
    if clean:
        known = policy.patches.get(pod, bundle)
        if known is not None:
            return bundle, known
    told = len(notes)
    laid, operations = _lay(pod, facts, policy, bundle, notes)
    made = patch.Patch(operations)
    if clean and laid is bundle and len(notes) == told:
        policy.patches.put(pod, bundle, made)
    return laid, made


def _lay(
    pod: review.Pod, facts: Facts, policy: Policy, bundle: render.Bundle, notes: list[Note]
) -> tuple[render.Bundle, bytes]:
    """The patch, and the clouds that are in it."""
    if not bundle.parts:
        return bundle, b""
    rules = policy.rules
    view = podview.view(pod.spec)
    present = [volume.name for volume in view.volumes] if view.volumes else []
    if rules.by_content:
        if not bundle.volumes.keys().isdisjoint(present):
            bundle = _without_taken_volumes(bundle, pod, policy, notes)
        if "gcp" in bundle.providers:
            _check_gcp_subject(facts, notes)
        if bundle.filtered:
            _check_names(bundle, view, notes)
    containers, served = _containers(bundle, view, policy, notes)
    if served is not None and rules.by_content and len(served) < len(bundle.providers):
        bundle = _without_unserved(bundle, served, policy, notes)
    if not bundle.parts:
        return bundle, b""
    volumes = bundle.volume_operations(present, exists=view.volumes is not None)
    helpers = _helpers(bundle, view, pod, policy, notes) if bundle.helpers else b""
    annotations = _annotations(pod.metadata.annotations, bundle, policy)
    if rules.helpers_first:
        return bundle, patch.join((volumes, *containers, helpers, annotations))
    return bundle, patch.join((volumes, helpers, *containers, annotations))


def _containers(
    bundle: render.Bundle, view: podview.PodView, policy: Policy, notes: list[Note]
) -> tuple[list[bytes], set[str] | None]:
    """The operations of every container, and the clouds that at least one takes (None: all of them)."""
    rules = policy.rules
    operations: list[bytes] = []
    served: set[str] = set()
    all_served = False
    filtered = bundle.filtered
    for index, container in enumerate(view.containers):
        if filtered or fit.overlaps(container, bundle):
            operations.append(fit.container("containers", index, container, bundle, rules, served, notes))
        else:
            all_served = True
            operations.append(bundle.container("containers", index, container))
    if view.init_containers and rules.init_containers:
        for index, container in enumerate(view.init_containers):
            if container.name in layouts.HELPERS:
                continue
            if filtered or fit.overlaps(container, bundle):
                operations.append(
                    fit.container("initContainers", index, container, bundle, rules, served, notes)
                )
            else:
                all_served = True
                operations.append(bundle.container("initContainers", index, container))
    return operations, None if all_served else served


def _without_unserved(
    bundle: render.Bundle, served: set[str], policy: Policy, notes: list[Note]
) -> render.Bundle:
    """Leave out the clouds that no container takes."""
    notes += [
        Note(f"{provider} identity is asked for, but no container takes it", blocking=True, provider=provider)
        for provider in bundle.providers
        if provider not in served
    ]
    return policy.bundle(
        tuple(index for index, provider in enumerate(bundle.providers) if provider in served), bundle
    )


def _helpers(
    bundle: render.Bundle, view: podview.PodView, pod: review.Pod, policy: Policy, notes: list[Note]
) -> bytes:
    present = {container.name for container in view.init_containers or ()}
    if policy.rules.by_content:  # names are unique over all containers of a pod
        present |= {container.name for container in view.containers}
    if policy.rules.by_content and not present.isdisjoint(bundle.helpers):
        _check_helpers(bundle, pod, notes)
    add = patch.insertions if policy.rules.helpers_first else patch.additions
    return add(
        "/spec/initContainers",
        [body for name, body in bundle.helpers.items() if name not in present],
        exists=view.init_containers is not None,
    )


def _without_taken_volumes(
    bundle: render.Bundle, pod: review.Pod, policy: Policy, notes: list[Note]
) -> render.Bundle:
    """Leave out the clouds whose volume name stands for something else in this pod."""
    present = {str(volume.get("name")): volume for volume in podview.raw_list(pod.spec.volumes)}
    kept: list[int] = []
    for index, part in enumerate(bundle.parts):
        taken = [
            v.name for v in part.plan.volumes if v.name in present and not _covers(present[v.name], v.source)
        ]
        if taken:
            notes.append(
                Note(
                    f"the pod has another volume {taken[0]}: {part.plan.provider} identity not injected",
                    blocking=True,
                    provider=part.plan.provider,
                )
            )
        else:
            kept.append(index)
    return bundle if len(kept) == len(bundle.parts) else policy.bundle(tuple(kept), bundle)


def _covers(found: object, wanted: object) -> bool:
    """Whether everything wanted is there; the API server's defaults may be there too."""
    if isinstance(wanted, dict):
        return isinstance(found, dict) and all(
            key in found and _covers(found[key], value) for key, value in wanted.items()
        )
    if isinstance(wanted, list):
        return isinstance(found, list) and len(found) == len(wanted) and all(map(_covers, found, wanted))
    return found == wanted


def _check_helpers(bundle: render.Bundle, pod: review.Pod, notes: list[Note]) -> None:
    """A container of the user's with one of our names is kept, and told."""
    listed = (*podview.raw_list(pod.spec.init_containers), *podview.raw_list(pod.spec.containers))
    present = {str(container.get("name")): container for container in listed}
    for helper in (helper for part in bundle.parts for helper in part.plan.helpers):
        found = present.get(helper.name)
        ours = (helper.body["image"], helper.body["args"])
        if found is not None and (found.get("image"), found.get("args")) != ours:
            notes.append(Note(f"the pod has a container {helper.name} of its own: kept, ours left out"))


def _annotations(existing: dict[str, str] | None, bundle: render.Bundle, policy: Policy) -> bytes:
    rules = policy.rules
    if not existing or bundle.annotations.keys().isdisjoint(existing):
        return bundle.annotation_operations(exists=existing is not None)
    values = dict(bundle.annotations)
    if not rules.own_marker:
        written = map(text.trim, existing.get(vocabulary.INJECTED, "").split(","))
        values[vocabulary.INJECTED] = ",".join(sorted({*bundle.providers, *filter(None, written)}))
    again = () if rules.quiet_when_done else (vocabulary.INJECTED,)
    values = {key: value for key, value in values.items() if key in again or existing.get(key) != value}
    return patch.annotate(values, exists=True)


def _check_gcp_subject(facts: Facts, notes: list[Note]) -> None:
    subject = checks.subject(facts.namespace, facts.service_account)
    if len(subject) > checks.GCP_SUBJECT_LIMIT:
        notes.append(
            Note(
                f"the token's subject {subject} has {len(subject)} bytes, and Google Cloud takes "
                f"{checks.GCP_SUBJECT_LIMIT}: shorten the namespace or ServiceAccount name",
                blocking=True,
                provider="gcp",
            )
        )


def _check_names(bundle: render.Bundle, view: podview.PodView, notes: list[Note]) -> None:
    names = [container.name for container in (*view.containers, *(view.init_containers or ()))]
    told: set[str] = set()
    for part in bundle.parts:
        for glob in (*part.plan.include, *part.plan.skip):
            if glob not in told and not any(selectors.matches(glob, name) for name in names):
                told.add(glob)
                notes.append(Note(f"no container is called {glob!r}, which an include or skip list names"))


def _label_notes(raw: msgspec.Raw) -> list[Note]:
    """Labels are not read; one that looks like ours is told."""
    labels = msgspec.json.decode(raw, type=dict[str, Any] | None) or {}
    return [
        Note("a label is not read, make it an annotation", 0, key, str(value))
        for key, value in labels.items()
        if key.startswith(vocabulary.CWII_PREFIX)
    ]
