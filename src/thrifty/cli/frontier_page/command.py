"""The ``thrifty fit`` command that fits a point of a search."""

import math
import shlex
from collections.abc import Mapping
from typing import Any

from thrifty.cli.search import METHOD_NAMES
from thrifty.tuning.comparisons import is_complete
from thrifty.tuning.mixing import BETWEEN, is_mixture

TABLE, TARGET, COSTS, ERROR_COSTS = (
    "TABLE",
    "TARGET",
    "PRICES",
    "ERROR_COSTS",
)  # what stands for names that a model file does not have


def fit_command(point: Mapping[str, Any], options: Mapping[str, Any]) -> str:
    """Return a command that searches the method of a point within its spend; empty if the method has no name.

    Parameters
    ----------
    point : dict
        A line of the frontier.
    options : dict
        ``table``, and the options of ``thrifty fit`` that the search had, by name. None leaves an option out.

    Returns
    -------
    str

    Examples
    --------
    >>> point = {"method": "astc", "parameters": {"max_depth": 2}, "spend_bound": 29.871}
    >>> options = {"table": "my patients.csv", "target": "disease", "costs": None, "drop": ["id"], "cap": 150.0}
    >>> fit_command(point, options)
    "thrifty fit 'my patients.csv' --target disease --drop id --cap 150 --method astc --budget 29.88"
    """
    methods = point["method"].split(BETWEEN)  # of a mixture there are two
    if not set(methods) <= set(METHOD_NAMES.split(", ")):
        return ""
    words = ["thrifty", "fit", str(options["table"])]
    for name, value in options.items():
        if name != "table":
            words += _words(f"--{name.replace('_', '-')}", value)
    within = point["spend_bound"] if is_complete(point) else point["spend"]
    words += _words("--method", list(dict.fromkeys(methods))) + _words("--mix", is_mixture(point["parameters"]))
    return shlex.join([*words, "--budget", rounded_up(within)])


def _words(option: str, value: Any) -> list[str]:
    """Return an option with its value; without one if it is a flag, and several times if it is a list."""
    if isinstance(value, list | tuple):
        return [word for each in value for word in _words(option, each)]
    if value is None or isinstance(value, bool):
        return [option] if value else []
    return [option, f"{value:.10g}" if isinstance(value, float) else str(value)]


def rounded_up(value: float) -> str:
    """Return a number with four significant digits that is not smaller.

    >>> rounded_up(29.871), rounded_up(3.0), rounded_up(0.0)
    ('29.88', '3', '0')
    """
    if value <= 0:
        return "0"
    unit = 10.0 ** (math.floor(math.log10(value)) - 3)
    return f"{math.ceil(value / unit * (1 - 1e-12)) * unit:.10g}"
