"""``KataConfig`` and ``OSCWebhookConfig``, as far as they say something about pods.

Fields that are not ours are ignored, so an object newer than us stays usable. What ``None`` means is
documented at each field: the API server fills defaults only where the object above them is present.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any, Final, Literal, NamedTuple, TypeVar

import msgspec

from vestibule import errors
from vestibule.api import structure
from vestibule.api.label_selectors import LabelSelector

GROUP: Final = "kataconfiguration.openshift.io"
HYPERVISOR: Final = "io.katacontainers.config.hypervisor."
MEMORY_OVERHEAD: Final = f"{HYPERVISOR}memory_overhead"
DEFAULT_VCPUS: Final = f"{HYPERVISOR}default_vcpus"
DEFAULT_MEMORY: Final = f"{HYPERVISOR}default_memory"
DEFAULT_GPUS: Final = f"{HYPERVISOR}default_gpus"
INITDATA: Final = f"{HYPERVISOR}cc_init_data"
LEGACY_INITDATA: Final = "io.katacontainers.config.runtime.cc_init_data"
"""What Kata before 3.20 reads."""
KERNEL_PARAMS: Final = f"{HYPERVISOR}kernel_params"
VERITY_PARAMS: Final = f"{HYPERVISOR}kernel_verity_params"
AGENT_POLICY: Final = "io.katacontainers.config.agent.policy"
PREFIX: Final = "io.katacontainers."
"""What all annotations begin with that Kata reads."""
SIZES: Final = frozenset({MEMORY_OVERHEAD, DEFAULT_VCPUS, DEFAULT_MEMORY, DEFAULT_GPUS})
"""What a tenant may choose about a confidential virtual machine."""
ENFORCED: Final = (INITDATA, LEGACY_INITDATA, KERNEL_PARAMS, VERITY_PARAMS, AGENT_POLICY)
"""Annotations that decide what runs in a confidential virtual machine, and what is allowed there."""
VM_RESOURCE: Final = "kata.peerpods.io/vm"
REMOTE: Final = "kata-remote"
OVERHEAD_DEFAULT: Final = 350

Policy = Literal["Fail", "Ignore"]
T = TypeVar("T")


class _KataPart(msgspec.Struct, frozen=True, rename="camel"):
    """A part of an object; unknown fields are left to their owner."""


class InitdataReference(_KataPart, frozen=True):
    """A ConfigMap key with initdata."""

    namespace: str
    """Namespace of the ConfigMap."""
    name: str
    """Name of the ConfigMap."""
    key: str = "initdata"
    """Key that holds the initdata."""


class KataAnnotations(_KataPart, frozen=True):
    """What Kata pods are annotated with."""

    memory_overhead_mb: int | None = msgspec.field(default=None, name="memoryOverheadMB")
    """MiB, 1 to 2048; 350 where the field is absent."""
    default_vcpus: int | None = msgspec.field(default=None, name="defaultVCPUs")
    """Number of vCPUs of the virtual machine (annotation ``default_vcpus``)."""
    initdata: str | None = None
    """Initdata of confidential pods, as the value of the annotation."""
    initdata_from: InitdataReference | None = None
    """ConfigMap that holds the initdata."""
    initdata_annotation_key: Literal["hypervisor", "runtime"] = "hypervisor"
    """``runtime`` for Kata before 3.20."""
    custom: dict[str, str] = msgspec.field(default_factory=dict)
    """Further annotations of Kata pods."""
    overwrite_policy: Literal["IfNotPresent", "Always"] = "IfNotPresent"
    """Whether existing annotations of a pod are overwritten."""
    coco_runtime_classes: tuple[str, ...] = ("kata-cc*", REMOTE)
    """Classes that get initdata; globs."""
    exclude_namespaces: tuple[str, ...] = ()
    """Globs of namespaces whose pods are not annotated."""


class ClassInjection(_KataPart, frozen=True):
    """Which pods get a runtime class."""

    enabled: bool = False
    """Whether pods without a runtime class get one."""
    default_runtime_class: str = "kata"
    """The runtime class that they get."""
    namespace_selector: LabelSelector | None = None
    """Namespaces whose pods get a class; absent: all."""
    pod_selector: LabelSelector | None = None
    """Pods that get a class; absent: all."""
    exclude_namespaces: tuple[str, ...] = ()
    """Globs of namespaces whose pods get no class."""


class RuntimeProfile(_KataPart, frozen=True):
    """What the nodes of one class take: their ``enable_annotations``, and which runtime reads them."""

    runtime: Literal["go", "rs"] = "go"
    """Implementation of the Kata runtime: go or rs."""
    enable_annotations: tuple[str, ...] = ()
    """enable_annotations of the runtime configuration: regular expressions over annotation names."""


class ConfidentialSpec(_KataPart, frozen=True):
    """Namespaces in which a tenant's own initdata, kernel parameters and agent policy do not count."""

    namespaces: tuple[str, ...] = ()
    """Globs."""
    action: Literal["Replace", "Refuse"] = "Replace"
    """What happens to an annotation that a tenant set: Replace or Refuse."""
    runtime_classes: tuple[str, ...] = ()
    """Globs: the only classes that pods there may have, one of them is a must. None: any class, or none."""


