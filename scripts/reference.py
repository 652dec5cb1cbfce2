"""Writes the reference pages from the code: settings, flags, limits, CRDs and commands, in docs/reference.

Settings and limits come from the Structs of ``api/settings/schema.py`` and ``httpserver/limits.py``:
names, types and defaults from the classes, the words from the text below each field. Flags come from
``compat/cwii_flags.py`` and the command itself. ``--check`` writes nothing, and exits 1 when a page is
stale.
"""

from __future__ import annotations

import ast
import inspect
import re
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final, Literal, Union, get_args, get_origin, get_type_hints

import click
import msgspec

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
from scripts import reference_cli, reference_crds, rights

from vestibule.api.settings import schema
from vestibule.cli import webhook
from vestibule.compat import cwii_flags
from vestibule.httpserver.limits import ServerLimits

ROOT: Final = Path(__file__).resolve().parents[1]
PAGES: Final = ROOT / "docs" / "reference"
MADE: Final = "<!-- Made by scripts/reference.py from the code; change the text there. -->\n"


def words(cls: type) -> dict[str, str]:
    """The text below each field of a class, on one line, in Markdown."""
    tree = ast.parse(inspect.getsource(cls)).body[0]
    assert isinstance(tree, ast.ClassDef)  # noqa: S101 - the source of a class is a class
    found: dict[str, str] = {}
    for field, text in zip(tree.body, tree.body[1:], strict=False):
        if not isinstance(field, ast.AnnAssign) or not isinstance(field.target, ast.Name):
            continue
        if isinstance(text, ast.Expr) and isinstance(text.value, ast.Constant):
            found[field.target.id] = markdown(str(text.value.value))
    return found


def markdown(text: str) -> str:
    """A docstring's words as a table cell or a paragraph."""
    return re.sub(r"``?([^`]+)``?", r"`\1`", " ".join(text.split())).replace("|", "\\|")


def type_words(hint: Any) -> str:
    """A type as people say it."""
    names = {str: "text", bool: "true or false", int: "whole number", float: "number", Any: "table"}
    if hint in names:
        return names[hint]
    if inspect.isclass(hint) and issubclass(hint, msgspec.Struct):
        fields = [field.encode_name for field in msgspec.structs.fields(hint)]
        return f"table with {', '.join(f'`{name}`' for name in fields)}"
    origin, arguments = get_origin(hint), get_args(hint)
    if origin is Literal:
        return " or ".join(f"`{value}`" for value in arguments)
    if origin is tuple:
        return f"list of {type_words(arguments[0])}"
    if origin is dict:
        return f"table of {type_words(arguments[1])}"
    if origin is Union or "|" in str(hint):
        return " or ".join(type_words(part) for part in arguments if part is not type(None))
    raise TypeError(f"no words for {hint!r}")


def value_words(value: Any) -> str:
    """A default as it stands in a TOML file; empty where the text has it."""
    return "" if value is None else f"`{msgspec.json.encode(value).decode()}`"


def sections(
    name: str = "", cls: type[msgspec.Struct] = schema.Settings
) -> Iterator[tuple[str, type[msgspec.Struct]]]:
    """Every section of the file by its name there, the top of the file first."""
    yield name, cls
    for field in msgspec.structs.fields(cls):
        if inspect.isclass(field.type) and issubclass(field.type, msgspec.Struct):
            yield from sections(f"{name}.{field.encode_name}".lstrip("."), field.type)


def section(name: str, cls: type[msgspec.Struct]) -> Iterator[str]:
    """One section as a table."""
    texts, hints, defaults = words(cls), get_type_hints(cls), cls()
    yield f"\n## {f'`[{name}]`' if name else 'Top of the file'}\n"
    yield f"{markdown(inspect.getdoc(cls) or '')}\n"
    yield "| setting | type | default | meaning |"
    yield "|---|---|---|---|"
    for field in msgspec.structs.fields(cls):
        default = getattr(defaults, field.name)
        if not isinstance(default, msgspec.Struct):
            kind = type_words(hints[field.name])
            yield f"| `{field.encode_name}` | {kind} | {value_words(default)} | {texts[field.name]} |"


def settings_page() -> str:
    """docs/reference/settings.md."""
    head = """# Settings

One file contains all settings, in TOML, JSON or YAML; its file extension determines the format.
Name it with `--settings FILE` or the variable `VESTIBULE_SETTINGS`.
Every setting is optional, and an empty file is valid.
Flags and `CWII_*` variables override the file: see [Flags and variables](flags.md).

An unknown name or a value of the wrong form is an error.
Errors name the file, the line, the setting, its value and the expected value.
All values out of range are reported at once; an unknown name or a wrong type is reported first, alone.
The webhook reloads the file when it changes.
It reports an invalid file and continues with the last valid settings.
Changes of the `[serving]` section and of the permission to write ConfigMaps need a restart.
"""
    return "\n".join([MADE, head.rstrip(), *(line for part in sections() for line in section(*part)), ""])


