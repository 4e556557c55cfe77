import dataclasses
import subprocess
import sys

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from sklearn.base import BaseEstimator, ClassifierMixin, RegressorMixin
from sklearn.metrics import make_scorer, roc_auc_score

from thrifty.costs import CostModel
from thrifty.metrics import CostCurve, area_under_cost_curve, cost_curve

POINT = st.tuples(st.integers(0, 8), st.integers(0, 6).map(lambda s: s / 6))
POINTS = st.lists(POINT, min_size=1, max_size=12)


class Threshold(ClassifierMixin, BaseEstimator):
    """Buys the first ``n_bought`` columns at 2 each as far as the cap allows; its score is their sum."""

    def __init__(self, n_bought=1, unit="ms"):
        self.n_bought = n_bought
        self.unit = unit

    def fit(self, X, y):
        self.classes_ = np.unique(y)
        self.cost_model_ = CostModel(np.full(X.shape[1], 2.0), unit=self.unit)
        return self

    def _bought(self, cap):
        return self.n_bought if cap is None else min(self.n_bought, int(cap // 2))

    def spend(self, X, cap=None):
        return np.full(len(X), 2.0 * self._bought(cap))

    def decision_function(self, X, cap=None):
        return X[:, : self._bought(cap)].sum(axis=1)

    def predict(self, X, cap=None):
        return self.classes_[(self.decision_function(X, cap=cap) > 0).astype(int)]


class Line(RegressorMixin, BaseEstimator):
    def spend(self, X, cap=None):
        return np.ones(len(X))

    def predict(self, X, cap=None):
        return X[:, 0]


@pytest.fixture(scope="module")
def problem():
    X = np.random.default_rng(0).normal(size=(200, 3))
    return X, np.where(X.sum(axis=1) > 0, "yes", "no")


def dominated(point, others):
    return any(s <= point[0] and v >= point[1] for s, v in others)


@given(POINTS)
def test_frontier_is_what_nothing_dominates(points):
    curve = CostCurve(*np.transpose(points))
    kept = [points[i] for i in curve.frontier]
    assert kept == sorted(kept)
    for i, point in enumerate(points):
        beaten = dominated(point, [p for p in points if p != point]) or point in points[:i]
        assert (i in curve.frontier) != beaten


@given(POINTS, st.integers(0, 9))
def test_best_is_the_best_within_the_budget(points, budget):
    curve = CostCurve(*np.transpose(points))
    affordable = [point for point in points if point[0] <= budget]
    if affordable:
        assert points[curve.best(budget)] == max(affordable, key=lambda point: (point[1], -point[0]))
    else:
        with pytest.raises(ValueError, match="raise the budget"):
            curve.best(budget)


@given(POINTS, POINT)
def test_adding_a_dominated_point_changes_no_area(points, point):
    assume(dominated(point, points))
    areas = [area_under_cost_curve(*np.transpose(p), limits=(0, 8)) for p in (points, [*points, point])]
    assert areas[0] == pytest.approx(areas[1], abs=1e-12)


@given(POINTS, POINT)
def test_adding_any_point_never_lowers_the_area(points, point):
    assume(max(points)[0] > 0)
    for limits in ((1, 7), None):
        before = area_under_cost_curve(*np.transpose(points), limits=limits)
        assert area_under_cost_curve(*np.transpose([*points, point]), limits=limits) >= before - 1e-12


@given(POINTS, st.floats(1e-3, 1e3), st.floats(-1, 1))
def test_area_ignores_the_unit_of_spend_and_stays_within_the_scores(points, scale, baseline):
    assume(max(points)[0] > 0)
    spend, score = np.transpose(points)
    area = area_under_cost_curve(spend, score, baseline=baseline)
    assert area == pytest.approx(area_under_cost_curve(spend * scale, score, baseline=baseline))
    heights = [baseline, *score]
    assert min(heights) - 1e-12 <= area <= max(heights) + 1e-12


@given(POINTS)
def test_area_is_the_mean_of_what_each_budget_buys(points):
    curve = CostCurve(*np.transpose(points))
    budgets = np.arange(0.5, 8)  # spends are whole, so the middle of each unit stands for all of it
    heights = [max([score for spend, score in points if spend <= b], default=0.0) for b in budgets]
    assert area_under_cost_curve(curve, limits=(0, 8)) == pytest.approx(np.mean(heights))


def test_curve_of_several_models(problem):
    X, y = problem
    models = [Threshold(n).fit(X, y) for n in (1, 3)]
    curve = cost_curve(models, X, y)
    np.testing.assert_allclose(curve.spend, [2, 6])
    np.testing.assert_allclose(curve.score, [m.score(X, y) for m in models])
    assert curve.labels == ("Threshold 0", "Threshold 1")
    assert (curve.unit, curve.score_name) == ("ms", "accuracy")
    assert cost_curve(dict(zip("ab", models, strict=True)), X, y).labels == ("a", "b")


@pytest.mark.parametrize("scoring", ["roc_auc", make_scorer(roc_auc_score, response_method="decision_function")])
def test_caps_hold_whatever_the_scorer_asks(problem, scoring):
    X, y = problem
    curve = cost_curve(Threshold(3).fit(X, y), X, y, scoring=scoring, caps=[0, 2, 5, None])
    expected = [roc_auc_score(y, X[:, :n].sum(axis=1)) for n in (0, 1, 2, 3)]
    np.testing.assert_allclose(curve.score, expected)
    np.testing.assert_allclose(curve.spend, [0, 2, 4, 6])
    assert curve.labels == ("cap 0", "cap 2", "cap 5", "no cap")


def test_caps_hold_for_accuracy(problem):
    X, y = problem
    curve = cost_curve(Threshold(3).fit(X, y), X, y, caps=[2])
    assert curve.score[0] == Threshold(1).fit(X, y).score(X, y) < 1


def test_scoring_by_a_plain_function_and_for_regressors(problem):
    X, _ = problem

    def largest_error(model, X, y):
        return -np.abs(model.predict(X) - y).max()

    assert cost_curve(Line(), X, X[:, 0] + 2, scoring=largest_error).score_name == "largest error"
    curve = cost_curve(Line(), X, X[:, 0])
    assert (curve.score_name, curve.score[0]) == ("R²", 1.0)


def test_curve_is_frozen():
    curve = CostCurve([1, 2], [3, 4])
    assert (len(curve), curve.labels) == (2, ("0", "1"))
    with pytest.raises(dataclasses.FrozenInstanceError):
        curve.unit = "ms"
    with pytest.raises(ValueError, match="read-only"):
        curve.spend[0] = 0


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (([1, 2], [1]), "spend has 2 entries, score 1"),
        (([1], [1], ["a", "b"]), "labels 2"),
        (([], []), r"spend has shape \(0,\)"),
        (([1, -2], [1, 1]), "spend holds -2"),
        (([1, 2], [1, np.nan]), "score is nan at point 1"),
        (([np.inf], [1]), "spend is inf at point 0"),
    ],
)
def test_bad_points_are_named(arguments, message):
    with pytest.raises(ValueError, match=message):
        CostCurve(*arguments)


