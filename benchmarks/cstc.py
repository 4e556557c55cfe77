"""CSTC: real prices, digits, comparison of its two solvers, and training time.

Figures and tables of the papers are reproductions of ``thrifty bench``.

To run a single table: ``python -c "import benchmarks.cstc as b; b.mnist()"``.
"""

import resource
import sys
import tempfile
import warnings
from multiprocessing import get_context
from time import perf_counter

import numpy as np
from sklearn.exceptions import ConvergenceWarning
from sklearn.model_selection import RepeatedStratifiedKFold

from benchmarks.problems import YAHOO_SIZE, correlated_regression, missing
from benchmarks.report import at_least, at_most, report, table
from thrifty import CostWeightedL1Classifier, CSTCClassifier, CSTCRegressor
from thrifty.datasets import load_heart, load_mnist, load_thyroid
from thrifty.metrics import CostCurve, area_under_cost_curve, cost_curve

SETTINGS = {
    "default": {},
    "depth 2": {"max_depth": 2},
    "depth 3": {"max_depth": 3},
    "depth 2, l1_weight 0.1": {"max_depth": 2, "l1_weight": 0.1},
}
MNIST_LIMITS = ((25, 0.043), (53, 0.035), (118, 0.030))  # (mean spend, largest test error within it)


def main() -> None:
    heart()
    thyroid()
    solvers()
    yahoo_size()
    mnist()


# Real prices: cost curves of CSTC and of a single cost-weighted l1 model


def heart() -> None:
    data = load_heart()
    folds = RepeatedStratifiedKFold(n_splits=5, n_repeats=2, random_state=0)
    _against_l1("heart, 5 folds, 2 repetitions", data, list(folds.split(data.X, data.y)), np.geomspace(3e-4, 0.3, 12))


def thyroid() -> None:
    if missing("thyroid"):
        return
    data = load_thyroid()
    split = np.flatnonzero(~data.test), np.flatnonzero(data.test)
    _against_l1("thyroid, official test rows", data, [split], np.geomspace(1e-4, 0.15, 16))


def _against_l1(title, data, splits, cost_weights):
    """Compare cost curves on held-out rows. Each point is the mean over the folds for one cost weight."""
    limits = (0.0, data.costs.total)
    baseline = np.bincount(data.y).max() / len(data.y)
    single = CostWeightedL1Classifier(costs=data.costs)
    l1 = _mean_curve(single, data, splits, np.geomspace(1e-4, 0.3, 30))
    rows = [("l1", f"{area_under_cost_curve(l1, limits=limits, baseline=baseline):.4f}", "", "", "", _points(l1))]
    for name, options in SETTINGS.items():
        start = perf_counter()
        curve = _mean_curve(CSTCClassifier(costs=data.costs, **options), data, splits, cost_weights)
        elapsed = (perf_counter() - start) / len(splits)
        area = area_under_cost_curve(curve, limits=limits, baseline=baseline)
        best_l1 = [max(l1.score[l1.spend <= spend], default=baseline) for spend in curve.spend]
        decrease = np.max(np.maximum.accumulate(curve.score) - curve.score)
        rows.append(
            (
                name,
                f"{area:.4f}",
                f"{np.mean(curve.score >= best_l1):.0%}",
                f"{decrease:.3f}",
                f"{elapsed:.1f}",
                _points(curve),
            )
        )
    header = ("", "area", "points >= l1", "largest decrease", "seconds per sweep", "spend:accuracy")
    table(f"CSTC and a single cost-weighted l1 model, {title}", header, rows)


def _mean_curve(model, data, splits, cost_weights):
    curves = []
    for train, test in splits:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)
            models = model.path(data.X[train], data.y[train], cost_weights=cost_weights)
        curves.append(cost_curve(models, data.X[test], data.y[test]))
    return CostCurve(np.mean([c.spend for c in curves], axis=0), np.mean([c.score for c in curves], axis=0))