FORMS: Final = {
    "text": "text",
    "bool": "`true` or `false`",
    "int": "whole number",
    "address": "`HOST:PORT` or `[IPV6]:PORT`",
    "delivery": "`annotation`, `config-map` or `init-container`",
}


def default_of(path: tuple[str, ...]) -> str:
    """The default of the setting at a path, as ``settings_page`` shows it."""
    value: Any = schema.Settings()
    for name in path:
        field = next(field for field in msgspec.structs.fields(value) if field.encode_name == name)
        value = getattr(value, field.name)
    return value_words(value)


def flag_rows() -> Iterator[str]:
    """One row for each flag of cwii."""
    for flag in cwii_flags.CWII:
        setting = ".".join(flag.path)
        default = default_of(flag.path)
        yield (
            f"| `--{flag.name}` | `{flag.variable}` | `{setting}` | {FORMS[flag.form]} | {default} "
            f"| {markdown(flag.about)} |"
        )


def own_rows() -> Iterator[str]:
    """One row for each option of the webhook command that cwii does not have."""
    theirs = {flag.name.replace("-", "_") for flag in cwii_flags.CWII}
    for option in webhook.command.params:
        if isinstance(option, click.Option) and option.name not in theirs and not option.hidden:
            names = ", ".join(f"`{name}`" for name in option.opts)
            yield f"| {names} | {markdown(option.help or '')} |"


def flags_page() -> str:
    """docs/reference/flags.md."""
    return f"""{MADE}
# Flags and variables

A flag overrides its variable, and both override the [settings file](settings.md).
`vestibule webhook`, `inject`, `explain` and `render` accept the same flags and make the same decision.

## Those of cwii

They work unchanged: every flag has a value, and booleans are the words `true` and `false`.
A bad value is an error that names the flag or the variable, and all errors are reported at once.
An empty default depends on the mode; see the [settings](settings.md) page.

| flag | variable | setting | form | default | meaning |
|---|---|---|---|---|---|
{chr(10).join(flag_rows())}

The variable `RUST_LOG` sets the log level.
In a filter such as `warn,kube=debug` the first plain level is used.

## Those of `vestibule webhook`

| option | meaning |
|---|---|
{chr(10).join(own_rows())}

The variable `VESTIBULE_SETTINGS` names the settings file where `--settings` does not.
"""


LIMIT_SETTINGS: Final = {"connections": "max_connections", "inflight": "max_inflight"}
"""Limits that a setting gives, and its field."""


def limit_words(name: str, value: float) -> str:
    """A limit with its unit."""
    if name.endswith("_seconds"):
        return f"{value:g} s"
    if name in ("body", "headers", "buffered", "inflight_bytes"):
        return f"{value // 2**20} MiB" if value >= 2**20 else f"{value // 2**10} KiB"
    return f"{value:g}"


def limit_rows() -> Iterator[str]:
    """One row for each limit."""
    texts, serving = words(ServerLimits), schema.ServingSettings()
    names = {field.name: field.encode_name for field in msgspec.structs.fields(schema.ServingSettings)}
    for name in ServerLimits.__struct_fields__:
        if name in LIMIT_SETTINGS:
            field = LIMIT_SETTINGS[name]
            about = f"{texts[name].rpartition('. ')[0]}. Setting `serving.{names[field]}`."
            yield f"| {name.replace('_', ' ')} | {getattr(serving, field)} | {about} |"
        else:
            value = limit_words(name, getattr(ServerLimits(), name))
            yield f"| {name.replace('_seconds', ' time').replace('_', ' ')} | {value} | {texts[name]} |"


def limits_page() -> str:
    """docs/reference/limits.md."""
    return f"""{MADE}
# Limits

These limits protect the webhook from large, slow or numerous requests.
The values are chosen for an API server as the client; two of them are settings.

| limit | value | meaning |
|---|---|---|
{chr(10).join(limit_rows())}
"""


def main(arguments: list[str]) -> int:
    """Write the pages, or with ``--check`` only compare them."""
    texts = {
        "settings.md": settings_page(),
        "flags.md": flags_page(),
        "limits.md": limits_page(),
        "crds.md": reference_crds.page(MADE),
        "cli.md": reference_cli.page(MADE),
    }
    pages = {PAGES / name: text for name, text in texts.items()}
    security = ROOT / "SECURITY.md"
    pages[security] = rights.written(security.read_text("utf-8"))
    stale = [page for page, text in pages.items() if not page.exists() or page.read_text("utf-8") != text]
    if "--check" in arguments:
        for page in stale:
            print(f"{page.relative_to(ROOT)} is stale: run scripts/reference.py", file=sys.stderr)
        return 1 if stale else 0
    PAGES.mkdir(parents=True, exist_ok=True)
    for page in stale:
        page.write_text(pages[page], "utf-8")
        print(f"wrote {page.relative_to(ROOT)}")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
