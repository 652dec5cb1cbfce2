"""Reads keys over the levels of precedence, key by key: the first level with a usable value wins.

Records for every key where its value came from and what it shadowed, and notes every value that was
skipped. Trimming, lower-casing and number parsing are those of Go, to the character; Python's own are more
lenient.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Final, NamedTuple

from vestibule.admission.verdict import ValueOrigin
from vestibule.api.settings.podlimits import DEFAULT_CAPS, PodLimits
from vestibule.gostrconv import ascii_lower, integer, trim
from vestibule.injection.facts import SourceAnnotations


class ValueType(NamedTuple):
    """The type of a value: its grammar, and the characters that it can hold at all."""

    fits: Callable[[str], bool]
    want: str
    passed_over: bool = False
    """True: an invalid value is skipped. False: it is used nevertheless, since our grammar may be older than
    the cloud's."""
    safe: Callable[[str], bool] = str.isprintable
    """Whether the value is safe in an environment variable, a file and an address. One that is not is never
    used: the pod is refused."""


TEXT: Final = ValueType(lambda value: True, "printable characters")
"""A value without a grammar of its own, such as the audience of a token."""


class LevelNote(NamedTuple):
    """A text for the user, before the object at the level is named."""

    text: str
    level: int = -1
    key: str = ""
    value: str = ""
    want: str = ""
    blocking: bool = False
    """The identity cannot work this way: refused in ``required`` mode."""
    provider: str = ""


class RejectedAnnotation(Exception):
    """An annotation for which the pod is refused: unsafe to write into a pod, or too many of its kind."""

    def __init__(self, level: int, key: str, value: str, want: str) -> None:
        super().__init__(key)
        self.note = LevelNote("", level, key, value, want, blocking=True)


