"""Ranking on a budget: cascades if few documents are relevant, trees otherwise.

Xu et al. (2014), JMLR 15, Fig. 7 (few relevant documents) and Fig. 6. To run a single table:
``python -c "import benchmarks.cascades as b; b.balanced_synthetic()"``.
"""

import warnings
from collections.abc import Callable
from time import perf_counter

import numpy as np
from sklearn.ensemble import GradientBoostingRegressor
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import Bunch
from sklearn.utils.class_weight import compute_sample_weight

from benchmarks.problems import missing
from benchmarks.report import table
from thrifty import (
    AndOrClassifier,
    CostWeightedL1Regressor,
    CronusClassifier,
    CSCCClassifier,
    CSTCClassifier,
    CSTCRegressor,
)
from thrifty.datasets import load_mq2008, make_ltr, make_ltr_skewed, skew_ranking
from thrifty.metrics import CostCurve, area_under_cost_curve, ndcg_at_k, precision_at_k

DEPTH = 3
SHARES = (0.1, 0.3, 1.0)  # upper limits of the areas, as shares of the cost of all features
SEEDS, FOLDS = range(3), range(1, 4)
# Depth 2, because trees of depth 3 use so many features that each model of a sweep buys no feature or all features.
FOREST = GradientBoostingRegressor(n_estimators=50, max_depth=2, min_samples_leaf=20, random_state=0)
BALANCED = {"class_weight": "balanced"}


class BalancedCSTC(CSTCClassifier):
    """CSTC with sample weights that balance the classes, as a control: CSTC has no parameter class_weight."""

    def path(self, X, y, **options):
        return super().path(X, y, compute_sample_weight("balanced", y), **options)


FEW_RELEVANT = {
    "CSCC": lambda costs, **options: CSCCClassifier(costs=costs, **BALANCED, **options),
    "CSCC, no class weights": lambda costs, **options: CSCCClassifier(costs=costs, **options),
    "Cronus": lambda costs, **options: CronusClassifier(costs=costs, **BALANCED, **options),
    "Cronus, no class weights": lambda costs, **options: CronusClassifier(costs=costs, **options),
    "AND-OR": lambda costs, **options: AndOrClassifier(costs=costs, **options),
    "CSTC": lambda costs, **options: CSTCClassifier(costs=costs, max_depth=DEPTH, **options),
    "CSTC, balanced sample weights": lambda costs, **options: BalancedCSTC(costs=costs, max_depth=DEPTH, **options),
    "single node": lambda costs, **options: CSTCClassifier(costs=costs, max_depth=1, **options),
}
GRADED = {
    "CSTC": lambda costs, **options: CSTCRegressor(costs=costs, max_depth=DEPTH, **options),
    "single node": lambda costs, **options: CSTCRegressor(costs=costs, max_depth=1, **options),
}


def main() -> None:
    skewed_synthetic()
    skewed_synthetic(seeds=range(1), feature_map=FOREST)
    skewed_mq2008()
    balanced_synthetic()
    balanced_synthetic(seeds=range(1), feature_map=FOREST)
    balanced_mq2008()


def skewed_synthetic(seeds=SEEDS, **options) -> None:
    """Compare cascades and trees on synthetic data. In Fig. 7 the order, best first, is CSCC, Cronus, CSTC, AND-OR."""
    problems = [_held_out_queries(make_ltr_skewed(600, n_features=60, random_state=seed)) for seed in seeds]
    _compare("make_ltr_skewed, Precision@5", problems, FEW_RELEVANT, precision_at_k, **options)


def skewed_mq2008(folds=FOLDS, **options) -> None:
    if missing("mq2008"):
        return
    problems = [skew_ranking(load_mq2008(fold=fold), relevant_from=2) for fold in folds]
    _compare("MQ2008 skewed, Precision@5", problems, FEW_RELEVANT, precision_at_k, **options)


def balanced_synthetic(seeds=SEEDS, **options) -> None:
    """Compare a tree and a single classifier. In Fig. 6 the tree is better at every cost."""
    problems = [_held_out_queries(make_ltr(600, n_features=60, random_state=seed)) for seed in seeds]
    contenders = GRADED if options else {**GRADED, "l1": lambda costs: CostWeightedL1Regressor(costs=costs)}
    _compare("make_ltr, NDCG@5", problems, contenders, ndcg_at_k, **options)


def balanced_mq2008(folds=FOLDS, **options) -> None:
    if missing("mq2008"):
        return
    contenders = GRADED if options else {**GRADED, "l1": lambda costs: CostWeightedL1Regressor(costs=costs)}
    _compare("MQ2008, NDCG@5", [load_mq2008(fold=fold) for fold in folds], contenders, ndcg_at_k, **options)


def _held_out_queries(data: Bunch) -> Bunch:
    """Mark the last third of the queries as test rows."""
    return Bunch(**data, test=data.qid >= 2 * (data.qid.max() + 1) // 3)


def _compare(title: str, problems: list[Bunch], contenders: dict[str, Callable], metric: Callable, **options) -> None:
    """Print the mean area of each contender over the problems.

    The figure after +- is the standard error of the mean difference to the last contender.
    """
    areas, seconds = {}, {}
    for name, make in contenders.items():
        start = perf_counter()
        areas[name] = np.array([_areas(make(data.costs, **options), data, metric) for data in problems])
        seconds[name] = (perf_counter() - start) / len(problems)
    last = areas[name]
    rows = [(each, *_cells(areas[each], areas[each] - last), f"{seconds[each]:.1f}") for each in contenders]
    header = ("", *(f"area up to {share:.0%} of total cost" for share in SHARES), "seconds per sweep")
    table(f"{title}, {len(problems)} data sets; +- standard error of the difference to {name!r}", header, rows)


def _cells(areas: np.ndarray, differences: np.ndarray) -> list[str]:
    error = differences.std(axis=0) / np.sqrt(max(len(differences) - 1, 1))
    return [f"{mean:.4f} +- {e:.4f}" for mean, e in zip(areas.mean(axis=0), error, strict=True)]


def _areas(model, data: Bunch, metric: Callable) -> list[float]:
    """Return the areas under the cost curve of a default sweep, on test rows.

    The baseline is the score of equal scores for all documents, which cost nothing.
    """
    test, y = data.test, data.y.astype(float)
    fitted_on = ~test & ~data.get("validation", np.zeros(len(y), dtype=bool))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        models = model.path(data.X[fitted_on], data.y[fitted_on])
    baseline = metric(y[test], np.zeros(test.sum()), qid=data.qid[test], k=5)
    curve = CostCurve(
        [each.spend(data.X[test]).mean() for each in models],
        [metric(y[test], _scores(each, data.X[test]), qid=data.qid[test], k=5) for each in models],
    )
    limits = [(0.0, share * data.costs.total) for share in SHARES]
    return [area_under_cost_curve(curve, limits=each, baseline=baseline) for each in limits]


def _scores(model, X):
    return getattr(model, "decision_function", model.predict)(X)


if __name__ == "__main__":
    main()
