"""CSTC: experiments of Xu et al. (2014), JMLR 15, comparison of its two solvers, and training time relative to ASTC.

To run a single table: ``python -c "import benchmarks.cstc as b; b.mnist()"``.
"""

import resource
import sys
import tempfile
import warnings
from itertools import chain
from multiprocessing import get_context
from time import perf_counter

import numpy as np
from sklearn.exceptions import ConvergenceWarning
from sklearn.model_selection import RepeatedStratifiedKFold

from benchmarks.problems import YAHOO_SIZE, correlated_regression, missing
from benchmarks.report import at_least, at_most, report, table
from thrifty import ASTCClassifier, ASTCRegressor, CostWeightedL1Classifier, CSTCClassifier, CSTCRegressor
from thrifty.datasets import load_covtype, load_heart, load_mnist, load_thyroid, make_ltr, make_quadrants
from thrifty.metrics import CostCurve, area_under_cost_curve, cost_curve

LABEL_MEANS = ((27, 9, -9, -27), (27, 9, -27, -9), (15, 5, -15, -5), (20, 10, -20, -10), (9, 3, -9, -3))
SETTINGS = {
    "default": {},
    "depth 2": {"max_depth": 2},
    "depth 3": {"max_depth": 3},
    "depth 2, l1_weight 0.1": {"max_depth": 2, "l1_weight": 0.1},
}
MNIST_LIMITS = ((25, 0.043), (53, 0.035), (118, 0.030))  # (mean spend, largest test error within it)
FOREST_ROWS = 36_603
TABLE_1 = {  # Kusner et al. (2014): budget to speed-up of ASTC over CSTC
    "Yahoo!": {10: 119, 52: 52, 86: 41, 169: 21, 468: 15, 800: 9.2, 1495: 6.6},
    "Forest": {3: 8.4, 5: 7.0, 8: 6.3, 13: 4.9, 23: 3.1, 50: 1.4},
}


def main() -> None:
    quadrants()
    heart()
    thyroid()
    solvers()
    yahoo_size()
    mnist()
    against_astc()


# Section 6.1 of Xu et al. (2014): synthetic data with four quadrants


def quadrants() -> None:
    lines, purchases = [], []
    for means in LABEL_MEANS:
        train, test = (make_quadrants(2000, label_means=means, random_state=seed) for seed in (0, 1))
        sweep = CSTCRegressor(costs=train.costs, max_depth=3)
        models = sweep.path(train.X, train.y, cost_weights=np.geomspace(1e-5, 1e-1, 16))
        cheap = [model for model in models if model.spend(test.X).mean() <= 12.5]
        best = max(cheap, key=lambda model: model.score(test.X, test.y))
        lines.append(at_most(f"means {means}: MSE / Var(y)", 1 - best.score(test.X, test.y), 0.002, ""))
        purchases.append((str(means), f"{best.spend(test.X).mean():.2f}", *_bought_by_level(best, train.names)))
    report("CSTC, quadrants, depth 3: best of 16 cost weights within a mean spend of 12.5", lines)
    table(
        "Features bought by each tree; the optimal mean spend is 12",
        ("means", "spend", "root", "children", "leaves"),
        purchases,
    )


def _bought_by_level(model, names):
    """Return the names of the features bought at the root, at its children and at the leaves."""
    tree, levels = model.tree_, []
    for depth in range(3):
        nodes = np.flatnonzero(tree.depth == depth)
        levels.append(" | ".join(" ".join(names[j] for j in tree.buys(k)) or "-" for k in nodes))
    return levels


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


# Table 1 of Kusner et al. (2014): training time of CSTC and ASTC with equal node budgets


def against_astc() -> None:
    header = ("", "mean spend", "CSTC", "ASTC", "speed-up of ASTC", "speed-up in Table 1, by budget")
    title = "Training time, depth 5; ASTC has the node costs of CSTC as node budgets (CSTC: joint; in Table 1 block)"
    table(title, header, chain(_yahoo(), _forest()))


def _yahoo():
    data = make_ltr(200, 24, 519, random_state=0)
    weights = (1e-2, 3e-3, 1e-3)
    yield from _speed_ups("Yahoo!", CSTCRegressor, ASTCRegressor, data.X, data.y.astype(float), data.costs, weights)


def _forest():
    if missing("covtype"):
        return
    data = load_covtype(binary=True)
    rows = np.random.default_rng(0).permutation(len(data.y))[:FOREST_ROWS]
    X, y = data.X[rows], data.y[rows]
    yield from _speed_ups("Forest", CSTCClassifier, ASTCClassifier, X, y, data.costs, (0.5, 0.3, 0.02))


def _speed_ups(name, tree, greedy, X, y, costs, cost_weights):
    published = " ".join(f"{budget}: {times:g}x" for budget, times in TABLE_1[name].items())
    for model in (tree(max_depth=2, cost_weight=0.1), greedy(max_depth=2)):
        model.fit(X[:500], y[:500])  # compile
    for cost_weight in cost_weights:
        model = tree(costs=costs, max_depth=5, cost_weight=cost_weight)
        of_tree = _seconds_of_fit(model, X, y)
        of_greedy = _seconds_of_fit(greedy(costs=costs, max_depth=5, node_budget=_node_budgets(model)), X, y)
        times = f"{of_tree:.1f} s", f"{of_greedy:.2f} s", f"{of_tree / of_greedy:.0f}x"
        yield name, f"{model.spend(X).mean():.1f}", *times, published
        published = ""


def _node_budgets(model):
    """Return the cost of what each node buys, by its position in the complete tree.

    The children of position k are 2k + 1 and 2k + 2.
    """
    budgets, tree = np.zeros(2**model.max_depth - 1), model.tree_
    queue = [(0, 0)]
    while queue:
        k, position = queue.pop()
        budgets[position] = tree.step_cost[k]
        queue += [(c, 2 * position + side) for side, c in ((1, tree.upper[k]), (2, tree.lower[k])) if c >= 0]
    return budgets


if __name__ == "__main__":
    main()
