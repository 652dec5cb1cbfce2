"""Migration steps: replace the upstream webhook in place or run side by side, and what to remove
afterwards."""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Sequence
from typing import Final

from vestibule.diagnose.migrate.installation import ForeignInstallation, InstallationObjects
from vestibule.diagnose.migrate.translate import TranslatedSettings

_RBAC: Final = "rbac.authorization.k8s.io"


def drop_in(installation: ForeignInstallation, meaning: TranslatedSettings) -> list[str]:
    """Another image in the same Deployment; all else stays."""
    if installation.deployment is None or installation.container is None or not meaning.command:
        return []
    name = installation.deployment["metadata"]["name"]
    where = f"Deployment {installation.namespace}/{name}, container {installation.container['name']}"
    return [
        f"{where}: set image to one that holds vestibule",
        f"{where}: set command to {shlex.join(meaning.command)}, and remove args",
        f"MutatingWebhookConfiguration {installation.configuration}, Service {installation.service} and the "
        "certificate stay as they are",
    ]


def side_by_side(installations: Sequence[ForeignInstallation]) -> list[str]:
    """An installation of our own, then the other goes."""
    steps = [
        "save the settings above as settings.yaml (-o settings prints them alone), and review them",
        "vestibule render --settings settings.yaml --kubeconfig | kubectl apply --server-side -f -",
        "vestibule doctor --kubeconfig: nothing should fail; pods that both webhooks see are changed once, "
        "since the second finds the work done",
    ]
    for one in installations:
        if one.managed:
            steps.append(
                f"{one.product} is managed by the cluster's vendor: switch it off there; what is deleted by "
                "hand comes back"
            )
        else:
            steps.append(f"kubectl delete mutatingwebhookconfiguration {one.configuration}")
    steps += [
        "restart one workload of each kind, and run vestibule doctor --kubeconfig again",
        "delete what is listed under 'left to remove'",
        "when the differences below suit you, take mode: strict out of the settings",
    ]
    return steps


def left(installation: ForeignInstallation, cluster: InstallationObjects) -> list[str]:
    """The other's objects, in the order in which they can go; the configuration first, or pods may wait."""
    found = [f"MutatingWebhookConfiguration {installation.configuration}"]
    if installation.managed:
        return []
    if installation.service:
        found.append(f"Service {installation.service}")
    if installation.deployment is None:
        return found
    namespace = installation.namespace
    found.append(f"Deployment {namespace}/{installation.deployment['metadata']['name']}")
    found += [f"{kind} {namespace}/{name}" for kind, name in dict.fromkeys(_mounted(installation))]
    account = str(installation.pod.get("serviceAccountName") or "default")
    if account != "default":
        found.append(f"ServiceAccount {namespace}/{account}")
        found += dict.fromkeys(_permissions(cluster, namespace, account))
    return found


def _mounted(installation: ForeignInstallation) -> Iterator[tuple[str, str]]:
    for volume in installation.pod.get("volumes") or ():
        if volume.get("configMap"):
            yield "ConfigMap", str(volume["configMap"].get("name"))
        if volume.get("secret"):
            yield "Secret", str(volume["secret"].get("secretName"))
    for source in (installation.container or {}).get("envFrom") or ():
        if source.get("configMapRef"):
            yield "ConfigMap", str(source["configMapRef"].get("name"))


def _permissions(cluster: InstallationObjects, namespace: str, account: str) -> Iterator[str]:
    for kind in ("ClusterRoleBinding", "RoleBinding"):
        for binding in cluster.all(kind):
            meta = binding["metadata"]
            home = str(meta.get("namespace") or "")
            bound = [
                one
                for one in binding.get("subjects") or ()
                if one.get("kind") == "ServiceAccount"
                and (one.get("name"), one.get("namespace") or home) == (account, namespace)
            ]
            if not bound:
                continue
            yield f"{kind} {home}/{meta['name']}" if home else f"{kind} {meta['name']}"
            role = binding.get("roleRef") or {}
            if len(binding.get("subjects") or ()) == len(bound) and not _builtin(str(role.get("name"))):
                inside = role.get("kind") == "Role"
                yield (
                    f"{role.get('kind')} {home}/{role.get('name')}"
                    if inside
                    else f"ClusterRole {role.get('name')}"
                )


def _builtin(role: str) -> bool:
    return role.startswith("system:") or role in ("cluster-admin", "admin", "edit", "view")
