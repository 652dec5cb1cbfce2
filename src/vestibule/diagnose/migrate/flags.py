"""Command lines of the upstream webhooks, parsed leniently: invalid flags are reported and left out, because
a migration report lists all problems at once.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

from vestibule import errors
from vestibule.compat import azwi_flags, cwii_flags, eks_flags, goflags, wif_flags

Data = dict[str, Any]
_Settings = Callable[[Mapping[str, str], Mapping[str, str]], goflags.FlagSettings]
_FLAGS: Final[dict[str, tuple[tuple[goflags.GoFlag, ...], _Settings]]] = {
    "azwi": (azwi_flags.FLAGS, azwi_flags.settings),
    "eks": (eks_flags.FLAGS, eks_flags.settings),
    "wif": (wif_flags.FLAGS, wif_flags.settings),
}
_OURS: Final = frozenset(
    {"--settings", "--mode", "--addr", "--metrics-addr", "--client-ca", "--cluster", "--context"}
)


def read(
    program: str, arguments: Sequence[str], environment: Mapping[str, str], notes: list[str]
) -> goflags.FlagSettings:
    """What the flags and variables of a program mean; what is left out is added to the notes."""
    flags, settings = _FLAGS[program]
    words = list(arguments)
    given: dict[str, str] = _tolerant(
        lambda: goflags.parse(flags, words), lambda names: _without(words, names), notes, {}
    )
    nothing = goflags.FlagSettings({"vocabularies": [program]}, {}, {})
    found: goflags.FlagSettings = _tolerant(
        lambda: settings(given, environment), lambda names: _drop(given, names), notes, nothing
    )
    return found


def cwii(arguments: Sequence[str], environment: Mapping[str, str], notes: list[str]) -> Data:
    """The same for cwii, as settings data."""
    flags = [goflags.GoFlag(flag.name, flag.about) for flag in cwii_flags.CWII]
    words, variables = list(arguments), dict(environment)
    given: dict[str, str] = _tolerant(
        lambda: goflags.parse(flags, words), lambda names: _without(words, names), notes, {}
    )

    def forget(names: set[str]) -> bool:
        return _drop(given, names) | _drop(variables, names)

    found: Data = _tolerant(lambda: cwii_flags.overrides(given, variables), forget, notes, {})
    return found


def stand_in(arguments: Sequence[str], environment: Mapping[str, str]) -> Data | None:
    """The settings of ``vestibule webhook --as NAME …``; None when that is not what the arguments are."""
    rest = [word for word in arguments if word != "webhook"]
    ours: dict[str, str] = {}
    theirs: list[str] = []
    while rest:
        name, equals, value = rest.pop(0).partition("=")
        if name == "--as" or (name in _OURS and name[2:] not in _names(ours.get("--as", ""))):
            ours[name] = value if equals else (rest.pop(0) if rest else "")
        else:
            theirs.append(f"{name}{equals}{value}")
    program = ours.get("--as")
    if program not in _FLAGS:
        return None
    meaning = read(program, theirs, environment, [])
    mode = {"mode": ours["--mode"]} if "--mode" in ours else {}
    data: Data = cwii_flags.merged(cwii_flags.merged(meaning.under, meaning.over), mode)
    return data


def _names(program: str) -> set[str]:
    return {flag.name for flag in _FLAGS[program][0]} if program in _FLAGS else set()


def _tolerant(
    attempt: Callable[[], Any], forget: Callable[[set[str]], bool], notes: list[str], empty: Any
) -> Any:
    """The result of the attempt without the invalid inputs; each is reported in the notes."""
    while True:
        try:
            return attempt()
        except errors.InvalidSettings as error:
            notes += [f"left out: {problem}" for problem in error.problems]
            if not forget({problem.place.lstrip("-") for problem in error.problems}):
                return empty


def _without(arguments: list[str], names: set[str]) -> bool:
    """Take flags of these names, and words that are no flags, out of the arguments; whether any was there."""
    before = len(arguments)
    retained: list[str] = []
    skip = False
    for position, word in enumerate(arguments):
        flag = word.startswith("-")
        if skip and not flag:
            skip = False
            continue
        name, equals, _ = word.lstrip("-").partition("=")
        if flag and name in names:
            skip = not equals
            continue
        follows = (
            position > 0 and arguments[position - 1].startswith("-") and "=" not in arguments[position - 1]
        )
        if not flag and not follows and "command line" in names:
            continue
        retained.append(word)
        skip = False
    arguments[:] = retained
    return len(retained) < before


def _drop(given: dict[str, str], names: set[str]) -> bool:
    found = [name for name in names if name in given]
    for name in found:
        del given[name]
    return bool(found)
