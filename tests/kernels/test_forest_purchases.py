from itertools import pairwise

import numpy as np
import pytest

from kernels.trees import N_FEATURES, coded_rows, leaves_and_paths, random_tree
from reference.forest import buy
from thrifty import CostModel
from thrifty.models.forests.forest import Forest
from thrifty.models.forests.priced_forest import PricedForest

N_TREES = 99  # more rounds than are evaluated between two checks of the cap
PRICES = [3.0, 1.0, 0.0, 7.0, 2.0, 5.0]
COSTS = CostModel(PRICES, bundles={"panel": ([0, 3], 4.0), "scan": ([3, 4, 5], 6.0)})
CAPS = [0.0, 1.0, 6.0, 11.0, 17.0, 23.0, 30.0, 60.0, np.inf]


def priced_forest(n_scores, n_values, categorical, evaluation=0.0):
    random = np.random.default_rng(n_scores + 10 * n_values + 100 * categorical)
    trees = [random_tree(random, random.integers(1, 4), n_values, categorical) for _ in range(N_TREES)]
    forest = Forest.from_trees(trees, n_features=N_FEATURES, base=random.normal(size=n_scores))
    return PricedForest(forest, COSTS, evaluation)


def expected(priced, x, cap):
    forest, units = priced.forest, [np.flatnonzero(line).tolist() for line in COSTS.requirement]
    edges = priced.round_at.tolist()
    return buy(
        leaves_and_paths(forest, x),
        [range(a, b) for a, b in pairwise(edges)],
        forest.base.tolist(),
        forest.score_of.reshape(N_TREES, -1).tolist(),
        forest.value,
        units,
        COSTS.unit_costs.tolist(),
        np.broadcast_to(priced.evaluation_costs, N_TREES).tolist(),
        cap,
    )


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize(
    "priced",
    [
        priced_forest(1, 1, False),
        priced_forest(1, 1, True),
        priced_forest(3, 1, True),
        priced_forest(3, 3, False),
        priced_forest(1, 1, True, 0.25),
    ],
    ids=["one score", "categories", "a tree per class", "a value per class", "evaluation"],
)
def test_purchases_equal_the_reference(priced, dtype):
    X = coded_rows(45).astype(dtype)
    for cap in (np.resize(CAPS, len(X)), np.full(len(X), np.inf)):
        run = priced.run(X, cap)
        acquired = run.acquired()
        for i, x in enumerate(X.astype(float)):
            scores, last_round, spent, bought = expected(priced, x, cap[i])
            assert run.score[i].tolist() == scores
            assert (run.exit[i], run.spend[i]) == (last_round, spent)
            assert set(np.flatnonzero(acquired[i])) == bought


def test_every_round_adds_to_every_score_equally_often():
    stump = random_tree(np.random.default_rng(0), 1, 1)

    def edges(score_of):
        forest = Forest.from_trees(
            [stump] * len(score_of), n_features=N_FEATURES, base=np.zeros(max(score_of) + 1), score_of=score_of
        )
        return PricedForest(forest, COSTS, 0.0).round_at.tolist()

    assert edges([0, 0, 0]) == [0, 1, 2, 3]
    assert edges([0, 1, 2, 0, 1, 2]) == [0, 3, 6]
    assert edges([0, 0, 1, 1, 0, 0, 1, 1]) == [0, 4, 8]
    assert edges([0, 1, 0, 1, 0]) == [0, 2, 4, 5]
    assert edges([0, 1, 1]) == [0, 3]


def test_result_does_not_depend_on_threads():
    forest = priced_forest(1, 1, True)
    X, cap = coded_rows(20_000), np.resize(CAPS, 20_000)
    run, part = forest.run(X, cap), forest.run(X[9000:9050], cap[9000:9050])
    np.testing.assert_array_equal(run.score[9000:9050], part.score)
    np.testing.assert_array_equal(run.acquired()[9000:9050], part.acquired())
