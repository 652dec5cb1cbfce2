"""Cases of the hypershift family about attachments, flavours, and pods on their way through the webhook."""

from __future__ import annotations

import copy
import re
from collections.abc import Iterator
from typing import Any

from tests.vectors import case as cases
from tests.vectors import hypershift_pki as pki
from tests.vectors.hypershift_format import paired
from tests.vectors.hypershift_given import HOSTED, NOW, deployment, differences, secrets, subset
from vestibule import errors
from vestibule.api.settings import schema
from vestibule.compat import azwi_flags, cwii_flags, goflags
from vestibule.operator.controllers.hosted import (
    desired,
    hosted_objects,
    hypershift_webhooks,
    platform_table,
    sidecar,
)
from vestibule.operator.controllers.hosted.attach_modes import AttachObservation
from vestibule.operator.controllers.hosted.platforms import kamaji as kamajis

Json = dict[str, Any]


def _request(requested: Json) -> desired.HostedRequest:
    known = {"tenantID": "tenant_id", "azureEnvironment": "environment", "attach": "attach"}
    return desired.HostedRequest(**{known[key]: value for key, value in requested.items()})


def separate(inputs: Json, want: Json) -> Iterator[str]:
    """A Deployment of our own beside a control plane."""
    hosted = inputs["hostedControlPlane"]
    target = platform_table.ALL["hypershift"].target(hosted, [], NOW)
    adjacent = [deployment(hosted), *secrets(target.namespace).values()]
    created = desired.plan(
        _request(inputs["request"]), target, AttachObservation(["kube-apiserver"]), adjacent, NOW
    )
    for key, expected in want.items():
        if key == "managementObjects":
            for one in expected:
                yield from _managed(created.management, one)
        elif key == "guestWebhookURL":
            found = created.guest[-1]["webhooks"][0]["clientConfig"]["url"]
            if found != expected:
                yield f"url: got {found}"
        elif key == "kubeApiserverDeploymentTouched":
            names = [(one["kind"], one["metadata"]["name"]) for one in created.management]
            if (("Deployment", "kube-apiserver") in names or created.edit is not None) != expected:
                yield "the API server's Deployment is touched"
        elif key == "mustHoldBeforeGuestConfigurationIsCreated":
            if list(created.gates) != expected:
                yield f"gates: got {created.gates}"
        else:
            yield f"the case wants {key}, which the runner does not know"
    again = desired.plan(
        _request(inputs["request"]),
        target,
        AttachObservation(["kube-apiserver"]),
        [*adjacent, *created.management],
        NOW,
    )
    if (again.management, again.guest) != (created.management, created.guest):
        yield "a second pass differs"


def _managed(there: list[Json], want: Json) -> Iterator[str]:
    found = next(
        (one for one in there if (one["kind"], one["metadata"]["name"]) == (want["kind"], want["name"])), None
    )
    if found is None:
        yield f"{want['kind']} {want['name']} is missing"
        return
    facts: Json = {"kind": found["kind"], "name": want["name"], "namespace": found["metadata"]["namespace"]}
    facts["labels"] = found["metadata"].get("labels", {})
    if found["kind"] == "Deployment":
        facts["podLabels"] = found["spec"]["template"]["metadata"]["labels"]
    if found["kind"] == "Service":
        facts["ports"] = found["spec"]["ports"]
    if "certificate" in want:
        pem = pki.text(found, "tls.crt")
        facts["certificate"] = {"dnsSANs": pki.dns_names(pem), "extKeyUsage": pki.usages(pem)}
    yield from subset(f"{want['kind']} {want['name']}", facts, want)


def built_in(inputs: Json, want: Json) -> Iterator[str]:
    """A control plane that has the webhook already."""
    target = platform_table.ALL["hypershift"].target(inputs["hostedControlPlane"], [], NOW)
    seen = AttachObservation(
        inputs["liveKubeApiserverContainers"], inputs["guest"]["mutatingWebhookConfigurations"]
    )
    created = desired.plan(desired.HostedRequest(), target, seen, [], NOW)
    for key, expected in want.items():
        if key == "writes":
            found = len(created.management) + len(created.guest) + (created.edit is not None)
            if found != expected:
                yield f"{found} writes"
        elif key == "status":
            yield from subset("status", created.choice.status, expected)
        elif key == "ifTakeoverRequested":
            taken = desired.plan(desired.HostedRequest(attach="deployment"), target, seen, [], NOW)
            if (
                not expected.startswith("refuse:")
                or taken.choice.way is not None
                or "re-creates" not in str(taken.choice.conditions)
            ):
                yield f"takeover: {taken.choice}"
        else:
            yield f"the case wants {key}, which the runner does not know"


