"""Dynamic feature selection: experiments of He et al. (2012), real prices, and speed-up over a loop over rows.

To run a single table: ``python -c "import benchmarks.policies as b; b.speed()"``.
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
from thrifty.models.policies.data_model import encode
from thrifty.models.policies.dynamic_base import COST_WEIGHTS
from thrifty.models.policies.imitation import LearningCurve
from thrifty.plots import CostCurveDisplay, LearningCurveDisplay
from thrifty.plots.learning_curve import MEASURES

CAPS = tuple(np.linspace(0.05, 0.95, 19))  # caps as shares of the cost of all features
SPLITS = {"ionosphere": 3, "segmentation": 1, "usps": 1}  # number of splits per data set
PIXELS = np.arange(256).reshape(16, 16)
BLOCKS = [PIXELS[i : i + 4, j : j + 4].ravel().tolist() for i in range(0, 16, 4) for j in range(0, 16, 4)]
SEEDS = range(3)
PAPER_PARAMETERS = {
    "margin": "score",
    "masked_training": False,
    "policy": LinearSVC(dual=False, tol=0.1),
    "coach_stops": True,
    "stop_biases": (0.0,),
    "weigh_stakes": False,
    "max_states": 5000,
}
LOOP_ROWS = 24  # the loop over rows is timed on so few rows because its time is proportional to their number


def main() -> None:
    curves()
    learning_curves()
    learning_curves("parameters of the paper", **PAPER_PARAMETERS)
    thyroid()
    speed()


# Fig. 1 of He et al. (2012)


def curves(folder=None, **options) -> None:
    """Plot accuracy against cost, and compare with the full classifier, the oracle and the static baselines."""
    names = [name for name in SPLITS if not missing(name)]
    figure = Figure(figsize=(5 * max(len(names), 1), 4), layout="constrained")
    for name, ax in zip(names, np.atleast_1d(figure.subplots(1, max(len(names), 1))), strict=False):
        _compare(name, ax, **options)
        ax.set_title(name)
    path = Path(folder or gettempdir(), "dynamic_selection.png")
    figure.savefig(path)
    print(f"plot: {path}")


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
        (kind, f"{area[kind]:.4f}", f"{_best_within(curve, 0.5):.4f}", _points(curve))
        for kind, curve in measured.items()
    ]
    table(
        f"{name}: accuracy with all features {full:.4f}", ("", "area", "best within half cost", "cost:accuracy"), rows
    )
    lines = [
        at_least(
            "best accuracy of coaching within half of the cost - accuracy with all features",
            _best_within(measured["coaching"], 0.5) - full,
            -0.01,
            "",
        )
    ]
    lines += [
        at_least(f"area of coaching - area of {kind}", area["coaching"] - area[kind], 0.0, "")
        for kind in kinds
        if kind.startswith(("forward", "weight per cost"))
    ]
    report(f"{name}", lines)
    for kind, curve in measured.items():
        CostCurveDisplay.from_curve(curve, name=kind, ax=ax)
    ax.axhline(full, color="grey", linewidth=0.8)


def _problem(name, split):
    """Return training rows, test rows, costs, and the groups of features that are acquired together."""
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
    """Return a cost curve with one point per cost weight and cap."""
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
    prices[starts[:-1]] = model.factors_.prices.own * data.costs.total  # these data sets have no bundles
    blocks = [range(first, last) for first, last in pairwise(starts)]
    known = (model.classifier_, _encoded(model, data.X_test), np.searchsorted(model.classes_, data.y_test))
    points = []
    for cost_weight in COST_WEIGHTS:
        run = forward_selection_oracle(*known, costs=prices, factors=blocks, cost_weight=cost_weight)
        points.append(CostCurve([run.spend.mean()], [np.mean(run.prediction == known[-1])]))
    return _joined(points, data)


def _encoded(model, X):
    """Return the input of the data classifier for the rows."""
    return encode(model.factors_.sorted_columns(X).astype(float), model.standardiser_, model.factors_)


def _joined(points, data):
    spend, score = (np.concatenate([getattr(each, name) for each in points]) for name in ("spend", "score"))
    return CostCurve(spend / data.costs.total, score, unit="share of all", score_name="accuracy")


def _mean(curves):
    spend, score = (np.mean([getattr(each, name) for each in curves], axis=0) for name in ("spend", "score"))
    return CostCurve(spend, score, unit="share of all", score_name="accuracy")


def _best_within(curve, budget):
    return max(curve.score[curve.spend <= budget], default=0.0)


def _points(curve):
    chosen = curve.frontier[:: max(1, len(curve.frontier) // 8)]
    return " ".join(f"{curve.spend[i]:.2f}:{curve.score[i]:.3f}" for i in chosen)


def learning_curves(setting="default parameters", folder=None, seeds=SEEDS, **options) -> None:
    """Plot the mean reward over the seeds by iteration, on the digits with a cost weight of 0.5, as in Fig. 1a."""
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
    table(f"usps: mean reward of held-out rows, {setting}, {len(seeds)} random states", ("iteration", *mean), rows)
    of_dagger, of_coaching = rewards
    lines = [
        at_least("final reward, Coaching - DAgger", of_coaching[-1] - of_dagger[-1], 0.0, ""),
        at_most(
            "mean absolute second difference, Coaching / DAgger", _roughness(of_coaching) / _roughness(of_dagger), 1.0
        ),
    ]
    report(f"Learning curves, {setting}; plot: {path}", lines)


def _roughness(values):
    return np.abs(np.diff(values, 2)).mean()


# Real prices: thyroid


def thyroid() -> None:
    """Print the smallest mean spend that reaches 99% of an accuracy.

    The accuracy is the best of the same method, or that of logistic regression with all features.
    """
    if missing("thyroid"):
        return
    data = load_thyroid()
    X, y, X_test, y_test = data.X[~data.test], data.y[~data.test], data.X[data.test], data.y[data.test]
    full = StaticSelectionClassifier(costs=data.costs, n_folds=1).fit(X, y).score(X_test, y_test)
    rows = []
    for name, models in _thyroid_contenders(data.costs):
        curve = cost_curve([model.fit(X, y) for model in models], X_test, y_test)
        smallest = [_smallest_spend(curve, 0.99 * accuracy) for accuracy in (curve.score.max(), full)]
        points = " ".join(f"{curve.spend[i]:.1f}:{curve.score[i]:.4f}" for i in curve.frontier)
        rows.append((name, f"{curve.score.max():.4f}", *smallest, points))
    title = (
        f"thyroid: accuracy of logistic regression {full:.4f}; all features cost {data.costs.total} {data.costs.unit}"
    )
    header = ("", "best accuracy", "spend at 99% of best", "spend at 99% of logistic regression", "spend:accuracy")
    table(title, header, rows)


def _smallest_spend(curve, accuracy):
    sufficient = curve.spend[curve.score >= accuracy]
    return f"{sufficient.min():.2f}" if len(sufficient) else "not reached"


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
            f"fit of 15 iterations ({ours:.1f} s), speed-up over a loop over rows without its policy training",
            theirs / ours,
            50,
        ),
        at_least("predict", len(batch) / of_policy, 20_000, "rows/s"),
    ]
    report(f"usps, {len(X)} rows; the time of the loop is extrapolated from {LOOP_ROWS} rows", lines)
    print(f"time of predict / time of predict of the linear classifier with all features: {of_policy / of_linear:.1f}")


def _predict_all(model, X):
    return model.classifier_.predict(_encoded(model, X))


def _seconds_of_loop(model, X, y):
    """Return the time that a loop over a few rows needs to visit states and query the oracle in 15 iterations."""
    rows = np.random.default_rng(0).permutation(len(X))[:LOOP_ROWS]
    Z = _encoded(model, X[rows])
    starts, linear = model.factors_.starts, model.classifier_
    loop = _RowLoop([slice(*starts[f : f + 2]) for f in range(len(BLOCKS))], linear.coef_, linear.intercept_, 0.5)
    states, actions, policy, elapsed = [], [], None, 0.0
    for _ in range(15):
        start = perf_counter()
        for z, label in zip(Z, y[rows], strict=True):
            loop.visit(z, label, policy, states, actions)
        elapsed += perf_counter() - start
        policy = LinearSVC(dual=False, tol=0.1).fit(states, actions)
    return elapsed


class _RowLoop:
    """Algorithm 1 of He et al. (2012) as a plain loop over rows, steps and candidates, with equal costs."""

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
            candidates = [factor for factor in range(len(self.blocks)) if factor not in path]
            rewards = [self.reward(z, label, [*path, factor]) for factor in candidates]
            best = int(np.argmax(rewards))
            path.append(candidates[best])
            if rewards[best] > now:
                first, now = path[len(acquired)], rewards[best]
        return first

    def state(self, z, acquired, now, before):
        masked, share = np.zeros_like(z), 1 / len(self.blocks)
        for factor in acquired:
            masked[self.blocks[factor]] = z[self.blocks[factor]]
        cost, change = len(acquired) * share, share if acquired else 0.0
        summary = [now.max(), now.max() - before.max(), now.argmax() != before.argmax(), cost, change, cost / now.max()]
        return np.concatenate([masked, summary, np.arange(len(now)) == now.argmax()])

    def choice(self, policy, state, acquired):
        scores = np.full(len(self.blocks) + 1, -np.inf)
        scores[policy.classes_] = policy.decision_function(state[None])[0]
        scores[acquired] = -np.inf
        return int(scores.argmax())


if __name__ == "__main__":
    main()
