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
    """

    title: str
    task: Task
    build: Callable[[int, int], Source]
    rows: tuple[int | None, int | None] = (None, None)


def _loaded(
    title: str, task: Task, load: str, rows: tuple[int | None, int | None] = (None, None), **given: Any
) -> Entry:
    return Entry(title, task, partial(stored, load=load, **given), rows)


BINARY, MULTICLASS = Task.BINARY, Task.MULTICLASS
CATALOG: dict[str, Entry] = {
    "heart": _loaded("Heart disease (Statlog), Ontario prices", BINARY, "load_heart"),
    "hepatitis": _loaded("Hepatitis, Ontario prices", BINARY, "load_hepatitis"),
    "pima": _loaded("Pima diabetes, Ontario prices", BINARY, "load_pima"),
    "bupa": _loaded("Liver disorders, Ontario prices", BINARY, "load_bupa"),
    "thyroid": _loaded("Thyroid disease, Ontario prices", MULTICLASS, "load_thyroid"),
    "spambase": _loaded("Spam, unit prices", BINARY, "load_spambase"),
    "cube": Entry("CUBE, unit prices", MULTICLASS, partial(drawn, make="make_cube"), CUBE_ROWS),
    "quadrants": Entry("Quadrants, published prices", BINARY, quadrants, CUBE_ROWS),
    "asp_potassco": Entry(
        "Choice of an ASP solver, measured seconds", MULTICLASS, partial(algorithm_selection, scenario="asp_potassco")
    ),
    "cube_nm": Entry("CUBE-NM, unit prices", MULTICLASS, partial(drawn, make="make_cube_nm"), CUBE_ROWS),
    "heart_cleveland": _loaded("Heart disease (Cleveland), Ontario prices", BINARY, "load_heart_cleveland"),
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
