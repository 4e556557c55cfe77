"""Cross-validation: what settings score and spend on held-out rows, fold by fold."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cache
from time import perf_counter
from typing import Any

import numpy as np
from threadpoolctl import ThreadpoolController

from thrifty.metrics.scoring import scorer_of
from thrifty.models.rows import Rows
from thrifty.models.training_record import without_fingerprint
from thrifty.tuning.problem import Problem, encoded
from thrifty.tuning.recorded_predictions import RecordedPredictions
from thrifty.tuning.splits import Fold, sample
from thrifty.tuning.sweep import Fitted, Sweep


@dataclass(frozen=True)
class Measurement:
    """A model on the held-out rows of one fold; all numbers are NaN if it failed.

    Attributes
    ----------
    spend, variance, largest : float
        Mean, variance and maximum of the spends of the rows. Mean and variance are weighted if rows have weights.
    score : float
    seconds : float
        Seconds of fitting.
    error : str
        The error message, empty if there was no error.
    """

    spend: float = np.nan
    variance: float = np.nan
    largest: float = np.nan
    score: float = np.nan
    seconds: float = np.nan
    error: str = ""


class Folds:
    """The folds of a search as numbers. Each is made when it is first used.

    Parameters
    ----------
    raw : Rows
        All rows of the cross-validation, with raw columns.
    problem : Problem
        The same rows as numbers.
    positions : sequence of (ndarray, ndarray)
        Positions of the rows to fit, and of the held-out rows, for each fold.
    random_state : int or None
        Seed of samples of the rows to fit.
    """

    def __init__(self, raw: Rows, problem: Problem, positions: Sequence[Fold], random_state: Any = None):
        self.raw, self.problem, self.positions, self.random_state = raw, problem, positions, random_state
        self._made: dict[tuple[int, int | None], tuple[Problem, Rows]] = {}

    def __len__(self) -> int:
        return len(self.positions)

    def under(self, cap: float | None) -> "Folds":
        """Return the same folds under another cap."""
        return Folds(self.raw, replace(self.problem, cap=cap), self.positions, self.random_state)

    def n_fitted(self, k: int, n_rows: int | None = None) -> int:
        """Return the number of rows to fit of a fold, at most `n_rows`."""
        return min(len(self.positions[k][0]), n_rows or len(self.positions[k][0]))

    @property
    def held_sizes(self) -> np.ndarray:
        """The number of held-out rows of each fold."""
        return np.array([len(held) for _, held in self.positions])

    @property
    def held_weights(self) -> np.ndarray:
        """The sum of the weights of the held-out rows of each fold."""
        weight = self.raw.weight
        return self.held_sizes if weight is None else np.array([weight[held].sum() for _, held in self.positions])

    @property
    def effective_sizes(self) -> np.ndarray:
        """The effective number of held-out rows of each fold: (sum of weights)^2 / (sum of squared weights)."""
        weight = self.raw.weight
        if weight is None:
            return self.held_sizes
        return np.array([weight[held].sum() ** 2 / np.square(weight[held]).sum() for _, held in self.positions])

    def get(self, k: int, n_rows: int | None = None) -> tuple[Problem, Rows]:
        """Return the rows to fit of a fold, or a sample of about `n_rows` of them, and its held-out rows."""
        n_rows = None if n_rows is None or n_rows >= self.n_fitted(k) else n_rows
        if (k, n_rows) not in self._made:
            kept, held = self.positions[k]
            to_fit = self.raw.take(kept)
            if n_rows is not None:
                stratify = self.problem.task.has_classes
                to_fit = sample(to_fit, n_rows, stratify=stratify, random_state=self.random_state)
            fold = self.problem.of_rows(to_fit)
            self._made[k, n_rows] = fold, encoded(self.raw.take(held), fold.encoder)
        return self._made[k, n_rows]


def measure(batch: Sweep, problem: Problem, held_out: Rows, scoring: Any) -> tuple[list[Measurement], float]:
    """Fit a batch of settings and measure each on held-out rows; return the measurements and the seconds of all."""
    start = perf_counter()
    with _thread_pools().limit(limits=1, user_api="blas"), without_fingerprint():  # threads are slower on so few rows
        measured = [_measured(each, held_out, problem, scoring) for each in batch.fit(problem)]
    return measured, perf_counter() - start


@cache
def _thread_pools() -> ThreadpoolController:
    """Return the thread pools of this process; to find them takes a noticeable time, so it is done once."""
    return ThreadpoolController()


def _measured(fitted: Fitted, held_out: Rows, problem: Problem, scoring: Any) -> Measurement:
    if fitted.error:
        return Measurement(error=fitted.error)
    try:
        acquisition = fitted.acquire(held_out, problem.cap)
        predictions = RecordedPredictions(fitted.model, acquisition, problem.error_costs)
        scorer = scorer_of(scoring, problem.error_costs)
        score = scorer(predictions, held_out.X, held_out.y, held_out.qid, held_out.weight)
    except Exception as error:
        return Measurement(error=f"{type(error).__name__}: {error}")
    spend = acquisition.spend
    mean = float(np.average(spend, weights=held_out.weight))
    variance = float(np.average((spend - mean) ** 2, weights=held_out.weight))
    return Measurement(mean, variance, float(spend.max()), score, fitted.seconds)
