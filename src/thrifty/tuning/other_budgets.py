"""Another budget or cap from a frontier that was measured before: one final fit, and no new search.

The points of a frontier were measured under the cap of the search. Under a smaller cap, models score and spend
something else, so points are measured again on the folds, the preferred ones first, until the preferred point has been
measured. The others would hardly be better than they were without the cap.
"""

import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pandas as pd

from thrifty.costs import CostModel, ErrorCosts
from thrifty.metrics.scoring import TOTAL_COST
from thrifty.models.parameters import is_number
from thrifty.models.promise import Promise
from thrifty.models.rows import Rows
from thrifty.models.tables.encoder import TableEncoder
from thrifty.models.tables.table_model import TableModel
from thrifty.tuning.choice import by_preference, competes
from thrifty.tuning.comparisons import AGAIN
from thrifty.tuning.cross_validation import Folds, measure
from thrifty.tuning.frontier import bound_of
from thrifty.tuning.mixing import best_pair, mixed
from thrifty.tuning.problem import Problem, Task
from thrifty.tuning.refits import Refits
from thrifty.tuning.survey import Point, Trial
from thrifty.tuning.sweep import Fitted, Sweep

ROUNDING = 1e-9  # sums of equal spends differ by this share


@dataclass(frozen=True, eq=False)
class Terms:
    """What a search was asked for.

    Attributes
    ----------
    costs : CostModel
        The costs of the raw columns.
    kinds : dict or None
        The kinds of columns that the user gave.
    task : Task
    budget, cap : float or None
    scoring : str or callable
    confidence : float
    error_costs : ErrorCosts or None
    class_weight : dict, "balanced" or None
    """

    costs: CostModel
    kinds: Mapping[Any, str] | None
    task: Task
    budget: float | None
    cap: float | None
    scoring: Any
    confidence: float
    error_costs: ErrorCosts | None = None
    class_weight: Any = None

    def problem(self, raw: Rows, encoder: TableEncoder) -> Problem:
        """Return raw rows as numbers, with the costs, the cap and the budget."""
        terms = {name: getattr(self, name) for name in ("cap", "budget", "error_costs", "class_weight")}
        return Problem.of(raw, encoder, self.costs, self.task, **terms)

    def promise(self, line: Mapping[str, Any], spend_on_all: float) -> Promise:
        """Return what a point of the frontier promises, after its model was fitted on all rows.

        If the model spends more on them than the bound, which is possible if there are few folds or rows, then this is
        the bound.
        """
        bound = float(line["spend_bound"])
        if spend_on_all > bound * (1.0 + ROUNDING):
            bound = spend_on_all
        return Promise(
            budget=None if self.budget is None else float(self.budget),
            cap=None if self.cap is None else float(self.cap),
            unit=self.costs.unit,
            confidence=float(self.confidence),
            scoring=self.scoring if isinstance(self.scoring, str) else getattr(self.scoring, "__name__", "score"),
            method=line["method"],
            parameters=line["parameters"],
            n_rows=int(line["n_rows"]),
            spend_bound=bound,
            **{name: float(line[name]) for name in ("spend", "score", "score_error")},
        )

    def model(self, owner: Any, refits: Refits, point: int, fitted: Fitted, promise: Promise) -> TableModel:
        """Return the fitted model of a point with its cap and its promise."""
        estimator, cap = refits.estimator(point, fitted), fitted.limit(self.cap)
        table_model = TableModel(
            estimator,
            costs=self.costs,
            cap=cap,
            kinds=self.kinds,
            error_costs=self.error_costs,
            class_weight=self.class_weight,
        )
        return table_model.adopt(owner, refits.problem.encoder, fitted.model, promise)

    def warn_of_excess(self, line: Mapping[str, Any], stacklevel: int) -> None:
        """Warn that the cheapest point exceeds the budget, and by how much."""

        def amount(value: float) -> str:
            return f"{value:.4g} {self.costs.unit}".strip()

        assert self.budget is not None
        bound = line["spend_bound"]
        warnings.warn(
            f"BudgetSearchCV: no candidate stays within the budget of {amount(self.budget)}. The cheapest, "
            f"{line['method']}, spends {amount(line['spend'])} on average and, with {self.confidence:.0%} confidence, "
            f"less than {amount(bound)}: {amount(bound - self.budget)} too much. "
            "Raise the budget, or pass cheaper candidates.",
            UserWarning,
            stacklevel=stacklevel + 1,
        )


def preferred_points(table: pd.DataFrame, terms: Terms) -> tuple[list[int], bool]:
    """Return the points to try, the preferred one first, and whether they are within the budget."""
    preferred = by_preference(table, terms.budget, smooth=terms.scoring != TOTAL_COST).tolist()
    limit = np.inf if terms.budget is None else terms.budget
    within = [point for point in preferred if table["spend_bound"].loc[point] <= limit]
    return within or preferred[:1], bool(within)


def places_of(
    table: pd.DataFrame, estimators: Mapping[str, Any], max_rows: Mapping[str, int | None]
) -> list[tuple[Sweep, int]]:
    """Return the batch of each point and its position there; points of one method that can share a fit share it.

    Parameters
    ----------
    table : DataFrame
        Points of a frontier.
    estimators : dict
        The estimator of each method.
    max_rows : dict
        For some methods, the largest number of rows to fit in a fold.

    Raises
    ------
    ValueError
        If a method of the table is not among the estimators.
    """
    places: dict[tuple[str, str], tuple[Sweep, int]] = {}
    for name, lines in table.groupby("method", sort=False):
        if name not in estimators:
            raise ValueError(f"the frontier has points of {name!r}, which is not a method with a name. Search again.")
        sweep = Sweep(str(name), estimators[str(name)], tuple(lines["parameters"]), max_rows.get(str(name)))
        for batch in sweep.batches():
            places |= {(str(name), repr(setting)): (batch, k) for k, setting in enumerate(batch.settings)}
    return [places[name, repr(setting)] for name, setting in zip(table["method"], table["parameters"], strict=True)]


