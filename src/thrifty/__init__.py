"""Prediction on a budget: learn what to acquire, for whom, and when to stop.

    CostModel      what acquiring a set of features costs
    estimator      learns what to acquire, for whom, and what to answer
    Session        one row's acquisition: asks for features, is told values, ends with an answer

Names are imported on first use, so that ``import thrifty`` costs next to nothing.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from thrifty.costs import CostModel
    from thrifty.exceptions import (
        CostError,
        DatasetNotFoundError,
        MissingExtraError,
        SessionError,
        ThriftyError,
    )

__version__ = "0.1.0"

_HOME = {
    "CostError": "exceptions",
    "CostModel": "costs",
    "DatasetNotFoundError": "exceptions",
    "MissingExtraError": "exceptions",
    "SessionError": "exceptions",
    "ThriftyError": "exceptions",
}
_SUBMODULES = ("costs", "datasets", "exceptions", "metrics", "plots", "testing")

__all__ = [
    "CostError",
    "CostModel",
    "DatasetNotFoundError",
    "MissingExtraError",
    "SessionError",
    "ThriftyError",
]


def __getattr__(name: str) -> Any:
    if name in _HOME:
        value = getattr(import_module(f"thrifty.{_HOME[name]}"), name)
    elif name in _SUBMODULES:
        value = import_module(f"thrifty.{name}")
    else:
        raise AttributeError(f"module 'thrifty' has no attribute {name!r}")
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted([*globals(), *__all__, *_SUBMODULES])
