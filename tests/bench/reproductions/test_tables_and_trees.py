"""Tables of training times, and the figures of single trees."""

import json

import numpy as np
import pytest

from thrifty import ASTCClassifier, CSTCClassifier
from thrifty.bench.reproductions import astc_table_1, astc_table_2, cstc_figure_5, cstc_figure_14
from thrifty.bench.reproductions._measuring.problems import tabular
from thrifty.bench.reproductions._measuring.speedups import measured_speedups, node_budgets
from thrifty.bench.results import Result, Results
from thrifty.bench.runs import Key
from thrifty.datasets import load_heart


def results_of(name, values):
    results = Results()
    for number, each in enumerate(values):
        results.append(Result(Key(name, number, str(number)), each))
    return results


@pytest.mark.parametrize("module", [astc_table_1, astc_table_2])
@pytest.mark.parametrize(
    ("block", "joint", "soft", "outcomes"),
    [
        (20.0, 0.5, 1.1, ["reproduced", "reproduced"]),
        (400.0, 200.0, 1.0, ["better", "reproduced"]),
        (0.9, 0.5, 2.5, ["not reproduced", "not reproduced"]),
    ],
)
def test_tables_are_judged_by_median_speedups(module, block, joint, soft, outcomes):
    values = [
        {"data": "data", "cost_weight": weight, "spend": 5.0, "block": block, "joint": joint}
        | {"ASTC": 1.0, "ASTC soft": soft}  # seconds, so that the times of CSTC are the speed-ups
        for weight in (0.01, 0.03)
    ]
    results = results_of(module.TABLE.name, values)
    verdicts = module.verdicts(results)
    assert [verdict.outcome for verdict in verdicts] == outcomes
    assert f"{block:.3g}x" in verdicts[0].sentence
    assert len(module.figure(results).axes) == 1


def test_astc_gets_the_node_costs_of_cstc():
    rows = tabular(load_heart(), 0, 200, 50).train
    cstc = CSTCClassifier(cost_weight=0.01, max_depth=2)
    found = measured_speedups(cstc, ASTCClassifier(), rows, 0.01, 2)
    assert json.loads(json.dumps(found)) == found
    assert set(found) == {"spend", "block", "joint", "ASTC", "ASTC soft"}
    budgets, tree = node_budgets(cstc), cstc.tree_
    assert budgets.sum() == pytest.approx(tree.step_cost.sum())
    assert budgets[0] == tree.step_cost[0]


def quadrants(error, spend):
    values = {"means": [1, 2, 3, 4], "error": error, "spend": spend, "buys": [["a"], []], "labels": [1.0, 2.0]}
    return values | {"predictions": [[1.0, 2.0], [1.0, 2.0]], "visits": [[True, True], [False, True]]}


@pytest.mark.parametrize(
    ("error", "spend", "outcome"),
    [(0.001, 12.0, "reproduced"), (0.01, 12.0, "not reproduced"), (0.001, 13.0, "not reproduced")],
)
def test_figure_5_is_judged_by_error_and_spend(error, spend, outcome):
    results = results_of("cstc_figure_5", [quadrants(0.0001, 12.0), quadrants(error, spend)])
    (verdict,) = cstc_figure_5.verdicts(results)
    assert verdict.outcome == outcome
    assert f"{spend:.2f}" in verdict.sentence
    assert len(cstc_figure_5.figure(results).axes) == 2


def test_figure_5_shows_what_each_node_predicts_for_the_rows_that_visit_it():
    found = cstc_figure_5._measure((27, 9, -9, -27), 0, n_rows=400)
    assert json.loads(json.dumps(found)) == found
    visits, predictions = np.array(found["visits"]), np.array(found["predictions"])
    assert visits[0].all()
    leaves = np.array(found["depth"]) == max(found["depth"])
    assert (visits[leaves].sum(axis=0) <= 1).all()
    for node in np.flatnonzero(leaves):
        rows = visits[node]
        np.testing.assert_allclose(predictions[node, rows], np.array(found["labels"])[rows], atol=2.0)


@pytest.mark.parametrize(("trend", "outcome"), [(-0.5, "reproduced"), (0.0, "not reproduced")])
def test_figure_14_is_judged_by_its_trend(trend, outcome):
    jaccard = [[1.0, 0.5], [0.5, 1.0]]
    values = {"data": "MSLR", "pairs": ["0 vs 1", "1 vs 2"], "jaccard": jaccard}
    results = results_of("cstc_figure_14", [values | {"trend": trend + 0.01 * k} for k in (-1, 1)])
    (verdict,) = cstc_figure_14.verdicts(results)
    assert verdict.outcome == outcome
    assert f"MSLR {trend:+.2f}" in verdict.sentence
    assert len(cstc_figure_14.figure(results).axes) == 1


def test_figure_14_measures_the_criterion():
    found = cstc_figure_14.runs(False)[0].measure()
    assert json.loads(json.dumps(found)) == found
    assert np.shape(found["jaccard"]) == (4, 4)
    assert -1 <= found["trend"] <= 1
