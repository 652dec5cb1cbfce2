"""kube-apiserver: its own authority, its own prefix in etcd, users by certificate, an audit log.

A test may change any flag by name (``flags={"anonymous-auth": "false"}``, None removes one). Priority and
fairness and the in-flight limits are off, so that a load test measures the webhook and not the limiter.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import yaml

from tests.rig.client import healthy
from tests.rig.part import Part
from tests.rig.pki import Authority

_CONTROLLERS = ["system:apiserver", "system:kube-controller-manager", "system:kube-scheduler"]
_POD_CHANGES = {
    "level": "Metadata",
    "verbs": ["create", "update", "patch", "delete"],
    "resources": [
        {
            "group": "",
            "resources": ["pods", "pods/ephemeralcontainers", "pods/resize", "serviceaccounts/token"],
        }
    ],
}
AUDIT_POLICY: dict[str, Any] = {
    "apiVersion": "audit.k8s.io/v1",
    "kind": "Policy",
    "omitStages": ["RequestReceived"],
    # pod changes by anybody, because webhooks leave their traces there; of the rest only what tests and we do
    "rules": [
        {"level": "None", "nonResourceURLs": ["/readyz*", "/livez*", "/healthz*", "/openapi*", "/version"]},
        _POD_CHANGES,
        {"level": "None", "users": _CONTROLLERS},
        {"level": "None", "userGroups": ["system:nodes", "system:serviceaccounts:kube-system"]},
        {"level": "Metadata"},
    ],
}


class ApiServer(Part):
    """The API server of one control plane; ``url`` is valid from the first launch on."""

    name = "kube-apiserver"

    def __init__(
        self,
        binary: Path,
        folder: Path,
        authority: Authority,
        *,
        etcd_url: str = "",
        prefix: str = "/registry",
        flags: Mapping[str, str | None] | None = None,
        **options: Any,
    ) -> None:
        super().__init__(binary, folder, **options)
        self.etcd_url, self.prefix, self.flags = etcd_url, prefix, dict(flags or {})
        self.audit_log = folder / "audit.log"
        self._policy = folder / "audit-policy.yaml"
        self._policy.write_text(yaml.safe_dump(AUDIT_POLICY))
        self.authority = authority
        self._serving = authority.server("apiserver")
        self.token_key = authority.token_key()
        self._probe = authority.trusting(authority.client("rig:readiness", ["system:masters"]))

    @property
    def url(self) -> str:
        return f"https://127.0.0.1:{self.port}"

    @property
    def issuer(self) -> str:
        return self.flags.get("service-account-issuer") or self.url

    def command(self) -> list[str]:
        flags: dict[str, str | None] = {
            "etcd-servers": self.etcd_url,
            "etcd-prefix": self.prefix,
            "bind-address": "127.0.0.1",
            "advertise-address": "127.0.0.1",
            "secure-port": str(self.port),
            "endpoint-reconciler-type": "none",
            "tls-cert-file": str(self._serving.cert),
            "tls-private-key-file": str(self._serving.key),
            "client-ca-file": str(self.authority.ca),
            "service-account-issuer": self.issuer,
            "service-account-key-file": str(self.token_key.cert),
            "service-account-signing-key-file": str(self.token_key.key),
            "api-audiences": self.issuer,
            "service-account-jwks-uri": f"{self.issuer}/openid/v1/jwks",
            "authorization-mode": "Node,RBAC",
            "enable-admission-plugins": "NodeRestriction",
            "allow-privileged": "true",
            "service-cluster-ip-range": "10.0.0.0/24",
            "profiling": "false",
            "enable-priority-and-fairness": "false",
            "max-requests-inflight": "0",
            "max-mutating-requests-inflight": "0",
            "audit-policy-file": str(self._policy),
            "audit-log-path": str(self.audit_log),
            **self.flags,
        }
        return [
            str(self.binary),
            *(f"--{name}={value}" for name, value in flags.items() if value is not None),
        ]

    def ready(self) -> bool:
        return healthy(self.url, "/readyz", self._probe)
