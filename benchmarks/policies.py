"""Dynamic feature selection: real prices, and speed-up over a loop over rows.

Figure 1 of He et al. (2012) is a reproduction of ``thrifty bench``.

To run a single table: ``python -c "import benchmarks.policies as b; b.speed()"``.
"""

from functools import partial
from time import perf_counter

import numpy as np
from sklearn.svm import LinearSVC
from sklearn.tree import DecisionTreeClassifier

from benchmarks.problems import missing
from benchmarks.report import at_least, report, seconds, table
from thrifty import ASTCClassifier, DynamicSelectionClassifier, StaticSelectionClassifier
from thrifty.bench.reproductions.dynamic_figure_1_curves import BLOCKS
from thrifty.datasets import load_thyroid, load_usps
from thrifty.metrics import cost_curve
from thrifty.models.policies.data_model import encode

LOOP_ROWS = 24  # the loop over rows is timed on so few rows because its time is proportional to their number


def main() -> None:
    thyroid()
    speed()


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


def _encoded(model, X):
    """Return the input of the data classifier for the rows."""
    return encode(model.factors_.sorted_columns(X).astype(float), model.standardiser_, model.factors_)


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
