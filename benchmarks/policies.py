"""Dynamic feature selection: the curves of He et al. (2012), real prices, and speed against a loop over rows.

``python -c "import benchmarks.policies as b; b.speed()"`` runs one of the tables alone.
"""

from functools import partial
from itertools import pairwise
from pathlib import Path
from tempfile import gettempdir
from time import perf_counter

import numpy as np
from matplotlib.figure import Figure
from sklearn.svm import LinearSVC
from sklearn.tree import DecisionTreeClassifier
from sklearn.utils import Bunch

from benchmarks.problems import missing
from benchmarks.report import at_least, at_most, report, seconds, table
from thrifty import ASTCClassifier, DynamicSelectionClassifier, StaticSelectionClassifier, forward_selection_oracle
from thrifty.datasets import load, load_thyroid, load_usps
from thrifty.metrics import CostCurve, area_under_cost_curve, cost_curve
from thrifty.models.policies.data_classifier import encode
from thrifty.models.policies.dynamic_selection import COST_WEIGHTS
from thrifty.models.policies.imitation import LearningCurve
from thrifty.plots import CostCurveDisplay, LearningCurveDisplay
from thrifty.plots.learning_curve import MEASURES

CAPS = tuple(np.linspace(0.05, 0.95, 19))  # shares of the cost of everything at which an uncertain row may be cut off
SPLITS = {"ionosphere": 3, "segmentation": 1, "usps": 1}
PIXELS = np.arange(256).reshape(16, 16)
BLOCKS = [PIXELS[i : i + 4, j : j + 4].ravel().tolist() for i in range(0, 16, 4) for j in range(0, 16, 4)]
SEEDS = range(3)
AS_IN_THE_PAPER = {
    "masked_training": False,
    "policy": LinearSVC(dual=False, tol=0.1),
    "weigh_stakes": False,
    "max_states": 5000,
}
LOOP_ROWS = 24  # of the loop over rows, whose time grows in proportion


def main() -> None:
    curves()
    learning_curves()
    learning_curves("as in the paper", **AS_IN_THE_PAPER)
    thyroid()
    speed()


# Fig. 1


def curves(folder=None, **options) -> None:
    """Draw accuracy against cost, and compare with the full classifier and both static baselines."""
    names = [name for name in SPLITS if not missing(name)]
    figure = Figure(figsize=(5 * max(len(names), 1), 4), layout="constrained")
    for name, ax in zip(names, np.atleast_1d(figure.subplots(1, max(len(names), 1))), strict=False):
        _compare(name, ax, **options)
        ax.set_title(name)
    path = Path(folder or gettempdir(), "dynamic_selection.png")
    figure.savefig(path)
    print(f"picture: {path}")


def _compare(name, ax, **options):
    problems = [_problem(name, split) for split in range(SPLITS[name])]
    full = np.mean([_full(each, **options) for each in problems])
    kinds = {
        "coaching": partial(_dynamic, **options),
        "DAgger": partial(_dynamic, coaching=0.0, **options),
        "oracle": partial(_oracle, **options),
    } | {
        f"{title}{after}": partial(_static, ranking=ranking, masked_training=masked)
        for title, ranking in (("forward", "forward"), ("weight per cost", "weight_per_cost"))
        for after, masked in (("", False), (", masked training", True))
    }
    measured = {kind: _mean([curve_of(each) for each in problems]) for kind, curve_of in kinds.items()}
    baseline = np.mean([np.bincount(each.y_test).max() / len(each.y_test) for each in problems])
    area = {kind: area_under_cost_curve(curve, limits=(0, 1), baseline=baseline) for kind, curve in measured.items()}
    rows = [
        (kind, f"{area[kind]:.4f}", f"{_within(curve, 0.5):.4f}", _points(curve)) for kind, curve in measured.items()
    ]
    table(f"{name}: all features {full:.4f}", ("", "area", "best at half", "cost:accuracy"), rows)
    lines = [
        at_least(
            "coaching, best at half of the cost, over all features",
            _within(measured["coaching"], 0.5) - full,
            -0.01,
            "",
        )
    ]
    lines += [
        at_least(f"coaching, area over {kind}", area["coaching"] - area[kind], 0.0, "")
        for kind in kinds
        if kind.startswith(("forward", "weight per cost"))
    ]
    report(f"{name}", lines)
    for kind, curve in measured.items():
        CostCurveDisplay.from_curve(curve, name=kind, ax=ax)
    ax.axhline(full, color="grey", linewidth=0.8)


