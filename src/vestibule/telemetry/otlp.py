"""OpenTelemetry export, optional and loaded only when it is switched on: the instruments of cwii under
their own names.

Metrics are pushed periodically and spans in batches, by threads of the SDK; the hot path pays a few
microseconds, and only when export is on. ``OTEL_*`` variables of the SDK apply where no endpoint is given.
"""

from __future__ import annotations

import time
from typing import Final

from vestibule import errors
from vestibule.admission.review import DecodedReview
from vestibule.admission.verdict import Verdict

_METER: Final = "cwii"


class Otlp:
    """Pushes what the admission process does to a collector over OTLP/gRPC."""

    def __init__(self, endpoint: str) -> None:
        """Raises MissingExtra when the SDK is not installed."""
        try:
            from opentelemetry.exporter.otlp.proto.grpc.metric_exporter import OTLPMetricExporter  # noqa: PLC0415
            from opentelemetry.exporter.otlp.proto.grpc.trace_exporter import OTLPSpanExporter  # noqa: PLC0415
            from opentelemetry.sdk.metrics import MeterProvider  # noqa: PLC0415
            from opentelemetry.sdk.metrics.export import PeriodicExportingMetricReader  # noqa: PLC0415
            from opentelemetry.sdk.resources import Resource  # noqa: PLC0415
            from opentelemetry.sdk.trace import TracerProvider  # noqa: PLC0415
            from opentelemetry.sdk.trace.export import BatchSpanProcessor  # noqa: PLC0415
        except ImportError:
            raise errors.MissingExtra("OpenTelemetry export", "otel") from None
        where, insecure = endpoint or None, endpoint.startswith("http://") or None
        resource = Resource.create({"service.name": "vestibule"})
        self._meters = MeterProvider(
            [PeriodicExportingMetricReader(OTLPMetricExporter(where, insecure))], resource=resource
        )
        self._tracers = TracerProvider(resource=resource)
        self._tracers.add_span_processor(BatchSpanProcessor(OTLPSpanExporter(where, insecure)))
        self._tracer = self._tracers.get_tracer(_METER)
        meter = self._meters.get_meter(_METER)
        self._requests = meter.create_counter("cwii.admission.requests")
        self._injections = meter.create_counter("cwii.injections")
        self._duration = meter.create_histogram("cwii.admission.duration", unit="s")

    def verdict(self, review: DecodedReview, verdict: Verdict, seconds: float) -> None:
        """A review was decided."""
        self._requests.add(1, {"outcome": verdict.outcome})
        self._duration.record(seconds)
        for provider in verdict.providers:
            self._injections.add(1, {"provider": provider})
        end = time.time_ns()
        attributes = {"outcome": verdict.outcome, "namespace": review.request.namespace or ""}
        span = self._tracer.start_span("mutate", start_time=end - int(seconds * 1e9), attributes=attributes)
        span.end(end)

    def malformed(self, status: int) -> None:
        """A body was no review."""
        del status
        self._requests.add(1, {"outcome": "bad_request"})

    def close(self) -> None:
        """Push what waits, then stop."""
        self._meters.shutdown()
        self._tracers.shutdown()
