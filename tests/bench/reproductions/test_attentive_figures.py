"""Figures 3 and 4 of Pelossof and Ying."""

import json

import numpy as np
import pytest
from sklearn.datasets import load_digits
from sklearn.svm import SVC
from sklearn.utils import shuffle

from thrifty import AttentiveClassifier
from thrifty.bench.reproductions import attentive_figure_3, attentive_figure_4
from thrifty.bench.reproductions._measuring.problems import Part
from thrifty.bench.results import Result, Results
from thrifty.bench.runs import Key


def results_of(name, values):
    results = Results()
    for seed, each in enumerate(values):
        results.append(Result(Key(name, seed, str(seed)), each))
    return results


def simulated(stop_error, slope):
    values = {"n_terms": [100, 200], "delta": [0.1, 0.2], "slope": [slope, 0.5]}
    return values | {"stop_error": [[stop_error, 0.1], [0.05, 0.1]], "mean_terms": [[10.0, 12.0], [20.0, 24.0]]}


@pytest.mark.parametrize(
    ("stop_error", "slope", "outcomes"),
    [(0.09, 0.45, ["reproduced", "reproduced"]), (0.11, 0.61, ["not reproduced", "not reproduced"])],
)
def test_figure_3_is_judged_by_its_stop_errors_and_slopes(stop_error, slope, outcomes):
    results = results_of("attentive_figure_3", [simulated(stop_error, slope)] * 2)
    verdicts = attentive_figure_3.verdicts(results)
    assert [verdict.outcome for verdict in verdicts] == outcomes
    assert f"{stop_error / 0.1:.2f} of its delta (seeds 0, 1)" in verdicts[0].sentence
    assert len(attentive_figure_3.figure(results).axes) == 2


def test_figure_3_simulates_walks():
    found = attentive_figure_3.runs(False)[0].measure()
    assert json.loads(json.dumps(found)) == found
    assert np.shape(found["stop_error"]) == (4, 5)


def measured(precision, error, share):
    values = {"problem": "digits", "n_terms": 10, "terms": [2.0, 5.0], "share_at_small_error": share}
    values |= {"stop_error": [error, 0.0], "budgeted_error": [0.1, 0.05], "error_there": 0.01}
    values["average_precision"] = {"attentive": precision, "budgeted": 0.8, "full": 0.95}
    return values | {"curves": {key: [[1.0, 0.5], [0.0, 1.0]] for key in ("attentive", "budgeted", "full")}}


@pytest.mark.parametrize(
    ("precision", "error", "share", "outcomes"),
    [
        (0.9, 0.02, 0.4, ["reproduced", "reproduced", "reproduced"]),
        (0.7, 0.2, 0.6, ["not reproduced", "not reproduced", "not reproduced"]),
        (0.9, 0.02, 0.2, ["reproduced", "reproduced", "better"]),
    ],
)
def test_figure_4_is_judged_by_precision_stop_errors_and_terms(precision, error, share, outcomes):
    results = results_of("attentive_figure_4", [measured(precision + 0.001 * k, error, share) for k in range(3)])
    assert [verdict.outcome for verdict in attentive_figure_4.verdicts(results)] == outcomes
    assert len(attentive_figure_4.figure(results).axes) >= 2


def test_figure_4_measures_boundaries_on_test_rows():
    X, y = shuffle(*load_digits(return_X_y=True), random_state=0)
    parts = [Part(X[rows], (y[rows] == 8).astype(int)) for rows in (slice(600), slice(600, 900), slice(900, 1300))]
    train, held, test = parts
    model = AttentiveClassifier.as_published(SVC(gamma=0.001), random_state=0).fit(train.X, train.y)
    found = attentive_figure_4.measured_boundaries(model, held, test)
    assert json.loads(json.dumps(found)) == found
    scores = model.partial_scores(test.X)
    tau = -1e9  # no row stops
    assert attentive_figure_4._terms_and_error(model, scores, tau) == (found["n_terms"], 0.0)
    assert attentive_figure_4._terms_and_error(model, scores, 1e9)[0] == model.checkpoints_[0]
    precision, recall = found["curves"]["full"]
    assert len(precision) == len(recall) <= attentive_figure_4.N_POINTS
    assert (min(recall), max(recall)) == (0.0, 1.0)
    assert np.diff(sorted(zip(found["terms"], found["stop_error"], strict=True)), axis=0)[:, 1].max() < 0.05
