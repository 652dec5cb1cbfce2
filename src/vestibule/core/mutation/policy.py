"""Settings compiled into what requests use: rules, vocabularies, exclusions, and a memory of decisions.

Compiled on change, never per request. What a set of annotations asks for is worked out once: resolution,
checks, plans and their JSON are kept per distinct set of levels, so thousands of pods of one ServiceAccount
cost one resolution.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, Final, NamedTuple

import msgspec

from vestibule.core.admission import review
from vestibule.core.admission.verdict import Missing, Origin, Verdict, skipped
from vestibule.core.kinds import config, identitypolicy, selectors, vocabulary
from vestibule.core.mutation import memo, podview
from vestibule.core.mutation import rules as mutation_rules
from vestibule.core.mutation.facts import Annotations, Facts, Source
from vestibule.core.mutation.identity import azure_place, central, layouts, levels, planning, render
from vestibule.core.mutation.identity.dialect import Asked, Dialect, Subject
from vestibule.core.mutation.identity.dialects import azwi, cwii, eks, wif
from vestibule.core.mutation.identity.plan import Plan
from vestibule.core.mutation.sandbox.world import World

_MEMO_BYTES: Final = 24 * 1024 * 1024
"""Room for prepared sets of annotations; some 2,000 of ordinary size."""
_SET_BYTES: Final = 12 * 1024
"""What a prepared set takes besides its texts; 9 to 14 KB were measured."""
_LARGEST_SET: Final = 8 * 1024
"""Characters of annotations in one set that is kept; larger ones are rare, and worked out for each pod."""


_DIALECTS: Final[dict[str, Callable[[config.Settings, mutation_rules.Rules], Dialect]]] = {
    "cwii": lambda settings, rules: cwii.Cwii(settings, rules, planning.plan),
    "azwi": azwi.AzureWorkloadIdentity,
    "eks": eks.Eks,
    "wif": wif.Wif,
    "gke": wif.Gke,
}
_POLICY_READERS: Final = ("cwii", "policy")
"""Who reads the identities of policies, and so may serve a cloud for which one is locked."""
_LABEL_PREFIXES: Final = (vocabulary.AZWI_PREFIX, vocabulary.EKS_PREFIX)
_PLAIN: Final = {windows: Subject(windows) for windows in (False, True)}
"""All that cwii wants to know besides the annotations."""


class Prepared(NamedTuple):
    """Everything that follows from the annotations alone."""

    bundle: render.Bundle
    notes: tuple[levels.Note, ...]
    origins: tuple[Origin, ...]
    missing: tuple[Missing, ...]
    required: frozenset[str]
    refusal: str
    code: int
    idle: str
    """Why nothing is asked for: ``switched-off`` where an annotation says so, else ``nothing-asked``."""
    policies: tuple[Source, ...] = ()
    """Policies that said something, counted after the levels."""
    guard: central.Guard | None = None
    """Locks and limits that the finished pod must keep."""
    rejected: levels.Note | None = None
    """The annotation for which the pod is refused."""

    @property
    def nothing(self) -> bool:
        """Whether it is nothing at all, and nobody need be told."""
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
        settings: config.Settings,
        objects: Sequence[Mapping[str, Any]] = (),
        sandbox: World | None = None,
    ) -> None:
        """``objects`` are the IdentityPolicies of the cluster; the settings' own are added."""
        self.settings = settings
        self.sandbox = sandbox if sandbox is not None and sandbox.active else None
        """What is said about sandboxes; None when nothing is."""
        loaded = identitypolicy.load(settings.policies, objects)
        self.broken = loaded.problems
        """What is wrong with policies that cannot be understood; they refuse identities in their scope."""
        self.central = central.Central(loaded.policies, loaded.broken, settings)
        self.closed = bool(self.central) or (self.sandbox is not None and bool(self.sandbox.frozen))
        """Whether a pod that cannot be judged must not pass."""
        self.rules = mutation_rules.of(settings)
        if self.sandbox is not None and not self.rules.namespaces:
            self.rules = msgspec.structs.replace(self.rules, namespaces=True)
        self.excluded = selectors.matcher((*settings.exclude.namespaces, settings.install.namespace))
        self.dialects = tuple(_DIALECTS[name](settings, self.rules) for name in settings.vocabularies)
        self._policy_reader: Dialect | None = None
        """Reads what policies give, where no dialect of the settings does."""
        if self.central and "cwii" not in settings.vocabularies:
            self._policy_reader = _DIALECTS["cwii"](settings, self.rules)
        self._plain = settings.vocabularies == ("cwii",) and not self.central
        self._by_pod = settings.azwi.layout != "1.5" or bool(settings.eks.container_credentials.identities)
        self.memo: memo.ByteMemo[Prepared] = memo.ByteMemo(_MEMO_BYTES)
        """What sets of annotations ask for."""
        self.unasked = self._unasked()
        """The verdict over every pod that nobody says anything about; None where it depends on the pod."""

    def prepare(self, annotations: tuple[Annotations, ...], subject: Subject) -> Prepared:
        """Everything that follows from these annotations; worked out once for each set."""
        key = (annotations, subject)
        found = self.memo.get(key)
        if found is None:
            found = self._prepare(annotations, subject)
            size = sum([len(text) for said in annotations for text in said])
            if size <= _LARGEST_SET:
                self.memo.put(key, found, _SET_BYTES + 3 * size)
        return found

    def subject(self, pod: review.Pod, facts: Facts) -> Subject:
        """What a decision about this pod is remembered by, besides the annotations."""
        spec = pod.spec
        windows = (spec.os is not None or spec.node_selector is not None) and podview.is_windows(
            spec, self.rules.windows
        )
        if self._plain:
            return _PLAIN[windows]
        meta = pod.metadata
        return Subject(
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

    def _prepare(self, annotations: tuple[Annotations, ...], subject: Subject) -> Prepared:
        before, behind = self.central.levels(subject.namespace, subject.account)
        guard = self.central.guard(subject.namespace, subject.account)
        found = levels.Levels(
            annotations,
            checked=self.rules.checked,
            before=[source.annotations for source in before],
            behind=[source.annotations for source in behind],
            locked=guard.hides() if guard is not None else None,
            caps=self.settings.pod_limits,
        )
        try:
            return self._read(found, subject, (*before, *behind), guard)
        except levels.Rejected as rejected:
            return _rejected(rejected.note, (*before, *behind))

    def _read(
        self,
        found: levels.Levels,
        subject: Subject,
        policies: tuple[Source, ...],
        guard: central.Guard | None,
    ) -> Prepared:
        """What all dialects make of the annotations; raises levels.Rejected."""
        plans: dict[str, tuple[str, list[Plan]]] = {}
        missing: list[Missing] = []
        required: set[str] = set()
        switched_off = False
        locked = guard.locked if guard is not None else {}
        for name, dialect, levels_read in self._readers(found, policies):
            asked = dialect.ask(levels_read, subject)
            if asked.refusal:
                return _refused(asked)
            for plan in asked.plans:
                if plan.provider in locked and name not in _POLICY_READERS:
                    found.notes.append(
                        levels.Note(
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
                        levels.Note(
                            f"both {first} and {name} annotations ask for {plan.provider} identity: "
                            f"{first} is served, it stands first in the settings' vocabularies"
                        )
                    )
            missing += asked.missing
            required |= asked.required
            switched_off |= asked.switched_off
        chosen = _apart([plan for cloud in vocabulary.PROVIDERS for plan in plans.get(cloud, ("", []))[1]])
        notes = (*found.notes, *(levels.Note(text) for plan in chosen for text in plan.notes))
        return Prepared(
            render.Bundle([render.pieces(plan) for plan in chosen]),
            notes if self.rules.tell else (),
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
        self, found: levels.Levels, policies: tuple[Source, ...]
    ) -> Iterator[tuple[str, Dialect, levels.Levels]]:
        """Who reads what: the dialects of the settings in their order, and where cwii is not among them, a
        reader of what policies give."""
        for dialect in self.dialects:
            yield dialect.name, dialect, found
        if self._policy_reader is not None and policies:
            yield "policy", self._policy_reader, found.of_policies()


def _refused(asked: Asked) -> Prepared:
    return Prepared(render.Bundle([]), (), (), (), frozenset(), asked.refusal, asked.code, "")


def _rejected(note: levels.Note, policies: tuple[Source, ...]) -> Prepared:
    empty = render.Bundle([])
    return Prepared(empty, (), (), (), frozenset(), "", 0, "", policies, rejected=note)


def _apart(plans: list[Plan]) -> list[Plan]:
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


_RESERVED: Final = re.compile(b'"' + azure_place.RESERVED.encode() + b'([0-9a-f]{30})"')


def _drawn(pod: review.Pod) -> int:
    """From the characters that admission draws for the name of the pod's API token volume; when the pod comes
    again they are the same. Few numbers, since decisions are remembered by them."""
    found = _API_VOLUME.search(bytes(pod.spec.volumes))
    return int.from_bytes(found[1]) % _DRAWS if found else 0


_API_VOLUME: Final = re.compile(b'"kube-api-access-([a-z0-9]{5})"')
_DRAWS: Final = 31


def _labels(pod: review.Pod) -> tuple[tuple[str, str], ...]:
    """The labels that a vocabulary reads; the others are not even decoded."""
    raw = bytes(pod.metadata.labels)
    if not any(prefix.encode() in raw for prefix in _LABEL_PREFIXES):
        return ()
    found = review.labels(pod) or {}
    return tuple(sorted((key, value) for key, value in found.items() if key.startswith(_LABEL_PREFIXES)))


def compile_policy(
    settings: config.Settings, objects: Sequence[Mapping[str, Any]] = (), sandbox: World | None = None
) -> Policy:
    """The policy for these settings, these IdentityPolicies and these sandboxes."""
    return Policy(settings, objects, sandbox)
