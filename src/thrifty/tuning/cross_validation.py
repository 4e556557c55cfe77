"""What every setting of every method scores and spends on rows that it has not seen."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import Any

import numpy as np
from joblib import Parallel, delayed
from sklearn.model_selection import GroupKFold, KFold, StratifiedKFold
from threadpoolctl import threadpool_limits

from thrifty.costs import CostModel
from thrifty.metrics.scoring import scorer_of
from thrifty.models.acquisition import Acquisition
from thrifty.models.progress import progress
from thrifty.models.training_record import without_fingerprint
from thrifty.tuning.raw_rows import Numbers, RawRows
from thrifty.tuning.scoring import Answered
from thrifty.tuning.sweep import Fitted, Sweep

Fold = tuple[np.ndarray, np.ndarray]


@dataclass(frozen=True)
class Measurement:
    """A model on one held-out fold: spend of its rows (mean, variance, largest), score, seconds of fitting."""

    spend: float = np.nan
    variance: float = np.nan
    largest: float = np.nan
    score: float = np.nan
    seconds: float = np.nan
    error: str = ""


def cross_validate(
    rows: RawRows,
    costs: CostModel,
    batches: Sequence[Sweep],
    folds: Sequence[Fold],
    *,
    cap: float | None,
    scoring: Any,
    n_jobs: Any = None,
    title: str | None = None,
) -> list[tuple[Measurement, ...]]:
    """Return for every setting, in the order of the batches, one measurement per fold."""
    with progress(title, len(folds) * len(batches)) as advance:
        tasks = (delayed(measure)(*task, cap, scoring) for task in _tasks(rows, costs, batches, folds))
        results = _Watched(n_jobs, advance)(tasks)
    by_fold = [chain(*results[k : k + len(batches)]) for k in range(0, len(results), len(batches))]
    return list(zip(*by_fold, strict=True))


def _tasks(
    rows: RawRows, costs: CostModel, batches: Sequence[Sweep], folds: Sequence[Fold]
) -> Iterator[tuple[Sweep, Numbers, Numbers]]:
    """Encode fold by fold as tasks are taken, by what is to be learned from alone; few tables are around at a time."""
    for learned_from, held in folds:
        encoder = rows.take(learned_from).encoder(costs)
        fit, test = (rows.take(part).encoded(encoder, costs) for part in (learned_from, held))
        for batch in batches:
            yield batch, fit, test


def measure(batch: Sweep, fit: Numbers, held: Numbers, cap: float | None, scoring: Any) -> list[Measurement]:
    """Fit a batch of settings and measure each on held-out rows."""
    with threadpool_limits(1, "blas"), without_fingerprint():  # of so few rows, threads would only wait for each other
        return [_measured(each, held, cap, scoring) for each in batch.fit(fit)]


def _measured(fitted: Fitted, held: Numbers, cap: float | None, scoring: Any) -> Measurement:
    if fitted.error:
        return Measurement(error=fitted.error)
    try:
        acquisition = acquire(fitted, held, cap)
        score = scorer_of(scoring)(Answered(fitted.model, acquisition), held.X, held.y, held.qid)
    except Exception as error:
        return Measurement(error=f"{type(error).__name__}: {error}")
    spend = acquisition.spend
    return Measurement(float(spend.mean()), float(spend.var()), float(spend.max()), score, fitted.seconds)


def acquire(fitted: Fitted, rows: Numbers, cap: float | None) -> Acquisition:
    """Run a fitted model under the smaller of its own cap and the one on every row."""
    return fitted.model.acquire(rows.X, fitted.limit(cap), qid=rows.qid)


def folds_of(rows: RawRows, classes: bool, cv: Any, random_state: Any) -> list[Fold]:
    """Divide the rows: whole queries, or shares of every class, or anyhow; a splitter of one's own is asked."""
    splitter: Any = cv
    if isinstance(cv, int):
        options: dict[str, Any] = {"shuffle": True, "random_state": random_state}
        rarest = int(np.unique(rows.y, return_counts=True)[1].min()) if classes else 0
        if rows.qid is not None:
            splitter = GroupKFold(min(cv, len(np.unique(rows.qid))), **options)
        elif rarest > 1:
            splitter = StratifiedKFold(min(cv, rarest), **options)
        else:
            splitter = KFold(cv, **options)
    return list(splitter.split(rows.y[:, None], rows.y, rows.qid))


class _Watched(Parallel):
    """joblib, with a bar that moves as tasks end, on whatever backend they run."""

    def __init__(self, n_jobs: Any, advance: Callable[[str], None]):
        super().__init__(n_jobs=n_jobs)
        self._advance, self._shown = advance, 0

    def print_progress(self) -> None:
        """Move the bar on, instead of printing; joblib calls this after each batch of tasks."""
        while self._shown < self.n_completed_tasks:
            self._shown += 1
            self._advance("")
