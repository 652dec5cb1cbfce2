"""Settings compiled into what requests use: rules, dialects, exclusions, and a cache of decisions.

Compiled on change, never per request. What a set of annotations requests is computed once: resolution,
checks, plans and their JSON are cached per distinct set of levels, so thousands of pods of one ServiceAccount
cost one resolution.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, Final, NamedTuple

import msgspec

from vestibule.admission import review
from vestibule.admission.verdict import MissingIdentity, ValueOrigin, Verdict, skipped
from vestibule.api import annotation_keys, glob_patterns, identitypolicy
from vestibule.api.settings import schema
from vestibule.injection import (
    azwi_layout,
    fragments,
    layouts,
    memo,
    podview,
    policy_guard,
    precedence,
    provider_dispatch,
)
from vestibule.injection import compat_rules as mutation_rules
from vestibule.injection.dialect import Dialect, DialectResult, DialectSubject
from vestibule.injection.dialects import azwi, cwii, eks, wif
from vestibule.injection.facts import Facts, SourceAnnotations, SourceObject
from vestibule.injection.plan import CloudPlanForPod
from vestibule.injection.sandbox.sandbox_policy import SandboxPolicy

_MEMO_BYTES: Final = 24 * 1024 * 1024
"""Bytes for cached sets of annotations; some 2,000 of ordinary size."""
_SET_BYTES: Final = 12 * 1024
"""What a prepared set takes besides its texts; 9 to 14 KB were measured."""
_LARGEST_SET: Final = 8 * 1024
"""Maximum number of characters in a cached set of annotations; larger ones are rare, and computed for each
pod."""


_DIALECTS: Final[dict[str, Callable[[schema.Settings, mutation_rules.CompatRules], Dialect]]] = {
    "cwii": lambda settings, rules: cwii.CwiiDialect(settings, rules, provider_dispatch.plan),
    "azwi": azwi.AzwiDialect,
    "eks": eks.EksDialect,
    "wif": wif.WifDialect,
    "gke": wif.GkeDialect,
}
_POLICY_READERS: Final = ("cwii", "policy")
"""Who reads the identities of policies, and so may serve a cloud for which one is locked."""
_LABEL_PREFIXES: Final = (annotation_keys.AZWI_PREFIX, annotation_keys.EKS_PREFIX)
_PLAIN: Final = {windows: DialectSubject(windows) for windows in (False, True)}
"""All that cwii wants to know besides the annotations."""


class PreparedIdentity(NamedTuple):
    """Everything that follows from the annotations alone."""

    bundle: fragments.FragmentBundle
    notes: tuple[precedence.LevelNote, ...]
    origins: tuple[ValueOrigin, ...]
    missing: tuple[MissingIdentity, ...]
    required: frozenset[str]
    refusal: str
    code: int
    idle: str
    """Why nothing is asked for: ``switched-off`` where an annotation says so, else ``nothing-asked``."""
    policies: tuple[SourceObject, ...] = ()
    """Policies with values, counted after the levels."""
    guard: policy_guard.PolicyGuard | None = None
    """Locks and limits that the finished pod must keep."""
    rejected: precedence.LevelNote | None = None
    """The annotation for which the pod is refused."""

    @property
    def nothing(self) -> bool:
        """Whether there is nothing to inject and nothing to report."""
        return not (
            self.bundle.parts
            or self.notes
            or self.origins
            or self.missing
            or self.refusal
            or self.guard
            or self.rejected
        )


class Policy:
    """What the administrator wants, ready for use."""

    def __init__(
        self,
        settings: schema.Settings,
        objects: Sequence[Mapping[str, Any]] = (),
        sandbox: SandboxPolicy | None = None,
    ) -> None:
        """``objects`` are the IdentityPolicies of the cluster; the settings' own are added."""
        self.settings = settings
        self.sandbox = sandbox if sandbox is not None and sandbox.active else None
        """The sandbox policy; None if there is none."""
        loaded = identitypolicy.load(settings.policies, objects)
        self.broken = loaded.problems
        """What is wrong with policies that cannot be understood; they refuse identities in their scope."""
        self.central = policy_guard.PolicySet(loaded.policies, loaded.broken, settings)
        self.closed = bool(self.central) or (self.sandbox is not None and bool(self.sandbox.frozen))
        """Whether a pod that cannot be judged must not pass."""
        self.rules = mutation_rules.of(settings)
        if self.sandbox is not None and not self.rules.namespaces:
            self.rules = msgspec.structs.replace(self.rules, namespaces=True)
        self.excluded = glob_patterns.matcher((*settings.exclude.namespaces, settings.install.namespace))
        self.dialects = tuple(_DIALECTS[name](settings, self.rules) for name in settings.vocabularies)
        self._policy_reader: Dialect | None = None
        """Reads what policies give, where no dialect of the settings does."""
        if self.central and "cwii" not in settings.vocabularies:
            self._policy_reader = _DIALECTS["cwii"](settings, self.rules)
        self._plain = settings.vocabularies == ("cwii",) and not self.central
        self._by_pod = settings.azwi.layout != "1.5" or bool(settings.eks.container_credentials.identities)
        self.memo: memo.ByteMemo[PreparedIdentity] = memo.ByteMemo(_MEMO_BYTES)
        """What sets of annotations ask for."""
        self.unasked = self._unasked()
        """The verdict for every pod without annotations at any level; None where it depends on the pod."""

    def prepare(
        self, annotations: tuple[SourceAnnotations, ...], subject: DialectSubject
    ) -> PreparedIdentity:
        """Everything that follows from these annotations; worked out once for each set."""
        key = (annotations, subject)
        found = self.memo.get(key)
        if found is None:
            found = self._prepare(annotations, subject)
            size = sum([len(text) for pairs in annotations for text in pairs])
            if size <= _LARGEST_SET:
                self.memo.put(key, found, _SET_BYTES + 3 * size)
        return found

    def subject(self, pod: review.Pod, facts: Facts) -> DialectSubject:
        """What a decision about this pod is cached by, in addition to the annotations."""
        spec = pod.spec
        windows = (spec.os is not None or spec.node_selector is not None) and podview.is_windows(
            spec, self.rules.windows
        )
        if self._plain:
            return _PLAIN[windows]
        meta = pod.metadata
        return DialectSubject(
            windows,
            facts.namespace,
            facts.service_account,
            facts.account_level,
            (meta.name or f"{meta.generate_name or ''} (prefix)") if self._by_pod else "",
            _labels(pod),
            spec.host_network is True,
            _reserved(pod) if self.rules.checked and self.settings.azwi.layout != "1.5" else "",
            _drawn(pod) if self.settings.eks.container_credentials.identities else 0,
        )

    def _unasked(self) -> Verdict | None:
        if not self._plain:
            return None
        found = [self.prepare((), subject) for subject in _PLAIN.values()]
        return skipped(found[0].idle) if all(one.nothing for one in found) else None

    def _prepare(
        self, annotations: tuple[SourceAnnotations, ...], subject: DialectSubject
    ) -> PreparedIdentity:
        before, behind = self.central.levels(subject.namespace, subject.account)
        guard = self.central.guard(subject.namespace, subject.account)
        found = precedence.PrecedenceLevels(
            annotations,
            checked=self.rules.checked,
            before=[source.annotations for source in before],
            behind=[source.annotations for source in behind],
            locked=guard.hides() if guard is not None else None,
            caps=self.settings.pod_limits,
        )
        try:
            return self._read(found, subject, (*before, *behind), guard)
        except precedence.RejectedAnnotation as rejected:
            return _rejected(rejected.note, (*before, *behind))

    def _read(
        self,
        found: precedence.PrecedenceLevels,
        subject: DialectSubject,
        policies: tuple[SourceObject, ...],
        guard: policy_guard.PolicyGuard | None,
    ) -> PreparedIdentity:
        """What all dialects make of the annotations; raises levels.Rejected."""
        plans: dict[str, tuple[str, list[CloudPlanForPod]]] = {}
        missing: list[MissingIdentity] = []
        required: set[str] = set()
        switched_off = False
        locked = guard.locked if guard is not None else {}
        for name, dialect, levels_read in self._readers(found, policies):
            result = dialect.resolve(levels_read, subject)
            if result.refusal:
                return _refused(result)
            for plan in result.plans:
                if plan.provider in locked and name not in _POLICY_READERS:
                    found.notes.append(
                        precedence.LevelNote(
                            f"{dialect.name} annotations ask for {plan.provider} identity: ignored, "
                            f"IdentityPolicy {locked[plan.provider].policy} is locked"
                        )
                    )
                    continue
                first, served = plans.setdefault(plan.provider, (name, []))
                if first == name:
                    served.append(plan)
                else:
                    found.notes.append(
                        precedence.LevelNote(
                            f"both {first} and {name} annotations ask for {plan.provider} identity: "
                            f"{first} is served, it is first in the settings' vocabularies"
                        )
                    )
            missing += result.missing
            required |= result.required
            switched_off |= result.switched_off
        chosen = _apart(
            [plan for cloud in annotation_keys.PROVIDERS for plan in plans.get(cloud, ("", []))[1]]
        )
        notes = (*found.notes, *(precedence.LevelNote(text) for plan in chosen for text in plan.notes))
        return PreparedIdentity(
            fragments.FragmentBundle([fragments.pieces(plan) for plan in chosen]),
            notes if self.rules.warn else (),
            tuple(found.origins),
            tuple(each for each in missing if each.provider not in plans),
            frozenset(required),
            "",
            0,
            "switched-off" if switched_off else "nothing-asked",
            policies,
            guard,
        )

    def _readers(
        self, found: precedence.PrecedenceLevels, policies: tuple[SourceObject, ...]
    ) -> Iterator[tuple[str, Dialect, precedence.PrecedenceLevels]]:
        """Who reads what: the dialects of the settings in their order, and where cwii is not among them, a
        reader of what policies give."""
        for dialect in self.dialects:
            yield dialect.name, dialect, found
        if self._policy_reader is not None and policies:
            yield "policy", self._policy_reader, found.of_policies()


