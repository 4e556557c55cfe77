"""Pictures of what models buy and what it brings them, in the manner of scikit-learn's displays."""

from thrifty.plots.cost_curve import CostCurveDisplay
from thrifty.plots.tree import TreeDisplay

__all__ = ["CostCurveDisplay", "TreeDisplay"]
