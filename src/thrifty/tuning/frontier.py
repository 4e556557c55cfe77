"""The frontier of a search: a table of all points, with an upper confidence bound on what each spends."""

from collections.abc import Sequence

import numpy as np
import pandas as pd
from scipy import stats

from thrifty.metrics import CostCurve
from thrifty.tuning.cross_validation import Measurement
from thrifty.tuning.sweep import Sweep

MIN_SHARE = 1e-3  # keeps the degrees of freedom finite


def frontier_table(
    batches: Sequence[Sweep],
    points: Sequence[Sequence[Measurement]],
    fold_sizes: np.ndarray,
    confidence: float,
    max_spend: float,
) -> pd.DataFrame:
    """Return the table of all points.

    Parameters
    ----------
    batches : sequence of Sweep
    points : sequence of sequence of Measurement
        For each setting, in the order of the batches, one measurement per fold.
    fold_sizes : ndarray of int, shape (n_folds,)
        The number of held-out rows of each fold.
    confidence : float
        Confidence of the bound on the mean spend.
    max_spend : float
        The most that a row can spend on columns. The bound is not larger, unless evaluation costs were charged too.

    Returns
    -------
    DataFrame
        One line per point.
    """
    settings = [(batch.name, setting) for batch in batches for setting in batch.settings]
    spend, variance, score, seconds = (_by_fold(points, name) for name in ("spend", "variance", "score", "seconds"))
    bound = spend_bound(spend, variance, fold_sizes, confidence)
    charges_evaluation = _by_fold(points, "largest").max(axis=1) > max_spend
    table = pd.DataFrame(
        {
            "method": [name for name, _ in settings],
            "parameters": [setting for _, setting in settings],
            "spend": np.average(spend, axis=1, weights=fold_sizes),
            "spend_bound": np.where(charges_evaluation, bound, np.minimum(bound, max_spend)),
            "score": score.mean(axis=1),
            "score_error": score.std(axis=1, ddof=1) / np.sqrt(score.shape[1]),
            "fit_seconds": seconds.mean(axis=1),
            "error": [next((fold.error for fold in folds if fold.error), "") for folds in points],
        }
    )
    table["dominated"] = dominated(table["spend"].to_numpy(), table["score"].to_numpy())
    table["n_folds"], table["n_rows"], table["note"] = len(fold_sizes), int(fold_sizes.sum()), ""
    return table


def spend_bound(spend: np.ndarray, variance: np.ndarray, fold_sizes: np.ndarray, confidence: float) -> np.ndarray:
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
        The numbers of rows n_k.
    confidence : float
        Between 0 and 1.

    Returns
    -------
    ndarray of shape (n_points,)

    References
    ----------
    F. E. Satterthwaite. An approximate distribution of estimates of variance components. Biometrics Bulletin 2(6),
    110-114, 1946.
    """
    n_folds = spend.shape[1]
    mean = np.average(spend, axis=1, weights=fold_sizes)
    s2_rows = np.average(variance + (spend - mean[:, None]) ** 2, axis=1, weights=fold_sizes) / fold_sizes.mean()
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


def by_preference(table: pd.DataFrame, budget: float | None) -> np.ndarray:
    """Return the points that did not fail, the preferred one first.

    Points whose bound is within the budget come first, sorted by score, and by spend if scores are equal. The others
    follow, sorted by how much their bound exceeds the budget.
    """
    succeeded = table[table["error"] == ""]
    bound = succeeded["spend_bound"].to_numpy()
    excess = np.zeros(len(succeeded)) if budget is None else np.maximum(bound - budget, 0.0)
    order = np.lexsort((succeeded["spend"].to_numpy(), -succeeded["score"].to_numpy(), excess))
    return succeeded.index.to_numpy()[order]


def cv_results(table: pd.DataFrame, points: Sequence[Sequence[Measurement]]) -> dict[str, np.ndarray]:
    """Return the points in the form of ``cv_results_`` of scikit-learn's searches, with the spends added."""
    score, spend = _by_fold(points, "score"), _by_fold(points, "spend")
    ranks = (-table["score"]).rank(method="min", na_option="bottom").astype(int).to_numpy()
    return {
        "method": table["method"].to_numpy(),
        "params": table["parameters"].to_numpy(),
        **{f"split{k}_test_score": column for k, column in enumerate(score.T)},
        "mean_test_score": score.mean(axis=1),
        "std_test_score": score.std(axis=1),
        "rank_test_score": ranks,
        **{f"split{k}_test_spend": column for k, column in enumerate(spend.T)},
        "mean_test_spend": table["spend"].to_numpy(),
        "mean_fit_time": table["fit_seconds"].to_numpy(),
    }


def _by_fold(points: Sequence[Sequence[Measurement]], name: str) -> np.ndarray:
    return np.array([[getattr(fold, name) for fold in folds] for folds in points], dtype=float)
