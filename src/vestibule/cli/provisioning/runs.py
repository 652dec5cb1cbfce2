"""One run: from the flags that were given to what an app takes, and from its report to what people see."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any

from vestibule.cli.provisioning import shown

if TYPE_CHECKING:
    from vestibule.apps.provision.credentials_requests import Found
    from vestibule.apps.provision.runner import How
    from vestibule.core.kinds.credentials import Cloud

Given = dict[str, Any]


def requests(given: Given, cloud: Cloud) -> Found:
    """The CredentialsRequests of a cloud; what does not count is told. Raises InvalidInput."""
    from vestibule.apps.provision import credentials_requests

    found = credentials_requests.load(given["requests_dir"], cloud, tech_preview=given["tech_preview"])
    if given["output"] != "json":
        shown.skipped(found.skipped)
    return found


def how(given: Given) -> How:
    """How the run is to be done, with a line for each step."""
    from vestibule.apps.provision.runner import How as Made

    return Made(
        given["output_dir"],
        shown.Lines(),
        dry=given["dry"],
        look=given["look"],
        parallel=given["parallel"],
        verify=given.get("verify", True),
        pause=time.sleep,  # looked up when the run begins, so that whoever replaces it is heard
    )


def show(report: Any, given: Given, found: Found | None = None) -> None:
    """The report of a cloud's app: its plan, the issuer and the files."""
    shown.result(
        given["output"],
        steps=report.plan.steps,
        remarks=report.plan.remarks,
        issuer=report.issuer,
        files=report.files,
        planned=given["look"] or given["dry"],
        skipped=found.skipped if found else (),
    )
