"""Installations of other identity webhooks, as their charts and manifests leave them in a cluster, and
workloads that use them."""

from __future__ import annotations

from typing import Any

Json = dict[str, Any]
TENANT = "11111111-2222-3333-4444-555555555555"
CLIENT = "99999999-8888-7777-6666-555555555555"
ARN = "arn:aws:iam::123456789012:role/app"
PODS = [{"apiGroups": [""], "apiVersions": ["v1"], "operations": ["CREATE"], "resources": ["pods"]}]


def thing(kind: str, name: str, namespace: str = "", api: str = "v1", **more: Any) -> Json:
    meta: Json = {"name": name, **({"namespace": namespace} if namespace else {}), **more.pop("meta", {})}
    return {"apiVersion": api, "kind": kind, "metadata": meta, **more}


def hook(name: str, namespace: str, service: str, path: str, **more: Any) -> Json:
    return {
        "name": name,
        "admissionReviewVersions": ["v1", "v1beta1"],
        "clientConfig": {"service": {"name": service, "namespace": namespace, "path": path, "port": 443}},
        "rules": PODS,
        "sideEffects": "None",
        **more,
    }


def program(namespace: str, name: str, account: str, container: Json, **pod: Any) -> list[Json]:
    """Deployment, Service, account and rights."""
    labels = {"app": name}
    rbac = "rbac.authorization.k8s.io"
    bound = {"kind": "ServiceAccount", "name": account, "namespace": namespace}
    spec = {"serviceAccountName": account, "containers": [container], **pod}
    return [
        thing("Namespace", namespace),
        thing("ServiceAccount", account, namespace),
        thing(
            "ClusterRole",
            f"{name}-role",
            api=f"{rbac}/v1",
            rules=[{"apiGroups": [""], "resources": ["serviceaccounts"], "verbs": ["get", "list", "watch"]}],
        ),
        thing(
            "ClusterRoleBinding",
            f"{name}-rolebinding",
            api=f"{rbac}/v1",
            roleRef={"apiGroup": rbac, "kind": "ClusterRole", "name": f"{name}-role"},
            subjects=[bound],
        ),
        thing(
            "Service",
            f"{name}-service",
            namespace,
            spec={"selector": labels, "ports": [{"port": 443, "targetPort": 9443}]},
        ),
        thing(
            "Deployment",
            name,
            namespace,
            "apps/v1",
            spec={
                "replicas": 2,
                "selector": {"matchLabels": labels},
                "template": {"metadata": {"labels": labels}, "spec": spec},
            },
        ),
    ]


AZWI_SPACE = "azure-workload-identity-system"
AZWI_CONFIGURATION = "azure-wi-webhook-mutating-webhook-configuration"


def azure(version: str = "v1.5.1", *flags: str, **environment: str) -> list[Json]:
    """As the chart of Azure Workload Identity does it."""
    name = "azure-wi-webhook-controller-manager"
    container = {
        "name": "manager",
        "image": f"registry.example/azure/workload-identity/webhook:{version}",
        "command": ["/manager"],
        "args": ["--log-level=info", "--metrics-addr=:8095", *flags],
        "envFrom": [{"configMapRef": {"name": "azure-wi-webhook-config"}}],
        "volumeMounts": [{"name": "cert", "mountPath": "/certs", "readOnly": True}],
    }
    volumes = [{"name": "cert", "secret": {"secretName": "azure-wi-webhook-server-cert"}}]
    data = {"AZURE_ENVIRONMENT": "AzurePublicCloud", "AZURE_TENANT_ID": TENANT, **environment}
    return [
        *program(AZWI_SPACE, name, "azure-wi-webhook-admin", container, volumes=volumes),
        thing("ConfigMap", "azure-wi-webhook-config", AZWI_SPACE, data=data),
        thing(
            "MutatingWebhookConfiguration",
            AZWI_CONFIGURATION,
            api="admissionregistration.k8s.io/v1",
            webhooks=[
                hook(
                    "mutation.azure-workload-identity.io",
                    AZWI_SPACE,
                    f"{name}-service",
                    "/mutate-v1-pod",
                    failurePolicy="Fail",
                    reinvocationPolicy="IfNeeded",
                    objectSelector={"matchLabels": {"azure.workload.identity/use": "true"}},
                )
            ],
        ),
    ]