def model_for_budget(
    owner: Any,
    whole: Problem,
    terms: Terms,
    table: pd.DataFrame,
    places: Sequence[tuple[Sweep, int]],
    folds: Folds,
    is_measured: bool,
    mix: bool = False,
) -> tuple[TableModel, pd.Series]:
    """Choose a point for a budget, fit it on all rows, and return the model and the line of the point.

    Parameters
    ----------
    owner : object
        It has learned the columns: ``n_features_in_``, ``feature_names_in_`` and ``cost_model_``.
    whole : Problem
        All rows.
    terms : Terms
        With the new budget and cap.
    table : DataFrame
        The frontier.
    places : sequence of (Sweep, int)
        For each point, its batch and its position there.
    folds : Folds
        Under the cap of `terms`.
    is_measured : bool
        Whether the points were measured under this cap. Otherwise the preferred ones are measured again.
    mix : bool, default=False
        Whether two points may be mixed. Mixtures for the new budget are measured.

    Returns
    -------
    TableModel
    Series
        Its name is the position in the table. If the point was measured again, it has the new numbers.
    """
    table = table[competes(table)]
    if not is_measured:
        table = _measured_under_cap(table, places, folds, terms)
    if mix:
        table, places = _with_mixtures(table, places, folds, terms)
    points, are_within = preferred_points(table, terms)
    refits = Refits(places, whole)
    point, fitted = refits.first_within(points, terms.budget if are_within else None)
    line = table.loc[point].copy()
    if not are_within:
        terms.warn_of_excess(line, stacklevel=3)
    return terms.model(owner, refits, point, fitted, terms.promise(line, refits.mean_spend(fitted))), line


def _measured_under_cap(
    table: pd.DataFrame, places: Sequence[tuple[Sweep, int]], folds: Folds, terms: Terms
) -> pd.DataFrame:
    """Measure the preferred point again, until the preferred point is one that was measured again.

    Return the points with new numbers for those that were measured again, and without those that failed.
    """
    assert terms.cap is not None
    table = table.assign(spend_bound=np.minimum(table["spend_bound"], terms.cap))
    measured: set[int] = set()
    while (point := preferred_points(table, terms)[0][0]) not in measured:
        batch, _ = places[point]
        trial = _measured_trial(batch, folds, terms)
        for line in [line for line in table.index if places[line][0] is batch]:
            if (each := Point(trial, places[line][1])).failed:
                table = table.drop(index=line)
                continue
            for name, value in _numbers(each, folds, terms).items():
                table.at[line, name] = value
            table.at[line, "note"] = f"{AGAIN} under the cap of {terms.cap:.4g}"
            measured.add(line)
        if table.empty:
            raise ValueError(f"BudgetSearchCV: no point could be measured under the cap of {terms.cap:g}.")
    return table


def _with_mixtures(
    table: pd.DataFrame, places: Sequence[tuple[Sweep, int]], folds: Folds, terms: Terms
) -> tuple[pd.DataFrame, list[tuple[Sweep, int]]]:
    """Return the points and their places with those of the mixtures that should score best at the budget."""
    pair = best_pair(table, terms.budget or 0.0, smooth=terms.scoring != TOTAL_COST)
    if pair is None:
        return table, list(places)
    sweep = mixed(pair, places, terms.task, folds.random_state)
    trial = _measured_trial(sweep, folds, terms)
    points = [each for k in range(len(sweep.settings)) if not (each := Point(trial, k)).failed]
    same = {"method": sweep.name, "error": "", "note": "", "dominated": False}
    lines = [{**same, "parameters": each.setting, **_numbers(each, folds, terms)} for each in points]
    for line in lines:
        line["within_budget"] = line["spend_bound"] <= terms.budget
    added = pd.DataFrame(lines, index=range(len(places), len(places) + len(lines)))
    joined = [*places, *((sweep, each.k) for each in points)]
    return pd.concat([table, added.reindex(columns=table.columns)]) if lines else table, joined


def _measured_trial(batch: Sweep, folds: Folds, terms: Terms) -> Trial:
    """Return a batch as measured on all folds."""
    trial = Trial(batch)
    for fold in range(len(folds)):
        trial.measured[fold], _ = measure(batch, *folds.get(fold, batch.max_rows), terms.scoring)
    return trial


def _numbers(point: Point, folds: Folds, terms: Terms) -> dict[str, Any]:
    """Return what was measured of a point, as in the frontier."""
    everything = range(len(folds))
    spend, score, seconds = (point.by_fold(name, everything) for name in ("spend", "score", "seconds"))
    return {
        "spend": float(np.average(spend, weights=folds.held_weights)),
        "spend_bound": bound_of(point, folds, terms.confidence),
        "score": float(score.mean()),
        "score_error": float(score.std(ddof=1) / np.sqrt(len(folds))),
        "fit_seconds": float(seconds.mean()),
        "n_folds": len(folds),
        "n_rows": int(folds.held_sizes.sum()),
    }


def with_limits(terms: Terms, budget: float, cap: float | None) -> Terms:
    """Return the terms with another budget, and the smaller one of two caps; raise ValueError if one is not valid."""
    for name, value in (("budget", budget), ("cap", 0.0 if cap is None else cap)):
        if not is_number(value, 0):
            raise ValueError(f"BudgetSearchCV: {name} is {value!r}; expected a finite number of at least 0.")
    return replace(terms, budget=budget, cap=min((each for each in (cap, terms.cap) if each is not None), default=None))
