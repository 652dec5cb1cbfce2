"""The pod of the bench: one replica of a Deployment as the API server shows it to a webhook.

2 containers, 9 + 6 variables with valueFrom, probes, managedFields, and the projected token volume that
the API server's own plug-in has added by then. Nothing here knows a cloud: the ServiceAccount decides what
the pod asks for.
"""

from __future__ import annotations

from typing import Any

Json = dict[str, Any]

NAMESPACE = "team-a"
OWNER = ("checkout-7d9c5b6f48", "0b9c4f0e-5a51-4a5c-9d0a-6c1f5a3e7b21")
DEPLOYMENT = ("checkout", "7f2d1c3a-1e2b-4c5d-8f90-a1b2c3d4e5f6")


def pod(account: str, checksum: str) -> Json:
    """A pod of the ReplicaSet OWNER that runs as `account`; `checksum` is what tells two of them apart."""
    containers = [_application(), _proxy()]
    labels = {
        "app.kubernetes.io/name": "checkout",
        "app.kubernetes.io/instance": "checkout-prod",
        "app.kubernetes.io/version": "2.14.3",
        "app.kubernetes.io/part-of": "shop",
        "pod-template-hash": "7d9c5b6f48",
    }
    annotations = {
        "checksum/config": checksum,
        "prometheus.io/scrape": "true",
        "prometheus.io/port": "9090",
        "kubectl.kubernetes.io/default-container": "checkout",
    }
    owner = {
        "apiVersion": "apps/v1",
        "kind": "ReplicaSet",
        "name": OWNER[0],
        "uid": OWNER[1],
        "controller": True,
        "blockOwnerDeletion": True,
    }
    spec: Json = {
        "volumes": [
            {"name": "config", "configMap": {"name": "checkout-config", "defaultMode": 420}},
            {"name": "tmp", "emptyDir": {"sizeLimit": "256Mi"}},
            _token_volume(),
        ],
        "containers": containers,
        "restartPolicy": "Always",
        "terminationGracePeriodSeconds": 30,
        "dnsPolicy": "ClusterFirst",
        "serviceAccountName": account,
        "serviceAccount": account,
        "securityContext": {
            "runAsNonRoot": True,
            "fsGroup": 2000,
            "seccompProfile": {"type": "RuntimeDefault"},
        },
        "schedulerName": "default-scheduler",
        "tolerations": [
            {
                "key": f"node.kubernetes.io/{key}",
                "operator": "Exists",
                "effect": "NoExecute",
                "tolerationSeconds": 300,
            }
            for key in ("not-ready", "unreachable")
        ],
        "priority": 0,
        "affinity": _affinity(),
        "enableServiceLinks": True,
        "preemptionPolicy": "PreemptLowerPriority",
        "topologySpreadConstraints": [
            {
                "maxSkew": 1,
                "topologyKey": "topology.kubernetes.io/zone",
                "whenUnsatisfiable": "ScheduleAnyway",
                "labelSelector": {"matchLabels": {"app.kubernetes.io/name": "checkout"}},
            }
        ],
    }
    return {
        "kind": "Pod",
        "apiVersion": "v1",
        "metadata": {
            "generateName": f"{OWNER[0]}-",
            "namespace": NAMESPACE,
            "creationTimestamp": None,
            "labels": labels,
            "annotations": annotations,
            "ownerReferences": [owner],
            "managedFields": [
                {
                    "manager": "kube-controller-manager",
                    "operation": "Update",
                    "apiVersion": "v1",
                    "time": "2026-11-16T05:00:00Z",
                    "fieldsType": "FieldsV1",
                    "fieldsV1": _managed(labels, annotations, spec),
                }
            ],
        },
        "spec": spec,
        "status": {},
    }


def _application() -> Json:
    probe = {"httpGet": {"path": "/healthz", "port": "http", "scheme": "HTTP"}, "timeoutSeconds": 2}
    return {
        "name": "checkout",
        "image": "example.com/shop/checkout:2.14.3",
        "args": ["--config=/etc/checkout/config.yaml", "--listen=:8080", "--metrics=:9090"],
        "ports": [
            {"name": "http", "containerPort": 8080, "protocol": "TCP"},
            {"name": "metrics", "containerPort": 9090, "protocol": "TCP"},
        ],
        "env": [
            {"name": "LOG_LEVEL", "value": "info"},
            {"name": "ENVIRONMENT", "value": "production"},
            {"name": "ORDERS_URL", "value": "http://orders.shop.svc.cluster.local:8080"},
            {"name": "CACHE_TTL", "value": "30s"},
            {
                "name": "POD_NAME",
                "valueFrom": {"fieldRef": {"apiVersion": "v1", "fieldPath": "metadata.name"}},
            },
            {"name": "POD_IP", "valueFrom": {"fieldRef": {"apiVersion": "v1", "fieldPath": "status.podIP"}}},
            {
                "name": "DATABASE_PASSWORD",
                "valueFrom": {"secretKeyRef": {"name": "checkout-db", "key": "password"}},
            },
            {
                "name": "FEATURES",
                "valueFrom": {"configMapKeyRef": {"name": "checkout-flags", "key": "features"}},
            },
            {
                "name": "GOMEMLIMIT",
                "valueFrom": {"resourceFieldRef": {"resource": "limits.memory", "divisor": "0"}},
            },
        ],
        "resources": {
            "limits": {"cpu": "1", "memory": "512Mi"},
            "requests": {"cpu": "250m", "memory": "256Mi"},
        },
        "volumeMounts": [
            {"name": "config", "readOnly": True, "mountPath": "/etc/checkout"},
            {"name": "tmp", "mountPath": "/tmp"},  # noqa: S108 a path inside the pod, not on this machine
            _token_mount(),
        ],
        "livenessProbe": {**probe, "initialDelaySeconds": 10, "periodSeconds": 10, "failureThreshold": 3},
        "readinessProbe": {**probe, "periodSeconds": 5, "successThreshold": 1, "failureThreshold": 3},
        "startupProbe": {**probe, "periodSeconds": 2, "failureThreshold": 60},
        "lifecycle": {"preStop": {"exec": {"command": ["/bin/sleep", "5"]}}},
        **_container_defaults(),
    }


