"""The whole examination, in the order in which a token travels: issuer, token, webhook, pods."""

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
from vestibule.diagnose.doctor.options import DoctorOptions, Tell
from vestibule.diagnose.doctor.token import InspectedToken
from vestibule.kube.client import Client


def run(question: DoctorOptions, over: Mapping[str, Any], tell: Tell) -> list[Check]:
    """Every check; ``over`` are settings from the command line. Raises InvalidSettings."""
    return asyncio.run(_run(question, over, tell))


async def _run(question: DoctorOptions, over: Mapping[str, Any], tell: Tell) -> list[Check]:
    if question.access is None:
        return await _outside(question, None, schema.Settings(), [], tell)
    client = Client(question.access)
    try:
        return await _inside(question, client, over, tell)
    finally:
        await client.close()


async def _outside(
    question: DoctorOptions, client: Client | None, settings: schema.Settings, checks: list[Check], tell: Tell
) -> list[Check]:
    """Issuer and tokens."""
    held: list[InspectedToken] = []
    own, found = token.given(question)
    if own is not None:
        held.append(own)
    if client is not None and (question.token is None or question.account is not None):
        async for made in token.minted(question, client, settings):
            if isinstance(made, InspectedToken):
                held.append(made)
            else:
                found.append(made)
    tell("looking at the issuer")
    seen = await issuer.read_issuer(question, held[0].token.issuer if held else "")
    checks += seen.checks
    checks += found
    now = datetime.datetime.now(datetime.UTC).timestamp()
    for one in held:
        checks += token.judged(one, seen, now)
    return checks


async def _inside(
    question: DoctorOptions, client: Client, over: Mapping[str, Any], tell: Tell
) -> list[Check]:
    """The same, and what runs in the cluster."""
    tell("looking at the webhook")
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
    checks = await _outside(question, client, settings, [], tell)
    checks += webhook
    if not question.pods:
        return checks
    policy, beside = await installed.policy(client, settings)
    checks += beside
    taken = PodScan(client, policy, first, now, tell)
    about = f"namespace {question.namespace}" if question.namespace else "all namespaces"
    try:
        tally = await taken.take(question.namespace)
    except (errors.Forbidden, errors.Unavailable) as error:
        checks.append(
            check.skipped("pods.missing", about, str(error), "allow list of pods, or give --namespace")
        )
        return checks
    checks += pod_report.judge(tally, taken.entries, about, selectors_decide=not policy.rules.tell)
    return checks
