"""Curves of mean spend and score, and the area under the curve of what held-out rows choose.

A contender offers several fitted models, one per setting. Within a budget b, the setting with the best score on the
held-out rows is chosen among those that spend at most b there. The area is the mean, over budgets b from 0 to a share
of the price of all features, of the score of the chosen settings on the test rows:

    area = 1 / B * integral over b from 0 to B of test score(setting chosen within b),    B = share * total price

So test rows choose nothing. Where no setting is affordable, the score is that of equal scores for all rows.
"""

import warnings
from collections.abc import Mapping, Sequence
from functools import partial
from time import process_time
from typing import Any

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from thrifty.bench.reproductions._measuring.problems import Part, Problem
from thrifty.metrics import CostCurve, cost_curve, ndcg_at_k, precision_at_k

BY_QUERY = {"ndcg@5": ndcg_at_k, "precision@5": precision_at_k}


def measured_curve(contender: Any, problem: Problem, seed: int) -> dict[str, Any]:
    """Fit the models of a contender and return their points on held-out rows and on test rows, as JSON values.

    Parameters
    ----------
    contender : callable
        ``contender(problem, seed)`` returns the fitted models, one per setting, or a function that returns the curve of
        a part of the problem.
    problem : Problem
    seed : int
        Random state of the contender.

    Returns
    -------
    dict
        ``spend`` and ``score`` on test rows, ``held_spend`` and ``held_score``, ``total``, ``baseline``,
        ``held_baseline`` and ``cpu_seconds`` of the fits.
    """
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        start = process_time()
        models = contender(problem, seed)
        seconds = process_time() - start
    points = models if callable(models) else partial(_points, models, scoring=problem.scoring)
    held, test = points(problem.held), points(problem.test)
    return {
        "spend": test.spend.tolist(),
        "score": test.score.tolist(),
        "held_spend": held.spend.tolist(),
        "held_score": held.score.tolist(),
        "baseline": baseline(problem.test, problem),
        "held_baseline": baseline(problem.held, problem),
        "total": problem.total,
        "cpu_seconds": round(seconds, 3),
    }


def _points(models: Sequence[Any], part: Part, scoring: str) -> CostCurve:
    return cost_curve(models, part.X, part.y, scoring=scoring, qid=part.qid)


def baseline(part: Part, problem: Problem) -> float:
    """Return the score of the answer that needs no feature: the most common class, or equal scores for all rows."""
    if part.qid is not None:
        return float(BY_QUERY[problem.scoring](part.y, np.zeros(len(part.y)), qid=part.qid, k=5))
    classes, counts = np.unique(problem.train.y, return_counts=True)
    return float(np.mean(part.y == classes[counts.argmax()]))


def chosen(curve: Mapping[str, Any]) -> tuple[np.ndarray, np.ndarray]:
    """Return spend and test score of the settings that the held-out rows choose, by increasing spend."""
    held_spend = np.append(0.0, curve["held_spend"])
    held_score = np.append(curve["held_baseline"], curve["held_score"])
    spend, score = np.append(0.0, curve["spend"]), np.append(curve["baseline"], curve["score"])
    found = CostCurve(held_spend, held_score).frontier
    found = found[np.argsort(spend[found], kind="stable")]
    return spend[found], score[found]


def area(curve: Mapping[str, Any], share: float = 1.0) -> float:
    """Return the area under the curve of the chosen settings, up to a share of the price of all features."""
    limit = share * curve["total"]
    spend, score = chosen(curve)
    edges = np.clip(np.append(spend, limit), 0.0, limit)
    return float(score @ np.diff(edges) / limit)
