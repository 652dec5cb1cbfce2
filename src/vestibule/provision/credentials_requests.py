"""CredentialsRequests from a directory: the files that ccoctl reads, every problem with file and line.

Names that end in ``.yaml`` or ``.yml``, in order, not below; many documents to a file. What is no
CredentialsRequest, or one that does not apply, is skipped with a message.
"""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

from vestibule.api import credentialsrequest
from vestibule.api.credentialsrequest import Cloud, CredentialsRequest, SkippedDocument
from vestibule.errors import InputProblem, InvalidInput
from vestibule.yamledit import yaml_documents

SUFFIXES = (".yaml", ".yml")


class CredentialsRequests(NamedTuple):
    """What a directory holds."""

    requests: tuple[CredentialsRequest, ...]
    skipped: tuple[SkippedDocument, ...]


def load(directory: Path, cloud: Cloud, *, tech_preview: bool = False) -> CredentialsRequests:
    """All requests for a cloud. Raises InvalidInput with every problem of every file."""
    requests: list[CredentialsRequest] = []
    passed: list[SkippedDocument] = []
    problems: list[InputProblem] = []
    for path in files(directory):
        try:
            documents, wrong = yaml_documents.documents(str(path), yaml_documents.read(path))
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
    return CredentialsRequests(tuple(requests), tuple(passed))


def files(directory: Path) -> list[Path]:
    """The files that count. Raises InvalidInput when there is no such directory."""
    try:
        entries = sorted(directory.iterdir())
    except OSError as error:
        text = f"cannot be listed ({error.strerror}), want a directory of CredentialsRequests"
        raise InvalidInput(InputProblem(str(directory), "", text)) from error
    wrong = [
        InputProblem(str(entry), "", "is a directory, want a file: directories below are not read")
        for entry in entries
        if entry.suffix in SUFFIXES and entry.is_dir()
    ]
    if wrong:
        raise InvalidInput(*wrong)
    return [entry for entry in entries if entry.suffix in SUFFIXES]


def _take(
    document: yaml_documents.YamlDocument,
    cloud: Cloud,
    tech_preview: bool,
    requests: list[CredentialsRequest],
    passed: list[SkippedDocument],
    problems: list[InputProblem],
) -> None:
    place = document.place()
    value = document.value
    if not credentialsrequest.is_request(value):
        kind = credentialsrequest.get(value, "kind") or type(value).__name__
        passed.append(SkippedDocument(str(kind), "is no CredentialsRequest", place))
        return
    found, wrong = credentialsrequest.read(value, cloud, place)
    why = credentialsrequest.skipped(value, cloud, tech_preview=tech_preview)
    if why:
        passed.append(SkippedDocument(found.name, why, place))
        return
    problems += [
        InputProblem(
            document.place(*one.path), f"CredentialsRequest {found.name}: {_dotted(one.path)}", one.text
        )
        for one in wrong
    ]
    requests.append(found)


def _dotted(path: tuple[str | int, ...]) -> str:
    return "".join(f"[{step}]" if isinstance(step, int) else f".{step}" for step in path).lstrip(".")


def _doubled(requests: list[CredentialsRequest]) -> list[InputProblem]:
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
            problems.append(InputProblem(request.place, field, text))
    return problems