class PrecedenceLevels:
    """The annotations of all levels, strongest first, and what was learnt by reading them."""

    def __init__(
        self,
        levels: Sequence[SourceAnnotations],
        *,
        checked: bool,
        before: Sequence[SourceAnnotations] = (),
        behind: Sequence[SourceAnnotations] = (),
        locked: Callable[[str], str] | None = None,
        caps: PodLimits = DEFAULT_CAPS,
    ) -> None:
        """``before`` beats all levels and ``behind`` is beaten by all; they are counted after the others.
        ``locked`` names the policy that forbids a key on the pod's own levels; such a key is not read."""
        own = list(enumerate(levels))
        first = list(enumerate(before, len(levels)))
        last = list(enumerate(behind, len(levels) + len(before)))
        # as dictionaries: a reading asks for some sixty keys, and a tenant's object may hold thousands
        self._levels = [
            (index, dict(annotations.items())) for index, annotations in (*first, *own, *last) if annotations
        ]
        self._checked = checked
        self._caps = caps
        self.last = len(levels) - 1
        """Index of the weakest level, the namespace."""
        self.notes: list[LevelNote] = []
        self.origins: list[ValueOrigin] = []
        self._shown: set[str] = set()
        self._unknown = 0
        self._searches = 0
        if locked is not None:
            self._drop_locked(len(levels), locked)

    def _drop_locked(self, count: int, locked: Callable[[str], str]) -> None:
        """Leave out what a locked policy does not let the pod's levels say."""
        for index, values in self._levels:
            if index >= count:
                continue
            hidden = [(key, policy) for key in values if (policy := locked(key))]
            for position, (key, policy) in enumerate(hidden):
                value = values.pop(key)
                if position < self._caps.unknown_keys:
                    self._note(index, key, value, "", f"ignored: IdentityPolicy {policy} is locked")

    def of_policies(self) -> PrecedenceLevels:
        """What the policies say alone; what is learnt by reading it is learnt here, too."""
        alone = PrecedenceLevels((), checked=self._checked, caps=self._caps)
        alone._levels = [(index, annotations) for index, annotations in self._levels if index > self.last]
        alone.last, alone.notes, alone.origins = self.last, self.notes, self.origins
        return alone

    def flag(self, key: str) -> bool | None:
        """A boolean: ``true`` or ``false`` in any case; anything else is skipped."""
        for index, value in self._values(key):
            folded = ascii_lower(trim(value))
            if folded in ("true", "false"):
                self._found(key, folded, index)
                return folded == "true"
            self._note(index, key, value, "'true' or 'false'", "passed over")
        return None

    def text(self, key: str, check: ValueType = TEXT, *, provider: str = "") -> str | None:
        """The first value that is not blank, trimmed; raises RejectedAnnotation for one that must not reach
        a pod."""
        for index, raw in self._values(key):
            value = trim(raw)
            if not value:
                continue
            self._screen(index, key, value, check)
            if self._checked and not check.fits(value):
                if check.passed_over:
                    self._note(index, key, value, check.want, "passed over")
                    continue
                self._note(
                    index, key, value, check.want, "used all the same", blocking=True, provider=provider
                )
            self._found(key, value, index)
            return value
        return None

    def where(self, key: str) -> int:
        """The strongest level at which the key holds something other than blanks; -1 for none."""
        return next((index for index, value in self._values(key) if trim(value)), -1)

    def at(self, key: str, level: int, check: ValueType = TEXT) -> str | None:
        """The value at one level, unchanged; None when the key is absent. Raises RejectedAnnotation for one
        that must not reach a pod."""
        value = self.raw(key, level)
        if value:
            self._screen(level, key, value, check)
        return value

    def raw(self, key: str, level: int) -> str | None:
        """The same, unscreened: for numbers, switches and names to compare with, which reach no pod."""
        return next((value for index, value in self._values(key) if index == level), None)

    def _screen(self, level: int, key: str, value: str, check: ValueType) -> None:
        """What a type cannot hold passes in no mode."""
        longest = self._caps.value_length
        if len(value) > longest:
            raise RejectedAnnotation(
                level, key, f"{len(value)} characters", f"at most {longest} (podLimits.valueLength)"
            )
        if not value.isprintable() or not check.safe(value):
            raise RejectedAnnotation(
                level, key, value, check.want if check is not TEXT else "no control characters"
            )

    def peek(self, key: str, level: int) -> str:
        """The value at one level, for a message about it."""
        return self.raw(key, level) or ""

    def number(self, key: str, default: int, lowest: int, highest: int | None) -> int:
        """An integer, raised to the lowest allowed.

        Unchecked (as cwii): the first text decides, and what is no number means the default.
        Checked: what is no number is skipped, and what is too high is cut.
        """
        for index, raw in self._values(key):
            value = trim(raw)
            if not value:
                continue
            number = integer(value)
            if number is None:
                if not self._checked:
                    break
                self._note(index, key, value, "a whole number of seconds", "passed over")
                continue
            if self._checked and highest is not None and not lowest <= number <= highest:
                used = min(max(number, lowest), highest)
                self._note(index, key, value, f"{lowest} to {highest} seconds", f"{used} used")
                number = used
            self._found(key, value, index)
            return max(number, lowest)
        return max(default, lowest)

    def default(self, key: str, value: str) -> None:
        """Remember that the settings gave this value."""
        self.origins.append(ValueOrigin(key, value, -1))

    def items(self) -> list[tuple[int, str, str]]:
        """Level, key and value of every annotation of every level."""
        return [
            (index, key, value) for index, annotations in self._levels for key, value in annotations.items()
        ]

    def suffixes(self, key: str, name: ValueType) -> list[str]:
        """The suffixes after the key and a dot at any level, in order; nothing where an upstream webhook is
        matched. Raises RejectedAnnotation for a name that is none, and for more names than are served."""
        if not self._checked:
            return []
        begin = f"{key}."
        found: dict[str, int] = {}
        for level, full_key, value in self.items():
            if full_key.startswith(begin):
                suffix = full_key.removeprefix(begin)
                if suffix not in found and not name.fits(suffix):
                    raise RejectedAnnotation(level, full_key, value, f"{name.want} behind {begin}")
                found.setdefault(suffix, level)
        most = self._caps.container_keys
        if len(found) > most:
            raise RejectedAnnotation(
                next(iter(found.values())),
                f"{begin}*",
                f"{len(found)} keys",
                f"at most {most} (podLimits.containerKeys)",
            )
        return sorted(found)

    def names(self, key: str, text: str, separators: str = ",;") -> tuple[str, ...]:
        """A list of container names (which may contain ``*``); raises RejectedAnnotation when there are
        too many."""
        for separator in separators[1:]:
            text = text.replace(separator, separators[0])
        found = tuple(dict.fromkeys(name for part in text.split(separators[0]) if (name := trim(part))))
        if len(found) > self._caps.list_names:
            want = f"at most {self._caps.list_names} (podLimits.listNames)"
            raise RejectedAnnotation(max(self.where(key), 0), key, f"{len(found)} names", want)
        return found

    @property
    def enough_unknown(self) -> bool:
        """Whether no further unknown key is reported, so that no search is needed."""
        most = self._caps.unknown_keys
        return self._unknown > most or self._searches > 2 * most

    def unknown_key(
        self, level: int, key: str, value: str, nearest: Callable[[], str], *, hinted_only: bool = False
    ) -> None:
        """Report a key that means nothing, the first few of them only. ``nearest`` searches the key that was
        meant, which is what costs: for many keys it is not searched any more. ``hinted_only``: others have
        keys there, too, so a key that resembles none of ours is not reported."""
        most = self._caps.unknown_keys
        if self.enough_unknown:
            return
        self._searches += 1
        meant = nearest()
        if not meant and hinted_only:
            return
        self._unknown += 1
        if self._unknown > most:
            self.notes.append(LevelNote("there are more unknown keys, which are not listed", level))
        else:
            tail = f"; did you mean {meant}?" if meant else ""
            self.notes.append(LevelNote(f"no known key, ignored{tail}", level, key, value))

    def _values(self, key: str) -> list[tuple[int, str]]:
        return [
            (index, value)
            for index, annotations in self._levels
            if (value := annotations.get(key)) is not None
        ]

    def _found(self, key: str, value: str, level: int) -> None:
        values = self._values(key)
        position = [index for index, _ in values].index(level)
        shadowed = tuple(values[position + 1 :])
        if key not in self._shown:  # a key that every cloud reads is shown once
            self._shown.add(key)
            self.origins.append(ValueOrigin(key, value, level, shadowed))

    def _note(
        self,
        level: int,
        key: str,
        value: str,
        want: str,
        then: str,
        *,
        blocking: bool = False,
        provider: str = "",
    ) -> None:
        if self._checked:
            self.notes.append(LevelNote(then, level, key, value, want, blocking, provider))
