"""From notes to findings to the verdict: the words a user reads, and whether they refuse the pod."""

from __future__ import annotations

from typing import Any

from vestibule.core.admission import verdict as verdicts
from vestibule.core.mutation.facts import Facts
from vestibule.core.mutation.identity.levels import Note
from vestibule.core.mutation.policy import Policy, Prepared


def conclude(
    patched: bytes,
    providers: tuple[str, ...],
    effects: tuple[verdicts.Effect, ...],
    notes: list[Note],
    facts: Facts,
    policy: Policy,
    prepared: Prepared,
) -> verdicts.Verdict:
    """Turn notes into findings, and the whole into a verdict."""
    findings = tuple(_finding(note, facts, policy, prepared) for note in notes)
    details: dict[str, Any] = {
        "findings": findings,
        "origins": prepared.origins,
        "levels": facts.levels,
        "missing": prepared.missing,
    }
    problems = [finding.text for finding in findings if finding.severity == "refuse"]
    if problems:
        return verdicts.refused("; ".join(problems), reason="required", **details)
    if patched:
        return verdicts.patched(patched, providers=providers, effects=effects, **details)
    reason = "already-injected" if providers else "unconfigured" if prepared.missing else "nothing-injected"
    return verdicts.skipped(reason, providers=providers, effects=effects, **details)


def _finding(note: Note, facts: Facts, policy: Policy, prepared: Prepared) -> verdicts.Finding:
    refuse = note.blocking and (
        note.provider in prepared.required or (bool(note.want) and policy.settings.on_invalid == "refuse")
    )
    source = str(facts.levels[max(note.level, 0)].source)
    shown = note.value if len(note.value) <= 80 else note.value[:77] + "..."
    if not note.key or note.level < 0:
        text = f"{source}: {note.text}"
    elif note.want:
        text = f"{source}: {note.key} is {shown!r}, want {note.want}; {note.text}"
    else:
        text = f"{source}: {note.key} is {shown!r}: {note.text}"
    return verdicts.Finding("refuse" if refuse else "warn", text, source, note.key, note.value, note.want)
