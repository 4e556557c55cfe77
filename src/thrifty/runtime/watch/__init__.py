"""Watching the promise: live spend against what the model promised, and live rows against those at training."""

from thrifty.runtime.watch.confidence import ConfidenceSequence
from thrifty.runtime.watch.drift import Drift, DriftTest
from thrifty.runtime.watch.reference import ColumnReference, Reference
from thrifty.runtime.watch.watch import Health, PromiseWarning, Watch

__all__ = [
    "ColumnReference",
    "ConfidenceSequence",
    "Drift",
    "DriftTest",
    "Health",
    "PromiseWarning",
    "Reference",
    "Watch",
]
