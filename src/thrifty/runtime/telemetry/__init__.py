"""Results as Prometheus metrics and as OpenTelemetry spans. Both libraries are optional, and imported when needed."""

from thrifty.runtime.telemetry.metrics import Metrics
from thrifty.runtime.telemetry.spans import Spans

__all__ = ["Metrics", "Spans"]
