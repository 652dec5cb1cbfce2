"""Alerts and the dashboard ask for metrics that the code has."""

from __future__ import annotations

import ast
import json
import re
from collections.abc import Iterator
from typing import Any

import pytest

from tests.chart.release import CHART, NAMESPACE, ROOT, Helm, by_key

Object = dict[str, Any]
ASKED = re.compile(r"\b(vestibule_[a-z_]+)\b")
ON = {
    "serviceMonitor": {"enabled": True},
    "prometheusRule": {"enabled": True},
    "dashboard": {"enabled": True},
}


def declared() -> set[str]:
    """The names in the code, as a scrape shows them: counters with _total, histograms with their parts."""
    kinds = {"CounterMetricFamily": ("_total",), "HistogramMetricFamily": ("_bucket", "_sum", "_count")}
    found: set[str] = set()
    for path in (ROOT / "src" / "vestibule").rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text("utf-8"))):
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.args:
                name = node.args[0]
                if isinstance(name, ast.Constant) and str(name.value).startswith("vestibule_"):
                    suffixes = kinds.get(node.func.id, ("_total",) if node.func.id == "_labelled" else ("",))
                    found |= {f"{name.value!s}{suffix}" for suffix in suffixes}
            if isinstance(node, ast.Subscript) and isinstance(node.value, ast.Attribute):
                inner = node.slice
                if isinstance(inner, ast.Tuple) and isinstance(inner.elts[0], ast.Constant):
                    suffix = {"counters": "_total", "gauges": ""}.get(node.value.attr)
                    if suffix is not None:
                        found.add(f"{inner.elts[0].value!s}{suffix}")
            if isinstance(node, ast.Tuple) and node.elts and isinstance(node.elts[0], ast.Constant):
                first = str(node.elts[0].value)
                found |= {first} if first.startswith("vestibule_cache_") else set()
    return found


def expressions(obj: Any) -> Iterator[str]:
    if isinstance(obj, dict):
        for name, value in obj.items():
            if name in ("expr", "query") and isinstance(value, str):
                yield value
            else:
                yield from expressions(value)
    elif isinstance(obj, list):
        for value in obj:
            yield from expressions(value)


def test_the_code_is_read_right() -> None:
    page = (ROOT / "docs" / "reference" / "metrics.md").read_text("utf-8")
    documented = set(re.findall(r"^\| `(vestibule_[a-z_]+)` \| (?:counter|gauge)", page, re.MULTILINE))

    assert documented
    assert documented <= declared()


def test_every_metric_exists(program: Helm) -> None:
    objects = by_key(program.template({**ON, "operator": {"enabled": True}}))
    rules = objects["PrometheusRule", NAMESPACE, "vestibule"]["spec"]
    board = json.loads(objects["ConfigMap", NAMESPACE, "vestibule-dashboard"]["data"]["vestibule.json"])
    requested = {name for text in [*expressions(rules), *expressions(board)] for name in ASKED.findall(text)}

    assert len(requested) > 15
    assert requested - declared() == set()


def test_alerts_are_of_the_release_and_have_a_severity(program: Helm) -> None:
    values = {**ON, "prometheusRule": {"enabled": True, "severity": "ticket", "urgent": "page"}}
    rules = by_key(program.template(values))["PrometheusRule", NAMESPACE, "vestibule"]["spec"]["groups"][0][
        "rules"
    ]

    assert {rule["labels"]["severity"] for rule in rules} == {"ticket", "page"}
    for rule in rules:
        assert f'namespace="{NAMESPACE}"' in rule["expr"]
        assert "$own" not in rule["expr"]
        assert rule["annotations"]["summary"]
    assert not any("Operator" in rule["alert"] for rule in rules)


def test_every_documented_alert_is_there_or_its_metric_is() -> None:
    alerts = (CHART / "files" / "alerts.yaml").read_text("utf-8")
    page = (ROOT / "docs" / "reference" / "metrics.md").read_text("utf-8")
    section = page.partition("## Recommended alerts")[2]

    assert set(ASKED.findall(section)) <= set(ASKED.findall(alerts))


def test_monitors_find_their_targets(program: Helm) -> None:
    objects = by_key(program.template({**ON, "operator": {"enabled": True}}))
    service = objects["Service", NAMESPACE, "vestibule"]
    monitor = objects["ServiceMonitor", NAMESPACE, "vestibule"]["spec"]
    pods = objects["Deployment", NAMESPACE, "vestibule-operator"]["spec"]["template"]
    podmonitor = objects["PodMonitor", NAMESPACE, "vestibule-operator"]["spec"]

    assert monitor["selector"]["matchLabels"].items() <= service["metadata"]["labels"].items()
    assert monitor["endpoints"][0]["port"] in {port["name"] for port in service["spec"]["ports"]}
    assert podmonitor["selector"]["matchLabels"].items() <= pods["metadata"]["labels"].items()
    assert podmonitor["podMetricsEndpoints"][0]["port"] in {
        port["name"] for port in pods["spec"]["containers"][0]["ports"]
    }


@pytest.mark.parametrize("values", [{}, {"settings": {"serving": {"metricsAddr": ""}}}])
def test_without_being_asked_there_is_no_monitoring(program: Helm, values: Object) -> None:
    on = ON if values else {}
    kinds = {obj["kind"] for obj in program.template({**values, **on})}

    assert "ServiceMonitor" not in kinds
    assert ("PrometheusRule" in kinds) is bool(values)
