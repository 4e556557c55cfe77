"""One method under a series of settings, fitted with as few fits as the method allows.

Several settings may share one fit: caps are applied to one fitted model, numbers of boosting rounds are prefixes of
one ensemble, cost weights are points of one solution path, and shares mix the same two models.
"""

import warnings
from collections.abc import Iterator
from copy import copy
from dataclasses import dataclass, replace
from functools import cache
from itertools import groupby
from time import perf_counter
from typing import Any

from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning

from thrifty.models.acquisition import Acquisition
from thrifty.models.homes import is_collection
from thrifty.models.rows import Rows
from thrifty.tuning.calibration import Calibration
from thrifty.tuning.knobs import MEAN_SPEND, SAME_CURVE, Setting
from thrifty.tuning.problem import Problem


@dataclass(frozen=True)
class Fitted:
    """A model that was fitted under a setting, or the error of a fit that failed.

    Attributes
    ----------
    setting : dict
        Parameters of the point; ``cap`` is a limit under which the model is run.
    model : BudgetedEstimator or None
        None if the fit failed.
    seconds : float
        Seconds of fitting, divided evenly among the settings that share the fit.
    error : str
        The error message, empty if there was no error.
    """

    setting: Setting
    model: Any
    seconds: float
    error: str = ""

    def limit(self, cap: float | None) -> float | None:
        """Return the smaller of the setting's cap and the cap on every row; None if there is neither."""
        return min((each for each in (self.setting.get("cap"), cap) if each is not None), default=None)

    def acquire(self, rows: Rows, cap: float | None) -> Acquisition:
        """Predict numeric rows, under the smaller of the setting's cap and the cap on every row."""
        return self.model.acquire(rows.X, self.limit(cap), qid=rows.qid)


@dataclass(frozen=True)
class Sweep:
    """An unfitted estimator, and the settings to try.

    Attributes
    ----------
    name : str
        How the frontier calls it.
    estimator : BudgetedEstimator
    settings : tuple of dict
        Parameters of each point; ``cap`` is a limit under which the model is run, and ``mean_spend`` decides the cost
        weight of a fitted model, see `thrifty.tuning.calibration`.
    max_rows : int or None
        The largest number of rows to fit in a fold; None means all.
    is_slow : bool
        Whether a fit takes long. Slow methods are measured further only if they are among the best ones so far.
    scout_seconds : float
        About how long a fit of 1,000 rows takes; 0 if that is not known.
    """

    name: str
    estimator: Any
    settings: tuple[Setting, ...]
    max_rows: int | None = None
    is_slow: bool = False
    scout_seconds: float = 0.0

    @property
    def _path_parameter(self) -> str | None:
        """The parameter whose values one fit or one call of ``path`` serves, if any.

        For boosters it is the number of rounds, and for mixtures the share.
        """
        if hasattr(self.estimator, "at_share"):
            return "share"
        if not hasattr(self.estimator, "path") or not self.settings:
            return None
        stops_early = self.estimator.get_params().get("early_stopping")
        on_paths = [{SAME_CURVE.get(name, name) for name in each} for each in self.settings]
        swept = [name for name in ("n_estimators", "cost_weight") if all(name in each for each in on_paths)]
        return next((name for name in swept if not (stops_early and name == "n_estimators")), None)

    def batches(self) -> list["Sweep"]:
        """Divide the sweep into parts that need one fit or one path each, in order."""
        shared = ("cap", self._path_parameter, *SAME_CURVE)  # settings that differ only in these share a fit
        fixed = [repr(sorted((k, v) for k, v in s.items() if k not in shared)) for s in self.settings]
        order = sorted(range(len(fixed)), key=lambda k: fixed.index(fixed[k]))
        groups = groupby(order, key=fixed.__getitem__)
        return [replace(self, settings=tuple(self.settings[k] for k in group)) for _, group in groups]

    def unfitted(self, setting: Setting) -> Any:
        """Return the estimator under a setting, without costs."""
        return clone(self.estimator).set_params(costs=None, **{k: v for k, v in setting.items() if k != "cap"})

    def fit(self, problem: Problem) -> list[Fitted]:
        """Fit one batch; if the estimator fails, record the error for all its settings."""
        start = perf_counter()
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", ConvergenceWarning)  # the measured score shows whether it was enough
                models = list(self._models(problem))
        except Exception as error:
            failed = f"{type(error).__name__}: {error}"
            return [Fitted(setting, None, 0.0, failed) for setting in self.settings]
        seconds = (perf_counter() - start) / len(models)
        return [
            Fitted(_resolved(setting, model), model, seconds)
            for setting, model in zip(self.settings, models, strict=True)
        ]

    def _models(self, problem: Problem) -> Iterator[Any]:
        rows = problem.rows
        swept = None if is_collection(rows.X) else self._path_parameter
        fixed = {name: value for name, value in self.settings[0].items() if name not in (swept, "cap", MEAN_SPEND)}
        estimator = problem.prepared(clone(self.estimator).set_params(**fixed))
        data = (rows.X, rows.y, problem.fit_weight)
        if swept == "n_estimators":
            rounds = [setting["n_estimators"] for setting in self.settings]
            prefixes = estimator.set_params(n_estimators=max(rounds)).path(*data, qid=rows.qid)
            for n in rounds:
                yield copy(prefixes[min(n, len(prefixes)) - 1]).set_params(n_estimators=n)
        elif swept == "cost_weight":
            yield from self._along_the_path(estimator, problem)
        elif swept == "share":
            mixture = estimator.fit(*data, qid=rows.qid)
            yield from (mixture.at_share(setting["share"]) for setting in self.settings)
        else:
            yield from [estimator.fit(*data, qid=rows.qid)] * len(self.settings)

    def _along_the_path(self, estimator: Any, problem: Problem) -> Iterator[Any]:
        """Yield the models of one path; those with a mean spend are calibrated on the rows that were fitted."""
        rows = problem.rows
        weights = {setting["cost_weight"] for setting in self.settings if "cost_weight" in setting} or {1.0}
        path = estimator.path(rows.X, rows.y, problem.fit_weight, cost_weights=weights, qid=rows.qid)
        by_weight = {model.cost_weight: model for model in path}
        calibration = cache(lambda: Calibration(path[0], rows, problem.cap, _largest_weight(path[0], rows)))
        for setting in self.settings:
            if MEAN_SPEND in setting:
                yield calibration().at(setting[MEAN_SPEND])
            else:
                yield by_weight[setting["cost_weight"]]


def _largest_weight(model: Any, rows: Rows) -> float:
    return float(model.usual_cost_weights(rows.X, rows.y).max())


def _resolved(setting: Setting, model: Any) -> Setting:
    """Return a setting in parameters of the method: the cost weight that was found in place of a mean spend."""
    if MEAN_SPEND not in setting:
        return setting
    return {name: each for name, each in setting.items() if name != MEAN_SPEND} | {"cost_weight": model.cost_weight}
