"""From notes to findings to the verdict: the words a user reads, and whether they refuse the pod."""

from __future__ import annotations

from typing import Final

from vestibule.admission import verdict as verdicts
from vestibule.admission.patch import NO_PATCH, Patch
from vestibule.injection import fragments
from vestibule.injection.facts import Facts
from vestibule.injection.policy import Policy, PreparedIdentity
from vestibule.injection.precedence import LevelNote


def conclude(
    bundle: fragments.FragmentBundle,
    patched: Patch,
    notes: list[LevelNote],
    facts: Facts,
    policy: Policy,
    prepared: PreparedIdentity,
) -> verdicts.Verdict:
    """Turn notes into findings, and the whole into a verdict."""
    findings: tuple[verdicts.Finding, ...] = ()
    problems: list[str] = []
    if notes:
        findings = tuple([_finding(note, facts, policy, prepared) for note in notes])
        problems = [finding.text for finding in findings if finding.severity == "refuse"]
    if facts.notes and policy.rules.warn:
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


def rejected(note: LevelNote, facts: Facts) -> verdicts.Verdict:
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


def _effects(bundle: fragments.FragmentBundle, namespace: str) -> tuple[verdicts.Effect, ...]:
    return tuple(
        verdicts.Effect(
            {**config_map.body, "metadata": {**config_map.body["metadata"], "namespace": namespace}},
            config_map.field_manager,
            config_map.force,
        )
        for config_map in (part.plan.config_map for part in bundle.parts)
        if config_map is not None
    )


def _finding(note: LevelNote, facts: Facts, policy: Policy, prepared: PreparedIdentity) -> verdicts.Finding:
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
