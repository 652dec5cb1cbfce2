"""The identity stage: lays the prepared pieces over one pod and says what came of it.

The fast way is taken by every container that shares no variable, volume or path with what we add. For the
others the rule decides: piece by piece by name, as the original; or one cloud as a whole, compared by
content, and told.
"""

from __future__ import annotations

from typing import NamedTuple

from vestibule.core.admission import patch, review
from vestibule.core.admission import verdict as verdicts
from vestibule.core.kinds import selectors, vocabulary
from vestibule.core.mutation import podview
from vestibule.core.mutation.facts import Facts
from vestibule.core.mutation.identity import checks, conclusion, fit, layouts, levels, render
from vestibule.core.mutation.identity.levels import Note
from vestibule.core.mutation.policy import Policy, Prepared


def run(pod: review.Pod, facts: Facts, policy: Policy) -> verdicts.Verdict:
    """Decide the identity of one pod: ``skipped``, ``patched`` or ``refused``."""
    prepared = policy.prepare(
        tuple([level.source.annotations for level in facts.levels]), podview.is_windows(pod.spec)
    )
    if prepared.refusal:
        return verdicts.refused(prepared.refusal, code=0, reason="invalid", levels=facts.levels)
    notes = [*prepared.notes, *_label_notes(pod)] if policy.rules.tell else []
    if not prepared.bundle.parts:
        if not notes:
            reason = "unconfigured" if prepared.missing else "nothing-asked"
            return verdicts.skipped(
                reason, origins=prepared.origins, levels=facts.levels, missing=prepared.missing
            )
        return conclusion.conclude(b"", (), (), notes, facts, policy, prepared)
    laid = _lay(pod, facts, policy, prepared, notes)
    return conclusion.conclude(laid.patch, laid.providers, laid.effects, notes, facts, policy, prepared)


class _Laid(NamedTuple):
    patch: bytes
    providers: tuple[str, ...]
    effects: tuple[verdicts.Effect, ...] = ()


def _lay(pod: review.Pod, facts: Facts, policy: Policy, prepared: Prepared, notes: list[Note]) -> _Laid:
    rules = policy.rules
    view = podview.view(pod.spec)
    bundle = prepared.bundle
    present = {volume.name for volume in view.volumes} if view.volumes else set()
    if rules.by_content:
        if not present.isdisjoint(bundle.volumes):
            bundle = _without_taken_volumes(bundle, pod, policy, notes)
        if "gcp" in bundle.providers:
            _check_gcp_subject(facts, notes)
        if bundle.filtered:
            _check_names(bundle, view, notes)
    served: set[str] = set()
    containers: list[bytes] = []
    for field, targets in (
        ("containers", view.containers),
        ("initContainers", (view.init_containers or ()) if rules.init_containers else ()),
    ):
        for index, container in enumerate(targets):
            if field == "initContainers" and container.name in layouts.HELPERS:
                continue
            if bundle.filtered or fit.overlaps(container, bundle):
                laid, got = fit.container(
                    field, index, container, bundle, by_content=rules.by_content, notes=notes
                )
                served.update(got)
            else:
                laid = bundle.container(
                    field,
                    index,
                    has_mounts=container.volume_mounts is not None,
                    has_env=container.env is not None,
                )
                served.update(bundle.providers)
            containers.append(laid)
    if rules.by_content and len(served) < len(bundle.providers):
        notes += [
            Note(
                f"{provider} identity is asked for, but no container takes it",
                blocking=True,
                provider=provider,
            )
            for provider in bundle.providers
            if provider not in served
        ]
        kept = tuple(index for index, provider in enumerate(bundle.providers) if provider in served)
        bundle = policy.bundle(kept, bundle)
    if not bundle.parts:
        return _Laid(b"", ())
    volumes = patch.additions(
        "/spec/volumes",
        [body for name, body in bundle.volumes.items() if name not in present],
        exists=view.volumes is not None,
    )
    inits = {container.name for container in view.init_containers} if view.init_containers else set()
    add_helpers = patch.insertions if rules.helpers_first else patch.additions
    helpers = add_helpers(
        "/spec/initContainers",
        [body for name, body in bundle.helpers.items() if name not in inits],
        exists=view.init_containers is not None,
    )
    if rules.by_content and not inits.isdisjoint(bundle.helpers):
        _check_helpers(bundle, pod, notes)
    annotations = _annotations(pod.metadata.annotations, bundle, policy)
    parts = (
        (volumes, *containers, helpers, annotations)
        if rules.helpers_first
        else (volumes, helpers, *containers, annotations)
    )
    return _Laid(patch.join(parts), bundle.providers, _effects(bundle, facts.namespace))


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
    present = {
        str(container.get("name")): container for container in podview.raw_list(pod.spec.init_containers)
    }
    for helper in (helper for part in bundle.parts for helper in part.plan.helpers):
        found = present.get(helper.name)
        if found is not None and (found.get("image"), found.get("args")) != (
            helper.body["image"],
            helper.body["args"],
        ):
            notes.append(Note(f"the pod has an init container {helper.name} of its own: kept as it is"))


def _annotations(existing: dict[str, str] | None, bundle: render.Bundle, policy: Policy) -> bytes:
    rules = policy.rules
    old = existing or {}
    injected: set[str] = set(bundle.providers)
    if not rules.own_marker:
        injected |= {
            name for part in old.get(vocabulary.INJECTED, "").split(",") if (name := levels.trim(part))
        }
    values = {key: value for part in bundle.parts for key, value in part.plan.annotations}
    values[vocabulary.INJECTED] = ",".join(sorted(injected))
    if rules.quiet_when_done:
        values = {key: value for key, value in values.items() if old.get(key) != value}
    return patch.annotate(values, exists=existing is not None)


def _effects(bundle: render.Bundle, namespace: str) -> tuple[verdicts.Effect, ...]:
    return tuple(
        verdicts.Effect(
            {
                **plan.config_map.body,
                "metadata": {**plan.config_map.body["metadata"], "namespace": namespace},
            },
            plan.config_map.field_manager,
            plan.config_map.force,
        )
        for plan in (part.plan for part in bundle.parts)
        if plan.config_map is not None
    )


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


def _label_notes(pod: review.Pod) -> list[Note]:
    labels = pod.metadata.labels
    if not labels:
        return []
    return [
        Note("a label is not read, make it an annotation", 0, key, value)
        for key, value in labels.items()
        if key.startswith(vocabulary.CWII_PREFIX)
    ]
