"""The Greedy Miser against an exhaustive search, and against what it promises."""

import numpy as np
import pytest
from reference import greedy_miser as reference

from thrifty import CostModel
from thrifty.datasets import make_ltr, make_quadrants
from thrifty.metrics import ndcg_at_k
from thrifty.models.boosting.greedy_miser import GreedyMiserClassifier, GreedyMiserRanker, GreedyMiserRegressor

PRICES = (1.0, 2.5, 0.0, 4.0, 0.7, 3.0)
BUNDLES = {"panel": ((1, 3), 2.0), "scan": ((4, 5), 6.0)}


def problem(seed, n=60, missing=0.0, classes=None):
    random = np.random.default_rng(seed)
    X = np.round(random.normal(size=(n, 6)), 2)
    y = X[:, 0] + np.sign(X[:, 1]) * X[:, 3] + 0.5 * X[:, 4] + random.normal(scale=0.3, size=n)
    X[random.random(X.shape) < missing] = np.nan
    weight = random.integers(1, 4, size=n).astype(float)
    return X, (y > 0).astype(int) if classes else y, weight


def nodes(forest, node=0):
    """The first tree of a forest, nested as the reference has it."""
    if forest.feature[node] < 0:
        return "leaf", forest.value[node, 0]
    split = int(forest.feature[node]), forest.threshold[node], bool(forest.missing_left[node])
    return "split", *split, nodes(forest, forest.left[node]), nodes(forest, forest.right[node])


def same_tree(ours, theirs, learning_rate):
    if theirs[0] == "leaf":
        return ours[0] == "leaf" and np.isclose(ours[1], learning_rate * theirs[1], rtol=1e-9, atol=1e-12)
    return (
        ours[0] == "split"
        and ours[1] == theirs[1]
        and np.isclose(ours[2], theirs[2])
        and ours[3] == theirs[3]
        and all(same_tree(a, b, learning_rate) for a, b in zip(ours[4:], theirs[4:], strict=True))
    )


@pytest.mark.parametrize("charge", ["ensemble", "row"])
@pytest.mark.parametrize(("loss", "cost_weight"), [("squared", 0.0), ("squared", 2e-3), ("logistic", 2e-3)])
@pytest.mark.parametrize("missing", [0.0, 0.2])
@pytest.mark.parametrize("seed", range(3))
def test_every_split_is_the_best_there_is(charge, loss, cost_weight, missing, seed):
    X, y, weight = problem(seed, missing=missing, classes=loss == "logistic")
    costs = CostModel(PRICES, bundles=BUNDLES)
    estimator = GreedyMiserRegressor if loss == "squared" else GreedyMiserClassifier
    model = estimator(
        costs=costs,
        cost_weight=cost_weight,
        charge=charge,
        n_estimators=3,
        learning_rate=0.5,
        max_depth=3,
        min_samples_leaf=12,
    ).fit(X, y, sample_weight=weight)
    requires = [set(np.flatnonzero(line).tolist()) for line in costs.requirement]
    trees, staged, spend, bought = reference.boost(
        X.tolist(),
        y.tolist(),
        weight.tolist(),
        costs.unit_costs.tolist(),
        requires,
        loss=loss,
        charge=charge,
        cost_weight=cost_weight,
        learning_rate=0.5,
        n_rounds=3,
        max_depth=3,
        min_leaf=12,
    )
    forest = model.forest_
    for start, tree in zip(forest.starts, trees, strict=True):
        assert same_tree(nodes(forest, start), tree, 0.5)
    np.testing.assert_allclose(model.acquire(X).score, staged[-1], rtol=1e-9)
    np.testing.assert_allclose(model.spend(X), spend, rtol=1e-12)
    assert {u for j in model.features_ for u in requires[j]} == bought
    np.testing.assert_allclose(model.history_["spend"][-1], np.average(spend, weights=weight))
