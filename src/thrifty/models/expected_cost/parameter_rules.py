"""Rules for the parameters of the estimators of this family."""

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

import numpy as np
from sklearn.base import is_classifier
from sklearn.metrics import get_scorer

from thrifty.metrics.scoring import query_metric
from thrifty.models.parameters import is_number, is_whole


class Rule(NamedTuple):
    """What a parameter must satisfy: a test of its value, and the same in words."""

    accepts: Callable[[Any], bool]
    expected: str


def refuse_bad_parameters(estimator: Any) -> None:
    """Raise ValueError if a parameter of an estimator breaks its rule."""
    given = estimator.get_params(deep=False)
    rules = RULES if is_classifier(estimator) else RULES | {"loss": one_of("squared")}
    for name, rule in rules.items():
        if name in given:
            estimator._refuse_unless(rule.accepts(given[name]), name, given[name], rule.expected)
    if isinstance(estimator.scoring, str) and query_metric(estimator.scoring) is None:
        get_scorer(estimator.scoring)  # raises ValueError for an unknown name


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


NOT_NEGATIVE = Rule(lambda value: is_number(value, 0), "a number of at least 0")
POSITIVE_INTEGER = Rule(lambda value: is_whole(value, 1), "a whole number of at least 1")
RULES = {
    "cost_weight": NOT_NEGATIVE,
    "l1_weight": NOT_NEGATIVE,
    "tol": NOT_NEGATIVE,
    "sharpness": Rule(
        lambda value: value is None or is_number(value, np.finfo(float).tiny), "a number above 0, or None"
    ),
    "loss": one_of("squared", "logistic"),
    "solver": one_of("joint", "block"),
    "fine_tune": one_of("support", "held", None),
    "structure": one_of("full", "prune", "grow"),
    "max_iter": POSITIVE_INTEGER,
    "max_depth": POSITIVE_INTEGER,
    "n_stages": POSITIVE_INTEGER,
    "validation_fraction": Rule(lambda value: is_number(value) and bool(0 < value < 1), "a share between 0 and 1"),
    "class_weight": Rule(_is_class_weight, "None, 'balanced' or a dict of numbers above 0"),
    "price_limits": Rule(_is_price_limits, "prices in ascending order, one per stage, or None"),
}