def kamaji(inputs: Json, want: Json) -> Iterator[str]:
    """A sidecar through the fields of a TenantControlPlane."""
    tenant = copy.deepcopy(inputs["tenantControlPlane"])
    tenant["metadata"]["resourceVersion"] = "41"
    theirs = {"name": "theirs", "image": "x"}, {"name": "theirs", "emptyDir": {}}
    fields = tenant["spec"]["controlPlane"]["deployment"]
    fields |= {"additionalContainers": [theirs[0]], "additionalVolumes": [theirs[1]]}
    request = _request(inputs["request"])
    target = kamajis.target(tenant, [], NOW)
    created = desired.plan(request, target, AttachObservation(), [], NOW)
    assert created.edit is not None
    for key, expected in want.items():
        if key == "readModifyWriteOf":
            yield from _read_modify_write(tenant, created, request, expected, theirs)
        elif key == "ifOwnedByKamajiControlPlane":
            if not expected.startswith("write the same entries on the owner instead"):
                yield f"the runner knows no way to {expected!r}"
            yield from _owned(tenant, request)
        elif key == "guestKubeconfigSource":
            preferred = list(target.kubeconfig.keys)[: len(expected["keyPreference"])]
            if (target.kubeconfig.secret, preferred) != (expected["secret"], expected["keyPreference"]):
                yield f"kubeconfig: got {target.kubeconfig}"
        elif key == "apiserverCA":
            if (target.ca.secret, list(target.ca.keys)) != (expected["secret"], expected["keys"]):
                yield f"ca: got {target.ca}"
        elif key == "guestWebhookURL":
            if created.guest[-1]["webhooks"][0]["clientConfig"]["url"] != expected:
                yield f"url: got {created.url}"
        elif key != "why":
            yield f"the case wants {key}, which the runner does not know"


def _read_modify_write(
    tenant: Json,
    made: desired.HostedDesired,
    request: desired.HostedRequest,
    want: Json,
    theirs: tuple[Json, Json],
) -> Iterator[str]:
    edit = made.edit
    assert edit is not None
    facts = {
        "kind": edit.thing["kind"],
        "name": edit.thing["metadata"]["name"],
        "ourEntries": list(edit.entries),
    }
    yield from differences("edit", facts, {key: want[key] for key in facts if key in want})
    if edit.thing["metadata"].get(want.get("guardedBy", "resourceVersion")) != "41":
        yield f"the write is not guarded by {want.get('guardedBy')}"
    fields = edit.thing["spec"]["controlPlane"]["deployment"]
    stored = theirs[0] in fields["additionalContainers"] and theirs[1] in fields["additionalVolumes"]
    if stored != want.get("foreignEntriesKept", stored):
        yield f"foreign entries: {fields}"
    if [one["name"] for one in fields["additionalContainers"]] != ["theirs", hypershift_webhooks.OURS]:
        yield f"containers: {fields['additionalContainers']}"
    again = desired.plan(
        request, kamajis.target(edit.thing, [], NOW), AttachObservation(), made.management, NOW
    )
    assert again.edit is not None
    if int(again.edit.changed) != want.get("secondRunWrites", 0):
        yield "a second run writes"
    if tenant == edit.thing:
        yield "nothing is written the first time"


def _owned(tenant: Json, request: desired.HostedRequest) -> Iterator[str]:
    """The owner is written to, under its own names, and the tenant never."""
    owned = copy.deepcopy(tenant)
    owned["metadata"]["ownerReferences"] = [{"kind": kamajis.OWNER, "name": "kcp"}]
    owner = {
        "apiVersion": "controlplane.cluster.x-k8s.io/v1alpha1",
        "kind": kamajis.OWNER,
        "metadata": {"name": "kcp", "namespace": tenant["metadata"]["namespace"]},
        "spec": {},
    }
    target = kamajis.target(owned, [], NOW)
    found = desired.plan(request, target, AttachObservation(), [owner], NOW).edit
    if found is None or found.thing["kind"] != kamajis.OWNER or not found.changed:
        yield f"owned by a {kamajis.OWNER}: {found}"
    if desired.plan(request, target, AttachObservation(), [], NOW).edit is not None:
        yield "the tenant is written although it is owned"


