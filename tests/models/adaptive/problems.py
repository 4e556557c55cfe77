"""Small problems for the parts of the adaptive model."""

import numpy as np

from thrifty import CostModel
from thrifty.models.adaptive.boosting import constant_tree
from thrifty.models.adaptive.policy import MaskedPredictor, PurchasePolicy
from thrifty.models.adaptive.training_rows import Objective, TrainingRows
from thrifty.models.factors import Factors
from thrifty.models.forests.forest import Forest

FAST = {"n_estimators": 30, "learning_rate": 0.3, "n_folds": 3, "random_state": 0}


def training_rows(X, targets, costs=None, *, n_classes=2, groups=None, weight=None, error_costs=None, seed=0):
    """Return training rows in three folds; the columns keep their order."""
    X = np.asarray(X, dtype=float)
    cost_model = (
        CostModel(np.ones(X.shape[1]) if costs is None else costs) if not isinstance(costs, CostModel) else costs
    )
    factors = Factors.of(cost_model, groups, "here")
    random = np.random.default_rng(seed)
    return TrainingRows.of(
        factors.sorted_columns(X),
        np.asarray(targets, dtype=float),
        np.ones(len(X)) if weight is None else np.asarray(weight, dtype=float),
        random.permutation(len(X)) % 3,
        factors,
        np.zeros(X.shape[1], dtype=bool),
        Objective(n_classes, error_costs),
        random,
    )


def policy_of(rows, trees, base, order, *, first=(), n_at_stage=None):
    """Return a policy of rows with a predictor of one score, which follows the default order."""
    n_columns = rows.codes.n_features
    n_priced = int((rows.prices > 0).sum())
    forest = Forest.from_trees(trees, n_features=n_columns, base=np.zeros(1))
    linear = np.zeros(n_columns), np.ones(n_columns), *np.zeros((2, 1, n_columns, 1))
    predictor = MaskedPredictor(
        forest, np.array([0, len(trees)]), np.array([[base]]), np.array([rows.n_groups]), *linear
    )
    n_described = 5 if not rows.objective.n_classes else 6
    gains = Forest.from_trees([constant_tree(1)], n_features=n_columns + n_described - 2, base=np.zeros(1))
    return PurchasePolicy(
        rows.factors,
        predictor,
        gains,
        np.empty(0, dtype=np.int64),
        np.array(first, dtype=np.int64),
        np.array(order, dtype=np.int64),
        np.ones(n_priced, dtype=np.int64) if n_at_stage is None else np.array(n_at_stage),
        rows.fill,
        not rows.objective.n_classes,
    )
