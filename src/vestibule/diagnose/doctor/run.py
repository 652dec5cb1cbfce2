"""All checks of doctor: issuer, token, webhook, pods."""

from __future__ import annotations

import asyncio
import datetime
from collections.abc import Mapping
from typing import Any

from vestibule import errors
from vestibule.api.settings import schema
from vestibule.checks import check, pod_report
from vestibule.checks.check import Check
from vestibule.diagnose.audit.pod_scan import PodScan
from vestibule.diagnose.doctor import installed, issuer, token, webhook_configuration
from vestibule.diagnose.doctor.options import DoctorOptions, Progress
from vestibule.diagnose.doctor.token import InspectedToken
from vestibule.kube.client import Client


def run(question: DoctorOptions, over: Mapping[str, Any], progress: Progress) -> list[Check]:
    """Every check; ``over`` are settings from the command line. Raises InvalidSettings."""
    return asyncio.run(_run(question, over, progress))


async def _run(question: DoctorOptions, over: Mapping[str, Any], progress: Progress) -> list[Check]:
    if question.access is None:
        return await _outside(question, None, schema.Settings(), [], progress)
    client = Client(question.access)
    try:
        return await _inside(question, client, over, progress)
    finally:
        await client.close()


async def _outside(
    question: DoctorOptions,
    client: Client | None,
    settings: schema.Settings,
    checks: list[Check],
    progress: Progress,
) -> list[Check]:
    """Issuer and tokens."""
    held: list[InspectedToken] = []
    own, found = token.given(question)
    if own is not None:
        held.append(own)
    if client is not None and (question.token is None or question.account is not None):
        async for minted in token.minted(question, client, settings):
            if isinstance(minted, InspectedToken):
                held.append(minted)
            else:
                found.append(minted)
    progress("checking the issuer")
    seen = await issuer.read_issuer(question, held[0].token.issuer if held else "")
    checks += seen.checks
    checks += found
    now = datetime.datetime.now(datetime.UTC).timestamp()
    for one in held:
        checks += token.judged(one, seen, now)
    return checks


async def _inside(
    question: DoctorOptions, client: Client, over: Mapping[str, Any], progress: Progress
) -> list[Check]:
    """The same, and what runs in the cluster."""
    progress("checking the webhook")
    now = datetime.datetime.now(datetime.UTC)
    usual = question.settings or schema.parse(over, "settings")
    seen = await webhook_configuration.find(client, usual.install.name, question.configuration)
    first = seen.found[0] if seen.found else None
    webhook: list[Check] = []
    settings = question.settings
    if settings is None:
        found = await installed.settings(client, first, over)
        settings = found.settings
        if seen.found:
            webhook.append(found.check)
    webhook += await webhook_configuration.read_webhooks(
        client, seen, settings.install.name, settings.install.namespace, question.configuration, now
    )
    checks = await _outside(question, client, settings, [], progress)
    checks += webhook
    if not question.pods:
        return checks
    policy, policy_checks = await installed.policy(client, settings)
    checks += policy_checks
    taken = PodScan(client, policy, first, now, progress)
    about = f"namespace {question.namespace}" if question.namespace else "all namespaces"
    try:
        tally = await taken.take(question.namespace)
    except (errors.Forbidden, errors.Unavailable) as error:
        checks.append(
            check.skipped("pods.missing", about, str(error), "allow list of pods, or give --namespace")
        )
        return checks
    checks += pod_report.judge(tally, taken.entries, about, selectors_decide=not policy.rules.warn)
    return checks