def providers(inputs: Json, want: Json) -> Iterator[str]:
    """Where the kubeconfig and the authority of each flavour live."""
    if want.keys() != set(inputs["providers"]):
        yield f"wants {sorted(want)}, gives {sorted(inputs['providers'])}"
    for name in inputs["providers"]:
        platform = platform_table.ALL[name]
        group, kind = platform.KINDS[0]
        meta = {"name": inputs["name"], "namespace": inputs["namespace"]}
        obj = {"apiVersion": f"{group}/v1beta2", "kind": kind, "metadata": meta, "spec": {}}
        target = platform.target(obj, [], NOW)
        for key, expected in want[name].items():
            if key in ("kubeconfig", "ca", "clientSigner"):
                source = {"kubeconfig": target.kubeconfig, "ca": target.ca, "clientSigner": target.signer}[
                    key
                ]
                assert source is not None
                if source.secret != expected["secret"]:
                    yield f"{name}: {key} is in {source.secret}"
                if "key" in expected and source.keys != (expected["key"],):
                    yield f"{name}: {key} is under {source.keys}"
                if "keys" in expected and sorted(source.keys) != sorted(expected["keys"]):
                    yield f"{name}: {key} is under {source.keys}"
                if "server" in expected and expected["server"].partition(" ")[0] != target.server:
                    yield f"{name}: server is {target.server}"
                if "otherKeys" in expected and not set(target.ca.keys) <= set(expected["otherKeys"]):
                    yield f"{name}: the authority is under {target.ca.keys}"
            elif key == "external":
                yield from _external(platform.target, obj, expected)
            elif key == "pausedBy":
                yield from _paused(platform.target, obj, expected)
            elif key == "workload":
                if target.workload != expected:
                    yield f"{name}: runs in {target.workload}"
            elif key == "attachVia":
                edit = platform.attached(obj, sidecar.ours(sidecar.SidecarSpec()), sidecar.our_volumes())
                (patch,) = edit.thing["spec"]["patches"] if edit else [{}]
                words = re.findall(r"target kind (\w+), type (\w+)", expected)[0]
                if (patch["target"]["kind"], patch["patch"]["type"]) != words:
                    yield f"{name}: attached by {patch}"
            elif key == "rewriteServer":
                if not target.server.startswith(f"https://{inputs['name']}.{inputs['namespace']}.svc"):
                    yield f"{name}: server is {target.server!r}"
            else:
                yield f"the case wants {key} of {name}, which the runner does not know"


def _external(target: Any, obj: Json, wanted: Json) -> Iterator[str]:
    message = {**obj, "status": {"kubeConfig": {"name": "mine", "key": "here"}}}
    found, usual = target(message, [], NOW).external, target(obj, [], NOW).external
    if (found.secret, found.keys) != ("mine", ("here",)) or wanted["from"] != "status.kubeConfig":
        yield f"external: got {found}"
    if f"{usual.secret}/{usual.keys[0]}" != wanted["default"]:
        yield f"external: the usual one is {usual}"


def _paused(target: Any, obj: Json, wanted: list[str]) -> Iterator[str]:
    marks = {
        "spec.paused on Cluster": {**obj, "spec": {"paused": True}},
        "annotation cluster.x-k8s.io/paused": {
            **obj,
            "metadata": {**obj["metadata"], "annotations": {"cluster.x-k8s.io/paused": ""}},
        },
    }
    if target(obj, [], NOW).pause.paused:
        yield "paused without a mark"
    yield from (f"{mark}: not paused" for mark in wanted if not target(marks[mark], [], NOW).pause.paused)


# ── pods ────────────────────────────────────────────────────────────────────────────────────────────────────


def settings_of(container_flags: list[str], environ: dict[str, str], **over: Any) -> schema.Settings:
    """What a process makes of the flags and variables of a rendered container."""
    given = goflags.parse(azwi_flags.FLAGS, container_flags)
    meaning = azwi_flags.settings(given, environ)
    data = cwii_flags.merged(cwii_flags.merged(meaning.under, meaning.over), over)
    return schema.parse(data, "container")


