"""The default order of the groups: the order in which boosting buys them while the price of features falls.

Trees are grown as in the Greedy Miser: a split on a group that is not paid has to save more loss than `rate` times its
price. The rate starts so high that nothing is bought, and falls by a constant factor whenever no tree buys any more.
"""

import numpy as np

from thrifty.costs import CostModel
from thrifty.models.adaptive.training_rows import TrainingRows
from thrifty.models.factors import Factors
from thrifty.models.growing.bag import Bag
from thrifty.models.growing.growth import Grower, Limits
from thrifty.models.growing.payments import EnsemblePayments, RowAccounts

FACTOR = 0.75  # by which the rate falls
N_LEVELS = 32  # of the rate, counted from the first purchase
ROUNDS_PER_LEVEL = 3
LEARNING_RATE = 0.3
LIMITS = Limits(max_depth=4, max_leaf_nodes=None, min_samples_leaf=20.0, l2_regularization=1.0)
LEAST_RATE = 1e-9  # of the first rate


def default_order(rows: TrainingRows) -> tuple[np.ndarray, int]:
    """Return all groups in the default order, and how many of them boosting bought.

    Groups that boosting does not buy come last, cheap ones first.
    """
    prices, group_of = rows.prices, rows.group_of
    order: list[int] = []
    for column in _columns_in_order(rows):
        if (group := int(group_of[column])) not in order:
            order.append(group)
    rest = [int(group) for group in np.argsort(prices, kind="stable") if group not in order]
    return np.array(order + rest, dtype=np.int64), len(order)


def _columns_in_order(rows: TrainingRows) -> list[int]:
    """Return the columns in the order in which boosted trees read them first."""
    bag, nobody = np.arange(len(rows), dtype=np.uint32), np.empty(0, np.uint32)
    codes, loss, features = rows.codes, rows.loss(slice(None)), np.arange(rows.codes.n_features)
    cost_model = sorted_costs(rows.factors)
    payments = EnsemblePayments(cost_model, RowAccounts(loss.weight, cost_model.unit_costs), 0.0)
    grower = Grower(codes, rows.bins, payments, LIMITS, loss.constant_hessian, float(loss.weight.sum()))
    scores = np.repeat(loss.base(slice(None))[:, None], len(rows), axis=1)
    found: dict[int, None] = {}
    first_rate = rate = _first_rate(rows)
    n_levels = 0
    while n_levels < N_LEVELS and rate > LEAST_RATE * first_rate and len(found) < codes.n_features:
        payments.rate = rate
        for _ in range(ROUNDS_PER_LEVEL):
            grown = [
                grower.grow(Bag(gradient, hessian, loss.weight, bag.copy(), nobody, features, grower.n_words))
                for gradient, hessian in zip(*loss.derivatives(scores), strict=True)
            ]
            if not any(tree.n_splits for tree in grown):
                break
            for tree, line in zip(grown, scores, strict=True):
                tree.add_to(line, LEARNING_RATE)
                found |= dict.fromkeys(tree.split_features)
        rate *= FACTOR
        n_levels += bool(found)
    return list(found)


def _first_rate(rows: TrainingRows) -> float:
    """Return a rate at which no group is worth its price: the loss of a constant answer per price of the cheapest."""
    positive = rows.prices[rows.prices > 0]
    return 1.0 / positive.min() if positive.size else 1.0


def sorted_costs(factors: Factors) -> CostModel:
    """Return the costs of the columns sorted by group."""
    ids = factors.cost_model.names or range(factors.cost_model.n_features)
    return factors.cost_model.select([ids[column] for column in factors.columns.tolist()])
