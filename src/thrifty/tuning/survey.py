"""What a search has measured: batches of settings, fold by fold, and the fits that remain to be done."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from joblib import Parallel, delayed, effective_n_jobs

from thrifty.tuning.clock import Clock
from thrifty.tuning.cross_validation import Folds, Measurement, measure
from thrifty.tuning.knobs import Setting, curve_of
from thrifty.tuning.methods import SCOUT_ROWS
from thrifty.tuning.sweep import Sweep

OUT_OF_TIME, INTERRUPTED = "time limit", "interrupted"


@dataclass(eq=False)
class Trial:
    """A batch of settings, which share a fit, and what was measured of them.

    Attributes
    ----------
    batch : Sweep
    listed : bool
        Whether the user listed these settings. They are then measured on all folds.
    measured : dict
        For each fold that was measured, one measurement per setting.
    n_fitted : int or None
        The number of rows that the models of the folds were fitted on; None if these were all rows of the folds.
    note : str
        Why the trial was not measured on all folds, if so.
    """

    batch: Sweep
    listed: bool = False
    measured: dict[int, list[Measurement]] = field(default_factory=dict)
    n_fitted: int | None = None
    note: str = ""

    @property
    def name(self) -> str:
        """How the frontier calls the method."""
        return self.batch.name

    def mean(self, name: str, k: int) -> float:
        """Return the mean of a measured number of setting `k` over the folds."""
        return float(np.mean([getattr(fold[k], name) for fold in self.measured.values()]))


@dataclass(frozen=True)
class Point:
    """One setting of a trial."""

    trial: Trial
    k: int

    @property
    def setting(self) -> Setting:
        """The parameters."""
        return self.trial.batch.settings[self.k]

    @property
    def curve(self) -> str:
        """The identity of the curve that it lies on."""
        return curve_of(self.trial.name, self.setting)

    @property
    def failed(self) -> bool:
        """Whether a fold failed."""
        return any(fold[self.k].error for fold in self.trial.measured.values())

    def by_fold(self, name: str, folds: Sequence[int]) -> np.ndarray:
        """Return a measured number for each of some folds."""
        return np.array([getattr(self.trial.measured[fold][self.k], name) for fold in folds])


class Survey:
    """Fits batches of settings on folds, and keeps what was measured.

    Parameters
    ----------
    folds : Folds
    scoring : str or callable
    clock : Clock
    n_jobs : int or None
        The number of fits at a time, as in joblib.
    show : callable
        ``show(name, seconds_left)`` is called before each fit is waited for, with the name of its method.
    """

    def __init__(self, folds: Folds, scoring: Any, clock: Clock, n_jobs: Any, show: Callable[[str, float], None]):
        self.folds, self.scoring, self.clock, self.n_jobs, self.show = folds, scoring, clock, n_jobs, show
        self.trials: list[Trial] = []

    def add(self, sweep: Sweep, *, listed: bool = False) -> list[Trial]:
        """Add the settings of a sweep, without fitting them."""
        if sweep.scout_seconds:
            self.clock.expect(sweep.name, sweep.scout_seconds, SCOUT_ROWS)
        added = [Trial(batch, listed) for batch in sweep.batches()]
        self.trials.extend(added)
        return added

    def is_complete(self, trial: Trial) -> bool:
        """Tell whether a trial was measured on all folds, with models fitted on as many rows as the method may fit."""
        return len(trial.measured) == len(self.folds) and trial.n_fitted == self.rows_to_fit(trial)

    def was_cut_short(self, trial: Trial) -> bool:
        """Tell whether the time limit or an interruption kept a trial from more than the first two folds."""
        return trial.note in (OUT_OF_TIME, INTERRUPTED) and len(trial.measured) >= 2

    def rows_to_fit(self, trial: Trial, n_rows: int | None = None) -> int | None:
        """Return how many rows of a fold to fit, at most `n_rows` and as many as the method may; None means all."""
        least = min((each for each in (n_rows, trial.batch.max_rows) if each is not None), default=None)
        return None if least is None or least >= self.folds.n_fitted(0) else least

    def note_interruption(self) -> None:
        """Note on trials that are not complete that the search was interrupted."""
        for trial in self.trials:
            if not self.is_complete(trial) and not trial.note:
                trial.note = INTERRUPTED

    def points(self, trials: Sequence[Trial] | None = None) -> list[Point]:
        """Return the points of some trials, or of all."""
        return [
            Point(trial, k)
            for trial in (self.trials if trials is None else trials)
            for k in range(len(trial.batch.settings))
        ]

    def complete_points(self) -> list[Point]:
        """Return the points that were measured completely and did not fail."""
        return [each for each in self.points() if self.is_complete(each.trial) and not each.failed]

    def refitted_in_time(self, lines: Sequence[int]) -> tuple[list[int], bool]:
        """Return those of some points whose final fit ends in time; if there is none, the quickest one and False."""
        points = self.points()
        seconds = {line: self.clock.refit(points[line].trial.name, id(points[line].trial)) for line in lines}
        in_time = [line for line in lines if seconds[line] <= self.clock.left]
        return (in_time, True) if in_time else ([min(seconds, key=lambda line: seconds[line])], False)

    def measure(
        self,
        trials: Sequence[Trial],
        folds: Sequence[int],
        n_rows: int | None = None,
        *,
        reserve: float = 0.0,
        must: bool = False,
    ) -> None:
        """Measure trials on folds, as far as they are not measured yet, and as the time limit allows.

        Parameters
        ----------
        trials : sequence of Trial
            Quick ones are measured first, so that a complete result exists early.
        folds : sequence of int
        n_rows : int or None
            The number of rows to fit; None means as many as the method may. Measurements with fewer rows are replaced
            by as many measurements.
        reserve : float
            Seconds to keep for the final fit.
        must : bool, default=False
            Whether to measure them even if the time is over.
        """
        tasks: list[tuple[Trial, int, int | None]] = []
        newer: dict[Trial, dict[int, list[Measurement]]] = {}
        calls = self._calls(trials, folds, n_rows, -np.inf if must else reserve, tasks)
        for done, (measurements, seconds) in enumerate(self._results(calls)):
            trial, k, size = tasks[done]
            measured = trial.measured if trial.n_fitted == size else newer.setdefault(trial, {})
            measured[k] = measurements
            if len(measured) >= len(trial.measured):
                trial.measured, trial.n_fitted = measured, size
            self.clock.record(trial.name, id(trial), self.folds.n_fitted(k, size), seconds)

    def _calls(
        self, trials: Sequence[Trial], folds: Sequence[int], n_rows: int | None, reserve: float, tasks: list[Any]
    ) -> Iterator[Any]:
        """Yield the fits that end in time, trial by trial, and add each to `tasks`."""
        sizes = {trial: self.rows_to_fit(trial, n_rows) for trial in trials}
        remaining = [
            (trial, [k for k in folds if k not in trial.measured or trial.n_fitted != sizes[trial]])
            for trial in sorted(trials, key=lambda each: self._seconds(each, sizes[each]))
        ]
        for position, (trial, missing) in enumerate(remaining):
            size = sizes[trial]
            n_fitted = self.folds.n_fitted(0, size)
            if missing and not self.clock.allows(trial.name, id(trial), n_fitted, len(missing), reserve):
                trial.note = OUT_OF_TIME
                continue
            for done, k in enumerate(missing):
                allowed = self.clock.allows(trial.name, id(trial), n_fitted, 1, reserve)
                if done and not allowed:  # the first fits took longer than expected
                    trial.note = OUT_OF_TIME
                    break
                left = sum(self._seconds(t, sizes[t]) * len(m) for t, m in remaining[position:])
                self.show(trial.name, left / self.clock.n_workers)
                trial.note = ""
                tasks.append((trial, k, size))
                yield delayed(measure)(trial.batch, *self.folds.get(k, size), self.scoring)

    def _seconds(self, trial: Trial, size: int | None) -> float:
        """Return the seconds that a trial will take on a fold."""
        return self.clock.predict(trial.name, id(trial), self.folds.n_fitted(0, size))

    def _results(self, calls: Iterator[Any]) -> Iterator[Any]:
        """Return results one by one as they come; some backends return them all at the end."""
        try:
            parallel = Parallel(n_jobs=self.n_jobs, return_as="generator", pre_dispatch="n_jobs")
        except ValueError:
            parallel = Parallel(n_jobs=self.n_jobs)
        return parallel(calls)


def n_workers(n_jobs: Any) -> int:
    """Return the number of fits at a time."""
    return int(effective_n_jobs(n_jobs))
