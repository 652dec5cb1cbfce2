"""From the flags of a command to the options of a run, and from its report to the output."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any

from vestibule.cli.provisioning import plan_format

if TYPE_CHECKING:
    from vestibule.api.credentialsrequest import Cloud
    from vestibule.provision.credentials_requests import CredentialsRequests
    from vestibule.provision.flow import ProvisionReport
    from vestibule.provision.runner import RunOptions

Given = dict[str, Any]


def requests(given: Given, cloud: Cloud) -> CredentialsRequests:
    """The CredentialsRequests of a cloud; skipped documents are reported. Raises InvalidInput."""
    from vestibule.provision import credentials_requests

    found = credentials_requests.load(given["requests_dir"], cloud, tech_preview=given["tech_preview"])
    if given["output"] != "json":
        plan_format.skipped(found.skipped)
    return found


def options(given: Given) -> RunOptions:
    """How the command is run; progress is a line for each step."""
    from vestibule.provision import runner

    return runner.RunOptions(
        given["output_dir"],
        plan_format.ProgressLines(),
        dry_run=given["dry_run"],
        plan_only=given["plan_only"],
        parallel=given["parallel"],
        verify=given.get("verify", True),
        pause=time.sleep,  # looked up when the run begins, so that a test can replace it
    )


def show(report: ProvisionReport, given: Given, found: CredentialsRequests | None = None) -> None:
    """Print the report of a command: its plan, the issuer and the files."""
    plan_format.result(
        given["output"],
        steps=report.plan.steps,
        remarks=report.plan.remarks,
        issuer=report.issuer,
        files=report.files,
        planned=given["plan_only"] or given["dry_run"],
        skipped=found.skipped if found else (),
    )
