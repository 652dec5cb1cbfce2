"""Command lines as Go programs read them: ``-name value``, ``--name=value``, booleans without a value.

The binaries we stand in for are started by manifests that we do not write. Nothing here knows a flag; a
vocabulary brings its own (``Flag``). What is wrong is told all at once.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final, Literal, NamedTuple

from vestibule import errors

_TRUE: Final = frozenset({"1", "t", "T", "true", "TRUE", "True"})
_FALSE: Final = frozenset({"0", "f", "F", "false", "FALSE", "False"})


class Flag(NamedTuple):
    """One flag of an original."""

    name: str
    about: str
    form: Literal["text", "bool"] = "text"
    used: bool = True
    """False: taken and without effect here; the user is told why in ``about``."""


def boolean(text: str) -> bool | None:
    """A word that Go takes for a boolean; None when it is none."""
    return True if text in _TRUE else False if text in _FALSE else None


def parse(flags: Sequence[Flag], arguments: Sequence[str]) -> dict[str, str]:
    """Flag to value, as given; the last of a name counts. Raises InvalidSettings with every problem."""
    known: Mapping[str, Flag] = {flag.name: flag for flag in flags}
    given: dict[str, str] = {}
    problems: list[errors.Problem] = []
    rest = list(arguments)
    while rest:
        argument = rest.pop(0)
        if argument == "--":
            break
        name, equals, value = argument.lstrip("-").partition("=")
        if not argument.startswith("-") or not name or argument.startswith("---"):
            problems.append(errors.Problem("command line", "", f"has {argument!r}, want a flag"))
            continue
        flag = known.get(name)
        if flag is None:
            problems.append(errors.Problem(f"--{name}", "", "is no flag of the program that we stand in for"))
            continue
        if flag.form == "bool":
            value = value if equals else "true"
            if boolean(value) is None:
                problems.append(errors.Problem(f"--{name}", "", f"is {value!r}, want true or false"))
        elif not equals:
            if not rest:
                problems.append(errors.Problem(f"--{name}", "", "has no value"))
                continue
            value = rest.pop(0)
        given[name] = value
    if rest:
        problems.append(errors.Problem("command line", "", f"has {' '.join(rest)!r}, want flags only"))
    if problems:
        raise errors.InvalidSettings(*problems)
    return given


def listen(text: str) -> str:
    """An address to listen on as Go reads it: without a host it means every one."""
    return f"[::]{text}" if text.startswith(":") else text


_TLS: Final = {"1.0": "1.2", "1.1": "1.2", "1.2": "1.2", "1.3": "1.3"}


def tls_version(place: str, text: str) -> str:
    """A TLS version in either spelling; versions that nobody should speak are raised to 1.2."""
    number = text
    if text.startswith("VersionTLS1") and len(text) == len("VersionTLS12"):
        number = f"1.{text[-1]}"
    if number not in _TLS:
        raise errors.InvalidSettings(
            errors.Problem(place, "", f"is {text!r}, want 1.2, 1.3, VersionTLS12 or VersionTLS13")
        )
    return _TLS[number]
