"""The knob of a method, the parameter that moves its spend, and curves of settings that differ only in it."""

from collections.abc import Sequence
from math import sqrt
from typing import Any

Setting = dict[str, Any]

# Not a parameter of a method: it stands for the cost weight at which the rows of the fit spend this much on average.
MEAN_SPEND = "mean_spend"

# In the order of preference, and whether a larger value lets rows spend more (+1) or less (-1).
KNOBS = {
    "node_budget": 1,
    "cost_weight": -1,
    MEAN_SPEND: 1,
    "delta": -1,
    "tolerance": -1,
    "cap": 1,
    "n_samples": 1,
    "s": 1,
    "share": 1,  # of a mixture
}
SAME_CURVE = {MEAN_SPEND: "cost_weight"}  # another way to give the value of a knob
FREE = ("cap",)  # every fitted model can be run under another value
STEP_FROM_ZERO = 10.0  # between 0 and a value lies this fraction of it


def knob_of(setting: Setting) -> str | None:
    """Return the name of the knob of a setting; None if it has none.

    >>> knob_of({"max_depth": 2, "node_budget": [4.0, 8.0]}), knob_of({"max_depth": 2})
    ('node_budget', None)
    """
    return next((name for name in KNOBS if name in setting), None)


def curve_of(method: str, setting: Setting) -> str:
    """Return the identity of the curve that a setting of a method lies on: all parameters except the knob."""
    knob = knob_of(setting)
    fixed = [
        method,
        SAME_CURVE.get(knob or "", knob),
        *sorted((name, value) for name, value in setting.items() if name != knob),
    ]
    return repr([*fixed, len(setting[knob]) if knob and isinstance(setting[knob], list) else 0])


def allowance(setting: Setting) -> list[float]:
    """Return the knob of a setting in numbers that rise with the spend; empty if it has no knob.

    >>> allowance({"cost_weight": 0.1}), allowance({"max_depth": 2, "node_budget": [4.0, 8.0]})
    ([-0.1], [4.0, 8.0])
    """
    knob = knob_of(setting)
    if knob is None:
        return []
    values = setting[knob] if isinstance(setting[knob], Sequence) else [setting[knob]]
    return [KNOBS[knob] * each for each in values]


def between(first: Setting, second: Setting) -> Setting | None:
    """Return the setting between two of one curve, with the geometric mean of the knobs.

    Parameters
    ----------
    first, second : dict

    Returns
    -------
    dict or None
        None if there is nothing in between.

    Examples
    --------
    >>> between({"cost_weight": 0.1}, {"cost_weight": 0.4})
    {'cost_weight': 0.2}
    >>> between({"n_samples": 3}, {"n_samples": 4}) is None
    True
    """
    knob = knob_of(first)
    if knob is None:
        return None
    middle = _mean(first[knob], second[knob])
    return None if middle in (first[knob], second[knob]) else {**first, knob: middle}


def cheaper(setting: Setting, factor: float) -> Setting | None:
    """Return a setting whose knob is moved by a factor of at least 1 towards a lower spend; None if it has no knob.

    >>> cheaper({"cost_weight": 0.1}, 2.0), cheaper({"cap": 6.0}, 2.0)
    ({'cost_weight': 0.2}, {'cap': 3.0})
    """
    knob = knob_of(setting)
    if knob is None or setting[knob] == 0:
        return None
    return {**setting, knob: _scaled(setting[knob], factor ** KNOBS[knob])}


def _mean(first: Any, second: Any) -> Any:
    if isinstance(first, Sequence):
        return [_mean(*pair) for pair in zip(first, second, strict=True)]
    if not first or not second:
        return max(first, second) / STEP_FROM_ZERO
    middle = sqrt(first) * sqrt(second)
    return round(middle) if isinstance(first, int) else middle


def _scaled(value: Any, divisor: float) -> Any:
    if isinstance(value, Sequence):
        return [_scaled(each, divisor) for each in value]
    return max(1, int(value / divisor)) if isinstance(value, int) else value / divisor
