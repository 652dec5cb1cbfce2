"""The administrator's sandbox configuration, compiled once per change.

Settings come from the oldest KataConfig that is not being deleted, classes from all of them; rules come from
every OSCWebhookConfig, by name and then by position. Without a KataConfig, or with ``enabled: false``, there
is no policy, and pods pass.

What follows from a namespace alone, above all which of many rules can concern its pods, is computed once
per namespace and cached: a pod is compared with few rules, however many there are.
"""

from __future__ import annotations

import functools
import hashlib
import re
from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import Final, NamedTuple

import msgspec

from vestibule.api import kata, label_selectors
from vestibule.api.kata import KataConfig, KataWebhookSpec, RuleSet, RuntimeClass, SandboxRule
from vestibule.initdata import document
from vestibule.initdata.document import InitdataError

ALWAYS_OUT: Final = ("kube-system", "kube-public", "kube-node-lease", "openshift", "openshift-*")
"""Namespaces that no setting brings in."""
_AREAS: Final = 4096
"""Maximum number of cached namespaces; at about 0.5 KB some 2 MiB."""
_GLOB: Final = re.compile(r"[a-z0-9*?]([-a-z0-9*?]*[a-z0-9*?])?")


def is_glob(text: str) -> bool:
    """Whether the text is a pattern for names of namespaces: ``*`` any run, ``?`` one character."""
    return len(text) <= 253 and _GLOB.fullmatch(text) is not None


def glob(pattern: str, text: str) -> bool:
    """Whether the whole text fits; linear for any number of stars."""
    spot = at = mark = 0
    star = -1
    while spot < len(text):
        if at < len(pattern) and pattern[at] in (text[spot], "?") and pattern[at] != "*":
            at, spot = at + 1, spot + 1
        elif at < len(pattern) and pattern[at] == "*":
            star, mark, at = at, spot, at + 1
        elif star >= 0:
            mark += 1
            spot, at = mark, star + 1
        else:
            return False
    return pattern[at:].strip("*") == ""


def any_glob(patterns: Sequence[str], text: str) -> bool:
    """Whether one of them fits."""
    return any(glob(pattern, text) for pattern in patterns)


class NamedRule(NamedTuple):
    """A rule and its location."""

    where: str
    rule: SandboxRule
    heads: tuple[str, ...]
    """What comes before the first star of its namespaces: most others differ there already."""


def _named(where: str, rule: SandboxRule) -> NamedRule:
    heads = tuple(re.split(r"[*?]", pattern, maxsplit=1)[0] for pattern in rule.match.namespaces)
    return NamedRule(where, rule, heads)


class NamespacePolicy(NamedTuple):
    """What holds in one namespace, whatever the pod."""

    rules: tuple[NamedRule, ...]
    """Those that can match there; the pod's own labels and class decide further."""
    injects: bool
    """Whether the KataConfig gives classes there."""
    annotates: bool
    """Whether the KataConfig's annotations are written there."""
    confidential: bool
    """Whether a tenant's own annotations about the virtual machine are replaced there."""
    pinned: tuple[str, ...] = ()
    """Globs of the classes that pods must have there; none: any."""


def _concerns(named: NamedRule, namespace: str, has: Mapping[str, str]) -> bool:
    match = named.rule.match
    if match.namespaces and not (namespace.startswith(named.heads) and any_glob(match.namespaces, namespace)):
        return False
    return label_selectors.matches(match.namespace_selector, has)


