"""The ``cwii.dev/*`` annotations.

===========================  ==========================  =============================  =====================
case                         cwii                        better                         vector (beginning)
===========================  ==========================  =============================  =====================
boolean that is none         next level, silently        next level, warning            non-boolean-inject
number that is none          settings, silently          next level, warning            expiration-bad-int
number out of range          raised to 600, no top       cut to the range, warning      expiration-no-upper
delivery that is none        refused                     next level, warning            gcp-delivery-invalid
malformed ARN, GUID, e-mail  injected                    injected, warning, or refused  (ours)
asked for, not configured    skipped, in the log only    skipped, warning, or refused   gcp-no-audience
verify image by annotation   used from any level         settings only, warning         verify-image-from
unknown key                  ignored                     warning with likely key        (ours)
===========================  ==========================  =============================  =====================
"""

from __future__ import annotations

from collections.abc import Callable

from vestibule.admission.verdict import MissingIdentity
from vestibule.api.annotation_keys import Provider
from vestibule.api.settings import schema
from vestibule.injection import containers, layouts, precedence
from vestibule.injection.claim import Claim
from vestibule.injection.compat_rules import CompatRules
from vestibule.injection.dialect import DialectResult, DialectSubject
from vestibule.injection.dialects import cwii_keys
from vestibule.injection.dialects.cwii_reading import CwiiReading, UnusableKeys
from vestibule.injection.plan import CloudPlanForPod


class CwiiDialect:
    """``cwii.dev/*``."""

    name = "cwii"

    def __init__(
        self,
        settings: schema.Settings,
        rules: CompatRules,
        plan: Callable[[Claim, layouts.Layout], CloudPlanForPod],
    ) -> None:
        """``plan`` is who knows the clouds."""
        self._settings = settings
        self._rules = rules
        self._plan = plan
        self._layouts = {windows: layouts.cwii(settings, windows=windows) for windows in (False, True)}

    def resolve(self, found: precedence.PrecedenceLevels, subject: DialectSubject) -> DialectResult:
        """Read the claims of all clouds; notes and origins stay in ``found``."""
        settings = self._settings
        reading = CwiiReading(found, settings, self._rules)
        if self._rules.checked:
            cwii_keys.report_unknown(found)
        plans: list[CloudPlanForPod] = []
        missing: list[MissingIdentity] = []
        readers: tuple[tuple[Provider, bool, Callable[[bool], Claim | UnusableKeys | str]], ...] = (
            ("gcp", settings.gcp.enabled, reading.gcp),
            ("aws", settings.aws.enabled, reading.aws),
            ("az", settings.az.enabled, reading.azure),
        )
        for provider, enabled, read in readers:
            if enabled:
                outcome = reading.provider(provider, read)
                if isinstance(outcome, str):
                    return DialectResult(refusal=outcome)
                if isinstance(outcome, MissingIdentity):
                    missing.append(outcome)
                elif outcome is not None:
                    layout = self._layouts[subject.windows]
                    plans += [self._plan(claim, layout) for claim in containers.split(outcome, found)]
        return DialectResult(
            tuple(plans),
            tuple(missing),
            frozenset(reading.required),
            switched_off=reading.switched_off,
        )
