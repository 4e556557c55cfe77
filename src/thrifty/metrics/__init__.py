"""How good the answers are: rankings per query, and scores against what they cost."""

from thrifty.metrics.curves import CostCurve, area_under_cost_curve, cost_curve
from thrifty.metrics.ranking import ndcg_at_k, precision_at_k

__all__ = ["CostCurve", "area_under_cost_curve", "cost_curve", "ndcg_at_k", "precision_at_k"]