def end_to_end(inputs: Json, want: Json) -> Iterator[str]:
    """The rendered flags in the real handler, the API server's part played by the rendered registration;
    ``tests/apiserver/test_hosted.py`` runs the same cases with a real one."""
    hosted = copy.deepcopy(HOSTED)
    environ = {one["name"]: one["value"] for one in sidecar.env(hypershift_webhooks.AZURE, hosted)}
    flags = sidecar.flags(hypershift_webhooks.AZURE, hosted)
    entry = hosted_objects.configuration(hosted_objects.hypershift(hypershift_webhooks.AZURE, "CA"))[
        "webhooks"
    ][0]
    for case, expected in paired(inputs["cases"], want["cases"]):
        yield from (
            f"{case['case']}: {text}"
            for text in pod_facts(_admitted(case, inputs, settings_of(flags, environ), entry), expected)
        )
        if "mutatedAfterDeleteAndRecreateOnceUp" in expected:
            up = {key: value for key, value in case.items() if key != "webhook"}
            found = mutated(_admitted(up, inputs, settings_of(flags, environ), entry))
            if found != expected["mutatedAfterDeleteAndRecreateOnceUp"]:
                yield f"{case['case']}: mutated is {found} once it is up"
    if "layoutOfUpstream_v1_6_0" in want:
        layout = want["layoutOfUpstream_v1_6_0"]
        new = settings_of(flags, environ, azwi={"layout": "1.6.0"})
        pod = _admitted(inputs["cases"][0], inputs, new, entry)
        (volume,) = pod["spec"]["volumes"]
        source = volume["projected"]["sources"][0]["serviceAccountToken"]
        layout_found = {
            "volumeName": volume["name"],
            "mountPath": pod["spec"]["containers"][0]["volumeMounts"][0]["mountPath"],
            "tokenPath": source["path"],
        }
        yield from subset("layout 1.6.0", layout_found, layout)


def _admitted(case: Json, inputs: Json, settings: schema.Settings, entry: Json) -> Json:
    """The pod as the API server would store it."""
    pod: Json = copy.deepcopy(case["pod"])
    labels = pod["metadata"].get("labels") or {}
    chosen = all(labels.get(key) == value for key, value in entry["objectSelector"]["matchLabels"].items())
    if not chosen or case.get("webhook") == "down":
        assert entry["failurePolicy"] == "Ignore"
        return pod
    account = {"apiVersion": "v1", "kind": "ServiceAccount", **inputs["serviceAccount"]}
    faults = {"GET serviceaccounts/*": 403} if case.get("rbac") == "absent" else {}
    handler, recorder = cases.handler_of(cases.cluster_of([account], faults), settings)
    namespace = pod["metadata"]["namespace"]
    try:
        return cases.through(handler, recorder, pod, namespace=namespace).pod
    except (errors.Forbidden, errors.Unavailable):
        return pod  # a fault is HTTP 5xx on the wire, and failurePolicy is Ignore


def mutated(pod: Json) -> bool:
    """Whether a pod has the identity."""
    env = pod["spec"]["containers"][0].get("env", [])
    return any(one["name"] == "AZURE_FEDERATED_TOKEN_FILE" for one in env)


def pod_facts(pod: Json, want: Json) -> Iterator[str]:
    """What a case wants of a pod that was admitted."""
    container = pod["spec"]["containers"][0]
    for key, expected in want.items():
        if key == "volume":
            found = [one for one in pod["spec"].get("volumes", []) if one["name"] == expected["name"]]
            yield from subset("volumes", found, [expected])
        elif key == "env":
            env = {one["name"]: one.get("value") for one in container.get("env", [])}
            yield from subset("env", env, expected)
        elif key == "mountPath":
            if expected not in [one["mountPath"] for one in container.get("volumeMounts", [])]:
                yield f"mounts: got {container.get('volumeMounts')}"
        elif key == "mutated":
            if mutated(pod) != expected:
                yield f"mutated is {mutated(pod)}"
        elif key == "webhookCalled":
            if expected != mutated(pod):  # whoever is called with these pods gives them an identity
                yield f"called is {mutated(pod)}"
        elif key == "admitted":
            if expected is not True:
                yield "it was admitted"
        elif key not in ("case", "because", "mutatedAfterDeleteAndRecreateOnceUp"):
            yield f"the case wants {key}, which the runner does not know"