def eks(*flags: str, associations: str = "") -> list[Json]:
    """As the manifests of the EKS webhook do it."""
    container: Json = {
        "name": "pod-identity-webhook",
        "image": "registry.example/eks/amazon-eks-pod-identity-webhook:v0.6.17",
        "command": ["/webhook", "--in-cluster=false", "--namespace=default", *flags],
    }
    pod: Json = {}
    maps: list[Json] = []
    if associations:
        container["volumeMounts"] = [{"name": "config", "mountPath": "/etc/agent"}]
        pod = {"volumes": [{"name": "config", "configMap": {"name": "associations"}}]}
        maps = [thing("ConfigMap", "associations", "pod-identity", data={"list.json": associations})]
    skip = {"key": "eks.amazonaws.com/skip-pod-identity-webhook", "operator": "DoesNotExist", "values": []}
    return [
        *program("pod-identity", "pod-identity-webhook", "pod-identity-webhook", container, **pod),
        *maps,
        thing(
            "MutatingWebhookConfiguration",
            "pod-identity-webhook",
            api="admissionregistration.k8s.io/v1",
            webhooks=[
                hook(
                    "pod-identity-webhook.amazonaws.com",
                    "pod-identity",
                    "pod-identity-webhook-service",
                    "/mutate",
                    failurePolicy="Ignore",
                    objectSelector={"matchExpressions": [skip]},
                )
            ],
        ),
    ]


def google(*flags: str) -> list[Json]:
    """As a kustomization of the GCP webhook does it, under a name of the user's own."""
    container = {
        "name": "manager",
        "image": "registry.example/gcp-workload-identity-federation-webhook:v0.7.0",
        "args": ["-token-expiration=2h", "-gcp-default-region=$(REGION)", *flags],
        "env": [{"name": "REGION", "value": "europe-west4"}],
    }
    return [
        *program("wif", "wif-webhook", "wif", container),
        thing(
            "MutatingWebhookConfiguration",
            "my-webhooks",
            api="admissionregistration.k8s.io/v1",
            webhooks=[
                hook("mpod.kb.io", "wif", "wif-webhook-service", "/mutate-v1-pod", failurePolicy="Ignore")
            ],
        ),
    ]


def cwii() -> list[Json]:
    """As cwii does it."""
    container = {
        "name": "webhook",
        "image": "registry.example/cwii:0.1.0",
        "args": ["--addr", "0.0.0.0:8443", "--mount-root", "/var/run/identity"],
        "env": [{"name": "CWII_AWS_DEFAULT_AUDIENCE", "value": "sts.example"}],
    }
    return [
        *program("cwii-system", "cwii", "cwii", container),
        thing(
            "MutatingWebhookConfiguration",
            "cwii",
            api="admissionregistration.k8s.io/v1",
            webhooks=[
                hook("mutate.cwii.dev", "cwii-system", "cwii-service", "/mutate", failurePolicy="Ignore")
            ],
        ),
    ]


def account(name: str, namespace: str = "team-a", **annotations: str) -> Json:
    return thing("ServiceAccount", name, namespace, meta={"annotations": annotations})


def deployment(
    name: str, account_name: str, namespace: str = "team-a", *, labels: Json | None = None, **spec: Any
) -> Json:
    chosen = {"app": name, **(labels or {})}
    pod = {"serviceAccountName": account_name, "containers": [{"name": "app", "image": "a"}], **spec}
    return thing(
        "Deployment",
        name,
        namespace,
        "apps/v1",
        spec={
            "selector": {"matchLabels": {"app": name}},
            "template": {"metadata": {"labels": chosen}, "spec": pod},
        },
    )


USE = {"azure.workload.identity/use": "true"}


def azure_workloads() -> list[Json]:
    """Two that are served, one whose account has a typing error, one without the label."""
    return [
        account("app", **{"azure.workload.identity/client-id": CLIENT}),
        account("typo", **{"azure.workload.identity/client_id": CLIENT}),
        deployment("web", "app", labels=USE),
        deployment("worker", "app", labels=USE, initContainers=[{"name": "init", "image": "a"}]),
        deployment("mistaken", "typo", labels=USE),
        deployment("plain", "app"),
    ]
