"""The figures of supports by depth and price, and those of the cost-sensitive digits."""

import json

import numpy as np
import pytest

from thrifty import ASTCClassifier, CSCCClassifier, CSTCRegressor
from thrifty.bench.reproductions import (
    cstc_figure_8,
    cstc_figure_9,
    cstc_figure_10,
    cstc_figure_11,
    cstc_figure_12,
    cstc_figure_13,
)
from thrifty.bench.reproductions._measuring.problems import ranking
from thrifty.bench.reproductions._measuring.ranking import boosted_trees
from thrifty.bench.reproductions._measuring.supports import (
    cheapest_good,
    mean_first_depth,
    share_at_first_node,
    shares_by_depth,
)
from thrifty.bench.results import Result, Results
from thrifty.bench.runs import Key
from thrifty.datasets import make_ltr, make_quadrants
from thrifty.plots.features_by_depth import features_by_depth


def results_of(name, values):
    results = Results()
    for seed, setting, each in values:
        results.append(Result(Key(name, seed, setting), each))
    return results


def used(contender, cheap, expensive):
    """Return shares at three depths of two features at cost 1 and of four at cost 50."""
    return {"contender": contender, "prices": [1.0, 50.0], "sizes": [2, 4], "share": [cheap, expensive]}


def test_depths_and_first_nodes_are_weighed_by_the_number_of_features():
    values = used("CSTC", [0.5, 0.5, 1.0], [0.25, 0.25, 0.5])
    assert mean_first_depth(values, 0, 5) == pytest.approx(0.5)
    assert mean_first_depth(values, 0, 100) == pytest.approx(0.5)
    assert np.isnan(mean_first_depth(values, 100, 200))
    assert share_at_first_node(values, 20) == 0.25


def test_shares_are_those_of_the_learned_supports():
    data = make_quadrants(500, label_means=(27, 9, -9, -27), random_state=0)
    model = CSTCRegressor(costs=data.costs, max_depth=3, cost_weight=1e-3).fit(data.X, data.y)
    found = shares_by_depth(model)
    assert json.loads(json.dumps(found)) == found
    assert found["prices"] == [1.0, 10.0]
    np.testing.assert_array_equal(found["share"], features_by_depth(model, learned=True).share)


@pytest.mark.parametrize(("first", "outcome"), [("cheap", "reproduced"), ("expensive", "not reproduced")])
def test_figure_8_is_judged_by_the_first_depth_of_cheap_features(first, outcome):
    early, late = [1.0, 1.0, 1.0], [0.0, 0.0, 0.5]
    shares = (early, late) if first == "cheap" else (late, early)
    values = [(seed, name, used(name, *shares)) for seed in range(2) for name in ("CSTC", "Cronus")]
    results = results_of("cstc_figure_8", values)
    (verdict,) = cstc_figure_8.verdicts(results)
    assert verdict.outcome == outcome
    assert len(cstc_figure_8.figure(results).axes) == 2


@pytest.mark.parametrize(("at_first", "outcome"), [(0.5, "reproduced"), (0.0, "not reproduced")])
def test_figure_9_is_judged_by_the_expensive_features_of_the_first_node(at_first, outcome):
    share = {"CSCC": at_first, "Cronus": at_first, "AND-OR": 0.0}
    values = [(seed, name, used(name, [1.0] * 3, [share[name], 0.5, 1.0])) for seed in range(2) for name in share]
    results = results_of("cstc_figure_9", values)
    (verdict,) = cstc_figure_9.verdicts(results)
    assert verdict.outcome == outcome
    assert len(cstc_figure_9.figure(results).axes) == 3


def test_the_cheapest_good_model_is_not_the_best_one():
    problem = ranking(make_ltr(40, 8, 12, random_state=0), 0, "ndcg@5")
    models = CSTCRegressor(costs=problem.costs, max_depth=1).path(problem.train.X, problem.train.y)
    model = cheapest_good(models, problem)
    assert model in models
    assert model.spend(problem.held.X).mean() <= models[-1].spend(problem.held.X).mean()


@pytest.mark.parametrize(("sign", "outcome"), [(-1, "reproduced"), (1, "not reproduced")])
def test_figure_10_is_judged_by_the_trend_of_its_trees(sign, outcome):
    values = {"leaves": [3, 4], "labels": [2.0, 1.0], "jaccard": [[1.0, 0.5], [0.5, 1.0]]}
    found = [(seed, "CSTC", values | {"trend": sign * (0.5 + 0.1 * seed)}) for seed in range(2)]
    results = results_of("cstc_figure_10", [*found, (2, "CSTC", values | {"trend": None})])
    (verdict,) = cstc_figure_10.verdicts(results)
    assert verdict.outcome == outcome
    assert "seeds 0, 1)" in verdict.sentence
    assert len(cstc_figure_10.figure(results).axes) == 1


