"""Figures and tables of papers, one module each.

A module defines

    CLAIM: Claim                                    what the paper says, and where
    runs(full: bool) -> list[Run]                   what has to be measured; the name in each key is that of the module
    verdicts(results: Results) -> list[Verdict]     what was found; "not run" if results are missing
    figure(results: Results) -> Figure | None       the figure, drawn from the results; None if nothing is to be drawn

The first line of its docstring is the title in reports. ``results.of(NAME)`` returns the results of a module, in the
order of seeds and settings. A module imports packages that are not dependencies of thrifty inside functions.
"""

from importlib import import_module
from pkgutil import iter_modules
from types import ModuleType


def modules() -> dict[str, ModuleType]:
    """Return the modules of all reproductions by name; names with a leading underscore are shared code."""
    names = [each.name for each in iter_modules(__path__) if not each.name.startswith("_")]
    return {name: import_module(f"{__name__}.{name}") for name in names}
