"""Which predictor is a sum of which terms: linear models, kernel machines, ensembles of trees, scaled or not.

Others are refused with a message that says what they lack.
"""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from scipy.sparse import issparse
from sklearn.frozen import FrozenEstimator
from sklearn.multiclass import OneVsRestClassifier
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import MaxAbsScaler, MinMaxScaler, RobustScaler, StandardScaler

from thrifty.models.forests.forest import Forest
from thrifty.models.stopping.adoption import WELCOME, PredictorError, takes_missing_values
from thrifty.models.stopping.terms import KERNELS, Kernel, KernelTerms, LinearTerms, Scaling, Terms, TreeTerms


def read_terms(estimator: Any, n_features: int, means: np.ndarray) -> Terms:
    """Return the terms of a fitted predictor; `means` stand in for NaN where it cannot take any."""
    fill = None if takes_missing_values(estimator) else means
    scaling, predictor = _unwrapped(estimator, n_features)
    parts = predictor.estimators_ if isinstance(predictor, OneVsRestClassifier) else [predictor]
    if all(hasattr(part, "support_vectors_") for part in parts):
        return _kernel_terms(parts, scaling, means)
    if all(hasattr(part, "coef_") for part in parts):
        coefs = [np.atleast_2d(_dense(part.coef_)) for part in parts]
        intercepts = [np.broadcast_to(part.intercept_, len(coef)) for part, coef in zip(parts, coefs, strict=True)]
        return LinearTerms.of(np.concatenate(coefs), np.concatenate(intercepts), scaling, means)
    return TreeTerms.of(_forest(predictor), scaling, fill)


def _unwrapped(estimator: Any, n_features: int) -> tuple[Scaling | None, Any]:
    """Take a predictor out of pipelines and frozen shells; return what is done to the columns before it, and it."""
    scaling, steps = None, [estimator]
    while steps:
        step = steps.pop(0)
        if isinstance(step, FrozenEstimator):
            steps.insert(0, step.estimator)
        elif isinstance(step, Pipeline):
            steps = [each for _, each in step.steps if each not in (None, "passthrough")] + steps
        elif steps:
            further = _scaling(step, n_features)
            scaling = further if scaling is None else further.after(scaling)
    return scaling, step


def _scaling(step: Any, n_features: int) -> Scaling:
    reader = next((read for kind, read in _SCALERS.items() if isinstance(step, kind)), None)
    if reader is None:
        raise PredictorError(
            f"estimator has the step {step!r}, after which a term is no longer one column. "
            f"Expected only {', '.join(kind.__name__ for kind in _SCALERS)} before the predictor."
        )
    centre, divisor = reader(step)
    return Scaling(
        np.zeros(n_features) if centre is None else centre, np.ones(n_features) if divisor is None else divisor
    )


_SCALERS: dict[type, Callable[[Any], tuple[Any, Any]]] = {
    StandardScaler: lambda step: (step.mean_ if step.with_mean else None, step.scale_ if step.with_std else None),
    MinMaxScaler: lambda step: (-step.min_ / step.scale_, 1.0 / step.scale_),
    MaxAbsScaler: lambda step: (None, step.scale_),
    RobustScaler: lambda step: (step.center_, step.scale_),
}


def _kernel_terms(machines: Sequence[Any], scaling: Scaling | None, fill: np.ndarray) -> KernelTerms:
    """Read machines of two classes each; a support vector that several of them share is one term."""
    for machine in machines:
        if machine.kernel not in KERNELS:
            raise PredictorError(f"estimator has the kernel {machine.kernel!r}; expected one of {', '.join(KERNELS)}.")
        if len(machine.classes_) > 2:
            raise PredictorError(
                f"estimator is {machine!r} of {len(machine.classes_)} classes, which votes one against one and has no "
                "score for each class. Wrap it in OneVsRestClassifier."
            )
    kernels = {Kernel(each.kernel, float(each._gamma), float(each.coef0), float(each.degree)) for each in machines}
    if len(kernels) > 1:
        raise PredictorError("estimator has machines with different kernels; expected one kernel, with the same gamma.")
    vectors, place = _distinct(np.concatenate([_dense(each.support_vectors_) for each in machines]).astype(float))
    weights = np.zeros((len(machines), len(vectors)))
    first = 0
    for line, machine in zip(weights, machines, strict=True):
        dual = _dense(machine.dual_coef_)[0]
        np.add.at(line, place[first : first + len(dual)], dual)
        first += len(dual)
    intercept = np.concatenate([machine.intercept_ for machine in machines])
    return KernelTerms(vectors, next(iter(kernels)), scaling, weights, intercept, np.arange(len(vectors)), fill)


def _distinct(lines: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the distinct lines in order of appearance, and which of them each line is."""
    _, first, group = np.unique(lines, axis=0, return_index=True, return_inverse=True)
    appearance = np.argsort(first)
    return lines[first[appearance]], np.argsort(appearance)[group]


def _forest(predictor: Any) -> Forest:
    """Read an ensemble whose outputs add up to scores of classes."""
    in_margins = type(predictor).__module__.split(".")[0] in ("lightgbm", "xgboost") or isinstance(predictor, Forest)
    if not in_margins and not hasattr(predictor, "decision_function"):
        lacks = "probabilities only" if hasattr(predictor, "predict_proba") else "no scores"
        raise PredictorError(f"estimator is {predictor!r}, which gives {lacks}. Pass {WELCOME}.")
    try:
        return Forest.from_model(predictor)
    except (TypeError, ValueError) as error:
        raise PredictorError(f"estimator is {predictor!r}, which is no sum of terms. Pass {WELCOME}.") from error


def _dense(array: Any) -> np.ndarray:
    return array.toarray() if issparse(array) else np.asarray(array)
