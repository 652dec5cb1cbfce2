"""``eks.amazonaws.com/*``: a role by web identity, or the Pod Identity agent.

==============================  =================================  ==========================================
case                            EKS                                better
==============================  =================================  ==========================================
keys on the wrong object        ignored                            pod, owner, ServiceAccount, namespace
role that is no ARN             used, in the log only              used with a warning, or refused
number that is none             next level, silently               next level, with a warning
number too high                 used, and the API server refuses   cut to a day, with a warning
names with blanks               match no container                 trimmed
one of two region variables     both left out                      the other gets the same region
role or token file set          both left out                      see the provider's roles
volume of the name, mount path  taken for ours                     compared, with a warning
Windows                         node selector                      ``spec.os`` too
mapping without an audience     token for the API server           the usual audience
mapping                         ``*`` for a whole namespace        globs in both parts
token already there             volume is added                    nothing
==============================  =================================  ==========================================

Every row is a case, or several, of ``tests/vectors/aws_gcp_better.json``, by these words.
"""

from __future__ import annotations

import csv
import hashlib
from typing import Final, NamedTuple

from vestibule.api import annotation_keys, glob_patterns
from vestibule.api.settings import schema
from vestibule.api.settings.eks import LONGEST, PREFIX, MappedRole
from vestibule.compat import goflags
from vestibule.gostrconv import integer, trim
from vestibule.injection import containers, validators
from vestibule.injection.compat_rules import CompatRules
from vestibule.injection.dialect import DialectResult, DialectSubject
from vestibule.injection.dialects import similar_keys
from vestibule.injection.plan import CloudPlanForPod, PlannedEnv, PlannedMount, PlannedVolume
from vestibule.injection.precedence import LevelNote, PrecedenceLevels

_NAMES: Final = frozenset(
    {"role-arn", "audience", "sts-regional-endpoints", "token-expiration", "skip-containers"}
)
_KNOWN: Final = _NAMES | {"skip-pod-identity-webhook", "pod-identity"}
_STS: Final = "AWS_STS_REGIONAL_ENDPOINTS"
_REGIONS: Final = (annotation_keys.ENV_AWS_DEFAULT_REGION, annotation_keys.ENV_AWS_REGION)
_WEB_IDENTITY: Final = (annotation_keys.ENV_AWS_ROLE_ARN, annotation_keys.ENV_AWS_TOKEN_FILE)
_AGENT: Final = (annotation_keys.ENV_AWS_CONTAINER_URI, annotation_keys.ENV_AWS_CONTAINER_TOKEN_FILE)
_STRONGER: Final = ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_PROFILE")
_ROLE_NAME: Final = validators.ROLE_ARN._replace(fits=lambda value: True)
"""A role's name or ARN, where the settings name the account."""
_JITTER: Final = 7200
"""Tokens of a whole day are shortened by up to this many seconds, so that pods do not renew all at once."""


class _EksToken(NamedTuple):
    """The token a pod gets, and how it is seen."""

    volume: str
    mount: str
    file: str
    audience: str
    expiration: int
    regional: bool


