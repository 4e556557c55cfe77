"""Everything that the suite can run, by name."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from types import ModuleType
from typing import Any

from thrifty.bench import reproductions
from thrifty.bench.claims import Verdict
from thrifty.bench.results import Results
from thrifty.bench.runs import Run


@dataclass(frozen=True)
class Part:
    """A problem of the race, or a reproduction.

    Attributes
    ----------
    name, title : str
    runs : callable
        ``runs(full)`` returns what has to be measured.
    verdicts : callable
        ``verdicts(results)`` returns what was found about claims.
    figure : callable
        ``figure(results)`` returns a Matplotlib figure or None.
    describe : callable
        ``describe(results)`` returns what the figure shows, in words.
    """

    name: str
    title: str
    runs: Callable[[bool], list[Run]]
    verdicts: Callable[[Results], list[Verdict]]
    figure: Callable[[Results], Any]
    describe: Callable[[Results], str]


def parts(only: Sequence[str] = ()) -> list[Part]:
    """Return the parts of some names, or all; raise ValueError if there is no such part."""
    known = {part.name: part for part in _all()}
    if unknown := [name for name in only if name not in known]:
        raise ValueError(f"--only is {unknown[0]!r}; expected some of: {', '.join(known)}.")
    return [known[name] for name in only or known]


def _all() -> list[Part]:
    return [_of_reproduction(name, module) for name, module in reproductions.modules().items()]


def _of_reproduction(name: str, module: ModuleType) -> Part:
    title = (module.__doc__ or name).strip().splitlines()[0].rstrip(".")
    return Part(name, title, module.runs, module.verdicts, module.figure, partial(_found, module=module))


def _found(results: Results, module: ModuleType) -> str:
    return " ".join(verdict.sentence for verdict in module.verdicts(results))
