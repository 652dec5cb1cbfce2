"""``cloud.google.com/*`` of the GCP workload identity federation webhook, and GKE's own key.

==============================  =================================  ==========================================
case                            GCP-WIF                            better
==============================  =================================  ==========================================
keys on the wrong object        ignored                            pod, owner, ServiceAccount, namespace
provider without e-mail         refused                            served: access without impersonation
e-mail without provider         refused                            the settings' provider, else a warning
number, mode that is none       refused, even of others' accounts  skipped with a warning, if requested
life below an hour              raised to one                      raised to ten minutes
region, project unknown         set to nothing                     not set
``GOOGLE_CLOUD_PROJECT``        not set                            set
gcloud in direct mode           not usable                         usable
variables, volumes, mounts      replaced                           preserved, compared, with a warning
init container                  as root by default                 fit for the restricted profile
files                           for root and a group (0440)        for every user of the container (0644)
==============================  =================================  ==========================================

Every row is a case, or several, of ``tests/vectors/aws_gcp_better.json``, by these words.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from vestibule.admission.verdict import MissingIdentity
from vestibule.api import annotation_keys
from vestibule.api.settings import schema
from vestibule.api.settings.wif import PROVIDER
from vestibule.gostrconv import integer
from vestibule.injection import validators, wif_plan
from vestibule.injection.compat_rules import CompatRules
from vestibule.injection.dialect import DialectResult, DialectSubject
from vestibule.injection.dialects import similar_keys
from vestibule.injection.precedence import LevelNote, PrecedenceLevels, ValueType

_NAMES: Final = frozenset(
    {
        "workload-identity-provider", "service-account-email", "audience", "token-expiration",
        "gcloud-run-as-user", "injection-mode", "skip-containers", "external-credentials-json",
    }
)  # fmt: skip
_SHORTEST: Final = 3600
_PROVIDER: Final = ValueType(
    lambda value: PROVIDER.fullmatch(value.removeprefix("//iam.googleapis.com/")) is not None,
    "projects/<number>/locations/global/workloadIdentityPools/<pool>/providers/<provider>",
    safe=validators.POOL_PROVIDER.safe,
)
_MODE: Final = ValueType(
    lambda value: value.lower() in ("direct", "gcloud"), "'direct' or 'gcloud'", passed_over=True
)
_USER: Final = ValueType(lambda value: (integer(value) or 0) > 0, "a user id above 0", passed_over=True)
_BAD_REQUEST: Final = 400


class _WifRefused(Exception):
    """Why a pod is refused."""


class WifDialect:
    """The dialect of the webhook."""

    name = "wif"

    def __init__(self, settings: schema.Settings, rules: CompatRules) -> None:
        self._settings = settings.wif
        self._checked = rules.checked
        self._prefix = settings.wif.annotation_prefix.rstrip("/") + "/"
        self._highest = settings.max_token_expiration_seconds
        self._mode = settings.wif.injection_mode or ("direct" if rules.checked else "gcloud")

    def resolve(self, found: PrecedenceLevels, subject: DialectSubject) -> DialectResult:
        """One plan for Google Cloud, or why there is none."""
        if self._checked:
            return self._better(found, subject)
        if subject.account_level < 0:
            return DialectResult()
        try:
            claim = self._upstream(found, subject)
        except _WifRefused as refused:
            return DialectResult(refusal=str(refused), code=_BAD_REQUEST)
        return DialectResult(
            () if claim is None else (wif_plan.plan(claim, self._settings, self._prefix, better=False),)
        )

    # ── as GCP-WIF ──────────────────────────────────────────────────────────────────────────────────────────

    def _upstream(self, found: PrecedenceLevels, subject: DialectSubject) -> wif_plan.WifClaim | None:
        def own(name: str) -> str | None:
            return found.at(self._prefix + name, subject.account_level)

        provider = own("workload-identity-provider")
        email = found.at(
            self._prefix + "service-account-email", subject.account_level, validators.SERVICE_ACCOUNT
        )
        expiration = _number(own, "token-expiration", self._prefix)
        user = _number(own, "gcloud-run-as-user", self._prefix)
        mode = own("injection-mode")
        if mode is not None and mode.lower() not in ("direct", "gcloud"):
            raise _WifRefused(f"{self._prefix}injection-mode must be direct or gcloud, got {mode!r}")
        if provider is not None and PROVIDER.fullmatch(provider) is None:
            raise _WifRefused(
                f"{self._prefix}workload-identity-provider must be of the form {_PROVIDER.want}"
            )
        if provider is None and email is None:
            return None
        if provider is None or email is None:
            raise _WifRefused(
                f"{self._prefix}workload-identity-provider and {self._prefix}service-account-email must be "
                "set together"
            )
        pods = _number(lambda name: found.at(self._prefix + name, 0), "token-expiration", self._prefix)
        chosen = next(
            (n for n in (pods, expiration) if n is not None), self._settings.token_expiration_seconds
        )
        audience = own("audience")
        skip = self._prefix + "skip-containers"
        names = found.names(skip, found.raw(skip, 0) or "", ",")
        return wif_plan.WifClaim(
            provider=provider,
            email=email,
            audience=self._settings.token_audience if audience is None else audience,
            expiration=max(chosen, _SHORTEST),
            mode=(mode or self._mode).lower(),
            run_as_user=user,
            skip=tuple(name for name in names if "*" not in name),
        )

    # ── better ──────────────────────────────────────────────────────────────────────────────────────────────

    def _better(self, found: PrecedenceLevels, subject: DialectSubject) -> DialectResult:
        provider_key = self._prefix + "workload-identity-provider"
        email_key = self._prefix + "service-account-email"
        provider = found.text(provider_key, _PROVIDER, provider="gcp")
        email = found.text(email_key, validators.SERVICE_ACCOUNT, provider="gcp")
        similar_keys.report_unknown(found, self._prefix, _NAMES, shared=True)
        if provider is None and email is None:
            return DialectResult()
        if provider is None and not self._settings.provider:
            found.notes.append(
                LevelNote(
                    f"gcp identity is asked for, but {provider_key} is set nowhere: not injected",
                    key=provider_key,
                    blocking=True,
                    provider="gcp",
                )
            )
            return DialectResult(
                missing=(
                    MissingIdentity("gcp", (provider_key,), f"set {provider_key} on the ServiceAccount"),
                )
            )
        if provider is None:
            provider = self._settings.provider
            found.default(provider_key, provider)
        audience = found.text(self._prefix + "audience")
        user = found.text(self._prefix + "gcloud-run-as-user", _USER)
        mode = found.text(self._prefix + "injection-mode", _MODE)
        skip = self._prefix + "skip-containers"
        claim = wif_plan.WifClaim(
            provider=provider.removeprefix("//iam.googleapis.com/"),
            email=email,
            audience=audience or self._settings.token_audience,
            expiration=found.number(
                self._prefix + "token-expiration",
                self._settings.token_expiration_seconds,
                annotation_keys.MIN_TOKEN_SECONDS,
                self._highest,
            ),
            mode=(mode or self._mode).lower(),
            run_as_user=integer(user) if user else None,
            skip=found.names(skip, found.text(skip) or ""),
            windows=subject.windows,
        )
        return DialectResult((wif_plan.plan(claim, self._settings, self._prefix, better=True),))


class GkeDialect:
    """GKE's key: a Google service account on a ServiceAccount, on clusters that have no metadata server."""

    name = "gke"

    def __init__(self, settings: schema.Settings, rules: CompatRules) -> None:
        self._settings = settings.wif
        self._checked = rules.checked
        self._prefix = settings.wif.annotation_prefix.rstrip("/") + "/"

    def resolve(self, found: PrecedenceLevels, subject: DialectSubject) -> DialectResult:
        """One plan for Google Cloud, if the account names a Google one."""
        key = annotation_keys.NATIVE_GKE_SERVICE_ACCOUNT
        email = found.text(key, validators.SERVICE_ACCOUNT, provider="gcp")
        if email is None:
            return DialectResult()
        if not self._settings.provider:
            found.notes.append(
                LevelNote(
                    "no workload identity provider is set (wif.provider): not injected",
                    found.where(key),
                    key,
                    email,
                    blocking=True,
                    provider="gcp",
                )
            )
            return DialectResult(
                missing=(MissingIdentity("gcp", (key,), "set wif.provider in the webhook's settings"),)
            )
        claim = wif_plan.WifClaim(
            provider=self._settings.provider,
            email=email,
            audience=self._settings.token_audience,
            expiration=max(self._settings.token_expiration_seconds, annotation_keys.MIN_TOKEN_SECONDS),
            mode="direct",
            windows=subject.windows,
        )
        return DialectResult(
            (wif_plan.plan(claim, self._settings, self._prefix, better=self._checked, inputs=False),)
        )


def _number(read: Callable[[str], str | None], name: str, prefix: str) -> int | None:
    text = read(name)
    if text is None:
        return None
    number = integer(text)
    if number is None:
        raise _WifRefused(f"{prefix}{name} must be an integer, got {text!r}")
    return number
