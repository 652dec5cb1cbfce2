"""``files/dashboard.json``: what a person on call wants to see first, for Grafana."""

from __future__ import annotations

import json
from typing import Any, Final

_OWN: Final = 'namespace="$namespace"'
_WIDE, _HIGH = 8, 8
_PANELS: Final = (
    ("Replicas that are ready", "stat", "short", {"": f"sum(vestibule_ready{{{_OWN}}})"}),
    (
        "Certificate ends in",
        "stat",
        "s",
        {"": f"min(vestibule_certificate_expiry_seconds{{{_OWN}}}) - time()"},
    ),
    (
        "Pods without the identity they ask for",
        "stat",
        "short",
        {"": f'sum(increase(vestibule_admission_requests_total{{{_OWN},reason="unconfigured"}}[1h]))'},
    ),
    (
        "Reviews by outcome",
        "timeseries",
        "reqps",
        {"{{outcome}}": f"sum by (outcome) (rate(vestibule_admission_requests_total{{{_OWN}}}[5m]))"},
    ),
    (
        "Identities given",
        "timeseries",
        "reqps",
        {"{{provider}}": f"sum by (provider) (rate(vestibule_injections_total{{{_OWN}}}[5m]))"},
    ),
    (
        "Time of an answer",
        "timeseries",
        "s",
        {
            name: f"histogram_quantile({share}, sum by (le) "
            f"(rate(vestibule_admission_duration_seconds_bucket{{{_OWN}}}[5m])))"
            for name, share in (("p50", 0.5), ("p99", 0.99))
        },
    ),
    (
        "Told to users",
        "timeseries",
        "reqps",
        {"{{severity}}": f"sum by (severity) (rate(vestibule_findings_total{{{_OWN}}}[5m]))"},
    ),
    (
        "Not taken",
        "timeseries",
        "reqps",
        {
            "shed": f"sum(rate(vestibule_requests_shed_total{{{_OWN}}}[5m]))",
            "bad": f"sum(rate(vestibule_bad_requests_total{{{_OWN}}}[5m]))",
            "handshakes": f"sum(rate(vestibule_handshakes_failed_total{{{_OWN}}}[5m]))",
        },
    ),
    (
        "Live reads",
        "timeseries",
        "reqps",
        {"{{kind}} {{result}}": f"sum by (kind, result) (rate(vestibule_lookups_total{{{_OWN}}}[5m]))"},
    ),
    (
        "Objects in the cache",
        "timeseries",
        "short",
        {"{{resource}}": f"max by (resource) (vestibule_cache_cached{{{_OWN}}})"},
    ),
    (
        "Seconds without word from the API server",
        "timeseries",
        "s",
        {"{{pod}} {{resource}}": f"max by (pod, resource) (vestibule_cache_lost_seconds{{{_OWN}}})"},
    ),
    (
        "Connections and requests that wait",
        "timeseries",
        "short",
        {
            "connections": f"sum(vestibule_connections{{{_OWN}}})",
            "waiting": f"sum(vestibule_inflight_requests{{{_OWN}}})",
        },
    ),
    (
        "Operator: looks by result",
        "timeseries",
        "reqps",
        {
            "{{controller}} {{result}}": "sum by (controller, result) "
            f"(rate(vestibule_operator_reconciles_total{{{_OWN}}}[5m]))"
        },
    ),
    (
        "Operator: writes",
        "timeseries",
        "reqps",
        {
            "{{kind}} {{result}}": "sum by (kind, result) "
            f"(rate(vestibule_operator_writes_total{{{_OWN}}}[5m]))"
        },
    ),
    (
        "Operator: conditions that hold",
        "table",
        "short",
        {"": f"vestibule_operator_condition{{{_OWN}}} == 1"},
    ),
    (
        "Audit: pods by state",
        "timeseries",
        "short",
        {"{{state}} {{cause}}": f"sum by (state, cause) (vestibule_audit_pods{{{_OWN}}})"},
    ),
    (
        "Issuers: seconds since they were as they should be",
        "timeseries",
        "s",
        {"{{name}}": f"max by (name) (vestibule_issuer_age_seconds{{{_OWN}}})"},
    ),
)
"""Title, kind, unit, and expressions by their legend."""


def text() -> str:
    """The whole file."""
    source = {"type": "prometheus", "uid": "${datasource}"}
    panels: list[dict[str, Any]] = []
    for number, (title, kind, unit, targets) in enumerate(_PANELS):
        place = {"x": number % 3 * _WIDE, "y": number // 3 * _HIGH, "w": _WIDE, "h": _HIGH}
        panels.append(
            {
                "id": number + 1,
                "title": title,
                "type": kind,
                "datasource": source,
                "gridPos": place,
                "fieldConfig": {"defaults": {"unit": unit}, "overrides": []},
                "targets": [
                    {
                        "refId": chr(ord("A") + index),
                        "datasource": source,
                        "expr": expression,
                        "legendFormat": legend,
                        "instant": kind == "table",
                        **({"format": "table"} if kind == "table" else {}),
                    }
                    for index, (legend, expression) in enumerate(targets.items())
                ],
            }
        )
    variables = [
        {"name": "datasource", "type": "datasource", "query": "prometheus", "label": "Data source"},
        {
            "name": "namespace",
            "type": "query",
            "label": "Namespace",
            "datasource": source,
            "query": "label_values(vestibule_ready, namespace)",
            "refresh": 2,
        },
    ]
    board = {
        "uid": "vestibule",
        "title": "Vestibule",
        "tags": ["vestibule"],
        "schemaVersion": 39,
        "version": 1,
        "editable": True,
        "refresh": "30s",
        "time": {"from": "now-3h", "to": "now"},
        "templating": {"list": variables},
        "panels": panels,
    }
    return json.dumps(board, indent=1, ensure_ascii=False) + "\n"
