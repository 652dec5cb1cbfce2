"""CredentialsRequests from a directory: the files the original reads, every problem with file and line.

Names that end in ``.yaml`` or ``.yml``, in order, not below; many documents to a file. What is no
CredentialsRequest, or one that does not count, is passed over visibly.
"""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

from vestibule.adapters.cluster import yamltext
from vestibule.core.kinds import credentials
from vestibule.core.kinds.credentials import Cloud, CredentialsRequest, Skipped
from vestibule.errors import InvalidInput, Problem

SUFFIXES = (".yaml", ".yml")


class Found(NamedTuple):
    """What a directory holds."""

    requests: tuple[CredentialsRequest, ...]
    skipped: tuple[Skipped, ...]


def load(directory: Path, cloud: Cloud, *, tech_preview: bool = False) -> Found:
    """All requests for a cloud. Raises InvalidInput with every problem of every file."""
    requests: list[CredentialsRequest] = []
    passed: list[Skipped] = []
    problems: list[Problem] = []
    for path in files(directory):
        try:
            documents, wrong = yamltext.documents(str(path), yamltext.read(path))
        except InvalidInput as error:
            problems += error.problems
            continue
        problems += wrong
        for document in documents:
            if document.value is None:
                continue
            _take(document, cloud, tech_preview, requests, passed, problems)
    problems += _doubled(requests)
    if problems:
        raise InvalidInput(*problems)
    return Found(tuple(requests), tuple(passed))


def files(directory: Path) -> list[Path]:
    """The files that count. Raises InvalidInput when there is no such directory."""
    try:
        entries = sorted(directory.iterdir())
    except OSError as error:
        text = f"cannot be listed ({error.strerror}), want a directory of CredentialsRequests"
        raise InvalidInput(Problem(str(directory), "", text)) from error
    wrong = [
        Problem(str(entry), "", "is a directory, want a file: directories below are not read")
        for entry in entries
        if entry.suffix in SUFFIXES and entry.is_dir()
    ]
    if wrong:
        raise InvalidInput(*wrong)
    return [entry for entry in entries if entry.suffix in SUFFIXES]


def _take(
    document: yamltext.Document,
    cloud: Cloud,
    tech_preview: bool,
    requests: list[CredentialsRequest],
    passed: list[Skipped],
    problems: list[Problem],
) -> None:
    place = document.place()
    value = document.value
    if not credentials.is_request(value):
        kind = credentials.get(value, "kind") or type(value).__name__
        passed.append(Skipped(str(kind), "is no CredentialsRequest", place))
        return
    found, wrong = credentials.read(value, cloud, place)
    why = credentials.skipped(value, cloud, tech_preview=tech_preview)
    if why:
        passed.append(Skipped(found.name, why, place))
        return
    problems += [
        Problem(document.place(*one.path), f"CredentialsRequest {found.name}: {_dotted(one.path)}", one.text)
        for one in wrong
    ]
    requests.append(found)


def _dotted(path: tuple[str | int, ...]) -> str:
    return "".join(f"[{step}]" if isinstance(step, int) else f".{step}" for step in path).lstrip(".")


def _doubled(requests: list[CredentialsRequest]) -> list[Problem]:
    """Two requests for one Secret would take each other's roles away."""
    first: dict[tuple[str, str], CredentialsRequest] = {}
    problems = []
    for request in requests:
        key = (request.namespace, request.secret)
        if not all(key):
            continue
        other = first.setdefault(key, request)
        if other is not request:
            text = (
                f"is {request.namespace}/{request.secret}, which {other.name} ({other.place}) asks for too, "
                "want one request for each Secret"
            )
            field = f"CredentialsRequest {request.name}: spec.secretRef"
            problems.append(Problem(request.place, field, text))
    return problems
