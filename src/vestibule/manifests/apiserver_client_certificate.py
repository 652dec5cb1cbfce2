"""The API server's side of client certificates: which certificate it shows to our Service, as two files.

kube-apiserver shows a certificate to a webhook only when it is started with an AdmissionConfiguration that
names a kubeconfig; the user in it is found by the host of the webhook. Nothing of this can be set through the
API, so the files are printed for the administrator of the control plane.
"""

from __future__ import annotations

from typing import Any, Final

from vestibule.api.settings.schema import Settings

Object = dict[str, Any]
_PLUGINS: Final = ("MutatingAdmissionWebhook", "ValidatingAdmissionWebhook")
_API: Final = "apiserver.config.k8s.io/v1"


def files(settings: Settings, directory: str) -> list[Object]:
    """``admission.yaml`` and ``kubeconfig.yaml``, for a directory that the API server can read, where the
    certificate is ``client.crt`` and its key ``client.key``."""
    place = directory.rstrip("/")
    plugin = {
        "apiVersion": _API,
        "kind": "WebhookAdmissionConfiguration",
        "kubeConfigFile": f"{place}/kubeconfig.yaml",
    }
    return [
        {
            "apiVersion": _API,
            "kind": "AdmissionConfiguration",
            "plugins": [{"name": name, "configuration": plugin} for name in _PLUGINS],
        },
        {
            "apiVersion": "v1",
            "kind": "Config",
            "users": [
                {
                    "name": f"{settings.install.name}.{settings.install.namespace}.svc",
                    "user": {
                        "client-certificate": f"{place}/client.crt",
                        "client-key": f"{place}/client.key",
                    },
                }
            ],
        },
    ]
