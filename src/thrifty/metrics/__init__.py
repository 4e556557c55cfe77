"""Metrics: ranking metrics by query, and cost curves, which show score against mean spend."""

from thrifty.metrics.curves import CostCurve, area_under_cost_curve, cost_curve
from thrifty.metrics.ranking import ndcg_at_k, precision_at_k

__all__ = ["CostCurve", "area_under_cost_curve", "cost_curve", "ndcg_at_k", "precision_at_k"]
