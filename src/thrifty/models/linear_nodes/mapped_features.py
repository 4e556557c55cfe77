"""Training with a feature map: from the columns of X to the outputs that the nodes are linear in.

Z. Xu, M. J. Kusner, K. Q. Weinberger, M. Chen, O. Chapelle. Classifier Cascades and Trees for Minimizing Feature
Evaluation Cost. JMLR 15, 2014, section 5.
"""

from dataclasses import replace
from typing import Any

import numpy as np
from sklearn.base import clone, is_classifier

from thrifty.arrays import to_host
from thrifty.costs import CostModel
from thrifty.models.forests.converters import is_fitted, reader_of
from thrifty.models.forests.feature_map import BoostedFeatureMap
from thrifty.models.forests.forest import Forest
from thrifty.models.homes import Here, Home
from thrifty.models.least_squares.moments import FilledRows
from thrifty.models.magnitudes import largest_sizes, refuse_extreme_sizes
from thrifty.models.rows import Rows


def map_features(estimator: Any, rows: Rows) -> tuple[np.ndarray, CostModel]:
    """Set the estimator's feature map, and return the features that its nodes are linear in, with their costs.

    Parameters
    ----------
    estimator : TreeEstimator
        Its parameter ``feature_map`` is None (the nodes are linear in the columns of X), a forest (they are linear in
        the outputs of its trees) or a `BoostedFeatureMap`, which also has the costs of evaluating trees. A forest that
        is not fitted is cloned and fitted to the rows; a regressor is fitted to the positions of the classes.
    rows : Rows
        The training rows.

    Returns
    -------
    values : ndarray of shape (n, n_outputs)
        The columns of X, or the outputs of the feature map.
    cost_model : CostModel
        What these features cost.
    """
    located, cost_model = node_features(estimator, Here(rows))
    return located.block.X, cost_model


def node_features(estimator: Any, rows: Home[Rows]) -> tuple[Home[Rows], CostModel]:
    """Do what `map_features` does where the rows live, and return the rows with the features of the nodes as X.

    With a feature map, all rows must be in this process.
    """
    estimator.feature_map_, estimator._fill = None, None
    if estimator.feature_map is None:
        refuse_extreme_sizes(rows.collect(largest_sizes), estimator._feature_ids(), type(estimator).__name__)
        return rows, estimator.cost_model_
    outputs, cost_model = _outputs(estimator, rows.block)
    return Here(replace(rows.block, X=outputs)), cost_model


def _outputs(estimator: Any, rows: Rows) -> tuple[np.ndarray, CostModel]:
    """Set the estimator's feature map, and return its outputs with their costs."""
    rows = replace(rows, X=to_host(rows.X))  # forests read NumPy arrays
    filled = FilledRows(rows.X, np.empty((len(rows), 0)), rows.weight)
    estimator.feature_map_ = feature_map = _fitted_map(estimator, filled.X, rows)
    given = estimator.feature_map
    was_fitted = isinstance(given, BoostedFeatureMap) or is_fitted(given)
    handles_missing = was_fitted and feature_map.forest.knows_missing  # a forest fitted here has never seen NaN
    estimator._fill = None if handles_missing else filled.fill
    outputs = feature_map.transform(rows.X if handles_missing else filled.X)
    return outputs, feature_map.cost_model(estimator.cost_model_)


def _fitted_map(estimator: Any, X: np.ndarray, rows: Rows) -> BoostedFeatureMap:
    """Return the estimator's ``feature_map`` as a BoostedFeatureMap, fitted on X if it was not fitted."""
    given = estimator.feature_map
    if reader_of(given) and not is_fitted(given):
        # Some forests do not accept classes that are strings.
        y = np.unique(rows.y, return_inverse=True)[1] if is_classifier(estimator) else rows.y
        given = clone(given).fit(X, y, sample_weight=rows.weight)
    try:
        feature_map = given if isinstance(given, BoostedFeatureMap) else BoostedFeatureMap(given)
    except TypeError as error:
        raise TypeError(f"{type(estimator).__name__}: feature_map cannot be used. {error}") from error
    _refuse_other_columns(estimator, feature_map.forest)
    return feature_map


def _refuse_other_columns(estimator: Any, forest: Forest) -> None:
    """Raise ValueError if a forest was fitted on other columns than the estimator."""
    owner, names = type(estimator).__name__, getattr(estimator, "feature_names_in_", None)
    if forest.n_features != estimator.n_features_in_:
        raise ValueError(
            f"{owner}: feature_map was fitted on {forest.n_features} columns but X has {estimator.n_features_in_}. "
            "Fit both on the same columns."
        )
    for theirs, ours in zip(forest.feature_names or (), names if names is not None else (), strict=False):
        if theirs.replace(" ", "_") != ours.replace(" ", "_"):  # LightGBM replaces blanks in names
            raise ValueError(
                f"{owner}: feature_map was fitted with column {theirs!r} where X has {ours!r}. "
                "Fit both on the same columns in the same order."
            )
