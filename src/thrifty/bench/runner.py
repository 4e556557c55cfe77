"""Compute the runs that are missing in the file of results, several at a time, with a progress bar."""

import warnings
from collections.abc import Iterable, Iterator
from math import inf
from time import perf_counter, process_time, time

from joblib import Parallel, delayed
from joblib.externals.loky import ProcessPoolExecutor
from joblib.externals.loky.process_executor import BrokenProcessPool
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn, TimeRemainingColumn
from threadpoolctl import threadpool_limits

from thrifty.bench.machine import machine, versions
from thrifty.bench.results import Result, Results
from thrifty.bench.runs import Key, LeftOutError, Run
from thrifty.bench.time_limit import LIMIT, OutOfTimeError, cpu_limit
from thrifty.exceptions import DatasetNotFoundError
from thrifty.kernels.threads import on_one_thread

OUT_OF_TIME = "given up"


def compute(
    runs: Iterable[Run],
    results: Results,
    *,
    limit: float = LIMIT,
    jobs: int = 1,
    again: bool = False,
    seconds: float = inf,
) -> None:
    """Compute runs and append their results.

    Parameters
    ----------
    runs : iterable of Run
    results : Results
        Runs that it contains are left out, except those that ended with an error other than the limit.
    limit : float, default=300.0
        CPU seconds of one run.
    jobs : int, default=1
        The number of runs at a time. Each run has one thread, so that CPU times can be compared.
    again : bool, default=False
        Whether to compute all runs, also those that `results` contains.
    seconds : float, default=infinity
        After this time no more runs are started; a later call computes what is missing.
    """
    missing = [run for run in runs if again or not _is_done(run, results)]
    if not missing:
        return
    end = time() + seconds
    with _progress() as progress:
        task = progress.add_task("", total=len(missing))
        for result, left_out in _measured(missing, limit, jobs, end):
            is_new = left_out not in results.left_out.values()
            if left_out:
                results.left_out[result.key] = left_out
            else:
                results.append(result)
            progress.update(task, advance=1, description=_name(result))
            if what := result.error or (left_out if is_new else ""):
                progress.console.print(f"{_name(result)}: {what}", markup=False, highlight=False, soft_wrap=True)


def measured(run: Run, limit: float) -> tuple[Result, str]:
    """Return the result of a run, and why it is left out if data or a package are missing."""
    values, error, left_out = {}, "", ""
    cpu, clock = process_time(), perf_counter()
    try:
        with warnings.catch_warnings(), on_one_thread(), threadpool_limits(1), cpu_limit(limit):
            warnings.simplefilter("ignore")
            values = run.measure()
    except OutOfTimeError:
        error = f"{OUT_OF_TIME} after {limit:g} s of CPU time"
    except (DatasetNotFoundError, ImportError, LeftOutError) as missing:
        left_out = f"left out: {missing}"
    except Exception as failure:
        error = f"{type(failure).__name__}: {failure}"
    times = round(process_time() - cpu, 3), round(perf_counter() - clock, 3)
    return Result(run.key, values, *times, error, dict(run.settings), versions(), machine()), left_out


def _is_done(run: Run, results: Results) -> bool:
    """Return whether a run has a result that computing it again would not change."""
    if run.key not in results:
        return False
    error = results[run.key].error
    return not error or error.startswith(OUT_OF_TIME)


def _measured(runs: list[Run], limit: float, jobs: int, end: float) -> Iterator[tuple[Result, str]]:
    """Yield what `measured` returns for each run that starts before the end.

    If a run ends its process, for example because there is too little memory, all processes are started anew. The runs
    that may have done it are repeated alone.
    """
    pending = {run.key: run for run in runs}
    while pending:
        try:
            for key, found in _computed(list(pending.values()), limit, jobs, end):
                del pending[key]
                if found is not None:
                    yield found
        except BrokenProcessPool:
            for key in list(pending)[:jobs]:
                if (found := _alone(pending.pop(key), limit, end)) is not None:
                    yield found


Found = tuple[Result, str] | None


def _computed(runs: list[Run], limit: float, jobs: int, end: float) -> Iterator[tuple[Key, Found]]:
    if jobs == 1:
        return (_in_time(run, limit, end) for run in runs)
    parallel = Parallel(n_jobs=jobs, return_as="generator_unordered", batch_size=1)
    return parallel(delayed(_in_time)(run, limit, end) for run in runs)


def _alone(run: Run, limit: float, end: float) -> Found:
    """Return what is found in a process that computes nothing else."""
    try:
        with ProcessPoolExecutor(max_workers=1) as executor:
            return executor.submit(_in_time, run, limit, end).result()[1]
    except BrokenProcessPool:
        error = "the run ended its process; perhaps there is too little memory"
        return Result(run.key, {}, error=error, settings=dict(run.settings), versions=versions(), machine=machine()), ""


def _in_time(run: Run, limit: float, end: float) -> tuple[Key, Found]:
    """Return what `measured` returns, or None after the end."""
    return run.key, None if time() > end else measured(run, limit)


def _name(result: Result) -> str:
    return f"{result.key.name} seed {result.key.seed} {result.key.setting}"


def _progress() -> Progress:
    columns = (BarColumn(), MofNCompleteColumn(), TimeElapsedColumn(), TimeRemainingColumn())
    return Progress(*columns, TextColumn("{task.description}", markup=False), console=Console(stderr=True))