def _problem(name, split):
    """Return rows to fit and to test, prices of shares of everything, and what is bought together."""
    data = load(name)
    test = data.get("test")
    if test is None:
        test = np.zeros(len(data.y), dtype=bool)
        test[np.random.default_rng(split).permutation(len(data.y))[: int(0.3 * len(data.y))]] = True
    factors = BLOCKS if data.X.shape[1] == 256 else None
    X = data.X.astype(float)
    return Bunch(X=X[~test], y=data.y[~test], X_test=X[test], y_test=data.y[test], costs=data.costs, factors=factors)


def _fitted(make, data, seed=0, **options):
    return make(costs=data.costs, factors=data.factors, random_state=seed, **options).fit(data.X, data.y)


def _full(data, **_):
    return _fitted(StaticSelectionClassifier, data, n_folds=1).score(data.X_test, data.y_test)


def _dynamic(data, **options):
    """Return one point per cost weight and, from each model, one per cap."""
    points = []
    for cost_weight in COST_WEIGHTS:
        model = _fitted(DynamicSelectionClassifier, data, cost_weight=cost_weight, **options)
        caps = [None, *(cap * data.costs.total for cap in CAPS)]
        points.append(cost_curve(model, data.X_test, data.y_test, caps=caps))
    return _joined(points, data)


def _static(data, ranking, masked_training):
    model = _fitted(StaticSelectionClassifier, data, ranking=ranking, masked_training=masked_training)
    caps = np.arange(len(model.factors_) + 1) / len(model.factors_) * data.costs.total
    return _joined([cost_curve(model, data.X_test, data.y_test, caps=caps)], data)


def _oracle(data, masked_training=True, **_):
    model = _fitted(StaticSelectionClassifier, data, masked_training=masked_training)
    starts, prices = model.factors_.starts, np.zeros(model.factors_.starts[-1])
    prices[starts[:-1]] = model.factors_.prices.own * data.costs.total  # no unit is shared in these data
    blocks = [range(first, last) for first, last in pairwise(starts)]
    known = (model.classifier_, _encoded(model, data.X_test), np.searchsorted(model.classes_, data.y_test))
    points = []
    for cost_weight in COST_WEIGHTS:
        run = forward_selection_oracle(*known, costs=prices, factors=blocks, cost_weight=cost_weight)
        points.append(CostCurve([run.spend.mean()], [np.mean(run.prediction == known[-1])]))
    return _joined(points, data)


def _encoded(model, X):
    """Return rows as the data classifier sees them."""
    return encode(model.factors_.sorted_columns(X).astype(float), model.standardiser_, model.factors_)


def _joined(points, data):
    spend, score = (np.concatenate([getattr(each, name) for each in points]) for name in ("spend", "score"))
    return CostCurve(spend / data.costs.total, score, unit="share of all", score_name="accuracy")


def _mean(found):
    spend, score = (np.mean([getattr(each, name) for each in found], axis=0) for name in ("spend", "score"))
    return CostCurve(spend, score, unit="share of all", score_name="accuracy")


def _within(curve, budget):
    return max(curve.score[curve.spend <= budget], default=0.0)


