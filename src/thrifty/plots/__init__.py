"""Plots of fitted models, of their spend and of their scores, with the interface of scikit-learn's displays."""

from thrifty.plots.cost_curve import CostCurveDisplay
from thrifty.plots.features_by_depth import FeaturesByDepthDisplay
from thrifty.plots.jaccard import JaccardDisplay
from thrifty.plots.learning_curve import LearningCurveDisplay
from thrifty.plots.pixels import PixelsDisplay
from thrifty.plots.purchases import PurchasesDisplay
from thrifty.plots.stopping import StopErrorDisplay
from thrifty.plots.tree import TreeDisplay

__all__ = [
    "CostCurveDisplay",
    "FeaturesByDepthDisplay",
    "JaccardDisplay",
    "LearningCurveDisplay",
    "PixelsDisplay",
    "PurchasesDisplay",
    "StopErrorDisplay",
    "TreeDisplay",
]
