"""What an operator did and was refused, from the API server's audit log."""

from __future__ import annotations

from tests.apiserver.operator_installation import OperatorInstallation

Used = set[tuple[str, str]]
"""Resource and verb."""


def used(environment: OperatorInstallation) -> tuple[Used, Used]:
    """What it did, and what it was refused."""
    done: Used = set()
    refused: Used = set()
    for event in environment.plane.audit.events(user=environment.user):
        about = event.get("objectRef")
        if about is None:
            continue
        resource = "/".join(filter(None, (about["resource"], about.get("subresource"))))
        code = event.get("responseStatus", {}).get("code")
        into = refused if code == 403 else done
        into.add((resource, event["verb"]))
        if event["verb"] == "patch" and code == 201:
            into.add((resource, "create"))  # apply that creates is authorised as both
    return done, refused