def _points(curve):
    return " ".join(f"{curve.spend[i]:.3g}:{curve.score[i]:.3f}" for i in curve.frontier)


# Comparison of the two solvers, and time and memory on large data


def solvers() -> None:
    X, y = correlated_regression(20_000, 200)
    block, block_time = _timed(X, y, solver="block", max_iter=1)
    joint, _ = _timed(X, y)
    enough = int(np.argmax(np.array(joint.objective_) <= block.objective_[-1]))
    _, joint_time = _timed(X, y, max_iter=enough)
    lines = [
        at_most("final objective, joint / block", joint.objective_[-1] / block.objective_[-1], 1.001),
        at_least(
            "speed-up of joint to reach the objective of block after one sweep of all nodes",
            block_time / joint_time,
            10,
        ),
    ]
    report("CSTC, 20000 x 200, depth 4: solvers joint and block", lines)


def _timed(X, y, **options):
    model = CSTCRegressor(max_depth=4, cost_weight=0.01, **options)
    return model, _seconds_of_fit(model, X, y)


def yahoo_size() -> None:
    X, y = correlated_regression(*YAHOO_SIZE)
    with tempfile.NamedTemporaryFile(suffix=".npz") as file:
        np.savez(file, X=X, y=y)
        file.flush()
        size = X.nbytes
        del X
        with get_context("spawn").Pool(1) as pool:
            minutes, extra = pool.apply(_fit_in_process, (file.name,))
    lines = [at_most("time of fit", minutes, 10, "min"), at_most("peak extra memory / size of X", extra / size, 4)]
    report(f"CSTC, {YAHOO_SIZE[0]} x {YAHOO_SIZE[1]}, depth 5, joint", lines)


def _fit_in_process(path):
    """Return the time of a fit in minutes, and by how many bytes it raises the peak memory of this process."""
    unit = 1 if sys.platform == "darwin" else 1024
    small = correlated_regression(500, 20)
    CSTCRegressor(max_depth=5).fit(*small)  # compile
    stored = np.load(path)
    X, y = stored["X"], stored["y"]
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    minutes = _seconds_of_fit(CSTCRegressor(max_depth=5), X, y) / 60
    return minutes, unit * (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before)


# Section 6.7 of Xu et al. (2014): digits 3 and 8


def mnist() -> None:
    if missing("mnist"):
        return
    data = load_mnist(digits=(3, 8), resolutions=(4, 8, 16, 28))
    X, y, X_test, y_test = data.X[~data.test], data.y[~data.test], data.X[data.test], data.y[data.test]
    weights = np.geomspace(0.05, 1.5, 8)
    start = perf_counter()
    models = CSTCClassifier(max_depth=3).path(X, y, cost_weights=weights)
    of_path = perf_counter() - start
    of_fits = [_seconds_of_fit(CSTCClassifier(max_depth=3, cost_weight=weight), X, y) for weight in weights]
    curve = cost_curve(models, X_test, y_test)
    lines = [
        at_most(f"test error within a mean spend of {spend}", error, limit, "")
        for (spend, limit), error in zip(MNIST_LIMITS, _errors_within(curve), strict=True)
    ]
    lines += [
        at_most("slowest single fit", max(of_fits), 60, "s"),
        at_most("time of a path of eight cost weights / time of eight fits", of_path / sum(of_fits), 0.5),
    ]
    report("CSTC, MNIST digits 3 and 8, depth 3; errors in Fig. 12: about 0.12 at spend 20, 0.035 at spend 450", lines)
    print(_points(curve))


def _errors_within(curve):
    affordable = [curve.score[curve.spend <= spend] for spend, _ in MNIST_LIMITS]
    return [1 - max(scores, default=0.5) for scores in affordable]


def _seconds_of_fit(model, X, y):
    start = perf_counter()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        model.fit(X, y)
    return perf_counter() - start


if __name__ == "__main__":
    main()
