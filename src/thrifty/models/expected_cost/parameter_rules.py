"""Rules for the parameters of the estimators of this family."""

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

import numpy as np
from sklearn.base import is_classifier
from sklearn.metrics import get_scorer
from sklearn.utils import check_random_state

from thrifty.arrays import refuse_bad_device
from thrifty.metrics.scoring import query_metric
from thrifty.models.parameters import is_flag, is_number, is_whole

BYTES_PER_PAIR = 9  # of nodes: the matrix of paths, as marks and as numbers
BYTES_PER_WEIGHT = 80  # solvers keep about ten copies of all weights
MOST_BYTES = 10**9
_HOW_TO_USE_VALIDATION_ROWS = {
    True: 'Set early_stopping=True, or structure to "prune" or "grow"',
    False: "Set early_stopping=True",
}


class Rule(NamedTuple):
    """What a parameter must satisfy: a test of its value, and the same in words."""

    accepts: Callable[[Any], bool]
    expected: str


def refuse_bad_parameters(estimator: Any) -> None:
    """Raise ValueError if a parameter of an estimator breaks its rule."""
    given = estimator.get_params(deep=False)
    rules = RULES if is_classifier(estimator) else RULES | {"loss": one_of("squared")}
    if "price_limits" in given:
        rules = rules | {"n_stages": POSITIVE_INTEGER_OR_NONE}
    for name, rule in rules.items():
        if name in given:
            estimator._refuse_unless(rule.accepts(given[name]), name, given[name], rule.expected)
    refuse_bad_device(estimator.device, type(estimator).__name__)
    if isinstance(estimator.scoring, str) and query_metric(estimator.scoring) is None:
        get_scorer(estimator.scoring)  # raises ValueError for an unknown name
    if estimator.scoring is not None and not uses_validation_rows(estimator):
        raise ValueError(
            f"{type(estimator).__name__}: scoring is {estimator.scoring!r}, but no validation rows are scored. "
            f"{_HOW_TO_USE_VALIDATION_ROWS[hasattr(estimator, 'max_depth')]}, or leave scoring at None."
        )


def refuse_solver_of_host(estimator: Any) -> None:
    """Raise ValueError if the solver of an estimator cannot compute on a device."""
    if estimator.solver != "joint":
        raise ValueError(
            f"{type(estimator).__name__}: solver is {estimator.solver!r}, which computes with NumPy, but X is on a "
            'device. Pass solver="joint", or device="cpu".'
        )


def refuse_what_needs_all_rows(estimator: Any, validation: Any) -> None:
    """Raise ValueError if a setting of an estimator needs all rows in one process, but they are on workers."""
    advice = "Pass X and y as arrays: X.compute(), y.compute()."
    if estimator.solver != "joint":
        which, advice = f"solver is {estimator.solver!r}", 'Pass solver="joint", or X and y as arrays.'
    elif estimator.device is not None:
        which, advice = f"device is {estimator.device!r}", "Leave device out, or pass X and y as arrays."
    elif uses_validation_rows(estimator) and validation is None:
        which = "early_stopping or structure needs validation rows, but none are given"
        advice = "Pass validation=(X, y) with arrays of a few thousand rows, or leave both out."
    else:
        return
    raise ValueError(
        f"{type(estimator).__name__}: {which}, which needs all rows in one process, but X is a Dask "
        f"collection. {advice}"
    )


def uses_validation_rows(estimator: Any) -> bool:
    """Tell whether an estimator scores validation rows: for early stopping, or to choose the structure of its tree."""
    return bool(estimator.early_stopping) or estimator.structure != "full"


def refuse_unused_validation(estimator: Any, validation: Any) -> None:
    """Raise ValueError if validation rows are passed to an estimator that does not use any."""
    if validation is not None and not uses_validation_rows(estimator):
        raise ValueError(
            f"{type(estimator).__name__}: validation is given, but no validation rows are scored. "
            f"{_HOW_TO_USE_VALIDATION_ROWS[hasattr(estimator, 'max_depth')]}, or leave validation out."
        )


