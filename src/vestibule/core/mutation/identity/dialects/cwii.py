"""The ``cwii.dev/*`` annotations.

===========================  ==========================  =============================  =====================
case                         the original                better                         vector (beginning)
===========================  ==========================  =============================  =====================
boolean that is none         next level, silently        next level, told               non-boolean-inject
number that is none          settings, silently          next level, told               expiration-bad-int
number out of range          raised to 600, no top       cut to the range, told         expiration-no-upper
delivery that is none        refused                     next level, told               gcp-delivery-invalid
malformed ARN, GUID, e-mail  injected                    injected and told, or refused  (ours)
asked for, not configured    skipped, in the log only    skipped and told, or refused   gcp-no-audience
verify image by annotation   used from any level         settings only, told            verify-image-from
unknown key                  ignored                     told, with the one meant       (ours)
===========================  ==========================  =============================  =====================
"""

from __future__ import annotations

from collections.abc import Callable

from vestibule.core.admission.verdict import Missing
from vestibule.core.kinds import config
from vestibule.core.kinds.vocabulary import Provider
from vestibule.core.mutation.identity import containers, layouts, levels
from vestibule.core.mutation.identity.claim import Claim
from vestibule.core.mutation.identity.dialect import Asked, Subject
from vestibule.core.mutation.identity.dialects import cwii_keys
from vestibule.core.mutation.identity.dialects.cwii_reading import Reading, Unusable
from vestibule.core.mutation.identity.plan import Plan
from vestibule.core.mutation.rules import Rules


class Cwii:
    """``cwii.dev/*``."""

    name = "cwii"

    def __init__(
        self, settings: config.Settings, rules: Rules, plan: Callable[[Claim, layouts.Layout], Plan]
    ) -> None:
        """``plan`` is who knows the clouds."""
        self._settings = settings
        self._rules = rules
        self._plan = plan
        self._layouts = {windows: layouts.cwii(settings, windows=windows) for windows in (False, True)}

    def ask(self, found: levels.Levels, subject: Subject) -> Asked:
        """Read the claims of all clouds; notes and origins stay in ``found``."""
        settings = self._settings
        reading = Reading(found, settings, self._rules)
        if self._rules.checked:
            cwii_keys.tell_unknown(found)
        plans: list[Plan] = []
        missing: list[Missing] = []
        readers: tuple[tuple[Provider, bool, Callable[[bool], Claim | Unusable | str]], ...] = (
            ("gcp", settings.gcp.enabled, reading.gcp),
            ("aws", settings.aws.enabled, reading.aws),
            ("az", settings.az.enabled, reading.azure),
        )
        for provider, enabled, read in readers:
            if enabled:
                outcome = reading.provider(provider, read)
                if isinstance(outcome, str):
                    return Asked(refusal=outcome)
                if isinstance(outcome, Missing):
                    missing.append(outcome)
                elif outcome is not None:
                    layout = self._layouts[subject.windows]
                    plans += [self._plan(claim, layout) for claim in containers.split(outcome, found)]
        return Asked(
            tuple(plans),
            tuple(missing),
            frozenset(reading.required),
            switched_off=reading.switched_off,
        )
