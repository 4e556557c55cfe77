"""The watch: it compares live results with the promise of the model, and with the reference."""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from threading import Lock
from typing import Any

from thrifty.models.parameters import is_number, is_whole
from thrifty.runtime.sources.catalog import column_names
from thrifty.runtime.trace import Result, plain
from thrifty.runtime.watch.confidence import ConfidenceSequence
from thrifty.runtime.watch.drift import EXITS, Drift, DriftTest
from thrifty.runtime.watch.promised import Promised
from thrifty.runtime.watch.reference import Reference


class PromiseWarning(UserWarning):
    """A model spends more than it promised, or its rows differ from those at training."""


@dataclass(frozen=True)
class Health:
    """Whether a model keeps its promise in production.

    Attributes
    ----------
    ok : bool
        Whether neither spend nor drift has raised a warning.
    n_rows : int
        The number of rows so far.
    n_degraded : int
        How many of them were degraded.
    mean_spend : float or None
        Their mean spend; None before the first row.
    spend_interval : tuple of float, or None
        Bounds on the expected spend of a row. Each holds at all times together with probability 1 - alpha, if the
        expected spend does not change; the lower can exceed the upper if it does. None if the model promised nothing.
    promised : float or None
        The mean spend that the model promised not to exceed.
    spend_broken : bool
        Whether the lower bound has exceeded `promised`.
    drifted : list of Drift
        The exits, and the columns, that differ from the reference, each with p-value and number of the window in
        which this was found first.
    messages : list of str
        The warnings.
    sources : dict
        The state of the circuit breaker of each source, if an engine reports.

    Examples
    --------
    >>> from thrifty.runtime.watch import Health
    >>> health = Health(True, 200, 3, 2.5, (2.1, 2.9), 3.0, False, [], [])
    >>> health
    Health(ok, 200 rows, 3 degraded, mean spend 2.5, from 2.1 to 2.9, promised 3)
    >>> health.as_dict()["spend_interval"]
    [2.1, 2.9]
    """

    ok: bool
    n_rows: int
    n_degraded: int
    mean_spend: float | None
    spend_interval: tuple[float, float] | None
    promised: float | None
    spend_broken: bool
    drifted: list[Drift]
    messages: list[str]
    sources: Mapping[str, str] = field(default_factory=dict)

    def as_dict(self) -> dict[str, Any]:
        """Return the attributes as plain values, ready for JSON.

        Returns
        -------
        dict
        """
        return plain(asdict(self))

    def __repr__(self) -> str:
        parts = ["ok" if self.ok else "not ok", f"{self.n_rows} rows", f"{self.n_degraded} degraded"]
        if self.mean_spend is not None:
            parts.append(f"mean spend {self.mean_spend:.4g}")
        if self.spend_interval is not None:
            parts.append("from {:.4g} to {:.4g}".format(*self.spend_interval))
        if self.promised is not None:
            parts.append(f"promised {self.promised:.4g}")
        parts += [f"{each.name} drifted (p={each.p_value:.1e}, window {each.window})" for each in self.drifted]
        parts += [f"source {name} is {state}" for name, state in self.sources.items() if state != "closed"]
        return f"Health({', '.join(parts)})"


