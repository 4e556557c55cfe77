"""Ranking on a budget: cascades where relevance is rare (Xu et al. 2014, Fig. 7), trees where it is not (Fig. 6).

``python -c "import benchmarks.cascades as b; b.balanced_synthetic()"`` runs one of the tables alone.
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
SHARES = (0.1, 0.3, 1.0)  # of the cost of everything, up to which areas are taken
SEEDS, FOLDS = range(3), range(1, 4)
# Trees of depth 3 read so much between them that a sweep buys nothing or all.
FOREST = GradientBoostingRegressor(n_estimators=50, max_depth=2, min_samples_leaf=20, random_state=0)
EVEN = {"class_weight": "balanced"}


class EvenCSTC(CSTCClassifier):
    """A tree whose rows weigh what the cascades' classes do: a control, for trees have no class weights."""

    def path(self, X, y, **options):
        return super().path(X, y, compute_sample_weight("balanced", y), **options)


RARE = {
    "CSCC": lambda costs, **on: CSCCClassifier(costs=costs, **EVEN, **on),
    "CSCC, classes as they are": lambda costs, **on: CSCCClassifier(costs=costs, **on),
    "Cronus": lambda costs, **on: CronusClassifier(costs=costs, **EVEN, **on),
    "Cronus, classes as they are": lambda costs, **on: CronusClassifier(costs=costs, **on),
    "AND-OR": lambda costs, **on: AndOrClassifier(costs=costs, **on),
    "CSTC": lambda costs, **on: CSTCClassifier(costs=costs, max_depth=DEPTH, **on),
    "CSTC, rows weighted": lambda costs, **on: EvenCSTC(costs=costs, max_depth=DEPTH, **on),
    "single node": lambda costs, **on: CSTCClassifier(costs=costs, max_depth=1, **on),
}
GRADED = {
    "CSTC": lambda costs, **on: CSTCRegressor(costs=costs, max_depth=DEPTH, **on),
    "single node": lambda costs, **on: CSTCRegressor(costs=costs, max_depth=1, **on),
}


def main() -> None:
    skewed_synthetic()
    skewed_synthetic(seeds=range(1), feature_map=FOREST)
    skewed_mq2008()
    balanced_synthetic()
    balanced_synthetic(seeds=range(1), feature_map=FOREST)
    balanced_mq2008()


def skewed_synthetic(seeds=SEEDS, **on) -> None:
    """The order of Fig. 7 is CSCC, Cronus, CSTC, AND-OR, the best first."""
    problems = [_held_out_queries(make_ltr_skewed(600, n_features=60, random_state=seed)) for seed in seeds]
    _compare("make_ltr_skewed, Precision@5", problems, RARE, precision_at_k, **on)


def skewed_mq2008(folds=FOLDS, **on) -> None:
    if missing("mq2008"):
        return
    problems = [skew_ranking(load_mq2008(fold=fold), relevant_from=2) for fold in folds]
    _compare("MQ2008 skewed, Precision@5", problems, RARE, precision_at_k, **on)


def balanced_synthetic(seeds=SEEDS, **on) -> None:
    """In Fig. 6 the tree is above the single classifier throughout."""
    problems = [_held_out_queries(make_ltr(600, n_features=60, random_state=seed)) for seed in seeds]
    contenders = GRADED if on else {**GRADED, "l1": lambda costs: CostWeightedL1Regressor(costs=costs)}
    _compare("make_ltr, NDCG@5", problems, contenders, ndcg_at_k, **on)


def balanced_mq2008(folds=FOLDS, **on) -> None:
    if missing("mq2008"):
        return
    contenders = GRADED if on else {**GRADED, "l1": lambda costs: CostWeightedL1Regressor(costs=costs)}
    _compare("MQ2008, NDCG@5", [load_mq2008(fold=fold) for fold in folds], contenders, ndcg_at_k, **on)


def _held_out_queries(data: Bunch) -> Bunch:
    """Mark the last third of the queries as test rows."""
    return Bunch(**data, test=data.qid >= 2 * (data.qid.max() + 1) // 3)


def _compare(title: str, problems: list[Bunch], contenders: dict[str, Callable], metric: Callable, **on) -> None:
    """Print mean areas over the problems and, in brackets, the standard error of the lead over the last contender."""
    areas, seconds = {}, {}
    for name, make in contenders.items():
        start = perf_counter()
        areas[name] = np.array([_areas(make(data.costs, **on), data, metric) for data in problems])
        seconds[name] = (perf_counter() - start) / len(problems)
    last = areas[name]
    rows = [(each, *_cells(areas[each], areas[each] - last), f"{seconds[each]:.1f}") for each in contenders]
    header = ("", *(f"area to {share:.0%} of all cost" for share in SHARES), "s a sweep")
    table(f"{title}, {len(problems)} draws; +- of the lead over {name}", header, rows)


def _cells(areas: np.ndarray, lead: np.ndarray) -> list[str]:
    error = lead.std(axis=0) / np.sqrt(max(len(lead) - 1, 1))
    return [f"{mean:.4f} +- {e:.4f}" for mean, e in zip(areas.mean(axis=0), error, strict=True)]


def _areas(model, data: Bunch, metric: Callable) -> list[float]:
    """Return areas under the curve of a default sweep on test rows; ranking all alike costs nothing."""
    test, y = data.test, data.y.astype(float)
    fitted_on = ~test & ~data.get("validation", np.zeros(len(y), dtype=bool))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        models = model.path(data.X[fitted_on], data.y[fitted_on])
    baseline = metric(y[test], np.zeros(test.sum()), qid=data.qid[test], k=5)
    curve = CostCurve(
        [each.spend(data.X[test]).mean() for each in models],
        [metric(y[test], _ranked_by(each, data.X[test]), qid=data.qid[test], k=5) for each in models],
    )
    limits = [(0.0, share * data.costs.total) for share in SHARES]
    return [area_under_cost_curve(curve, limits=each, baseline=baseline) for each in limits]


def _ranked_by(model, X):
    return getattr(model, "decision_function", model.predict)(X)


if __name__ == "__main__":
    main()
