"""The RBAC of the webhook: the verbs that it uses and no others. No Secret, no webhook configuration, no
write unless the settings ask for one."""

from __future__ import annotations

from typing import Any

from vestibule.api import gvk
from vestibule.api.settings.schema import Settings
from vestibule.injection.sandbox.sandbox_policy import SandboxPolicy

Object = dict[str, Any]
_API = "rbac.authorization.k8s.io/v1"


def rules(settings: Settings) -> list[Object]:
    """What the process may do in the whole cluster."""
    watched = [
        {"apiGroups": [""], "resources": ["namespaces", "serviceaccounts"], "verbs": ["get", "list", "watch"]}
    ]
    workloads = [
        {
            "apiGroups": ["apps"],
            "resources": ["daemonsets", "deployments", "replicasets", "statefulsets"],
            "verbs": ["get"],
        },
        {"apiGroups": ["batch"], "resources": ["cronjobs", "jobs"], "verbs": ["get"]},
    ]
    extra: list[Object] = []
    if settings.identity_policies:
        extra.append(
            {"apiGroups": [gvk.IDENTITY_POLICY.group], "resources": ["identitypolicies"], "verbs": ["list"]}
        )
    if settings.sandbox.enabled:
        extra += [
            {
                "apiGroups": [gvk.KATA_CONFIG.group],
                "resources": ["kataconfigs", "oscwebhookconfigs"],
                "verbs": ["list"],
            },
            {"apiGroups": [gvk.RUNTIME_CLASS.group], "resources": ["runtimeclasses"], "verbs": ["list"]},
        ]
    if "eks" in settings.vocabularies and settings.eks.mapping_config_map:
        extra.append(
            {
                "apiGroups": [""],
                "resources": ["configmaps"],
                "resourceNames": [settings.eks.mapping_config_map.partition("/")[2]],
                "verbs": ["get"],
            }
        )
    writes: list[Object] = []
    if settings.gcp.enabled and settings.config_map_writes:
        # server-side apply of an object that may not exist yet needs both
        writes.append({"apiGroups": [""], "resources": ["configmaps"], "verbs": ["create", "patch"]})
    return [*watched, *workloads, *extra, *writes]


def initdata(settings: Settings, found: SandboxPolicy | None) -> list[Object]:
    """Roles and bindings for the ConfigMaps with initdata to which KataConfigs refer, each by its name."""
    name, namespace = settings.install.name, settings.install.namespace
    subjects = [{"kind": "ServiceAccount", "name": name, "namespace": namespace}]
    rules: list[Object] = []
    references = found.references if found is not None and settings.sandbox.enabled else ()
    for where in sorted({reference.namespace for reference in references}):
        meta = {"name": f"{name}-initdata", "namespace": where}
        names = sorted({reference.name for reference in references if reference.namespace == where})
        rule = {"apiGroups": [""], "resources": ["configmaps"], "resourceNames": names, "verbs": ["get"]}
        role = {"apiGroup": "rbac.authorization.k8s.io", "kind": "Role", "name": meta["name"]}
        rules += [
            {"apiVersion": _API, "kind": "Role", "metadata": meta, "rules": [rule]},
            {
                "apiVersion": _API,
                "kind": "RoleBinding",
                "metadata": dict(meta),
                "roleRef": role,
                "subjects": subjects,
            },
        ]
    return rules


def objects(settings: Settings) -> list[Object]:
    """ServiceAccount, roles and bindings."""
    name, namespace = settings.install.name, settings.install.namespace
    subjects = [{"kind": "ServiceAccount", "name": name, "namespace": namespace}]
    local: list[Object] = []
    if settings.install.certificate == "self":
        # earlier versions granted permissions on the Secret here; applying this removes them
        meta = {"name": name, "namespace": namespace}
        local = [{"apiVersion": _API, "kind": "Role", "metadata": meta, "rules": []}]
    return [
        {
            "apiVersion": "v1",
            "kind": "ServiceAccount",
            "metadata": {"name": name, "namespace": namespace},
            "automountServiceAccountToken": False,
        },
        {
            "apiVersion": _API,
            "kind": "ClusterRole",
            "metadata": {"name": name},
            "rules": rules(settings),
        },
        {
            "apiVersion": _API,
            "kind": "ClusterRoleBinding",
            "metadata": {"name": name},
            "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": name},
            "subjects": subjects,
        },
        *local,
    ]