class Watch:
    """Compares results with the promise of a model and with a reference, after every row. Pass it as `on_result`.

    Spend: a confidence sequence bounds the expected spend of a row from below. If the bound exceeds the promise, the
    promise is broken. As long as no row is expected to spend more than promised, the probability that this is ever
    reported is at most `alpha`, however long the watch runs. The promise is the budget, or the upper confidence bound
    on the spend that was measured at training, whichever is larger. The test is about all rows since the start: after
    n rows that spent less, a change is found only after several times n further rows. Make a new watch from time to
    time, such as every week.

    Drift: windows of rows are compared with the reference, by their exits and by the values of the columns that they
    bought. If nothing has changed, the probability that drift is ever reported is about `alpha` at most; see
    `DriftTest`.

    Degraded rows are charged like others, so they count for the spend. They are left out of the windows: a row that
    misses a value takes another path through the model, so its exit, and what it buys after the failure, tell about
    the source that failed and not about the population. ``Health.n_degraded`` counts them.

    There is at most one warning about the spend and one about drift, of class `PromiseWarning`. A watch may be called
    from several threads.

    Parameters
    ----------
    model : BudgetedEstimator or BudgetSearchCV
        A fitted model. If it promised nothing, its spend is not tested.
    reference : Reference, optional
        What rows looked like at training. Without it drift is not tested.
    alpha : float, default=0.05
        The probability of a false warning about the spend, and that of one about drift. Below 0.5.
    window : int, default=500
        How many rows are compared with the reference together.

    Examples
    --------
    >>> import warnings
    >>> from thrifty import ThriftyClassifier
    >>> from thrifty.datasets import load_heart
    >>> from thrifty.runtime import Result, Trace
    >>> from thrifty.runtime.watch import Watch
    >>> heart = load_heart()
    >>> model = ThriftyClassifier(costs=heart.costs, budget=50, random_state=0).fit(heart.X, heart.y)
    >>> watch = Watch(model)
    >>> with warnings.catch_warnings(record=True) as caught:
    ...     warnings.simplefilter("always")
    ...     for key in range(100):
    ...         watch(Result(key, 1, None, 0.5, 300.0, 0.01, False, 2, "done", "ThriftyClassifier", Trace(key, ())))
    >>> len(caught), caught[0].category.__name__, watch.health().spend_broken
    (1, 'PromiseWarning', True)
    """

    def __init__(self, model: Any, reference: Reference | None = None, *, alpha: float = 0.05, window: int = 500):
        _refuse_unless(is_number(alpha) and 0 < alpha < 0.5, "alpha", alpha, "a number between 0 and 0.5")
        _refuse_unless(is_whole(window, 1), "window", window, "a whole number of at least 1")
        valid = isinstance(reference, Reference | None)
        _refuse_unless(valid, "reference", reference, "a Reference, such as Reference.of(model, X), or None")
        model = getattr(model, "best_estimator_", model)
        if reference is not None:
            _refuse_other_columns(model, reference)
        self._lock = Lock()
        self._n_rows = self._n_degraded = 0
        self._total = 0.0
        self._promised = Promised.by(model, reference)
        # Two bounds of level 2 * alpha together: each of them has level alpha.
        self._spend = None if self._promised is None else ConfidenceSequence(self._promised.largest, 2.0 * alpha)
        self._drift = None if reference is None else DriftTest(reference, alpha, window)
        self._spend_message = self._drift_message = ""
        self._drifted: dict[str, Drift] = {}

    def __call__(self, result: Result) -> None:
        """Take a result; warn if it shows that the promise is broken or that rows have changed.

        Parameters
        ----------
        result : Result
        """
        with self._lock:
            messages = self._update(result)
        for message in messages:
            warnings.warn(message, PromiseWarning, stacklevel=2)

    def health(self) -> Health:
        """Return what is known so far.

        Returns
        -------
        Health
        """
        with self._lock:
            messages = [each for each in (self._spend_message, self._drift_message) if each]
            return Health(
                ok=not messages,
                n_rows=self._n_rows,
                n_degraded=self._n_degraded,
                mean_spend=self._total / self._n_rows if self._n_rows else None,
                spend_interval=None if self._spend is None else (self._spend.lower, self._spend.upper),
                promised=None if self._promised is None else self._promised.spend,
                spend_broken=bool(self._spend_message),
                drifted=list(self._drifted.values()),
                messages=messages,
            )

    def __repr__(self) -> str:
        return f"Watch({self.health()!r})"

    def _update(self, result: Result) -> list[str]:
        """Take a result, and return new warnings."""
        self._n_rows += 1
        self._n_degraded += result.degraded
        self._total += result.spend
        return [*self._test_spend(result), *([] if result.degraded else self._test_drift(result))]

    def _test_spend(self, result: Result) -> list[str]:
        if self._spend is None or self._promised is None:
            return []
        self._spend.update(result.spend)
        if self._spend_message or self._spend.lower <= self._promised.spend:
            return []
        mean = self._total / self._n_rows
        self._spend_message = _spend_message(result.model, self._promised, mean, self._spend)
        return [self._spend_message]

    def _test_drift(self, result: Result) -> list[str]:
        if self._drift is None:
            return []
        found = self._drift.update(result)
        for each in found:
            self._drifted.setdefault(each.name, each)
        if self._drift_message or not found:
            return []
        self._drift_message = _drift_message(result.model, found)
        return [self._drift_message]


def _spend_message(model: str, promised: Promised, mean: float, seen: ConfidenceSequence) -> str:
    def amount(value: float) -> str:
        return f"{value:.4g} {promised.unit}".strip()

    budget = "" if promised.budget is None else f" (the budget is {amount(promised.budget)})"
    return (
        f"{model} promised a mean spend of at most {amount(promised.spend)} per row{budget}, but {seen.n_rows} rows "
        f"spent {amount(mean)} on average, and the expected spend is at least {amount(seen.lower)} (with "
        f"{1.0 - seen.alpha / 2.0:.4g} confidence at all times). Fit the model again on recent rows, or pass a cap or "
        "a smaller budget."
    )


def _drift_message(model: str, found: list[Drift]) -> str:
    shown = "; ".join(
        f"{'the exits' if each.name == EXITS else f'the values of {each.name!r}'} (p = {each.p_value:.1e})"
        for each in found
    )
    return (
        f"The rows that {model} sees are not like those of its reference. In window {found[0].window} these differ: "
        f"{shown}. Its spend and its errors may not be as measured at training. Look for a change in these columns or "
        "their sources, and fit the model again on recent rows if the change is real."
    )


def _refuse_other_columns(model: Any, reference: Reference) -> None:
    if odd := sorted(set(reference.columns) ^ set(column_names(model).values())):
        raise ValueError(
            f"Watch: the reference and the model do not have the same columns; only one of them has {odd[:5]}. "
            "Make the reference with Reference.of(model, X)."
        )


def _refuse_unless(valid: bool, name: str, value: Any, expected: str) -> None:
    if not valid:
        raise ValueError(f"Watch: {name} is {value!r}; expected {expected}.")
