"""Fits of the data model: to all rows, to all folds but one, and to masked copies of the rows.

Masked training adds copies of each row with some factors set to 0, so that the data model is calibrated on rows with
few factors. A row keeps half of its weight, and its copies share the other half.
"""

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from joblib import Parallel, delayed
from sklearn.base import clone
from sklearn.utils.validation import has_fit_parameter

from thrifty.kernels.threads import n_threads
from thrifty.models.factors import Factors
from thrifty.models.policies.data_model import Scores
from thrifty.models.policies.rollout import Rollout
from thrifty.models.policies.tasks import Task
from thrifty.models.rows import Rows

MASKED_COPIES = (3, 8)  # smallest and largest number of masked copies of each row
ENOUGH_COPIES = 20_000  # masked copies of all rows together


@dataclass(frozen=True, eq=False)
class OutOfFoldRows:
    """Rows that are scored by data models which were not fitted to them.

    Attributes
    ----------
    factors : Factors
    scores : Scores
        One data model for each fold.
    rows : Rows
        Encoded rows with the indices of their classes or standardised targets, and how often each counts.
    fold : ndarray of int, shape (n,)
        The fold of each row, which is also the number of its data model.
    task : Task
    """

    factors: Factors
    scores: Scores
    rows: Rows
    fold: np.ndarray
    task: Task

    def take(self, index: np.ndarray) -> "OutOfFoldRows":
        """Return the rows at some positions."""
        return replace(self, rows=self.rows.take(index), fold=self.fold[index])

    def start(self) -> Rollout:
        """Return a rollout of the rows, which have the free factors only."""
        return Rollout(self.factors, self.scores, self.rows.X, self.fold).start()


def fit_out_of_fold(
    model: Any, task: Task, rows: Rows, fold: np.ndarray, factors: Factors, masks: np.ndarray | None
) -> Scores:
    """Return the scores of one data model for each fold, fitted to the rows of the other folds.

    All classifiers must know the same classes. So a class whose rows are all in one fold is also shown to the
    classifier of this fold.
    """

    def fit_without(k: int) -> Any:
        seen = fold != k
        seen |= ~task.is_known(rows.y, seen)
        return fit_model(model, rows.take(seen), None if masks is None else masks[:, seen])

    fitted = Parallel(n_jobs=n_threads(), prefer="threads")(map(delayed(fit_without), range(fold.max() + 1)))
    return Scores.of(fitted, factors)


def fit_model(model: Any, rows: Rows, masks: np.ndarray | None = None) -> Any:
    """Fit a clone of a data model to rows and to masked copies of them.

    Parameters
    ----------
    model : scikit-learn classifier or regressor
    rows : Rows
    masks : ndarray of bool, shape (n_copies, n, n_columns), default=None
        The columns that each copy keeps. None means no copies.
    """
    if masks is None:
        return fit_weighted(model, rows)
    copies = with_masked_copies(rows, masks)
    if not has_fit_parameter(model, "sample_weight"):
        copies = replace(copies, weight=np.tile(rows.weight, 1 + len(masks)))
    return fit_weighted(model, copies)


def with_masked_copies(rows: Rows, masks: np.ndarray) -> Rows:
    """Return the rows and their masked copies; a row keeps half of its weight, and its copies share the other half."""
    share = np.append(0.5, np.full(len(masks), 0.5 / len(masks)))
    X = np.concatenate([rows.X, *(rows.X * mask for mask in masks)])
    return Rows(X, np.tile(rows.y, len(share)), np.outer(share, rows.weight).ravel())


def fit_weighted(model: Any, rows: Rows) -> Any:
    """Fit a clone of a data model; if it does not accept weights, repeat the rows instead."""
    if has_fit_parameter(model, "sample_weight"):
        return clone(model).fit(rows.X, rows.y, sample_weight=rows.weight)
    times = rows.weight.astype(int)
    if (times != rows.weight).any():
        raise ValueError(
            f"{type(model).__name__} does not accept sample_weight, and a row cannot be repeated "
            f"{rows.weight.min():g} times. Pass whole weights, or a model that accepts weights."
        )
    return clone(model).fit(np.repeat(rows.X, times, axis=0), np.repeat(rows.y, times))


def default_model(task: Task, rows: Rows, fold: np.ndarray, masks: np.ndarray | None) -> Any:
    """Return the data model of a task; for masked training, the candidate with the smallest loss on held-out rows."""
    candidates = task.candidates(masks is not None)
    return candidates[0] if masks is None else select_by_loss(candidates, task, rows, fold, masks)


def select_by_loss(candidates: list[Any], task: Task, rows: Rows, fold: np.ndarray, masks: np.ndarray) -> Any:
    """Return the data model with the smallest loss on the first fold and its masked copies.

    The candidates are fitted to the other folds. Rows of the first fold whose class is not in another fold do not
    count. If no row or only one class is left, the first candidate is returned.
    """
    seen = fold != 0
    held_out = ~seen & task.is_known(rows.y, seen)
    if not held_out.any() or not task.can_fit(rows.y[seen]):
        return candidates[0]
    test = with_masked_copies(rows.take(held_out), masks[:, held_out])
    return min(candidates, key=lambda model: task.loss(fit_model(model, rows.take(seen), masks[:, seen]), test))


def n_masked_copies(n_rows: int) -> int:
    """Return the number of masked copies of each row; it is larger if there are few rows."""
    smallest, largest = MASKED_COPIES
    return min(max(ENOUGH_COPIES // n_rows, smallest), largest)


def draw_masks(n_rows: int, n_copies: int, factors: Factors, random: np.random.RandomState) -> np.ndarray:
    """Draw masks (n_copies, n_rows, n_columns) that keep whole factors.

    The share s of factors to keep is drawn with density 2s, so that large shares are more likely. Then each factor is
    kept with probability s.
    """
    share = np.sqrt(random.random_sample((n_copies, n_rows, 1)))
    kept = random.random_sample((n_copies, n_rows, len(factors))) < share
    return np.stack([factors.to_columns(each) for each in kept])
