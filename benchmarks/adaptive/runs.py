"""One run per problem, seed and contender. The most important runs come first."""

import subprocess
import warnings
from collections.abc import Iterable, Sequence
from functools import lru_cache
from itertools import product
from pathlib import Path
from time import process_time

import thrifty
from benchmarks.adaptive.choice import chosen_settings, identities, is_small
from benchmarks.adaptive.contenders import ADAPTIVE, CONTENDERS, FULL, OTHERS, serves
from benchmarks.adaptive.problems import ADAPTIVE_ONLY, BIG, FIRST_SEEDS, Problem, load
from benchmarks.adaptive.results import Key, Result, Results
from benchmarks.adaptive.time_limit import OutOfTimeError, cpu_limit

load_once = lru_cache(1)(load)


def planned(problems: Sequence[str], seeds: Iterable[int], methods: Sequence[str]) -> list[Key]:
    """Return the runs in order: the first seeds before the others, boosted trees before other methods.

    Other methods run on big problems for the first seeds only, because they are slow there and far behind.
    """
    seeds = list(seeds)
    boosted, others = ([m for m in methods if (m in OTHERS) == other] for other in (False, True))
    early, late = ([s for s in seeds if (s in FIRST_SEEDS) == first] for first in (True, False))
    small = [name for name in problems if name not in BIG]
    passes = ((problems, early, boosted), (problems, early, others), (problems, late, boosted), (small, late, others))
    runs = [run for each in passes for run in product(*each)]
    return [(name, seed, method) for name, seed, method in runs if name not in ADAPTIVE_ONLY or method == ADAPTIVE]


def compute(runs: Iterable[Key], results: Results, limit: float, *, again: bool = False) -> None:
    """Compute runs, append their results, and print a line for each."""
    version, absent = _version(), set()
    for name, seed, method in runs:
        if name in absent or (not again and (name, seed, method) in results) or not _exists(method):
            continue
        try:
            problem = load_once(name, seed)
        except (AttributeError, thrifty.DatasetNotFoundError) as error:
            absent.add(name)
            print(f"{name} is left out: {error}", flush=True)
            continue
        if serves(method, problem):
            result = run(problem, method, limit) | {"version": version}
            results.append(result)
            print(_progress(result), flush=True)


def run(problem: Problem, method: str, limit: float) -> Result:
    """Return the result of one run; after an error or beyond the limit, it has the points up to there."""
    points, chosen, error, start = [], None, "", process_time()
    try:
        with cpu_limit(limit), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            for point in CONTENDERS[method](problem):
                points.append(point)  # one by one: an error keeps those before it
            if is_small(problem) and method not in (ADAPTIVE, FULL):
                chosen = chosen_settings(problem, CONTENDERS[method])
    except OutOfTimeError:
        error = f"given up after {limit:g} s of CPU time"
    except Exception as failure:
        error = f"{type(failure).__name__}: {failure}"
    settings = [point.pop("setting") for point in points]
    return {
        "problem": problem.name,
        "seed": problem.seed,
        "method": method,
        "settings": settings,
        "chosen": None if chosen is None else [name in chosen for name in identities(settings)],
        "points": points,
        "seconds": round(process_time() - start, 2),
        "error": error,
        "total": problem.costs.total,
        "majority": problem.majority,
        "n_train": len(problem.y),
        "n_test": len(problem.y_test),
    }


def _exists(method: str) -> bool:
    return method != ADAPTIVE or hasattr(thrifty, "ThriftyClassifier")


def _progress(result: Result) -> str:
    best = max((point["accuracy"] for point in result["points"]), default=float("nan"))
    what = f"{result['problem']:13} seed {result['seed']}  {result['method']:15}"
    return f"{what} {len(result['points']):3} points, best {best:.4f}, {result['seconds']:6.1f} s  {result['error']}"


def _version() -> str:
    """Return the version of the package, and the commit of its source if it is in a repository."""
    folder = Path(thrifty.__file__).parent
    called = ["git", "-C", str(folder), "rev-parse", "--short", "HEAD"]
    try:
        commit = subprocess.run(called, capture_output=True, text=True, check=False).stdout.strip()
    except OSError:
        commit = ""
    return f"{thrifty.__version__} {commit}".strip()