def _refused(result: DialectResult) -> PreparedIdentity:
    return PreparedIdentity(
        fragments.FragmentBundle([]), (), (), (), frozenset(), result.refusal, result.code, ""
    )


def _rejected(note: precedence.LevelNote, policies: tuple[SourceObject, ...]) -> PreparedIdentity:
    empty = fragments.FragmentBundle([])
    return PreparedIdentity(empty, (), (), (), frozenset(), "", 0, "", policies, rejected=note)


def _apart(plans: list[CloudPlanForPod]) -> list[CloudPlanForPod]:
    """The plans, none of which serves a container that another cloud's plan brings along. Such a container
    may have been there before, so it may need the identity of its own cloud."""
    brought = {
        plan.provider: {helper.name for helper in plan.helpers} - layouts.HELPERS
        for plan in plans
        if plan.helpers
    }
    if len(plans) < 2 or not any(brought.values()):
        return plans
    return [
        plan._replace(
            skip=(
                *plan.skip,
                *sorted(name for cloud, names in brought.items() if cloud != plan.provider for name in names),
            )
        )
        for plan in plans
    ]


def _reserved(pod: review.Pod) -> str:
    """What an earlier injection wrote into the pod's names."""
    found = _RESERVED.search(bytes(pod.spec.volumes))
    return found[1].decode() if found else ""


