"""Settings compiled into what requests use: rules, layouts, exclusions, and a memory of decisions.

Compiled on change, never per request. What a set of annotations asks for is worked out once: resolution,
checks, plans and their JSON are kept per distinct set of levels, so thousands of pods of one ServiceAccount
cost one resolution.
"""

from __future__ import annotations

import functools
from typing import Final, NamedTuple

from vestibule.core.admission.verdict import Missing, Origin
from vestibule.core.kinds import config, selectors
from vestibule.core.mutation import rules as mutation_rules
from vestibule.core.mutation.facts import Annotations
from vestibule.core.mutation.identity import layouts, levels, likeness, render
from vestibule.core.mutation.identity.claim import AwsClaim, AzureClaim, Claim
from vestibule.core.mutation.identity.dialects import cwii
from vestibule.core.mutation.identity.plan import Plan
from vestibule.core.mutation.identity.providers import aws, azure, gcp

_REMEMBERED: Final = 2048
"""Distinct sets of annotations kept; at about 4 KB each some 8 MiB when full."""


_PATCHES: Final = 512
"""Patches kept; with the texts they belong to some 10 KB each, 5 MiB when full."""


class Prepared(NamedTuple):
    """Everything that follows from the annotations alone."""

    bundle: render.Bundle
    notes: tuple[levels.Note, ...]
    origins: tuple[Origin, ...]
    missing: tuple[Missing, ...]
    required: frozenset[str]
    refusal: str
    idle: str
    """Why nothing is asked for: ``switched-off`` where an annotation says so, else ``nothing-asked``."""


class Policy:
    """What the administrator wants, ready for use."""

    def __init__(self, settings: config.Settings) -> None:
        self.settings = settings
        self.rules = mutation_rules.BY_MODE[settings.mode]
        self.excluded = selectors.matcher((*settings.exclude.namespaces, settings.install.namespace))
        self._layouts = {windows: layouts.cwii(settings, windows=windows) for windows in (False, True)}
        self.prepare = functools.lru_cache(_REMEMBERED)(self._prepare)
        self.patches = likeness.Patches(_PATCHES)
        self.bundle = functools.lru_cache(_REMEMBERED)(self._bundle)

    def _prepare(self, annotations: tuple[Annotations, ...], windows: bool) -> Prepared:
        found = levels.Levels(annotations, checked=self.rules.checked)
        asked = cwii.ask(found, self.settings, self.rules)
        plans = tuple(_plan(claim, self._layouts[windows]) for claim in asked.claims)
        notes = (*found.notes, *(levels.Note(text) for plan in plans for text in plan.notes))
        return Prepared(
            render.Bundle([render.pieces(plan) for plan in plans]),
            notes if self.rules.tell else (),
            tuple(found.origins),
            asked.missing,
            asked.required,
            asked.refusal,
            "switched-off" if asked.switched_off else "nothing-asked",
        )

    @staticmethod
    def _bundle(parts: tuple[int, ...], whole: render.Bundle) -> render.Bundle:
        """Some of a bundle's plans, by position."""
        return render.Bundle([whole.parts[index] for index in parts])


def _plan(claim: Claim, layout: layouts.Layout) -> Plan:
    if isinstance(claim, AwsClaim):
        return aws.plan(claim, layout)
    if isinstance(claim, AzureClaim):
        return azure.plan(claim, layout)
    return gcp.plan(claim, layout)


def compile_policy(settings: config.Settings) -> Policy:
    """The policy for these settings."""
    return Policy(settings)
