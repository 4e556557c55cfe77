"""Pictures of what models buy and what it brings them, in the manner of scikit-learn's displays."""

from thrifty.plots.cost_curve import CostCurveDisplay

__all__ = ["CostCurveDisplay"]
