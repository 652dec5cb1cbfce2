"""Directories and files of initdata."""

from __future__ import annotations

from pathlib import Path

from vestibule import errors
from vestibule.initdata import document, lint
from vestibule.initdata.document import InitdataDocument, InitdataError


def directory(path: Path, algorithm: str) -> InitdataDocument:
    """The document of all files in a directory; raises InvalidInput with what is wrong."""
    try:
        names = sorted(entry for entry in path.iterdir() if not entry.name.startswith("."))
    except OSError as error:
        raise errors.InvalidInput(
            errors.InputProblem(
                str(path), "", f"cannot be listed ({error.strerror}), want a directory of files"
            )
        ) from error
    problems: list[errors.InputProblem] = []
    files: dict[str, str] = {}
    for entry in names:
        try:
            files[entry.name] = entry.read_bytes().decode()
        except (OSError, UnicodeDecodeError) as error:
            problems.append(errors.InputProblem(str(entry), "", f"cannot be read, want a text file: {error}"))
    if not names:
        problems.append(errors.InputProblem(str(path), "", "is empty, want aa.toml, cdh.toml or policy.rego"))
    if problems:
        raise errors.InvalidInput(*problems)
    try:
        built = document.build(files, algorithm)
        lint.refuse_secrets(built)
    except InitdataError as error:
        raise errors.InvalidInput(errors.InputProblem(str(path), error.code, str(error))) from error
    return built


def read(place: str, text: str) -> InitdataDocument:
    """A document from an annotation's value, or from the TOML itself; raises InvalidInput."""
    try:
        if text.lstrip().startswith(("version", "algorithm", "#", "[")):
            return document.parse(text)
        return document.decode(text.removesuffix("\n") if place != "annotation" else text)
    except InitdataError as error:
        raise errors.InvalidInput(errors.InputProblem(place, error.code, str(error))) from error
