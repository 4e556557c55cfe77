"""What a model promises, in plain sentences."""

from collections.abc import Mapping
from typing import Any

from thrifty.cli.amounts import amount
from thrifty.metrics.curves import score_name


def spend_promised(promise: Mapping[str, Any]) -> str:
    """Say what rows will cost, on average and at most.

    >>> measured = {"spend": 31.2, "spend_bound": 36.9, "confidence": 0.95, "unit": "$"}
    >>> print(spend_promised({**measured, "budget": 40.0, "cap": 150.0}))
    At most $40 a row on average: measured $31.20, with 95% confidence below $36.90; never more than $150.
    >>> print(spend_promised({**measured, "budget": 35.0, "cap": None}))
    Misses the budget of $35 a row on average: measured $31.20, with 95% confidence below $36.90.
    """
    unit, budget, cap = promise["unit"], promise["budget"], promise["cap"]
    spend, bound = amount(promise["spend"], unit), amount(promise["spend_bound"], unit)
    sure = f"with {100 * promise['confidence']:g}% confidence below {bound}"
    never = "" if cap is None else f"; never more than {amount(cap, unit)}"
    if budget is None:
        return f"On average {spend} a row, {sure}{never}."
    kept = "At most" if promise["spend_bound"] <= budget else "Misses the budget of"
    return f"{kept} {amount(budget, unit)} a row on average: measured {spend}, {sure}{never}."


def point_chosen(promise: Mapping[str, Any]) -> str:
    """Say which method was chosen, and how good its answers are."""
    chosen = ", ".join(part for part in (promise["method"], settings(promise["parameters"])) if part)
    score = f"{score_name(promise['scoring'])} {promise['score']:.3f} (± {promise['score_error']:.3f})"
    return f"Chosen: {chosen}; {score}, by cross-validation on {promise['n_rows']:,} rows."


def settings(parameters: Mapping[str, Any]) -> str:
    """Write parameters in one line.

    >>> settings({"max_depth": 2, "node_budget": [4.0, 12.3456]})
    'max_depth 2, node_budget 4 12.35'
    """
    return ", ".join(f"{name} {_value(value)}" for name, value in parameters.items())


def _value(value: Any) -> str:
    if isinstance(value, list | tuple):
        return " ".join(map(_value, value))
    return f"{value:.4g}" if isinstance(value, float) else str(value)
