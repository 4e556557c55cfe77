"""The frontier of a search: a table of all points, with an upper confidence bound on what each spends."""

from collections.abc import Sequence

import numpy as np
import pandas as pd
from scipy import stats

from thrifty.metrics import CostCurve
from thrifty.tuning.cross_validation import Folds
from thrifty.tuning.survey import Point, Survey

MIN_SHARE = 1e-3  # keeps the degrees of freedom finite


def frontier_table(survey: Survey, confidence: float) -> pd.DataFrame:
    """Return the table of all points.

    Parameters
    ----------
    survey : Survey
        What was measured.
    confidence : float
        Confidence of the bound on the mean spend.

    Returns
    -------
    DataFrame
        One line per point. Points that were not measured on all folds have no bound, and count as dominated, unless a
        time limit or an interruption kept them from more.
    """
    points, folds = survey.points(), survey.folds
    complete = _competing(survey, points)
    table = pd.DataFrame([_line(each, folds) for each in points])
    table.insert(
        3,
        "spend_bound",
        [bound_of(each, folds, confidence) if ok else np.nan for each, ok in zip(points, complete, strict=True)],
    )
    spend, score = (table[name].where(complete).to_numpy() for name in ("spend", "score"))
    table.insert(len(table.columns) - 3, "dominated", dominated(spend, score))
    return table


def _competing(survey: Survey, points: Sequence[Point]) -> np.ndarray:
    """Tell which points were measured completely, or as far as the time allowed on at least two folds.

    Without such points, the points that were measured on most folds and rows compete.
    """
    competing = np.array(
        [survey.is_complete(each.trial) or survey.was_cut_short(each.trial) for each in points], dtype=bool
    )
    if competing.any():
        return competing
    amount = [(len(each.trial.measured), each.trial.n_fitted or np.inf) for each in points]
    return np.array([each == max(amount) and each[0] > 0 for each in amount], dtype=bool)


def _line(point: Point, folds: Folds) -> dict[str, object]:
    measured = sorted(point.trial.measured)
    spend, score, seconds = (point.by_fold(name, measured) for name in ("spend", "score", "seconds"))
    n = len(measured)
    return {
        "method": point.trial.name,
        "parameters": point.setting,
        "spend": float(np.average(spend, weights=folds.held_weights[measured])) if n else np.nan,
        "score": score.mean() if n else np.nan,
        "score_error": score.std(ddof=1) / np.sqrt(n) if n > 1 else np.nan,
        "fit_seconds": seconds.mean() if n else np.nan,
        "error": next((fold[point.k].error for fold in point.trial.measured.values() if fold[point.k].error), ""),
        "n_folds": n,
        "n_rows": int(folds.held_sizes[measured].sum()),
        "note": point.trial.note,
    }


def bound_of(point: Point, folds: Folds, confidence: float) -> float:
    """Return the upper confidence bound on the mean spend of a point, from the folds that it was measured on.

    It is not larger than the cap of the point, the cap of the search, or the cost of all columns, unless evaluation
    costs were charged too.
    """
    measured = sorted(point.trial.measured)
    spend, variance, largest = (point.by_fold(name, measured)[None] for name in ("spend", "variance", "largest"))
    problem = folds.problem
    cap = point.setting.get("cap", np.inf)
    most = min(problem.costs.total, cap, np.inf if problem.cap is None else problem.cap)
    if len(measured) < 2:  # the models of one fold do not tell how much models differ
        return float(max(most, largest.max()))
    sizes, weights = folds.effective_sizes[measured], folds.held_weights[measured]
    (bound,) = spend_bound(spend, variance, sizes, confidence, weights)
    return float(bound if largest.max() > most else min(bound, most))


