"""One method under a series of settings, fitted with as little work as the method allows.

Settings that one fit can serve are fitted together: caps are run on one fitted model, numbers of boosting rounds are
prefixes of one ensemble, cost weights are stations of one solution path.
"""

import warnings
from collections.abc import Iterator
from copy import copy
from dataclasses import dataclass
from itertools import groupby
from time import perf_counter
from typing import Any

from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning

from thrifty.tuning.methods import Setting
from thrifty.tuning.raw_rows import Numbers


@dataclass(frozen=True)
class Fitted:
    """A model fitted under a setting, or why there is none; `seconds` is its share of the work."""

    setting: Setting
    model: Any
    seconds: float
    error: str = ""

    def limit(self, cap: float | None) -> float | None:
        """Return what a row may spend: the smaller of the setting's own cap and the one on every row."""
        return min((each for each in (self.setting.get("cap"), cap) if each is not None), default=None)


@dataclass(frozen=True)
class Sweep:
    """An unfitted estimator and the settings to try it under.

    Attributes
    ----------
    name : str
        What the frontier calls it.
    estimator : BudgetedEstimator
    settings : tuple of dict
        Parameters of each point; ``cap`` is the limit that the model is run under.
    """

    name: str
    estimator: Any
    settings: tuple[Setting, ...]

    @property
    def _swept(self) -> str | None:
        """The parameter that one path of the estimator runs through; a booster's own path is that of its rounds."""
        if not hasattr(self.estimator, "path") or not self.settings:
            return None
        stops_early = self.estimator.get_params().get("early_stopping")
        stations = [name for name in ("n_estimators", "cost_weight") if all(name in each for each in self.settings)]
        return next((name for name in stations if not (stops_early and name == "n_estimators")), None)

    def batches(self) -> list["Sweep"]:
        """Divide the sweep into parts that take one fit or one path each, in order."""
        swept = self._swept
        fixed = [repr(sorted((k, v) for k, v in s.items() if k not in (swept, "cap"))) for s in self.settings]
        order = sorted(range(len(fixed)), key=lambda k: fixed.index(fixed[k]))
        groups = groupby(order, key=fixed.__getitem__)
        return [Sweep(self.name, self.estimator, tuple(self.settings[k] for k in group)) for _, group in groups]

    def unfitted(self, setting: Setting) -> Any:
        """Return the estimator under a setting, with no costs of its own."""
        return clone(self.estimator).set_params(costs=None, **{k: v for k, v in setting.items() if k != "cap"})

    def fit(self, rows: Numbers) -> list[Fitted]:
        """Fit one batch; an estimator that fails is reported, not raised."""
        start = perf_counter()
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", ConvergenceWarning)  # an unfinished descent is judged like any other
                models = list(self._models(rows))
        except Exception as error:
            failed = f"{type(error).__name__}: {error}"
            return [Fitted(setting, None, 0.0, failed) for setting in self.settings]
        seconds = (perf_counter() - start) / len(models)
        return [Fitted(setting, model, seconds) for setting, model in zip(self.settings, models, strict=True)]

    def _models(self, rows: Numbers) -> Iterator[Any]:
        swept = self._swept
        fixed = {name: value for name, value in self.settings[0].items() if name not in (swept, "cap")}
        estimator = rows.prepared(clone(self.estimator).set_params(**fixed))
        data = (rows.X, rows.y, rows.weight)
        if swept == "n_estimators":
            rounds = [setting["n_estimators"] for setting in self.settings]
            prefixes = estimator.set_params(n_estimators=max(rounds)).path(*data, qid=rows.qid)
            for n in rounds:
                yield copy(prefixes[min(n, len(prefixes)) - 1]).set_params(n_estimators=n)
        elif swept == "cost_weight":
            weights = [setting["cost_weight"] for setting in self.settings]
            stations = {m.cost_weight: m for m in estimator.path(*data, cost_weights=set(weights), qid=rows.qid)}
            yield from (stations[weight] for weight in weights)
        else:
            yield from [estimator.fit(*data, qid=rows.qid)] * len(self.settings)
