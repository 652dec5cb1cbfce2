"""What one run wants, and everything that is wrong with it before the first call."""

from __future__ import annotations

from typing import NamedTuple

from vestibule.api.credentialsrequest import CredentialsRequest
from vestibule.errors import InputProblem, InvalidInput
from vestibule.provision.aws import names


class AwsRequest(NamedTuple):
    """Everything that one run wants."""

    name: str
    region: str
    private: bool = False
    boundary: str = ""
    provider: str = ""
    """ARN of the provider, where it exists already."""
    requests: tuple[CredentialsRequest, ...] = ()


def check(desired: AwsRequest) -> None:
    """Raises InvalidInput with everything that is wrong with names and requests."""
    problems = [*names.problems(desired.name, desired.region, desired.boundary, desired.provider or None)]
    for request in desired.requests:
        for path, text in names.permissions(request)[1]:
            field = ".".join(map(str, path))
            problems.append(InputProblem(request.place, f"CredentialsRequest {request.name}: {field}", text))
    if problems:
        raise InvalidInput(*problems)
