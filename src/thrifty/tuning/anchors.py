"""The two ends of what money can buy: the constant answer for nothing, and all columns for every row.

Both are measured on the folds of the search. If columns were free, a user would fit boosted trees without prices, which
may use every column. Trees without a column to split on give the constant answer.
"""

from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd

import thrifty
from thrifty.costs import CostModel
from thrifty.metrics.scoring import scorer_of
from thrifty.models.acquisition import Acquisition
from thrifty.models.rows import Rows
from thrifty.models.training_record import without_fingerprint
from thrifty.tuning.cross_validation import Folds
from thrifty.tuning.problem import Problem, Task
from thrifty.tuning.recorded_predictions import RecordedPredictions
from thrifty.tuning.survey import Survey

EVERYTHING = "greedy-miser"  # the method that buys all columns for every row
BOOSTED = {
    Task.BINARY: "GreedyMiserClassifier",
    Task.MULTICLASS: "GreedyMiserClassifier",
    Task.REGRESSION: "GreedyMiserRegressor",
    Task.RANKING: "GreedyMiserRanker",
}


def anchor_scores(folds: Folds, scoring: Any, *, everything: bool = True) -> np.ndarray:
    """Return the scores (n_folds, 2) of the constant answer and of everything; NaN where there is none.

    Parameters
    ----------
    folds : Folds
    scoring : str or callable
    everything : bool, default=True
        Whether to measure the second anchor, which takes a fit for each fold.
    """
    tables = (folds.get(k) for k in range(len(folds)))
    with without_fingerprint():
        return np.array(
            [
                [_score(*table, scoring, True), _score(*table, scoring, False) if everything else np.nan]
                for table in tables
            ]
        )


def seconds_of_everything(survey: Survey) -> float:
    """Return about how long the fits of everything on all folds take, if boosted trees were measured before."""
    return len(survey.folds) * survey.clock.predict(EVERYTHING, "anchor", survey.folds.n_fitted(0))


def anchors_table(scores: np.ndarray, total: float) -> pd.DataFrame:
    """Return the table of both anchors.

    Parameters
    ----------
    scores : ndarray of shape (n_folds, 2)
    total : float
        The cost of all columns.

    Returns
    -------
    DataFrame
        Indexed by ``"constant"`` and ``"everything"``, with the columns method, spend, score and score_error.
    """
    return pd.DataFrame(
        {
            "method": ["constant", EVERYTHING],
            "spend": [0.0, total],
            "score": scores.mean(axis=0),
            "score_error": scores.std(axis=0, ddof=1) / np.sqrt(len(scores)),
        },
        index=["constant", "everything"],
    )


def _score(problem: Problem, held_out: Rows, scoring: Any, constant: bool) -> float:
    estimator = getattr(thrifty, BOOSTED[problem.task])(cost_weight=0.0)
    rows, test = problem.rows, held_out
    if constant:
        rows, test = (replace(each, X=np.zeros((len(each), 1))) for each in (rows, test))
        estimator.set_params(costs=CostModel([0.0]), n_estimators=1)
    else:
        estimator = problem.prepared(estimator)
    try:
        model = estimator.fit(rows.X, rows.y, rows.weight, qid=rows.qid)
        predictions = RecordedPredictions(model, model.acquire(test.X, qid=test.qid), problem.error_costs)
        _settle(predictions.acquisition, problem, constant)
        return scorer_of(scoring, problem.error_costs)(predictions, test.X, test.y, test.qid, test.weight)
    except Exception:  # such as a fold with a single class
        return np.nan


def _settle(acquisition: Acquisition, problem: Problem, constant: bool) -> None:
    """Charge everything for everything; with error costs, the constant answer is the one that costs least."""
    if not constant:
        acquisition.spend = np.full(len(acquisition), problem.derived_costs.total)
    elif problem.error_costs is not None:
        answer = problem.error_costs.constant(problem.rows.y, problem.rows.weight)
        acquisition.prediction = np.full(len(acquisition), answer)
