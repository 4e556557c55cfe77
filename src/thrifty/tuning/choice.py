"""The choice among the points of a frontier: the best score within the budget, after smoothing along each curve.

The best of many noisy scores is too good on average. Along a curve of a method, whose points differ in one knob, the
expected score rises with the spend. So the scores of a curve are replaced by their isotonic regression on the spend,
which averages scores that do not rise. Of equal scores, the cheaper point is preferred; of equal points, the one that
was measured first, because quick methods come first. Scores that count the spend itself need not rise with it, so they
are not smoothed.
"""

from collections.abc import Hashable

import numpy as np
import pandas as pd
from sklearn.isotonic import isotonic_regression

from thrifty.tuning.knobs import curve_of
from thrifty.tuning.methods import METHODS

DIGITS = 10  # smoothed means of equal scores may differ by rounding


def by_preference(table: pd.DataFrame, budget: float | None, *, smooth: bool = True) -> np.ndarray:
    """Return the points that were measured completely and did not fail, the preferred one first.

    Points whose bound is within the budget come first, sorted by smoothed score, and by spend if scores are equal. The
    others follow, sorted by how much their bound exceeds the budget.

    Parameters
    ----------
    table : DataFrame
        The frontier.
    budget : float or None
    smooth : bool, default=True
        Whether scores are expected to rise with the spend.

    Returns
    -------
    ndarray of int
        Lines of the table.
    """
    competing = table[competes(table)]
    bound = competing["spend_bound"].to_numpy()
    excess = np.zeros(len(competing)) if budget is None else np.maximum(bound - budget, 0.0)
    score = (smoothed_scores(competing) if smooth else competing["score"].to_numpy(dtype=float)).round(DIGITS)
    order = np.lexsort((competing["spend"].to_numpy(), -score, excess))
    return competing.index.to_numpy()[order]


def competes(table: pd.DataFrame) -> np.ndarray:
    """Tell which points may be chosen: those with a bound that did not fail."""
    return ((table["error"] == "") & table["spend_bound"].notna()).to_numpy()


def smoothed_scores(table: pd.DataFrame) -> np.ndarray:
    """Return the scores of points; those of named methods and of mixtures are smoothed along their curves.

    Settings of estimators that the user listed are compared by their own scores.
    """
    smoothed = table["score"].to_numpy(dtype=float).copy()
    curves: dict[Hashable, list[int]] = {}
    for line, (method, setting) in enumerate(zip(table["method"], table["parameters"], strict=True)):
        is_on_curve = method in METHODS or "share" in setting
        curves.setdefault(curve_of(method, setting) if is_on_curve else line, []).append(line)
    spend = table["spend"].to_numpy()
    for lines in curves.values():
        order = np.array(lines)[np.lexsort((smoothed[lines], spend[lines]))]
        smoothed[order] = isotonic_regression(smoothed[order])
    return smoothed