class KataWebhookSpec(_KataPart, frozen=True):
    """``spec.webhook``."""

    enabled: bool = True
    """Whether pods are mutated at all."""
    failure_policy: Policy = "Fail"
    """failurePolicy of the webhook configuration for sandboxes."""
    annotations: KataAnnotations | None = None
    """Annotations of Kata pods."""
    runtime_class_injection: ClassInjection = ClassInjection()
    """Runtime class of pods without one."""
    runtime_profiles: dict[str, RuntimeProfile] = msgspec.field(default_factory=dict)
    """What the nodes of a runtime class accept, by class."""
    enforce: ConfidentialSpec = ConfidentialSpec()
    """Namespaces with confidential pods."""
    resource_mode: Literal["Zero", "Strip", ""] = ""
    """How peer pods lose their resources; default ``Zero``, and ``Strip`` in ``strict``."""


class _KataSpec(_KataPart, frozen=True):
    enable_peer_pods: bool = False
    """Whether peer pods are used."""
    webhook: KataWebhookSpec | None = None
    """Settings of the admission webhook."""


class _KataStatus(_KataPart, frozen=True):
    runtime_classes: tuple[str, ...] = ()


class _KataMeta(_KataPart, frozen=True):
    name: str = ""
    creation_timestamp: str = ""
    deletion_timestamp: str | None = None


class KataConfig(_KataPart, frozen=True):
    """One KataConfig."""

    metadata: _KataMeta = _KataMeta()
    spec: _KataSpec | None = None
    status: _KataStatus | None = None

    @property
    def classes(self) -> tuple[str, ...]:
        """The Kata classes it made."""
        return self.status.runtime_classes if self.status else ()


class RuleMatch(_KataPart, frozen=True):
    """Which pods a rule is about; all conditions must hold."""

    namespaces: tuple[str, ...] = ()
    """Globs; none: all."""
    namespace_selector: LabelSelector | None = None
    """Labels of the namespace."""
    pod_selector: LabelSelector | None = None
    """Labels of the pod."""
    runtime_classes: tuple[str, ...] = ()
    """None: every Kata class."""


class RuleMutation(_KataPart, frozen=True):
    """What a rule does."""

    runtime_class_name: str = ""
    """Runtime class of pods without one."""
    annotations: dict[str, str] = msgspec.field(default_factory=dict)
    """Annotations to add."""
    labels: dict[str, str] = msgspec.field(default_factory=dict)
    """Labels to add."""


class SandboxRule(_KataPart, frozen=True):
    """One rule."""

    name: str = ""
    """Name of the rule, unique in its list."""
    match: RuleMatch = RuleMatch()
    """Pods that the rule applies to."""
    mutate: RuleMutation = RuleMutation()
    """What the rule changes."""


class _RuleSetSpec(_KataPart, frozen=True):
    rules: tuple[SandboxRule, ...] = ()
    """Rules in the order in which they are applied."""


class RuleSet(_KataPart, frozen=True):
    """One OSCWebhookConfig."""

    metadata: _KataMeta = _KataMeta()
    spec: _RuleSetSpec = _RuleSetSpec()