def refuse_huge_tree(estimator: Any, n_nodes: int, n_columns: int, n_scores: int) -> None:
    """Raise ValueError if the nodes of a tree would take too much memory, apart from what the training rows take."""
    n_bytes = n_nodes * (BYTES_PER_PAIR * n_nodes + BYTES_PER_WEIGHT * n_columns * n_scores)
    if n_bytes > MOST_BYTES:
        name = "max_depth" if hasattr(estimator, "max_depth") else "n_stages"
        advice = ' Or set structure="grow", which adds nodes one at a time.' if name == "max_depth" else ""
        raise ValueError(
            f"{type(estimator).__name__}: {name} is {getattr(estimator, name)!r}, which makes {n_nodes:,} nodes. Their "
            f"paths and their weights of {n_columns} columns take about {n_bytes / 1e9:.3g} GB; expected at most "
            f"{MOST_BYTES / 1e9:g} GB. Lower {name}.{advice}"
        )


def one_of(*choices: str | None) -> Rule:
    """Return the rule that a parameter is one of some strings, or None if that is one of the choices."""

    def accepts(value: Any) -> bool:
        return (value is None or isinstance(value, str)) and value in choices

    return Rule(accepts, "one of " + ", ".join(map(repr, choices)))


def _is_class_weight(value: Any) -> bool:
    if isinstance(value, Mapping):
        return all(is_number(weight) and weight > 0 for weight in value.values())
    return value is None or (isinstance(value, str) and value == "balanced")


def _is_price_limits(value: Any) -> bool:
    if value is None:
        return True
    try:
        limits = np.asarray(value, dtype=float)
    except (TypeError, ValueError):
        return False
    return bool(limits.ndim == 1 and limits.size > 0 and (limits >= 0).all() and (limits[1:] >= limits[:-1]).all())


def _is_random_state(value: Any) -> bool:
    try:
        check_random_state(value)
    except ValueError:
        return False
    return True


FLAG = Rule(is_flag, "True or False")
NOT_NEGATIVE = Rule(lambda value: is_number(value, 0), "a number of at least 0")
POSITIVE_INTEGER = Rule(lambda value: is_whole(value, 1), "a whole number of at least 1")
POSITIVE_INTEGER_OR_NONE = Rule(
    lambda value: value is None or is_whole(value, 1), "a whole number of at least 1, or None"
)
SHARE = Rule(lambda value: is_number(value) and bool(0 < value < 1), "a share between 0 and 1")
RULES = {
    "cost_weight": NOT_NEGATIVE,
    "l1_weight": NOT_NEGATIVE,
    "tol": NOT_NEGATIVE,
    "sharpness": Rule(
        lambda value: value is None or is_number(value, np.finfo(float).tiny), "a number above 0, or None"
    ),
    "loss": one_of("squared", "logistic"),
    "solver": one_of("joint", "block"),
    "fine_tune": one_of("auto", "support", "held", "refit", "paper", None),
    "structure": one_of("full", "prune", "grow"),
    "max_iter": POSITIVE_INTEGER,
    "max_depth": POSITIVE_INTEGER,
    "n_stages": POSITIVE_INTEGER,
    "early_stopping": FLAG,
    "verbose": FLAG,
    "random_state": Rule(_is_random_state, "a whole number, a RandomState or None"),
    "scoring": Rule(
        lambda value: value is None or isinstance(value, str) or callable(value), "a name, a function or None"
    ),
    "validation_fraction": SHARE,
    "keep_ratio": SHARE,
    "class_weight": Rule(_is_class_weight, "None, 'balanced' or a dict of numbers above 0"),
    "price_limits": Rule(_is_price_limits, "prices in ascending order, one per stage, or None"),
}
