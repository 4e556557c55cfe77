"""Another model on recorded traces: what it would have asked for, spent and predicted on the same rows.

A trace knows only the values that the recorded model bought. If the other model asks for a value that the trace does
not have, its prediction for this row is unknown, and what it has spent up to there is a lower bound.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from numbers import Real
from typing import Any

from thrifty.costs.errors import format_value
from thrifty.exceptions import SessionError, SourceError
from thrifty.models.outline import Stage
from thrifty.models.row_positions import position_of
from thrifty.models.session import Acquire, Feature, Session
from thrifty.runtime.sources.catalog import column_names, usable_columns
from thrifty.runtime.trace import Result, plain

ANSWERED = ("ok", "cached", "missing", "invalid")  # outcomes that tell a value, or that it is unavailable
_TOLERANCE = 1e-9  # relative difference of numbers that count as the same prediction


@dataclass(frozen=True)
class Replayed:
    """One recorded row, replayed with another model.

    Attributes
    ----------
    key : object
        The key of the row.
    known : bool
        Whether the trace has all values that the model asked for.
    prediction : object
        The prediction; None if the row is not known in full.
    spend : float
        What the row is charged; a lower bound if the row is not known in full.
    bought : tuple of str
        The features that the model asked for, up to the first step that the trace does not know.
    unknown : tuple of str
        The features of this step that the trace does not know.
    recorded : Result
        The recorded result.

    Examples
    --------
    >>> from thrifty.runtime import Result, Trace
    >>> from thrifty.runtime.replay import Replayed
    >>> recorded = Result("a17", "no", None, -1.5, 2.0, 0.01, False, 0, "done", "ASTCClassifier", Trace("a17", ()))
    >>> Replayed("a17", True, "yes", 1.0, ("age",), (), recorded).changed
    True
    """

    key: Any
    known: bool
    prediction: Any
    spend: float
    bought: tuple[str, ...]
    unknown: tuple[str, ...]
    recorded: Result

    @property
    def changed(self) -> bool | None:
        """Whether the prediction differs from the recorded one; None if the row is not known in full."""
        return _differ(self.prediction, self.recorded.prediction) if self.known else None

    def as_dict(self) -> dict[str, Any]:
        """Return the row as plain values, ready for a table or for JSON.

        Returns
        -------
        dict
        """
        return {
            "key": plain(self.key),
            "known": self.known,
            "prediction": self.prediction,
            "recorded_prediction": self.recorded.prediction,
            "spend": self.spend,
            "recorded_spend": self.recorded.spend,
            "bought": list(self.bought),
            "unknown": list(self.unknown),
        }


def replay(model: Any, results: Iterable[Result], cap: float | None = None) -> Iterator[Replayed]:
    """Predict recorded rows with another model, from the values in their traces.

    Values of calls that were answered are known; also that a value is unavailable. Values of calls that failed, and
    redacted values, are not known. The model is charged as if nothing was cached.

    Parameters
    ----------
    model : BudgetedEstimator
        A fitted model.
    results : iterable of Result
        Recorded results, such as those of `read_traces`.
    cap : float, optional
        Hard limit on each row's spend.

    Yields
    ------
    Replayed

    Examples
    --------
    >>> from thrifty import CostWeightedL1Regressor
    >>> from thrifty.runtime import Call, Result, Step, Trace
    >>> from thrifty.runtime.replay import replay
    >>> model = CostWeightedL1Regressor(cost_weight=0.01, costs={"size": 2.0}).fit([[0.0], [1.0]], [0.0, 1.0])
    >>> call = Call("shop", ("size",), "ok", 2.0, 0.0, 0.01, 1, 1, "", {"size": 0.5})
    >>> trace = Trace("a17", (Step(("size",), 2.0, "", (call,)),))
    >>> recorded = Result("a17", 0.75, None, 0.75, 2.0, 0.01, False, 0, "done", "ASTCRegressor", trace)
    >>> [(row.known, round(row.prediction, 2), row.spend, row.changed) for row in replay(model, [recorded])]
    [(True, 0.5, 2.0, True)]
    """
    names = column_names(model)
    for number, result in enumerate(results, start=1):
        _refuse_odd(result, number)
        yield _replayed(model.for_positions([position_of(result.key)]).session(cap), names, result)


class Comparison:
    """Counts what changes from the recorded results to the replayed ones.

    Parameters
    ----------
    model : BudgetedEstimator
        The model that was replayed.
    cap : float, optional
        The hard limit on each row's spend that it was replayed with.

    Attributes
    ----------
    n_rows : int
        The number of rows.
    n_known : int
        The number of rows that the traces know in full.

    Examples
    --------
    >>> from thrifty import CostWeightedL1Regressor
    >>> from thrifty.runtime import Result, Trace
    >>> from thrifty.runtime.replay import Comparison, replay
    >>> model = CostWeightedL1Regressor(cost_weight=0.01, costs={"size": 2.0}).fit([[0.0], [1.0]], [0.0, 1.0])
    >>> empty = Result("a17", 0.75, None, 0.75, 0.0, 0.01, False, 0, "cap", "ASTCRegressor", Trace("a17", ()))
    >>> comparison = Comparison(model)
    >>> for row in replay(model, [empty]):
    ...     comparison.add(row)
    >>> comparison.n_rows, comparison.n_known, comparison.as_dict()["all_rows"]["spend_at_least"]
    (1, 0, 2.0)
    """

    def __init__(self, model: Any, cap: float | None = None):
        self._most = min(largest_spend(model), math.inf if cap is None else cap)
        self.n_rows = self.n_known = self.n_changed = 0
        self._recorded, self._recorded_known = 0.0, 0.0
        self._known, self._at_least, self._at_most = 0.0, 0.0, 0.0
        self._sources: dict[str, str] = {}
        self._before: Counter[str] = Counter()
        self._after: Counter[str] = Counter()
        self._unknown: Counter[str] = Counter()

    def add(self, row: Replayed) -> None:
        """Count a row.

        Parameters
        ----------
        row : Replayed
        """
        self.n_rows += 1
        self._recorded += row.recorded.spend
        self._at_least += row.spend
        self._at_most += row.spend if row.known else max(self._most, row.spend)
        self._sources |= {feature: call.source for call in row.recorded.trace.calls for feature in call.features}
        self._unknown.update(row.unknown)
        if row.known:
            self._add_known(row)

    def _add_known(self, row: Replayed) -> None:
        self.n_known += 1
        self.n_changed += bool(row.changed)
        self._recorded_known += row.recorded.spend
        self._known += row.spend
        self._before.update({feature for step in row.recorded.trace.steps for feature in step.features})
        self._after.update(row.bought)

    def as_dict(self) -> dict[str, Any]:
        """Return all counts and means, ready for JSON.

        Returns
        -------
        dict
            With the keys rows, known_rows, changed (share of the known rows whose prediction changes), known (mean
            spends of the rows known in full), all_rows (the recorded mean spend, and bounds on the replayed one) and
            purchases: for each feature, in how many known rows it was asked for before and after, and how many rows
            became unknown at it.
        """
        return {
            "rows": self.n_rows,
            "known_rows": self.n_known,
            "changed": _ratio(self.n_changed, self.n_known),
            "known": {
                "recorded_spend": _ratio(self._recorded_known, self.n_known),
                "spend": _ratio(self._known, self.n_known),
            },
            "all_rows": {
                "recorded_spend": _ratio(self._recorded, self.n_rows),
                "spend_at_least": _ratio(self._at_least, self.n_rows),
                "spend_at_most": _ratio(self._at_most, self.n_rows),
            },
            "purchases": self._purchases(),
        }

    def _purchases(self) -> list[dict[str, Any]]:
        features = {*self._before, *self._after, *self._unknown}
        lines = [
            {
                "source": self._sources.get(feature, ""),
                "feature": feature,
                "recorded": self._before[feature],
                "replayed": self._after[feature],
                "unknown": self._unknown[feature],
            }
            for feature in features
        ]
        return sorted(lines, key=lambda line: (line["source"] == "", line["source"], line["feature"]))


def largest_spend(model: Any) -> float:
    """Return an upper bound on what a model can spend on a row without a cap.

    Parameters
    ----------
    model : BudgetedEstimator
        A fitted model.

    Returns
    -------
    float

    Examples
    --------
    >>> from thrifty import CostWeightedL1Regressor
    >>> from thrifty.runtime.replay import largest_spend
    >>> largest_spend(CostWeightedL1Regressor(cost_weight=0.01, costs=[2.0]).fit([[0.0], [1.0]], [0.0, 1.0]))
    2.0
    """
    outline = model.outline()
    if outline.stages is not None:
        return max(_paid(outline.stages))
    usable = set(usable_columns(model))
    return model.cost_model_.of([name in usable for name in column_names(model).values()]) + outline.evaluation


def _replayed(session: Session, names: Mapping[Feature, str], result: Result) -> Replayed:
    values = _known_values(result)
    bought: list[str] = []
    while isinstance(step := session.next(), Acquire):
        asked = [names[feature] for feature in step.features]
        if unknown := tuple(name for name in asked if name not in values):
            at_least = session.spend + step.cost  # what is ordered is charged, whatever its value is
            return Replayed(result.key, False, None, at_least, tuple(bought), unknown, result)
        _observe(session, {feature: values[names[feature]] for feature in step.features})
        bought += asked
    return Replayed(result.key, True, plain(step.prediction), session.spend, tuple(bought), (), result)


def _known_values(result: Result) -> dict[str, Any]:
    """Return the values that a trace knows, None for those that are known to be unavailable."""
    known: dict[str, Any] = {}
    for call in result.trace.calls:
        if call.outcome in ANSWERED and isinstance(call.values, Mapping):
            known |= call.values
    return known


def _observe(session: Session, values: Mapping[Feature, Any]) -> None:
    """Pass values to a session; those that this model cannot read are unavailable, as in an engine."""
    try:
        session.observe(values)
    except SessionError:
        for feature, value in values.items():
            try:
                session.observe({feature: value})
            except SessionError:
                session.observe({feature: None})


def _refuse_odd(result: Result, number: int) -> None:
    if not _is_number(result.spend) or not math.isfinite(result.spend):
        raise SourceError(f"trace {number} has the spend {format_value(result.spend)}; expected a number.")


def _differ(prediction: Any, recorded: Any) -> bool:
    if _is_number(prediction) and _is_number(recorded):
        return not math.isclose(prediction, recorded, rel_tol=_TOLERANCE, abs_tol=_TOLERANCE)
    return plain(prediction) != plain(recorded)


def _is_number(value: Any) -> bool:
    return isinstance(value, Real) and not isinstance(value, bool)


def _paid(stage: Stage) -> Iterator[float]:
    yield stage.paid
    for child in stage.children:
        yield from _paid(child)


def _ratio(total: float, count: int) -> float | None:
    return total / count if count else None