class RuntimeClass(_KataPart, frozen=True):
    """A RuntimeClass, as far as it decides whether a pod can have it."""

    metadata: _KataMeta = _KataMeta()
    scheduling: dict[str, Any] | None = None

    @property
    def node_selector(self) -> Mapping[str, str]:
        """Labels that its nodes have."""
        return (self.scheduling or {}).get("nodeSelector") or {}


def initdata_reference(config: KataConfig) -> InitdataReference | None:
    """The ConfigMap that its initdata comes from."""
    webhook = config.spec.webhook if config.spec else None
    return webhook.annotations.initdata_from if webhook and webhook.annotations else None


def kata_config(obj: Mapping[str, Any]) -> KataConfig:
    """A KataConfig from decoded data; raises InvalidInput."""
    return _convert(obj, KataConfig, "KataConfig")


class UnclearKataConfig(NamedTuple):
    """A KataConfig that says something about confidential namespaces that cannot be understood."""

    name: str
    problems: tuple[str, ...]
    namespaces: tuple[str, ...]
    """Globs of the namespaces that are probably meant; everything where that cannot be known."""


def webhook_problems(obj: Mapping[str, Any]) -> list[tuple[str, str]]:
    """Everything in ``spec.webhook`` that is no field of it or has the wrong type. The section is ours alone,
    so it has no fields of other owners."""
    spec = obj.get("spec")
    webhook = spec.get("webhook") if isinstance(spec, Mapping) else None
    if webhook is None:
        return []
    return list(structure.problems(webhook, KataWebhookSpec, "spec.webhook", closed=True))


def unclear(obj: Mapping[str, Any], wrong: Sequence[tuple[str, str]]) -> UnclearKataConfig | None:
    """Whether what an object says about confidential namespaces cannot be understood. ``wrong`` is all that
    is wrong with it; mistakes elsewhere in it count, too, if it enforces anything."""
    meta, spec = obj.get("metadata"), obj.get("spec")
    webhook = spec.get("webhook") if isinstance(spec, Mapping) else None
    if not wrong or not webhook:
        return None
    meant = [webhook] if not isinstance(webhook, Mapping) else _enforces(webhook)
    if not meant:
        return None
    globs = [glob for one in meant for glob in _namespaces(one)]
    name = str(meta.get("name", "")) if isinstance(meta, Mapping) else ""
    return UnclearKataConfig(name, tuple(f"{path} {text}" for path, text in wrong), tuple(globs))


def _enforces(webhook: Mapping[str, Any]) -> list[Any]:
    """The value of ``enforce``, or of a similar name."""
    known = {
        "annotations",
        "enabled",
        "failurePolicy",
        "resourceMode",
        "runtimeClassInjection",
        "runtimeProfiles",
    }
    return [
        value
        for key, value in webhook.items()
        if value and key not in known and (key == "enforce" or structure.nearest(str(key), ["enforce"]))
    ]


def _namespaces(enforce: Any) -> list[str]:
    listed = enforce.get("namespaces") if isinstance(enforce, Mapping) else None
    if not isinstance(listed, list | tuple) or not listed:
        return ["*"]
    lowered = [one.lower() if isinstance(one, str) else "*" for one in listed]
    return [one if _GLOB.fullmatch(one) else "*" for one in lowered]


_GLOB: Final = re.compile(r"[-a-z0-9*?]+")


def rule_set(obj: Mapping[str, Any]) -> RuleSet:
    """An OSCWebhookConfig from decoded data; raises InvalidInput."""
    return _convert(obj, RuleSet, "OSCWebhookConfig")


def runtime_class(obj: Mapping[str, Any]) -> RuntimeClass:
    """A RuntimeClass from decoded data; raises InvalidInput."""
    return _convert(obj, RuntimeClass, "RuntimeClass")


def _convert(obj: Mapping[str, Any], kind: type[T], name: str) -> T:
    try:
        return msgspec.convert(obj, kind)
    except msgspec.ValidationError as error:
        meta = obj.get("metadata")
        place = f"{name} {meta.get('name', '') if isinstance(meta, Mapping) else ''}"
        text, _, path = str(error).partition(" - at `")
        raise errors.InvalidInput(
            errors.InputProblem(place, path.rstrip("`").removeprefix("$").lstrip("."), text)
        ) from error
