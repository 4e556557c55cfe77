"""Everything that the suite can run, by name: the problems of the race, the reproductions, and scaling."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from types import ModuleType
from typing import Any

from thrifty.bench import race, reproductions
from thrifty.bench.claims import Verdict
from thrifty.bench.problems import CATALOG, QUICK
from thrifty.bench.reports.race_figures import curve_figure, describe_curves
from thrifty.bench.reports.race_tables import problem_tables
from thrifty.bench.results import Results
from thrifty.bench.runs import Run
from thrifty.bench.scaling import inference, training
from thrifty.bench.tables import ShownTable

RACE, REPRODUCTIONS, SCALING = "race", "reproductions", "scaling"


@dataclass(frozen=True)
class Part:
    """A problem of the race, a reproduction, or scaling.

    Attributes
    ----------
    name, title : str
    runs : callable
        ``runs(full)`` returns what has to be measured.
    verdicts : callable
        ``verdicts(results)`` returns what was found about claims.
    figure : callable
        ``figure(results)`` returns a Matplotlib figure or None.
    tables : callable
        ``tables(results)`` returns the tables that a report shows.
    describe : callable
        ``describe(results)`` returns what the figure shows, in words.
    kind : {"race", "reproductions", "scaling"}
        The group that it belongs to.
    """

    name: str
    title: str
    runs: Callable[[bool], list[Run]]
    verdicts: Callable[[Results], list[Verdict]]
    figure: Callable[[Results], Any]
    describe: Callable[[Results], str]
    tables: Callable[[Results], list[ShownTable]]
    kind: str

    @property
    def is_problem(self) -> bool:
        """Whether it is a problem of the race."""
        return self.kind == RACE


def parts(only: Sequence[str] = (), *, full: bool = True) -> list[Part]:
    """Return the parts of some names; without names all, or those of the quick suite.

    Names may be separated by commas. ``race`` means all problems, ``reproductions`` all figures and tables of papers,
    and ``scaling`` all measurements against sizes.
    """
    known = {part.name: part for part in (*map(_of_problem, CATALOG), *_reproductions(), *_scaling())}
    groups = {kind: [name for name in known if known[name].kind == kind] for kind in (RACE, REPRODUCTIONS, SCALING)}
    wanted = [name for given in only for name in given.split(",") if name]
    if unknown := [name for name in wanted if name not in known and name not in groups]:
        raise ValueError(f"--only is {unknown[0]!r}; expected some of: {', '.join([*groups, *known])}.")
    if not wanted:
        return [part for part in known.values() if full or not part.is_problem or part.name in QUICK]
    names = [each for name in wanted for each in groups.get(name, [name])]
    return [known[name] for name in dict.fromkeys(names)]


def _of_problem(name: str) -> Part:
    return Part(
        name,
        CATALOG[name].title,
        partial(race.runs, name),
        _nothing,
        partial(curve_figure, problem=name),
        partial(describe_curves, problem=name),
        partial(problem_tables, problem=name),
        RACE,
    )


def _nothing(results: Results) -> list[Verdict]:
    """Return no verdict: that of the race is about all problems together."""
    return []


def _reproductions() -> list[Part]:
    return [_of_reproduction(name, module) for name, module in reproductions.modules().items()]


def _of_reproduction(name: str, module: ModuleType) -> Part:
    found = partial(_found, module=module)
    return Part(name, _title(module), module.runs, module.verdicts, module.figure, found, _no_tables, REPRODUCTIONS)


def _scaling() -> list[Part]:
    return [
        Part(each.NAME, _title(each), each.runs, each.verdicts, each.figure, each.describe, each.tables, SCALING)
        for each in (training, inference)
    ]


def _title(module: ModuleType) -> str:
    return (module.__doc__ or module.__name__).strip().splitlines()[0].rstrip(".")


def _no_tables(results: Results) -> list[ShownTable]:
    return []


def _found(results: Results, module: ModuleType) -> str:
    return " ".join(verdict.sentence for verdict in module.verdicts(results))