class EksDialect:
    """The dialect."""

    name = "eks"

    def __init__(self, settings: schema.Settings, rules: CompatRules) -> None:
        self._settings = settings.eks
        self._checked = rules.checked
        self._prefix = settings.eks.annotation_prefix.rstrip("/") + "/"
        agent = settings.eks.container_credentials
        self._agent = agent
        self._associated = {(one.namespace, one.service_account) for one in agent.identities}
        self._highest = settings.max_token_expiration_seconds

    def resolve(self, found: PrecedenceLevels, subject: DialectSubject) -> DialectResult:
        """One plan for AWS, or none."""
        if (f"{PREFIX}/skip-pod-identity-webhook" in dict(subject.labels)) and self._checked:
            return DialectResult(switched_off=True)
        if (subject.namespace, subject.account) in self._associated:
            return DialectResult((self._by_agent(found, subject),))
        if self._checked:
            similar_keys.report_unknown(found, self._prefix, _KNOWN, ("role-arn",), shared=True)
        role, mapped = self._role(found, subject)
        if not role:
            return DialectResult()
        plan = self._by_role(found, subject, role, mapped)
        key = self._prefix + "role-arn"
        return DialectResult(tuple(containers.split_plan(plan, key, annotation_keys.ENV_AWS_ROLE_ARN, found)))

    # ── where the role comes from ───────────────────────────────────────────────────────────────────────────

    def _role(self, found: PrecedenceLevels, subject: DialectSubject) -> tuple[str, MappedRole | None]:
        key = self._prefix + "role-arn"
        if self._checked:
            check = _ROLE_NAME if self._settings.account_id else validators.ROLE_ARN
            own = found.text(key, check, provider="aws")
        else:
            own = found.at(key, subject.account_level, _ROLE_NAME) if subject.account_level >= 0 else None
        if own is not None and self._settings.account_id and "arn:" not in own:
            own = f"arn:{self._settings.partition}:iam::{self._settings.account_id}:role/{own}"
        if own and self._settings.account_id and not validators.ROLE_ARN.fits(own):
            self._odd(found, key, own, found.where(key))
        if own:
            return own, None
        mapped = self._mapped(subject)
        if mapped is None or not mapped.role_arn:
            return "", None
        if self._checked:
            found.default(key, mapped.role_arn)
            if not validators.ROLE_ARN.fits(mapped.role_arn):
                self._odd(found, "the role that the mapping gives it", mapped.role_arn, subject.account_level)
        return mapped.role_arn, mapped

    @staticmethod
    def _odd(found: PrecedenceLevels, key: str, role: str, level: int) -> None:
        want = validators.ROLE_ARN.want
        found.notes.append(LevelNote("used all the same", max(level, 0), key, role, want, True, "aws"))

    def _mapped(self, subject: DialectSubject) -> MappedRole | None:
        mapping = self._settings.mapping
        for key in (f"{subject.namespace}/{subject.account}", f"*/{subject.account}"):
            role = mapping.get(key)
            if role is not None:
                return role
        if not self._checked:
            return None
        for key, role in mapping.items():
            namespace, _, account = key.partition("/")
            if (
                role is not None
                and glob_patterns.matches(namespace, subject.namespace)
                and glob_patterns.matches(account, subject.account)
            ):
                return role
        return None

    # ── plans ───────────────────────────────────────────────────────────────────────────────────────────────

    def _by_role(
        self, found: PrecedenceLevels, subject: DialectSubject, role: str, mapped: MappedRole | None
    ) -> CloudPlanForPod:
        settings = self._settings
        audience = settings.token_audience
        if mapped is not None:
            audience = mapped.audience or (audience if self._checked else "")
        else:
            own = self._own(found, subject, "audience")
            audience = own if own is not None else audience
        token = _EksToken(
            "aws-iam-token",
            settings.token_mount_path.rstrip("/"),
            "token",
            audience,
            self._expiration(found, subject, mapped),
            self._regional(found, subject, mapped),
        )
        values = (role, _path(token, windows=subject.windows))
        return self._plan(found, subject, token, tuple(zip(_WEB_IDENTITY, values, strict=True)))

    def _by_agent(self, found: PrecedenceLevels, subject: DialectSubject) -> CloudPlanForPod:
        agent = self._agent
        mapped = None
        if subject.account_level < 0:
            mapped = self._settings.mapping.get(f"{subject.namespace}/{subject.account}")
        expiration = self._expiration(found, subject, mapped, unknown=subject.account_level < 0)
        if expiration == LONGEST:
            expiration -= _draw(subject) % (_JITTER + 1)
        token = _EksToken(
            agent.volume_name,
            agent.mount_path.rstrip("/"),
            agent.token_path,
            agent.audience,
            expiration,
            self._regional(found, subject, mapped, unknown=subject.account_level < 0),
        )
        values = (agent.full_uri, _path(token, windows=subject.windows))
        plan = self._plan(found, subject, token, tuple(zip(_AGENT, values, strict=True)))
        return plan._replace(
            labels=((f"{PREFIX}/pod-identity", "enabled"),), stronger=(*_STRONGER, *_WEB_IDENTITY)
        )

    def _plan(
        self,
        found: PrecedenceLevels,
        subject: DialectSubject,
        token: _EksToken,
        pair: tuple[tuple[str, str], ...],
    ) -> CloudPlanForPod:
        env: list[PlannedEnv] = []
        if token.regional:
            env.append(PlannedEnv(_STS, "regional", "extra", when="group", group="sts"))
        region = self._settings.aws_default_region
        if region:
            other = dict(zip(_REGIONS, reversed(_REGIONS), strict=True))
            env += [
                PlannedEnv(name, region, "extra", when="group", group="region", twin=other[name])
                for name in _REGIONS
            ]
        (who, who_value), (file, file_value) = pair
        env += [
            PlannedEnv(who, who_value, "identity", when="group", group="identity"),
            PlannedEnv(file, file_value, "source", when="group", group="identity"),
        ]
        if self._checked and self._settings.session_name_from_pod:
            env.append(PlannedEnv(annotation_keys.ENV_AWS_SESSION_NAME, "", "extra", field="metadata.name"))
        source: dict[str, object] = {"expirationSeconds": token.expiration, "path": token.file}
        if token.audience:
            source = {"audience": token.audience, **source}
        volume = PlannedVolume(
            token.volume,
            {"projected": {"sources": [{"serviceAccountToken": source}]}},
            first=not self._checked,
        )
        return CloudPlanForPod(
            provider="aws",
            volumes=(volume,),
            mounts=(PlannedMount(token.volume, token.mount),),
            env=tuple(env),
            stronger=_STRONGER,
            skip=self._skip(found),
            marker=False,
            finished=(frozenset({who, file}), frozenset(_REGIONS), frozenset({_STS})),
            grants=(
                *((("role_arn", who_value),) if who == annotation_keys.ENV_AWS_ROLE_ARN else ()),
                ("audience", token.audience),
            ),
        )

    # ── values ──────────────────────────────────────────────────────────────────────────────────────────────

    def _own(self, found: PrecedenceLevels, subject: DialectSubject, name: str) -> str | None:
        """The ServiceAccount's word; in better that of any level."""
        key = self._prefix + name
        if self._checked:
            return found.text(key)
        return found.at(key, subject.account_level) if subject.account_level >= 0 else None

    def _expiration(
        self,
        found: PrecedenceLevels,
        subject: DialectSubject,
        mapped: MappedRole | None,
        *,
        unknown: bool = False,
    ) -> int:
        usual = self._settings.token_expiration
        key = self._prefix + "token-expiration"
        if mapped is not None:
            usual = mapped.token_expiration or usual
        elif unknown:
            usual = LONGEST
        if self._checked:
            return found.number(key, usual, annotation_keys.MIN_TOKEN_SECONDS, self._highest)
        for level in (0, subject.account_level if mapped is None else -1):
            number = integer(trim(found.raw(key, level) or "")) if level >= 0 else None
            if number is not None:
                return max(number, annotation_keys.MIN_TOKEN_SECONDS)
        return usual if mapped is not None else max(usual, annotation_keys.MIN_TOKEN_SECONDS)

    def _regional(
        self,
        found: PrecedenceLevels,
        subject: DialectSubject,
        mapped: MappedRole | None,
        *,
        unknown: bool = False,
    ) -> bool:
        usual = self._settings.sts_regional_endpoint
        if mapped is not None:
            return mapped.use_regional_sts or (self._checked and usual)
        text = self._own(found, subject, "sts-regional-endpoints")
        flag = goflags.boolean(text) if text is not None else None
        if text is not None and flag is None and self._checked:
            key = self._prefix + "sts-regional-endpoints"
            found.notes.append(LevelNote("passed over", found.where(key), key, text, "'true' or 'false'"))
        if flag is not None:
            return flag
        return usual and not unknown

    def _skip(self, found: PrecedenceLevels) -> tuple[str, ...]:
        key = self._prefix + "skip-containers"
        if self._checked:
            return found.names(key, found.text(key) or "")
        line = (found.raw(key, 0) or "").partition("\n")[0]
        try:
            names = next(csv.reader([line], strict=True), [])
        except csv.Error:
            return ()
        return tuple(name for name in names if name and "*" not in name)


def _path(token: _EksToken, *, windows: bool) -> str:
    path = f"{token.mount}/{token.file}"
    return "C:" + path.replace("/", "\\") if windows else path


def _draw(subject: DialectSubject) -> int:
    """A number for this pod: pods differ in it, and one that is asked about twice does not."""
    text = f"{subject.namespace}/{subject.account}/{subject.pod}/{subject.drawn}"
    return int.from_bytes(hashlib.sha256(text.encode()).digest()[:8])