def spend_bound(
    spend: np.ndarray,
    variance: np.ndarray,
    fold_sizes: np.ndarray,
    confidence: float,
    fold_weights: np.ndarray | None = None,
) -> np.ndarray:
    """Return an upper confidence bound on the mean spend of a new model on as many new rows as a fold has.

    With K folds, where fold k has n_k held-out rows whose spends have mean m_k and variance v_k:

        bound     = m + t(confidence, df) * sqrt((s2_models + s2_rows) * (1 + 1/K))

        m         = sum_k n_k m_k / sum_k n_k                                      mean spend of all held-out rows
        s2_rows   = [sum_k n_k (v_k + (m_k - m)^2) / sum_k n_k] / mean(n_k)        variance of a fold's mean that comes
                                                                                   from the choice of its rows
        S2        = sum_k (m_k - mean(m_k))^2 / (K - 1)                            variance of the folds' means
        s2_models = max(S2 - s2_rows, 0)                                           the part that comes from the fits,
                                                                                   which differ from fold to fold
        t(p, df)  = quantile p of Student's t distribution with df degrees of freedom
        df        = (s2_models + s2_rows)^2 / (s2_models^2 / (K - 1)) = (K - 1) / share^2
        share     = s2_models / (s2_models + s2_rows), at least 0.001

    If rows have weights w, then m_k and v_k are weighted, the sums over k weigh fold k by W_k, the sum of its weights,
    in place of n_k, and mean(n_k) is the mean of the effective numbers of rows

        n_k       = (sum of w)^2 / (sum of w^2)      over the held-out rows of fold k

    The factor 1 + 1/K is that of a prediction interval: 1 for the new mean, 1/K for the error of m. The degrees of
    freedom are Satterthwaite's for a sum of two variances. s2_models has K - 1 degrees of freedom. s2_rows is
    estimated from all rows, so its degrees of freedom count as infinite.

    Parameters
    ----------
    spend : ndarray of shape (n_points, K)
        The means m_k.
    variance : ndarray of shape (n_points, K)
        The variances v_k.
    fold_sizes : ndarray of shape (K,)
        The numbers of rows n_k, or the effective numbers of rows.
    confidence : float
        Between 0 and 1.
    fold_weights : ndarray of shape (K,), optional
        The weights W_k of the folds; by default `fold_sizes`.

    Returns
    -------
    ndarray of shape (n_points,)

    References
    ----------
    F. E. Satterthwaite. An approximate distribution of estimates of variance components. Biometrics Bulletin 2(6),
    110-114, 1946.
    """
    n_folds, weights = spend.shape[1], fold_sizes if fold_weights is None else fold_weights
    mean = np.average(spend, axis=1, weights=weights)
    s2_rows = np.average(variance + (spend - mean[:, None]) ** 2, axis=1, weights=weights) / fold_sizes.mean()
    s2_models = np.maximum(spend.var(axis=1, ddof=1) - s2_rows, 0.0)
    share = np.divide(s2_models, s2_models + s2_rows, out=np.zeros_like(mean), where=s2_models > 0)
    df = (n_folds - 1) / np.maximum(share, MIN_SHARE) ** 2
    return mean + stats.t.ppf(confidence, df) * np.sqrt((s2_models + s2_rows) * (1 + 1 / n_folds))


def dominated(spend: np.ndarray, score: np.ndarray) -> np.ndarray:
    """Mark the points for which another point has at least the same score at no more spend, and those that failed."""
    marks, succeeded = np.ones(len(spend), dtype=bool), np.flatnonzero(np.isfinite(spend) & np.isfinite(score))
    if len(succeeded):
        marks[succeeded[CostCurve(spend[succeeded], score[succeeded]).frontier]] = False
    return marks


def cv_results(table: pd.DataFrame, survey: Survey) -> dict[str, np.ndarray]:
    """Return the points in the form of ``cv_results_`` of scikit-learn's searches, with the spends added.

    Numbers of folds that a point was not measured on are NaN.
    """
    score, spend = (_by_fold(survey, name) for name in ("score", "spend"))
    ranks = (-table["score"]).rank(method="min", na_option="bottom").astype(int).to_numpy()
    return {
        "method": table["method"].to_numpy(),
        "params": table["parameters"].to_numpy(),
        **{f"split{k}_test_score": column for k, column in enumerate(score.T)},
        "mean_test_score": table["score"].to_numpy(),
        "std_test_score": score.std(axis=1),
        "rank_test_score": ranks,
        **{f"split{k}_test_spend": column for k, column in enumerate(spend.T)},
        "mean_test_spend": table["spend"].to_numpy(),
        "mean_fit_time": table["fit_seconds"].to_numpy(),
    }


def _by_fold(survey: Survey, name: str) -> np.ndarray:
    values = np.full((len(survey.points()), len(survey.folds)), np.nan)
    for line, point in enumerate(survey.points()):
        for k in point.trial.measured:
            values[line, k] = point.by_fold(name, [k])[0]
    return values
