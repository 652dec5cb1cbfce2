"""From notes to findings to the verdict: the words a user reads, and whether they refuse the pod."""

from __future__ import annotations

from typing import Final

from vestibule.core.admission import verdict as verdicts
from vestibule.core.admission.patch import NO_PATCH, Patch
from vestibule.core.mutation.facts import Facts
from vestibule.core.mutation.identity import render
from vestibule.core.mutation.identity.levels import Note
from vestibule.core.mutation.policy import Policy, Prepared


def conclude(
    bundle: render.Bundle, patched: Patch, notes: list[Note], facts: Facts, policy: Policy, prepared: Prepared
) -> verdicts.Verdict:
    """Turn notes into findings, and the whole into a verdict."""
    findings: tuple[verdicts.Finding, ...] = ()
    problems: list[str] = []
    if notes:
        findings = tuple([_finding(note, facts, policy, prepared) for note in notes])
        problems = [finding.text for finding in findings if finding.severity == "refuse"]
    if facts.notes and policy.rules.tell:
        findings += tuple(verdicts.Finding("info", text) for text in facts.notes)
    if problems:
        outcome: verdicts.Outcome = "deny"
        reason = "required"
    elif patched.operations:
        outcome, reason = "inject", ""
    else:
        outcome = "skip"
        reason = "already-injected" if bundle.parts else "nothing-injected"
        if prepared.missing and not bundle.parts:
            reason = "unconfigured"
        elif not bundle.parts and not prepared.bundle.parts:
            reason = prepared.idle
    return verdicts.Verdict(
        outcome,
        NO_PATCH if problems else patched,
        "; ".join(problems),
        403 if problems else 0,
        () if problems else bundle.providers,
        findings,
        prepared.origins,
        facts.levels,
        prepared.missing,
        _effects(bundle, facts.namespace) if bundle.has_config_maps and not problems else (),
        reason,
    )


def rejected(note: Note, facts: Facts) -> verdicts.Verdict:
    """The refusal of a pod for what one annotation or list of it holds."""
    source = str(facts.levels[max(note.level, 0)])
    text = f"{source}: {_shown(note.key)} is {_shown(note.value)!r}, want {note.want}"
    key, value = note.key[:_LONGEST_KEY], note.value[:_LONGEST_KEY]
    finding = verdicts.Finding("refuse", text, source, key, value, note.want)
    return verdicts.refused(text, code=422, reason="invalid", levels=facts.levels, findings=(finding,))


def _shown(value: str) -> str:
    return value if len(value) <= _LONGEST else value[: _LONGEST - 3] + "..."


_LONGEST: Final = 80
"""Characters of a key or value in a message."""
_LONGEST_KEY: Final = 512
"""Characters of a key or value in a finding, for programs; no key that an API server takes is longer."""


def _effects(bundle: render.Bundle, namespace: str) -> tuple[verdicts.Effect, ...]:
    return tuple(
        verdicts.Effect(
            {**wanted.body, "metadata": {**wanted.body["metadata"], "namespace": namespace}},
            wanted.field_manager,
            wanted.force,
        )
        for wanted in (part.plan.config_map for part in bundle.parts)
        if wanted is not None
    )


def _finding(note: Note, facts: Facts, policy: Policy, prepared: Prepared) -> verdicts.Finding:
    refuse = note.blocking and (
        note.provider in prepared.required or (bool(note.want) and policy.settings.on_invalid == "refuse")
    )
    source = str(facts.levels[max(note.level, 0)])
    shown = _shown(note.value)
    if not note.key or note.level < 0:
        text = f"{source}: {note.text}"
    elif note.want:
        text = f"{source}: {_shown(note.key)} is {shown!r}, want {note.want}"
        if not refuse:
            text += f"; {note.text}"
    else:
        text = f"{source}: {_shown(note.key)} is {shown!r}: {note.text}"
    key, value = note.key[:_LONGEST_KEY], note.value[:_LONGEST_KEY]
    return verdicts.Finding("refuse" if refuse else "warn", text, source, key, value, note.want)
