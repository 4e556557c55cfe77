"""The problems by name.

Rows are divided for each seed: at most so many training rows and test rows, with the same share of each class.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache, partial
from typing import Any

from thrifty.bench.problems.problem import Problem
from thrifty.bench.problems.sources import Source, algorithm_selection, drawn, pixel_blocks, quadrants, ranking, stored
from thrifty.bench.problems.split import split
from thrifty.tuning.problem import Task

QUICK_ROWS = (1_000, 2_000)  # training and test rows at most in a quick run
CUBE_ROWS = (10_000, 10_000)
COVTYPE_ROWS = (20_000, 20_000)


@dataclass(frozen=True)
class Entry:
    """A problem of the catalog.

    Attributes
    ----------
    title : str
    task : Task
    build : callable
        ``build(seed, n_rows)`` returns the data; only problems that are drawn use the arguments.
    rows : tuple of (int or None, int or None)
        The largest numbers of training and test rows in a full run; None means four fifths and one fifth of all.
    has_few_rows : bool
        Whether there are fewer than a thousand rows.
    """

    title: str
    task: Task
    build: Callable[[int, int], Source]
    rows: tuple[int | None, int | None] = (None, None)
    has_few_rows: bool = False


BINARY, MULTICLASS = Task.BINARY, Task.MULTICLASS
Limits = tuple[int | None, int | None]


def _small(title: str, load: str) -> Entry:
    return Entry(title, BINARY, partial(stored, load=load), has_few_rows=True)


def _loaded(title: str, task: Task, load: str, rows: Limits = (None, None), **options: Any) -> Entry:
    return Entry(title, task, partial(stored, load=load, **options), rows)


CATALOG: dict[str, Entry] = {
    "heart": _small("Heart disease (Statlog), Ontario prices", "load_heart"),
    "hepatitis": _small("Hepatitis, Ontario prices", "load_hepatitis"),
    "pima": _small("Pima diabetes, Ontario prices", "load_pima"),
    "bupa": _small("Liver disorders, Ontario prices", "load_bupa"),
    "thyroid": _loaded("Thyroid disease, Ontario prices", MULTICLASS, "load_thyroid"),
    "spambase": _loaded("Spam, unit prices", BINARY, "load_spambase"),
    "cube": Entry("CUBE, unit prices", MULTICLASS, partial(drawn, make="make_cube"), CUBE_ROWS),
    "quadrants": Entry("Quadrants, published prices", BINARY, quadrants, CUBE_ROWS),
    "asp_potassco": Entry(
        "Choice of an ASP solver, measured seconds", MULTICLASS, partial(algorithm_selection, scenario="asp_potassco")
    ),
    "cube_nm": Entry("CUBE-NM, unit prices", MULTICLASS, partial(drawn, make="make_cube_nm"), CUBE_ROWS),
    "heart_cleveland": _small("Heart disease (Cleveland), Ontario prices", "load_heart_cleveland"),
    "sat12_indu": Entry(
        "Choice of a SAT solver, measured seconds", MULTICLASS, partial(algorithm_selection, scenario="sat12_indu")
    ),
    "mq2008": Entry("MQ2008, ranking, synthetic price classes", Task.RANKING, partial(ranking, load="load_mq2008")),
    "covtype": _loaded("Forest cover, two classes, unit prices", BINARY, "load_covtype", COVTYPE_ROWS, binary=True),
    "mnist_3_8": _loaded(
        "MNIST, 3 or 8, two resolutions, unit prices", BINARY, "load_mnist", digits=(3, 8), resolutions=(4, 8)
    ),
    "usps_blocks": Entry("USPS digits, blocks of 16 pixels", MULTICLASS, pixel_blocks),
}
QUICK = ("heart", "hepatitis", "pima", "bupa", "thyroid", "spambase", "cube", "quadrants", "asp_potassco")


@lru_cache(1)
def load(name: str, seed: int, full: bool = False) -> Problem:
    """Return the problem of a name for a seed."""
    entry = CATALOG[name]
    n_train, n_test = entry.rows if full else QUICK_ROWS
    source = entry.build(seed, (n_train or 0) + (n_test or 0))
    train, test = split(source.rows, seed, n_train, n_test)
    return Problem(name, seed, train, test, source.costs, entry.task)