def test_the_trend_falls_if_distant_leaves_share_less():
    labels, jaccard = np.array([3.0, 2.0, 1.0]), np.array([[1, 0.8, 0.5], [0.8, 1, 0.7], [0.5, 0.7, 1]])
    assert cstc_figure_10.trend(labels, jaccard) == pytest.approx(-0.866, abs=1e-3)
    assert cstc_figure_10.trend(labels[:2], jaccard[:2, :2]) is None


def test_figure_11_charges_for_raw_features_and_evaluations_alike():
    problem = ranking(make_ltr(40, 8, 12, random_state=0), 0, "ndcg@5")
    curve = cstc_figure_11._cstc(problem, 0, features=False, evaluations=False)(problem.test)
    forest = boosted_trees(problem)
    assert curve.spend[0] <= problem.total + forest.forest_.n_trees
    assert curve.spend[0] > problem.total / 2


@pytest.mark.parametrize(
    ("error", "outcome"), [(0.004, "reproduced"), (0.006, "reproduced"), (0.0005, "better"), (0.02, "not reproduced")]
)
def test_errors_are_judged_by_their_standard_error(error, outcome):
    assert cstc_figure_12.judged_error(error, 0.005, 1984) == outcome


@pytest.mark.parametrize(("errors", "outcome"), [((0.1, 0.01), "better"), ((0.1, 0.05), "not reproduced")])
def test_figure_12_is_judged_by_errors_within_two_spends(errors, outcome):
    curve = {"n_test": 1984, "total": 1120.0, "baseline": 0.5, "held_baseline": 0.5, "held_score": [0.8, 0.9]}
    curve |= {"spend": [10.0, 100.0], "held_spend": [10.0, 100.0], "score": [1 - error for error in errors]}
    machine = {"n_test": 1984, "error": 0.02}
    results = results_of("cstc_figure_12", [(0, "CSTC", curve), (0, "RBF-SVM", machine)])
    assert [verdict.outcome for verdict in cstc_figure_12.verdicts(results)] == [outcome, "not reproduced"]
    assert len(cstc_figure_12.figure(results).axes) == 1


@pytest.mark.parametrize(
    ("acquired", "apart", "outcome"),
    [((0, 10, 30), 0.8, "reproduced"), ((0, 30, 10), 0.8, "not reproduced"), ((0, 10, 30), 0.2, "not reproduced")],
)
def test_figure_13_is_judged_by_pixels_and_paths(acquired, apart, outcome):
    trees = [
        {"cost_weight": 1 / (k + 1), "acquired": each, "by_resolution": [[1.0] * 4] * 2, "apart": apart * (each > 0)}
        for k, each in enumerate(acquired)
    ]
    results = results_of("cstc_figure_13", [(0, "CSTC", {"trees": trees})])
    (verdict,) = cstc_figure_13.verdicts(results)
    assert verdict.outcome == outcome
    assert len(cstc_figure_13.figure(results).axes) == 2


def test_a_tree_is_described_by_pixels_and_leaves():
    random = np.random.default_rng(0)
    X, y = random.random((300, 1120)), np.arange(300) % 2
    X[:, 0] += 2 * y  # the only column that the root needs
    model = ASTCClassifier(max_depth=2, node_budget=1).fit(X, y)
    model.cost_weight = 0.02
    found = cstc_figure_13.described_tree(model, X, y)
    assert json.loads(json.dumps(found)) == found
    assert found["acquired"] == pytest.approx(np.mean([sum(each) for each in found["by_resolution"]]))
    assert 0.9 < found["apart"] <= 1


def test_the_price_limits_of_figure_9_are_those_of_the_data():
    rows = make_ltr(30, 8, 40, random_state=0)
    model = cstc_figure_9.CONTENDERS["AND-OR"](None, 0).set_params(costs=rows.costs, cost_weight=1e-4)
    found = shares_by_depth(model.fit(rows.X, (rows.y >= 2).astype(int)))
    assert share_at_first_node(found, 50.0) == 0.0
    assert isinstance(cstc_figure_9.CONTENDERS["CSCC"](ranking(rows, 0, "ndcg@5"), 0), CSCCClassifier)
