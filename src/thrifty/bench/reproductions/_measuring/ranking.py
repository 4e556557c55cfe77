"""Contenders of the ranking figures: boosted trees, prefixes of them, early exit, and models over their outputs.

As in the papers, linear models see the outputs of boosted trees as features ("boosting trick"). A document pays one
unit for each tree that is evaluated, and the price of each raw feature that it reads once. The same trees, fitted to
the training rows with squared loss, serve all contenders of a problem.
"""

from collections.abc import Iterable
from functools import lru_cache
from typing import Any

import numpy as np
from sklearn.base import clone
from sklearn.utils.class_weight import compute_sample_weight

from thrifty import BoostedFeatureMap, EarlyExitRanker, GreedyMiserRegressor
from thrifty.bench.reproductions._measuring.problems import Problem

EVALUATION_COST = 1.0  # prices are in evaluations of a tree
QUICK_TREES, FULL_TREES = (50, 2), (500, 4)  # number and depth
CHECKPOINTS = 300  # of early exit, in the paper


def size_of_trees(problem: Problem) -> tuple[int, int]:
    """Return the number of trees and their depth."""
    return FULL_TREES if problem.full else QUICK_TREES


@lru_cache(maxsize=1)
def boosted_trees(problem: Problem, n_trees: int | None = None) -> GreedyMiserRegressor:
    """Return trees that are fitted without regard to prices."""
    usual, depth = size_of_trees(problem)
    model = GreedyMiserRegressor(costs=problem.costs, cost_weight=0, n_estimators=n_trees or usual, max_depth=depth)
    return model.fit(problem.train.X, problem.train.y.astype(float))


@lru_cache(maxsize=1)
def tree_outputs(problem: Problem) -> BoostedFeatureMap:
    """Return the outputs of the boosted trees as features."""
    return BoostedFeatureMap(boosted_trees(problem), evaluation_costs=EVALUATION_COST)


def stage_wise(problem: Problem, seed: int) -> list[Any]:
    """Return the boosted trees after 1, 2, 3, 5, ... iterations."""
    forest = boosted_trees(problem).forest_
    counts = np.unique(np.geomspace(1, forest.n_trees, 16).astype(int))
    return [forest.prefix(int(n)).with_costs(problem.costs, EVALUATION_COST) for n in counts]


def early_exit(problem: Problem, seed: int, s: float) -> list[Any]:
    """Return the prefixes of the boosted trees with early exit at the proximity threshold `s`."""
    train, models = problem.train, []
    for prefix in stage_wise(problem, seed):
        n_checkpoints = min(CHECKPOINTS, prefix.forest_.n_trees)
        model = EarlyExitRanker(
            prefix.forest_, costs=problem.costs, s=s, n_checkpoints=n_checkpoints, evaluation_cost=EVALUATION_COST
        )
        models.append(model.fit(train.X, train.y, qid=train.qid))
    return models


def over_trees(problem: Problem, models: Iterable[Any]) -> list[Any]:
    """Return the sweeps of several models over the outputs of the trees."""
    return [fitted for model in models for fitted in _priced(model, problem).path(problem.train.X, problem.train.y)]


def over_trees_balanced(problem: Problem, model: Any) -> list[Any]:
    """Return the sweep of a model whose rows are weighted so that both classes have the same weight."""
    weights = compute_sample_weight("balanced", problem.train.y)
    return _priced(model, problem).path(problem.train.X, problem.train.y, weights)


def _priced(model: Any, problem: Problem) -> Any:
    return clone(model).set_params(costs=problem.costs, feature_map=tree_outputs(problem))
