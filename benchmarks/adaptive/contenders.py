"""The contenders by name, in the order in which they are computed: the strong ones first."""

from collections.abc import Callable
from functools import partial

from benchmarks.adaptive.boosted_sets import cegb_coupled, cegb_lazy, fixed_sets, full_model
from benchmarks.adaptive.choice import ADAPTIVE
from benchmarks.adaptive.methods import adaptive, by_name, greedy_miser
from benchmarks.adaptive.points import Points
from benchmarks.adaptive.problems import Problem
from thrifty.tuning.methods import METHODS
from thrifty.tuning.problem import Task

FULL, STATIC = "full", "fixed-sets"
BOOSTED: dict[str, Callable[[Problem], Points]] = {
    FULL: full_model,
    STATIC: fixed_sets,
    "cegb-coupled": cegb_coupled,
    "cegb-lazy": cegb_lazy,
    "miser-ensemble": partial(greedy_miser, charge="ensemble"),
    "miser-row": partial(greedy_miser, charge="row"),
}
ALREADY_LISTED = ("greedy-miser", ADAPTIVE)
OTHERS: dict[str, Callable[[Problem], Points]] = {
    name: partial(by_name, name=name)
    for name, method in METHODS.items()
    if {Task.BINARY, Task.MULTICLASS} & set(method.classes) and name not in ALREADY_LISTED
}
CONTENDERS: dict[str, Callable[[Problem], Points]] = {ADAPTIVE: adaptive, **BOOSTED, **OTHERS}


def serves(name: str, problem: Problem) -> bool:
    """Tell whether a contender can predict the classes of a problem."""
    return name not in OTHERS or problem.n_classes == 2 or Task.MULTICLASS in METHODS[name].classes
