"""IdentityPolicies on the real API server: a wrong edit of a limit is never stored without a word, and one
that was stored earlier refuses identities instead of switching the limit off."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.apiserver.operator_installation import operator_installed
from tests.apiserver.webhook_installation import WebhookInstallation, path_of, wait_called
from tests.rig import process
from tests.rig.client import Answer, at
from tests.rig.controlplane import ControlPlane
from tests.rig.fixtures import Planes

Json = dict[str, Any]
API = "vestibule.dev/v1alpha1"
ROLE = "arn:aws:iam::123456789012:role/team-a"
GOOD: Json = {"limits": {"clouds": ["aws"], "aws": {"roleArns": [ROLE]}}}
EDITS: dict[str, tuple[Json, str]] = {
    "a cloud by another name": ({"limits": {"clouds": ["azure"], "aws": {"roleArns": [ROLE]}}}, "azure"),
    "a namespace in capitals": ({**GOOD, "match": {"namespaces": ["Team-*"]}}, "Team-*"),
    "a variable that nobody defines": (
        {**GOOD, "identities": {"aws": {"roleArn": "arn:aws:iam::123456789012:role/{team}"}}},
        "{team}",
    ),
    "a misspelt field": ({"limits": {"aws": {"roleArn": [ROLE]}}}, "did you mean roleArns?"),
    "a misspelt section": ({"limit": {"aws": {"roleArns": [ROLE]}}}, "did you mean limits?"),
    "a glob with a line break": ({"limits": {"aws": {"roleArns": ["arn:*\n"]}}}, "arn:"),
}


def policy(name: str, namespace: str, spec: Json) -> Json:
    match = {"namespaces": [namespace]}
    return {
        "apiVersion": API,
        "kind": "IdentityPolicy",
        "metadata": {"name": name},
        "spec": {"match": match, **spec},
    }


class PolicyEnvironment:
    """The webhook, registered for pods, and for policies as rendered."""

    def __init__(self, installation: WebhookInstallation) -> None:
        self.installation, self.admin = installation, installation.plane.admin
        self.validating: Json = installation.objects["ValidatingWebhookConfiguration"]
        url = {
            "url": f"https://127.0.0.1:{installation.replicas[0].port}/validate",
            "caBundle": installation.bundle(),
        }
        self.registered = {
            **self.validating,
            "webhooks": [{**one, "clientConfig": url} for one in self.validating["webhooks"]],
        }

    def register(self) -> None:
        applied = self.admin.apply(path_of(self.validating), self.registered, "test", force=True)
        assert applied.status in (200, 201), applied.message

    def create(self, obj: Json) -> Answer:
        """As a client that asks for no strictness: nothing is checked but what the server checks."""
        return self.admin.create(at("identitypolicies", api=API), obj, fieldValidation="Ignore")

    def pod(self, namespace: str, **annotations: str) -> Answer:
        pod = {
            "metadata": {"generateName": "p-", "annotations": annotations},
            "spec": {"containers": [{"name": "a", "image": "a"}]},
        }
        return self.admin.create(at("pods", namespace), pod, dryRun="All")


@pytest.fixture
def environment(control_plane: ControlPlane, tmp_path: Path) -> Iterator[PolicyEnvironment]:
    installation = WebhookInstallation(control_plane, tmp_path, "webhook-policies", identityPolicies=True)
    try:
        installation.apply()
        installation.register(installation.start().port, failurePolicy="Fail")
        wait_called(installation)
        yield PolicyEnvironment(installation)
    finally:
        control_plane.admin.delete(path_of(installation.objects["ValidatingWebhookConfiguration"]))
        for one in control_plane.admin.list(at("identitypolicies", api=API)):
            control_plane.admin.delete(at("identitypolicies", name=one["metadata"]["name"], api=API))
        installation.close()


def test_every_wrong_edit_is_refused_with_what_was_meant(
    environment: PolicyEnvironment, namespace: str
) -> None:
    environment.register()

    def refused() -> bool:
        return environment.create(policy("probe", namespace, EDITS["a misspelt field"][0])).status == 422

    process.wait("the webhook for policies", refused, 20)
    for number, (what, (spec, text)) in enumerate(EDITS.items()):
        answer = environment.create(policy(f"edit-{number}", namespace, spec))

        assert answer.status == 422, (what, answer.message)
        assert text in answer.message, (what, answer.message)
    good = environment.create(policy("good", namespace, GOOD))
    assert good.status == 201, good.message


def test_a_policy_that_was_stored_broken_refuses_identities_in_its_scope(
    environment: PolicyEnvironment, namespace: str, control_plane: ControlPlane
) -> None:
    asks = {"cwii.dev/aws-inject": "true", "cwii.dev/aws-role-arn": ROLE}
    stored = environment.create(policy("old", namespace, EDITS["a misspelt field"][0]))
    assert stored.status == 201, stored.message

    process.wait("the policy", lambda: _denied(environment, namespace, asks), 20)

    answer = environment.pod(namespace, **asks)
    assert "IdentityPolicy old cannot be understood" in answer.message
    assert "did you mean roleArns?" in answer.message
    assert environment.pod(namespace).status == 201, "a pod that asks for nothing is not stopped"
    elsewhere = control_plane.namespace("elsewhere")
    assert environment.pod(elsewhere, **asks).status == 201, "outside of its scope nothing changes"
    gone = environment.admin.delete(at("identitypolicies", name="old", api=API))
    assert gone.status == 200
    process.wait("the policy to be gone", lambda: environment.pod(namespace, **asks).status == 201, 20)


def _denied(environment: PolicyEnvironment, namespace: str, asks: dict[str, str]) -> bool:
    return environment.pod(namespace, **asks).status == 403


def test_the_operator_reports_a_policy_that_cannot_be_understood(
    private_control_plane: Planes, tmp_path: Path
) -> None:
    with operator_installed(private_control_plane(), tmp_path) as made:
        made.start()
        where = at("identitypolicies", api=API)
        for name, spec in (("bad", EDITS["a misspelt field"][0]), ("good", GOOD)):
            created = made.admin.create(where, policy(name, "team-a", spec), fieldValidation="Ignore")
            assert created.status == 201, created.message

        def accepted(name: str) -> Json:
            found = made.admin.get(at("identitypolicies", name=name, api=API)).object
            listed = found.get("status", {}).get("conditions", [])
            return next((one for one in listed if one["type"] == "Accepted"), {})

        process.wait("both conditions", lambda: bool(accepted("bad") and accepted("good")), 30)
        bad = accepted("bad")
        assert (bad["status"], accepted("good")["status"]) == ("False", "True")
        assert "spec.limits.aws.roleArn is no known field; did you mean roleArns?" in bad["message"]
        events = at("events", "default", api="events.k8s.io/v1")

        def told() -> bool:
            return any(one["regarding"]["name"] == "bad" for one in made.admin.list(events))

        process.wait("an Event", told, 15)
