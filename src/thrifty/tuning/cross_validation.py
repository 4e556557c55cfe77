"""Cross-validation: what every setting of every method scores and spends on held-out rows."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import chain
from typing import Any

import numpy as np
from joblib import Parallel, delayed
from threadpoolctl import ThreadpoolController

from thrifty.metrics.scoring import scorer_of
from thrifty.models.progress import progress
from thrifty.models.rows import Rows
from thrifty.models.training_record import without_fingerprint
from thrifty.tuning.problem import Problem, encoded
from thrifty.tuning.recorded_predictions import RecordedPredictions
from thrifty.tuning.splits import Fold
from thrifty.tuning.sweep import Fitted, Sweep


@dataclass(frozen=True)
class Measurement:
    """A model on the held-out rows of one fold; all numbers are NaN if it failed.

    Attributes
    ----------
    spend, variance, largest : float
        Mean, variance and maximum of the spends of the rows.
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


def cross_validate(
    folds: Sequence[tuple[Problem, Rows]],
    batches: Sequence[Sweep],
    *,
    scoring: Any,
    n_jobs: Any = None,
    title: str | None = None,
) -> list[tuple[Measurement, ...]]:
    """Fit every batch on every fold and measure it on the held-out rows.

    Parameters
    ----------
    folds : sequence of (Problem, Rows)
        For each fold, rows to fit and held-out rows.
    batches : sequence of Sweep
    scoring : str or callable
    n_jobs : int or None
        The number of parallel fits.
    title : str or None
        Title of the progress bar; None shows no bar.

    Returns
    -------
    list of tuple of Measurement
        One entry per setting, in the order of the batches, with one measurement per fold.
    """
    with progress(title, len(folds) * len(batches)) as advance:
        calls = (delayed(measure)(batch, *fold, scoring) for fold in folds for batch in batches)
        results = _ParallelWithProgress(n_jobs, advance)(calls)
    by_fold = [chain(*results[k : k + len(batches)]) for k in range(0, len(results), len(batches))]
    return list(zip(*by_fold, strict=True))


def fold_problems(raw: Rows, problem: Problem, folds: Sequence[Fold]) -> Iterator[tuple[Problem, Rows]]:
    """Yield the rows to fit and the held-out rows of each fold, as numbers.

    The encoder of a fold learns the levels of categories from the rows to fit only.
    """
    for kept, held in folds:
        to_fit = raw.take(kept)
        fold = problem.of_rows(to_fit)
        yield fold, encoded(raw.take(held), fold.encoder)


def measure(batch: Sweep, problem: Problem, held_out: Rows, scoring: Any) -> list[Measurement]:
    """Fit a batch of settings and measure each on held-out rows."""
    with _thread_pools().limit(limits=1, user_api="blas"), without_fingerprint():  # threads are slower on so few rows
        return [_measured(each, held_out, problem, scoring) for each in batch.fit(problem)]


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
        score = scorer_of(scoring, problem.error_costs)(predictions, held_out.X, held_out.y, held_out.qid)
    except Exception as error:
        return Measurement(error=f"{type(error).__name__}: {error}")
    spend = acquisition.spend
    return Measurement(float(spend.mean()), float(spend.var()), float(spend.max()), score, fitted.seconds)


class _ParallelWithProgress(Parallel):
    """joblib's Parallel, with a progress bar that works with every backend."""

    def __init__(self, n_jobs: Any, advance: Callable[[str], None]):
        super().__init__(n_jobs=n_jobs)
        self._advance, self._shown = advance, 0

    def print_progress(self) -> None:
        """Move the bar; joblib calls this after each batch of calls."""
        while self._shown < self.n_completed_tasks:
            self._shown += 1
            self._advance("")
