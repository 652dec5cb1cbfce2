"""Command lines as Go programs read them: ``-name value``, ``--name=value``, booleans without a value.

Flags in the syntax of Go's ``flag`` package, for the command lines of the upstream webhooks. The modules of
the dialects define the flags (``Flag``) and translate them to settings with a ``Reader``. All problems are
reported at once, by the name of the flag.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final, Literal, NamedTuple

from vestibule import errors
from vestibule.gostrconv import address, integer

_TRUE: Final = frozenset({"1", "t", "T", "true", "TRUE", "True"})
_FALSE: Final = frozenset({"0", "f", "F", "false", "FALSE", "False"})


class GoFlag(NamedTuple):
    """One flag of an original."""

    name: str
    about: str
    form: Literal["text", "bool"] = "text"
    used: bool = True
    """False: accepted without effect; ``about`` has the reason for the user."""


VERSION: Final = GoFlag("version", "print the version and exit", "bool")


def boolean(text: str) -> bool | None:
    """A word that Go takes for a boolean; None when it is none."""
    return True if text in _TRUE else False if text in _FALSE else None


def parse(flags: Sequence[GoFlag], arguments: Sequence[str]) -> dict[str, str]:
    """Flag to value, as given; the last of a name counts. Raises InvalidSettings with every problem."""
    known: Mapping[str, GoFlag] = {flag.name: flag for flag in flags}
    given: dict[str, str] = {}
    problems: list[errors.InputProblem] = []
    rest = list(arguments)
    while rest:
        argument = rest.pop(0)
        if argument == "--":
            break
        name, equals, value = argument.lstrip("-").partition("=")
        if not argument.startswith("-") or not name or argument.startswith("---"):
            problems.append(errors.InputProblem("command line", "", f"has {argument!r}, want a flag"))
            continue
        flag = known.get(name)
        if flag is None:
            problems.append(errors.InputProblem(f"--{name}", "", "is not a flag of the upstream webhook"))
            continue
        if flag.form == "bool":
            value = value if equals else "true"
            if boolean(value) is None:
                problems.append(errors.InputProblem(f"--{name}", "", f"is {value!r}, want true or false"))
        elif not equals:
            if not rest:
                problems.append(errors.InputProblem(f"--{name}", "", "has no value"))
                continue
            value = rest.pop(0)
        given[name] = value
    if rest:
        problems.append(errors.InputProblem("command line", "", f"has {' '.join(rest)!r}, want flags only"))
    if problems:
        raise errors.InvalidSettings(*problems)
    return given


class FlagSettings(NamedTuple):
    """What a command line and its environment mean here."""

    under: Mapping[str, Any]
    """Defaults of the upstream webhook as settings data. A settings file overrides them."""
    over: Mapping[str, Any]
    """Settings from flags and variables; they override the settings file."""
    origins: Mapping[str, str]
    """Path in the settings to the flag or variable that says it."""
    kubeconfig: str = ""
    notes: tuple[tuple[str, str], ...] = ()
    """Flags that do not do what they did, and why."""


class FlagReader:
    """Puts what flags and variables say into settings data, and collects what is wrong with it."""

    def __init__(self, flags: Sequence[GoFlag], given: Mapping[str, str]) -> None:
        self._given = given
        self._over: dict[str, Any] = {}
        self._origins: dict[str, str] = {}
        self._problems: list[errors.InputProblem] = []
        self._notes = [
            (f"--{flag.name}", flag.about) for flag in flags if flag.name in given and not flag.used
        ]

    def put(self, path: str, value: object, place: str) -> None:
        """Set the value of a flag or a variable."""
        *parents, last = path.split(".")
        target = self._over
        for key in parents:
            target = target.setdefault(key, {})
        target[last] = value
        self._origins[path] = place

    def wrong(self, name: str, want: str) -> None:
        """The value of a flag cannot be used."""
        self._problems.append(errors.InputProblem(f"--{name}", "", f"is {self._given[name]!r}, want {want}"))

    def note(self, name: str, text: str) -> None:
        """Something about a flag that the user should know."""
        self._notes.append((f"--{name}", text))

    def text(self, name: str, path: str) -> None:
        """The unchanged value."""
        if name in self._given:
            self.put(path, self._given[name], f"--{name}")

    def boolean(self, name: str, path: str) -> None:
        """A boolean; ``parse`` has checked it."""
        if name in self._given:
            self.put(path, self.on(name), f"--{name}")

    def on(self, name: str) -> bool:
        """Whether a boolean flag is given and true."""
        return boolean(self._given.get(name, "false")) is True

    def number(self, name: str, path: str) -> None:
        """A whole number."""
        if name in self._given:
            number = integer(self._given[name])
            if number is None:
                self.wrong(name, "a whole number")
            else:
                self.put(path, number, f"--{name}")

    def port(self, name: str, path: str) -> None:
        """A port on every address."""
        if name in self._given:
            number = integer(self._given[name])
            if number is None or not 0 <= number <= 65535:
                self.wrong(name, "a port")
            else:
                self.put(path, f"[::]:{number}", f"--{name}")

    def listen(self, name: str, path: str) -> None:
        """An address to listen on: without a host it means every one; ``0`` and nothing mean nowhere."""
        if name not in self._given:
            return
        text = self._given[name].replace("localhost:", "127.0.0.1:", 1)
        text = "" if text == "0" else f"[::]{text}" if text.startswith(":") else text
        if text and address(text) is None:
            self.wrong(name, "HOST:PORT or :PORT, with a numeric host")
        else:
            self.put(path, text, f"--{name}")

    def choice(self, name: str, path: str, choices: Mapping[str, str], want: str) -> None:
        """One of some words, in any case."""
        if name in self._given:
            chosen = choices.get(self._given[name].lower())
            if chosen is None:
                self.wrong(name, want)
            else:
                self.put(path, chosen, f"--{name}")

    def tls(self, minimum: str = "tls-min-version", suites: str = "tls-cipher-suites") -> None:
        """A TLS version in either spelling, obsolete versions raised to 1.2; and cipher suites."""
        text = self._given.get(minimum)
        if text is not None:
            number = f"1.{text[-1]}" if text[:-1] == "VersionTLS1" else text
            if number not in _TLS:
                self.wrong(minimum, "1.2, 1.3, VersionTLS12 or VersionTLS13")
            else:
                self.put("serving.tlsMinVersion", _TLS[number], f"--{minimum}")
                if _TLS[number] != number:
                    self.note(minimum, f"is {text!r}, and 1.2 is the lowest supported version")
        if suites in self._given:
            names = [name.strip() for name in self._given[suites].split(",")]
            self.put("serving.tlsCipherSuites", [name for name in names if name], f"--{suites}")

    def certificates(self, name: str, default: str) -> dict[str, str]:
        """A directory of ``tls.crt`` and ``tls.key``, and the settings for the usual one."""
        if name in self._given:
            for path, file in _pair(self._given[name]).items():
                self.put(f"serving.{path}", file, f"--{name}")
        return _pair(default)

    def meaning(self, under: Mapping[str, Any]) -> FlagSettings:
        """All of it; raises InvalidSettings with every problem."""
        if self._problems:
            raise errors.InvalidSettings(*self._problems)
        # an installation with these flags has the RBAC of the upstream webhook, which reads only
        # ServiceAccounts
        return FlagSettings(
            {"onForbidden": "pass-over", **under},
            self._over,
            self._origins,
            self._given.get("kubeconfig", ""),
            tuple(self._notes),
        )


_TLS: Final = {"1.0": "1.2", "1.1": "1.2", "1.2": "1.2", "1.3": "1.3"}


def _pair(directory: str) -> dict[str, str]:
    directory = directory.rstrip("/")
    return {"tlsCert": f"{directory}/tls.crt", "tlsKey": f"{directory}/tls.key"}