def test_bad_requests_are_refused(problem):
    X, y = problem
    model = Threshold().fit(X, y)
    with pytest.raises(ValueError, match="caps is given, but models holds 2 models"):
        cost_curve([model, model], X, y, caps=[1])
    with pytest.raises(ValueError, match="spend is 'some'; expected 'all' or 'features'"):
        cost_curve(model, X, y, spend="some")
    with pytest.raises(ValueError, match="give no point"):
        cost_curve([], X, y)
    with pytest.raises(ValueError, match="not all classifiers or all regressors"):
        cost_curve([model, Line()], X, y)
    with pytest.raises(ValueError, match=r"different units, \['dollars', 'ms'\]"):
        cost_curve([model, Threshold(unit="dollars").fit(X, y)], X, y)
    with pytest.raises(TypeError, match="BaseEstimator has no spend method"):
        cost_curve(BaseEstimator(), X, y)
    with pytest.raises(ValueError, match="limits are 0 to 0"):
        area_under_cost_curve([0], [1])
    with pytest.raises(ValueError, match="score is None"):
        area_under_cost_curve([0])
    with pytest.raises(ValueError, match="together with a CostCurve"):
        area_under_cost_curve(CostCurve([1], [1]), [1])


def test_importing_metrics_imports_neither_matplotlib_nor_numba():
    code = "import sys, thrifty.metrics; sys.exit('matplotlib' in sys.modules or 'numba' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code]).returncode == 0
