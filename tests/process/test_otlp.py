"""OpenTelemetry export against a collector that speaks real OTLP over gRPC."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent import futures
from pathlib import Path
from typing import Any

import grpc
import pytest
from opentelemetry.proto.collector.metrics.v1 import metrics_service_pb2, metrics_service_pb2_grpc
from opentelemetry.proto.collector.trace.v1 import trace_service_pb2, trace_service_pb2_grpc

from tests.process.webhook import running


class Collector(metrics_service_pb2_grpc.MetricsServiceServicer, trace_service_pb2_grpc.TraceServiceServicer):
    """Keeps the names it was sent."""

    def __init__(self) -> None:
        self.metrics: set[str] = set()
        self.spans: list[str] = []

    def Export(self, request: Any, context: Any) -> Any:  # noqa: N802 - the protocol's name
        del context
        if isinstance(request, metrics_service_pb2.ExportMetricsServiceRequest):
            for resource in request.resource_metrics:
                for scope in resource.scope_metrics:
                    self.metrics |= {metric.name for metric in scope.metrics}
            return metrics_service_pb2.ExportMetricsServiceResponse()
        for resource in request.resource_spans:
            for scope in resource.scope_spans:
                self.spans += [span.name for span in scope.spans]
        return trace_service_pb2.ExportTraceServiceResponse()


@pytest.fixture
def collector() -> Iterator[tuple[Collector, int]]:
    server = grpc.server(futures.ThreadPoolExecutor(2))
    created = Collector()
    metrics_service_pb2_grpc.add_MetricsServiceServicer_to_server(created, server)  # type: ignore[no-untyped-call]
    trace_service_pb2_grpc.add_TraceServiceServicer_to_server(created, server)  # type: ignore[no-untyped-call]
    port = server.add_insecure_port("127.0.0.1:0")
    server.start()
    yield created, port
    server.stop(None).wait(5)


def test_what_waits_is_pushed_before_the_process_ends(
    tmp_path: Path, collector: tuple[Collector, int]
) -> None:
    created, port = collector
    (tmp_path / "s.toml").write_text("[serving]\ndrainSeconds = 0.1\n")
    flags = (
        "--otel-enabled=true",
        f"--otel-endpoint=http://127.0.0.1:{port}",
        "--settings",
        str(tmp_path / "s.toml"),
    )
    with running(tmp_path, *flags) as webhook:
        webhook.mutate()
        webhook.post(b"{}")
        assert webhook.end() == 0

    assert created.metrics == {"cwii.admission.requests", "cwii.injections", "cwii.admission.duration"}
    assert created.spans == ["mutate"]