def _proxy() -> Json:
    return {
        "name": "proxy",
        "image": "example.com/mesh/proxy:1.33.1",
        "args": ["--concurrency", "2", "--log-level", "warning"],
        "ports": [{"name": "admin", "containerPort": 15000, "protocol": "TCP"}],
        "env": [
            {"name": "MESH_ID", "value": "shop-mesh"},
            {"name": "CLUSTER_ID", "value": "prod-eu-1"},
            {"name": "TRUST_DOMAIN", "value": "cluster.local"},
            {
                "name": "POD_NAMESPACE",
                "valueFrom": {"fieldRef": {"apiVersion": "v1", "fieldPath": "metadata.namespace"}},
            },
            {
                "name": "NODE_NAME",
                "valueFrom": {"fieldRef": {"apiVersion": "v1", "fieldPath": "spec.nodeName"}},
            },
            {
                "name": "CPU_LIMIT",
                "valueFrom": {"resourceFieldRef": {"resource": "limits.cpu", "divisor": "0"}},
            },
        ],
        "resources": {
            "limits": {"cpu": "500m", "memory": "256Mi"},
            "requests": {"cpu": "50m", "memory": "64Mi"},
        },
        "volumeMounts": [_token_mount()],
        "readinessProbe": {
            "httpGet": {"path": "/ready", "port": 15000, "scheme": "HTTP"},
            "periodSeconds": 5,
            "failureThreshold": 3,
        },
        **_container_defaults(),
    }


def _container_defaults() -> Json:
    return {
        "terminationMessagePath": "/dev/termination-log",
        "terminationMessagePolicy": "File",
        "imagePullPolicy": "IfNotPresent",
        "securityContext": {
            "capabilities": {"drop": ["ALL"]},
            "runAsUser": 10001,
            "readOnlyRootFilesystem": True,
            "allowPrivilegeEscalation": False,
        },
    }


def _affinity() -> Json:
    amd64 = {"key": "kubernetes.io/arch", "operator": "In", "values": ["amd64"]}
    same = {"key": "app.kubernetes.io/name", "operator": "In", "values": ["checkout"]}
    apart = {"labelSelector": {"matchExpressions": [same]}, "topologyKey": "kubernetes.io/hostname"}
    return {
        "nodeAffinity": {
            "requiredDuringSchedulingIgnoredDuringExecution": {
                "nodeSelectorTerms": [{"matchExpressions": [amd64]}]
            }
        },
        "podAntiAffinity": {
            "preferredDuringSchedulingIgnoredDuringExecution": [{"weight": 100, "podAffinityTerm": apart}]
        },
    }


def _token_mount() -> Json:
    path = "/var/run/secrets/kubernetes.io/serviceaccount"
    return {"name": "kube-api-access-x7k2p", "readOnly": True, "mountPath": path}


def _token_volume() -> Json:
    """What the API server's own ServiceAccount plug-in adds before any webhook is asked."""
    field = {"apiVersion": "v1", "fieldPath": "metadata.namespace"}
    return {
        "name": "kube-api-access-x7k2p",
        "projected": {
            "sources": [
                {"serviceAccountToken": {"expirationSeconds": 3607, "path": "token"}},
                {"configMap": {"name": "kube-root-ca.crt", "items": [{"key": "ca.crt", "path": "ca.crt"}]}},
                {"downwardAPI": {"items": [{"path": "namespace", "fieldRef": field}]}},
            ],
            "defaultMode": 420,
        },
    }


def _managed(labels: Json, annotations: Json, spec: Json) -> Json:
    """The managedFields tree: the part of a review that nobody needs and every decoder must pass."""
    tree: Json = {f"f:{key}": {} for key in spec if key not in ("containers", "volumes")}
    tree["f:containers"] = {_keyed(container): _owned(container) for container in spec["containers"]}
    tree["f:volumes"] = {_keyed(volume): _owned(volume) for volume in spec["volumes"][:-1]}
    return {
        "f:metadata": {
            "f:generateName": {},
            "f:labels": {".": {}, **{f"f:{key}": {} for key in labels}},
            "f:annotations": {".": {}, **{f"f:{key}": {} for key in annotations}},
            "f:ownerReferences": {".": {}, f'k:{{"uid":"{OWNER[1]}"}}': {}},
        },
        "f:spec": tree,
    }


def _keyed(named: Json) -> str:
    return f'k:{{"name":"{named["name"]}"}}'


def _owned(part: Json) -> Json:
    owned: Json = {".": {}}
    for key, value in part.items():
        if key == "env":
            owned["f:env"] = {".": {}, **{_keyed(variable): _owned(variable) for variable in value}}
        elif isinstance(value, dict) and key != "valueFrom":
            owned[f"f:{key}"] = {".": {}, **{f"f:{inner}": {} for inner in value}}
        else:
            owned[f"f:{key}"] = {}
    return owned