def _points(curve):
    chosen = curve.frontier[:: max(1, len(curve.frontier) // 8)]
    return " ".join(f"{curve.spend[i]:.2f}:{curve.score[i]:.3f}" for i in chosen)


def learning_curves(how="as by default", folder=None, seeds=SEEDS, **options) -> None:
    """Fig. 1a: reward by iteration on the digits at a cost weight of 0.5, mean over some seeds."""
    if missing("usps"):
        return
    data, figure, mean = _problem("usps", 0), Figure(layout="constrained"), {}
    ax = figure.subplots()
    for name, coaching in (("DAgger", 0.0), ("Coaching", 0.5)):
        fitted = [_fitted(DynamicSelectionClassifier, data, coaching=coaching, seed=seed, **options) for seed in seeds]
        curves = [model.learning_curve_ for model in fitted]
        mean[name] = LearningCurve(*(np.mean([getattr(c, m) for c in curves], axis=0) for m in MEASURES))
        LearningCurveDisplay(mean[name], name=name).plot(ax)
    path = Path(folder or gettempdir(), "learning_curves.png")
    figure.savefig(path)
    rewards = [each.reward for each in mean.values()]
    rows = [(str(t), *(f"{value:.3f}" for value in values)) for t, values in enumerate(zip(*rewards, strict=True), 1)]
    table(f"usps: reward on held-out rows, {how}, mean of {len(seeds)} seeds", ("iteration", *mean), rows)
    of_dagger, of_coaching = rewards
    lines = [
        at_least("reward at the end, Coaching over DAgger", of_coaching[-1] - of_dagger[-1], 0.0, ""),
        at_most("mean bend of the curve, Coaching / DAgger", _bend(of_coaching) / _bend(of_dagger), 1.0),
    ]
    report(f"Learning curves, {how}; picture: {path}", lines)


def _bend(values):
    return np.abs(np.diff(values, 2)).mean()


# Real prices


def thyroid() -> None:
    """Print the least spend that keeps 99% of an accuracy: of the contender's own best, of the full logistic one."""
    if missing("thyroid"):
        return
    data = load_thyroid()
    X, y, X_test, y_test = data.X[~data.test], data.y[~data.test], data.X[data.test], data.y[data.test]
    full = StaticSelectionClassifier(costs=data.costs, n_folds=1).fit(X, y).score(X_test, y_test)
    rows = []
    for name, models in _thyroid_contenders(data.costs):
        curve = cost_curve([model.fit(X, y) for model in models], X_test, y_test)
        least = [_least_spend(curve, 0.99 * accuracy) for accuracy in (curve.score.max(), full)]
        points = " ".join(f"{curve.spend[i]:.1f}:{curve.score[i]:.4f}" for i in curve.frontier)
        rows.append((name, f"{curve.score.max():.4f}", *least, points))
    title = f"thyroid: full logistic regression {full:.4f}; everything costs {data.costs.total} {data.costs.unit}"
    table(title, ("", "best", "spend at 99% of it", "at 99% of the full one", "spend:accuracy"), rows)


def _least_spend(curve, accuracy):
    enough = curve.spend[curve.score >= accuracy]
    return f"{enough.min():.2f}" if len(enough) else "never"


def _thyroid_contenders(costs):
    dynamic = partial(DynamicSelectionClassifier, costs=costs, random_state=0)
    weights = (0.0, 0.02, 0.05, 0.1, 0.25)
    yield "dynamic selection", [dynamic(cost_weight=weight) for weight in weights]
    tree = DecisionTreeClassifier(min_samples_leaf=5, random_state=0)
    over_tree = partial(dynamic, classifier=tree, masked_training=True, n_iterations=5, n_folds=5)
    yield "dynamic selection over a decision tree", [over_tree(cost_weight=weight) for weight in (0.05, 0.1, 0.2)]
    yield "ASTC", [ASTCClassifier(costs=costs, max_depth=4, node_budget=budget) for budget in (10, 23, 25, 40, 60)]
    try:
        from thrifty.models.boosting.greedy_miser import GreedyMiserClassifier
    except ImportError:
        return
    miser = partial(GreedyMiserClassifier, costs=costs, n_estimators=100)
    yield "Greedy Miser", [miser(cost_weight=weight) for weight in np.geomspace(1e-4, 3e-3, 7)]


# Speed


def speed() -> None:
    if missing("usps"):
        return
    data = load_usps()
    X, y = data.X[~data.test], data.y[~data.test]
    make = partial(DynamicSelectionClassifier, costs=data.costs, factors=BLOCKS, random_state=0)
    make(n_iterations=2, n_folds=2).fit(X[:300], y[:300])  # compile
    model, start = make(), perf_counter()
    model.fit(X, y)
    ours = perf_counter() - start
    theirs = _seconds_of_loop(model, X, y) * len(X) / LOOP_ROWS
    batch = np.concatenate([data.X] * 4)
    of_policy, of_linear = seconds(lambda: model.predict(batch)), seconds(lambda: _predict_all(model, batch))
    lines = [
        at_least(
            f"a fit of 15 iterations, faster than a loop over rows (its policy learning left out; {ours:.1f} s)",
            theirs / ours,
            50,
        ),
        at_least("predict", len(batch) / of_policy, 20_000, "rows/s"),
    ]
    report(f"usps, {len(X)} rows; the loop is timed on {LOOP_ROWS} rows", lines)
    print(f"predict takes {of_policy / of_linear:.1f} times as long as that of the full linear classifier")


def _predict_all(model, X):
    return model.classifier_.predict(_encoded(model, X))


def _seconds_of_loop(model, X, y):
    """Return what a loop over rows takes to come through states and ask the oracle in 15 iterations, for a few rows."""
    rows = np.random.default_rng(0).permutation(len(X))[:LOOP_ROWS]
    Z = _encoded(model, X[rows])
    starts, linear = model.factors_.starts, model.classifier_
    loop = _Loop([slice(*starts[f : f + 2]) for f in range(len(BLOCKS))], linear.coef_, linear.intercept_, 0.5)
    states, actions, policy, elapsed = [], [], None, 0.0
    for _ in range(15):
        start = perf_counter()
        for z, label in zip(Z, y[rows], strict=True):
            loop.visit(z, label, policy, states, actions)
        elapsed += perf_counter() - start
        policy = LinearSVC(dual=False, tol=0.1).fit(states, actions)
    return elapsed


class _Loop:
    """Algorithm 1 as one writes it down: a row, a step, a candidate at a time; all prices alike."""

    def __init__(self, blocks, weights, intercepts, cost_weight):
        self.blocks, self.weights, self.intercepts, self.cost_weight = blocks, weights, intercepts, cost_weight

    def visit(self, z, label, policy, states, actions):
        acquired, before, stop = [], None, len(self.blocks)
        while True:
            now = self.probabilities(z, acquired)
            states.append(self.state(z, acquired, now, now if before is None else before))
            actions.append(self.oracle(z, label, acquired))
            action = actions[-1] if policy is None else self.choice(policy, states[-1], acquired)
            if action == stop:
                return
            acquired, before = [*acquired, action], now

    def probabilities(self, z, acquired):
        masked = np.zeros_like(z)
        for factor in acquired:
            masked[self.blocks[factor]] = z[self.blocks[factor]]
        scores = np.exp(self.weights @ masked + self.intercepts)
        return scores / scores.sum()

    def reward(self, z, label, acquired):
        probability = self.probabilities(z, acquired)
        margin = probability[label] - np.delete(probability, label).max()
        return margin - self.cost_weight * len(acquired) / len(self.blocks)

    def oracle(self, z, label, acquired):
        first, path, now = len(self.blocks), list(acquired), self.reward(z, label, acquired)
        while len(path) < len(self.blocks):
            left = [factor for factor in range(len(self.blocks)) if factor not in path]
            rewards = [self.reward(z, label, [*path, factor]) for factor in left]
            best = int(np.argmax(rewards))
            path.append(left[best])
            if rewards[best] > now:
                first, now = path[len(acquired)], rewards[best]
        return first

    def state(self, z, acquired, now, before):
        masked, share = np.zeros_like(z), 1 / len(self.blocks)
        for factor in acquired:
            masked[self.blocks[factor]] = z[self.blocks[factor]]
        cost, change = len(acquired) * share, share if acquired else 0.0
        meta = [now.max(), now.max() - before.max(), now.argmax() != before.argmax(), cost, change, cost / now.max()]
        return np.concatenate([masked, meta, np.arange(len(now)) == now.argmax()])

    def choice(self, policy, state, acquired):
        scores = np.full(len(self.blocks) + 1, -np.inf)
        scores[policy.classes_] = policy.decision_function(state[None])[0]
        scores[acquired] = -np.inf
        return int(scores.argmax())


if __name__ == "__main__":
    main()
