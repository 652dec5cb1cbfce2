"""Two outcomes for one pod, held side by side: allowed or not, what people read, and every piece of the pod.

Texts name no pod and no workload, so that the same difference of a thousand pods is one line.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final, Literal, NamedTuple

from vestibule.admission.verdict import Finding

Object = Mapping[str, Any]
Kind = Literal["refused", "admitted", "warning", "volume", "container", "variable", "mount", "mark", "field"]
ORDER: Final[tuple[Kind, ...]] = (
    "refused", "admitted", "container", "volume", "mount", "variable", "mark", "field", "warning",
)  # fmt: skip
"""The gravest first."""


class PodOutcome(NamedTuple):
    """What becomes of one pod."""

    pod: Object
    """As it is afterwards; as it was when it is refused."""
    allowed: bool = True
    message: str = ""
    findings: tuple[Finding, ...] = ()
    touched: bool = False
    """Whether a webhook mutated, refused or warned."""


class PodChange(NamedTuple):
    """One difference."""

    kind: Kind
    text: str


def changes(before: PodOutcome, after: PodOutcome) -> list[PodChange]:
    """Everything that is not the same, each once."""
    found: list[PodChange] = []
    if before.allowed and not after.allowed:
        return [PodChange("refused", _general(after.message, ()))]
    if after.allowed and not before.allowed:
        found.append(PodChange("admitted", f"was refused: {_general(before.message, ())}"))
    found += _volumes(before.pod["spec"], after.pod["spec"])
    for field, noun in (("initContainers", "init container"), ("containers", "container")):
        found += _containers(noun, before.pod["spec"].get(field) or (), after.pod["spec"].get(field) or ())
    for field, noun in (("annotations", "annotation"), ("labels", "label")):
        old, now = (one.pod["metadata"].get(field) or {} for one in (before, after))
        found += [PodChange("mark", text) for text in _values(noun, old, now)]
    found += _rest(before.pod["spec"], after.pod["spec"])
    known = {finding.text for finding in before.findings}
    found += [
        PodChange("warning", _general(finding.text, (finding.object,)))
        for finding in after.findings
        if finding.severity != "info" and finding.text not in known
    ]
    return list(dict.fromkeys(found))


_LISTS: Final = frozenset({"volumes", "containers", "initContainers"})


def _rest(before: Object, after: Object) -> Iterator[PodChange]:
    for field in sorted({*before, *after} - _LISTS):
        if before.get(field) != after.get(field):
            yield PodChange("field", f"spec.{field} differs")


def _volumes(before: Object, after: Object) -> Iterator[PodChange]:
    old, now = (_named(spec.get("volumes") or ()) for spec in (before, after))
    for name in now.keys() - old.keys():
        yield PodChange("volume", f"volume {_short(name)} added")
    for name in old.keys() - now.keys():
        yield PodChange("volume", f"volume {_short(name)} no longer added")
    for name in sorted(old.keys() & now.keys()):
        if old[name] != now[name]:
            yield PodChange("volume", f"volume {_short(name)}: {_inside(old[name], now[name])}")


def _inside(before: Any, after: Any, path: str = "") -> str:
    """The first place where two values part."""
    if isinstance(before, Mapping) and isinstance(after, Mapping):
        for key in dict.fromkeys((*before, *after)):
            if before.get(key) != after.get(key):
                return _inside(before.get(key), after.get(key), f"{path}.{key}".lstrip("."))
    if isinstance(before, Sequence) and isinstance(after, Sequence) and not isinstance(before, str):
        for position, (one, other) in enumerate(zip(before, after, strict=False)):
            if one != other:
                return _inside(one, other, f"{path}[{position}]")
        return f"{path} has {len(after)} entries, not {len(before)}"
    return f"{path} is {_shown(after)}, not {_shown(before)}"


def _shown(value: Any) -> str:
    text = "missing" if value is None else repr(value) if isinstance(value, str) else str(value)
    return text if len(text) <= 60 else f"{text[:57]}..."


def _containers(noun: str, before: Sequence[Object], after: Sequence[Object]) -> Iterator[PodChange]:
    old, now = _named(before), _named(after)
    for name in now:
        if name not in old:
            yield PodChange("container", f"{noun} {name} added")
    for name in old:
        if name not in now:
            yield PodChange("container", f"{noun} {name} no longer added")
            continue
        one, other = old[name], now[name]
        variables = [
            {e["name"]: e.get("value") or e.get("valueFrom") for e in c.get("env") or ()}
            for c in (one, other)
        ]
        yield from (PodChange("variable", text) for text in _values(f"{noun}: variable", *variables))
        mounts = [{m["mountPath"]: m.get("name") for m in c.get("volumeMounts") or ()} for c in (one, other)]
        yield from (PodChange("mount", text) for text in _values(f"{noun}: mount", *mounts, content=False))
        rest = sorted({*one, *other} - {"env", "volumeMounts"})
        differing = [field for field in rest if one.get(field) != other.get(field)]
        if differing:
            yield PodChange("container", f"{noun} {name}: {', '.join(differing)} differ")


def _values(noun: str, before: Object, after: Object, *, content: bool = True) -> Iterator[str]:
    for key in after:
        if key not in before:
            yield f"{noun} {_short(key)} added"
    for key, value in before.items():
        if key not in after:
            yield f"{noun} {_short(key)} no longer added"
        elif after[key] != value:
            more = f": {_shown(after[key])}, not {_shown(value)}" if content else " shows another volume"
            yield f"{noun} {_short(key)}{more}"


def _named(items: Sequence[Object]) -> dict[str, Object]:
    return {str(item.get("name")): item for item in items}


def _short(name: str) -> str:
    """Without the part that every pod has of its own."""
    head, dash, tail = name.rpartition("-")
    return f"{head}-…" if dash and len(tail) == 30 and all(c in "0123456789abcdef" for c in tail) else name


def _general(text: str, objects: Sequence[str]) -> str:
    """A message without the object that it is about."""
    for name in objects:
        if name:
            text = text.replace(f"{name}: ", "", 1)
    head, colon, rest = text.partition(": ")
    kind, blank, name = head.partition(" ")
    return rest if colon and blank and "/" in name and kind[:1].isupper() else text


class ChangeGroup(NamedTuple):
    """The same difference of many."""

    kind: Kind
    text: str
    number: int
    examples: tuple[str, ...]


def grouped(found: Sequence[tuple[str, Sequence[PodChange]]], examples: int) -> list[ChangeGroup]:
    """Differences with how many have each, the gravest and the most common first."""
    names: dict[PodChange, list[str]] = {}
    for name, listed in found:
        for change in listed:
            names.setdefault(change, []).append(name)
    groups = [ChangeGroup(*change, len(who), tuple(who[:examples])) for change, who in names.items()]
    return sorted(groups, key=lambda one: (ORDER.index(one.kind), -one.number, one.text))
