"""All points of a search in one table: what each scores, what it spends, and what it can be trusted to stay below."""

from collections.abc import Sequence

import numpy as np
import pandas as pd
from scipy import stats

from thrifty.metrics import CostCurve
from thrifty.tuning.cross_validation import Measurement
from thrifty.tuning.sweep import Sweep


def frontier_table(
    batches: Sequence[Sweep],
    points: Sequence[Sequence[Measurement]],
    fold_sizes: np.ndarray,
    confidence: float,
    ceiling: float,
) -> pd.DataFrame:
    """Return one line per point, in the order of the batches; `ceiling` is the most that the columns can cost."""
    settings = [(batch.name, setting) for batch in batches for setting in batch.settings]
    spend, variance, score, seconds = (_by_fold(points, name) for name in ("spend", "variance", "score", "seconds"))
    bound = spend_bound(spend, variance, fold_sizes, confidence)
    evaluations_cost = _by_fold(points, "largest").max(axis=1) > ceiling
    table = pd.DataFrame(
        {
            "method": [name for name, _ in settings],
            "parameters": [setting for _, setting in settings],
            "spend": np.average(spend, axis=1, weights=fold_sizes),
            "spend_bound": np.where(evaluations_cost, bound, np.minimum(bound, ceiling)),
            "score": score.mean(axis=1),
            "score_error": score.std(axis=1, ddof=1) / np.sqrt(score.shape[1]),
            "fit_seconds": seconds.mean(axis=1),
            "error": [next((fold.error for fold in folds if fold.error), "") for folds in points],
        }
    )
    table["dominated"] = dominated(table["spend"].to_numpy(), table["score"].to_numpy())
    return table


def spend_bound(spend: np.ndarray, variance: np.ndarray, fold_sizes: np.ndarray, confidence: float) -> np.ndarray:
    """Return what the mean spend on new rows stays below, given that of every fold (n_points, n_folds).

    New rows differ by chance, as folds do, and so does the model that is fitted in the end, as those of the folds do.
    Both show in how far the folds are apart. Few folds may agree by luck, so the variance among them counts for no
    less than what rows that differ so much make it; what it exceeds that by is known from few folds only, for which
    Student's t allows, with degrees of freedom after Satterthwaite.
    """
    n_folds = spend.shape[1]
    mean = np.average(spend, axis=1, weights=fold_sizes)
    of_rows = np.average(variance + (spend - mean[:, None]) ** 2, axis=1, weights=fold_sizes) / fold_sizes.mean()
    of_models = np.maximum(spend.var(axis=1, ddof=1) - of_rows, 0.0)
    share = np.divide(of_models, of_models + of_rows, out=np.zeros_like(mean), where=of_models > 0)
    freedom = (n_folds - 1) / np.maximum(share, 1e-3) ** 2
    return mean + stats.t.ppf(confidence, freedom) * np.sqrt((of_models + of_rows) * (1 + 1 / n_folds))


def dominated(spend: np.ndarray, score: np.ndarray) -> np.ndarray:
    """Mark the points that another one beats or equals at no more spend; points that failed are beaten too."""
    marks, sound = np.ones(len(spend), dtype=bool), np.flatnonzero(np.isfinite(spend) & np.isfinite(score))
    if len(sound):
        marks[sound[CostCurve(spend[sound], score[sound]).frontier]] = False
    return marks


def by_preference(table: pd.DataFrame, budget: float | None) -> np.ndarray:
    """Return the sound points, the most wanted first.

    Points whose bound is within the budget come first, by score, of equal ones the cheapest; then the others, by
    how little they miss it.
    """
    sound = table[table["error"] == ""]
    bound = sound["spend_bound"].to_numpy()
    over = np.zeros(len(sound)) if budget is None else np.maximum(bound - budget, 0.0)
    order = np.lexsort((sound["spend"].to_numpy(), -sound["score"].to_numpy(), over))
    return sound.index.to_numpy()[order]


def _by_fold(points: Sequence[Sequence[Measurement]], name: str) -> np.ndarray:
    return np.array([[getattr(fold, name) for fold in folds] for folds in points], dtype=float)


def cv_results(table: pd.DataFrame, points: Sequence[Sequence[Measurement]]) -> dict[str, np.ndarray]:
    """Return the points as scikit-learn's searches do, with spends beside the scores."""
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