class SandboxPolicy:
    """Everything that decides about sandboxes."""

    def __init__(
        self,
        configs: Sequence[KataConfig],
        rules: Sequence[RuleSet] = (),
        *,
        classes: Mapping[str, RuntimeClass] | None = None,
        own_namespace: str = "",
        strict: bool = False,
        unclear: Sequence[kata.UnclearKataConfig] = (),
    ) -> None:
        """``unclear`` are KataConfigs whose confidential namespaces cannot be understood: pods there are
        refused."""
        self._unclear = tuple(unclear)
        alive = [config for config in configs if config.metadata.deletion_timestamp is None]
        alive.sort(key=lambda config: (config.metadata.creation_timestamp, config.metadata.name))
        self.strict = strict
        self.several = len(alive) > 1
        self._config = alive[0] if alive else None
        self.kata_classes = frozenset(name for config in alive for name in config.classes)
        self.references = tuple(dict.fromkeys(filter(None, map(kata.initdata_reference, configs))))
        """ConfigMaps with initdata that are read, of every KataConfig."""
        self.classes = classes or {}
        self._out = (*ALWAYS_OUT, own_namespace) if own_namespace else ALWAYS_OUT
        self.rules = tuple(
            _named(f"OSCWebhookConfig {found.metadata.name}, rule {rule.name}", rule)
            for found in sorted(rules, key=lambda found: found.metadata.name)
            for rule in found.spec.rules
        )
        self.earlier: Mapping[str, SandboxPolicy] = {}
        """Worlds of a moment ago by their digests: a pod that was begun in one of them is finished there."""
        self._area = functools.lru_cache(_AREAS)(self._namespace_policy)
        self.excluded = functools.lru_cache(_AREAS)(self._excluded)
        """Whether a namespace is never touched."""

    @property
    def webhook(self) -> KataWebhookSpec:
        """``spec.webhook`` in force."""
        spec = self._config.spec if self._config else None
        return spec.webhook if spec and spec.webhook else KataWebhookSpec()

    @property
    def name(self) -> str:
        """The KataConfig in force, as people say it."""
        return f"KataConfig {self._config.metadata.name}" if self._config else "KataConfig"

    @property
    def active(self) -> bool:
        """Whether anything is to be done at all."""
        spec = self._config.spec if self._config else None
        enabled = spec is not None and spec.webhook is not None and spec.webhook.enabled
        return enabled or bool(self._unclear)

    def refusal(self, namespace: str) -> str:
        """Why no pod of a namespace is admitted; empty: they are."""
        for one in self._unclear:
            if any_glob(one.namespaces, namespace):
                listed = "; ".join(one.problems)
                return (
                    f"KataConfig {one.name} cannot be understood, so pods of namespaces that it may enforce "
                    f"are refused: {listed}"
                )
        return ""

    @property
    def frozen(self) -> tuple[str, ...]:
        """Globs of the namespaces in which annotations of confidential pods must not change."""
        return (*self.webhook.enforce.namespaces, *(glob for one in self._unclear for glob in one.namespaces))

    @property
    def peer_pods(self) -> bool:
        """Whether peer pods are sized."""
        spec = self._config.spec if self._config else None
        return bool(spec and spec.enable_peer_pods)

    @cached_property
    def gives_classes(self) -> bool:
        """Whether a pod without a class may get one."""
        return self.webhook.runtime_class_injection.enabled or any(
            named.rule.mutate.runtime_class_name for named in self.rules
        )

    @cached_property
    def digest(self) -> str:
        """Identifies this policy: the same for the same objects in every replica, and another for others."""
        spec = self._config.spec if self._config else None
        content = (
            (spec.webhook, spec.enable_peer_pods) if spec else None,
            sorted(self.kata_classes),
            [(named.where, named.rule) for named in self.rules],
            {name: found.node_selector for name, found in self.classes.items()},
        )
        return hashlib.sha256(msgspec.json.encode(content, order="sorted")).hexdigest()[:12]

    def of(self, digest: str | None) -> SandboxPolicy:
        """The policy that a pod with this mark was begun in, if that was a moment ago; else this one."""
        if digest is None or self.strict or digest == self.digest:
            return self
        return self.earlier.get(digest, self)

    def area(self, namespace: str, namespace_labels: Mapping[str, str]) -> NamespacePolicy:
        """What holds in a namespace with these labels."""
        return self._area(namespace, tuple(namespace_labels.items()))

    def _namespace_policy(self, namespace: str, pairs: tuple[tuple[str, str], ...]) -> NamespacePolicy:
        has = dict(pairs)
        webhook = self.webhook
        injection, annotations = webhook.runtime_class_injection, webhook.annotations
        return NamespacePolicy(
            tuple(named for named in self.rules if _concerns(named, namespace, has)),
            injection.enabled
            and not any_glob(injection.exclude_namespaces, namespace)
            and label_selectors.matches(injection.namespace_selector, has),
            annotations is not None and not any_glob(annotations.exclude_namespaces, namespace),
            self.enforces(namespace),
            self.pinned(namespace),
        )

    def enforces(self, namespace: str) -> bool:
        """Whether a tenant's own annotations about the virtual machine are replaced in a namespace."""
        return any_glob(self.webhook.enforce.namespaces, namespace)

    def pinned(self, namespace: str) -> tuple[str, ...]:
        """Globs of the classes that pods of a namespace must have; none: any."""
        enforce = self.webhook.enforce
        return enforce.runtime_classes if enforce.runtime_classes and self.enforces(namespace) else ()

    @property
    def zeroes(self) -> bool:
        """Whether peer pods get explicit zeros in place of nothing."""
        mode = self.webhook.resource_mode
        return mode == "Zero" or (not mode and not self.strict)

    def _excluded(self, namespace: str) -> bool:
        return any_glob(self._out, namespace)

    @cached_property
    def initdata_error(self) -> InitdataError | None:
        """What is wrong with the initdata that pods would get."""
        annotations = self.webhook.annotations
        if annotations is None or annotations.initdata is None:
            return None
        try:
            document.decode(annotations.initdata)
        except InitdataError as error:
            return error
        return None

    def enabled_on(self, runtime_class: str, key: str) -> bool:
        """Whether the nodes of a class accept an annotation; by default, they do.

        Entries are regular expressions that may match anywhere in the name behind the prefix; one that is
        none is skipped by the Go runtime and spoils the whole list for the other.
        """
        profile = self.webhook.runtime_profiles.get(runtime_class)
        if profile is None or not key.startswith(kata.HYPERVISOR):
            return True
        name = key.removeprefix(kata.HYPERVISOR)
        found = False
        for entry in profile.enable_annotations:
            try:
                found = found or re.search(entry, name) is not None
            except re.error:
                if profile.runtime == "rs":
                    return False
        return found