_RESERVED: Final = re.compile(b'"' + azwi_layout.RESERVED.encode() + b'([0-9a-f]{30})"')


def _drawn(pod: review.Pod) -> int:
    """From the characters that admission draws for the name of the pod's API token volume; when the pod comes
    again they are the same. Few values, since decisions are cached by them."""
    found = _API_VOLUME.search(bytes(pod.spec.volumes))
    return int.from_bytes(found[1]) % _DRAWS if found else 0


_API_VOLUME: Final = re.compile(b'"kube-api-access-([a-z0-9]{5})"')
_DRAWS: Final = 31


def _labels(pod: review.Pod) -> tuple[tuple[str, str], ...]:
    """The labels that a dialect reads; the others are not even decoded."""
    raw = bytes(pod.metadata.labels)
    if not any(prefix.encode() in raw for prefix in _LABEL_PREFIXES):
        return ()
    found = review.labels(pod) or {}
    return tuple(sorted((key, value) for key, value in found.items() if key.startswith(_LABEL_PREFIXES)))


def compile_policy(
    settings: schema.Settings, objects: Sequence[Mapping[str, Any]] = (), sandbox: SandboxPolicy | None = None
) -> Policy:
    """The policy for these settings, these IdentityPolicies and these sandboxes."""
    return Policy(settings, objects, sandbox)
