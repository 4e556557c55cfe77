"""Conversion of fitted predictors to terms: linear models, kernel machines and ensembles of trees, scaled or not."""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from scipy.sparse import issparse
from sklearn.frozen import FrozenEstimator
from sklearn.multiclass import OneVsRestClassifier
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import MaxAbsScaler, MinMaxScaler, RobustScaler, StandardScaler

from thrifty.models.forests.forest import Forest
from thrifty.models.stopping.full_predictor import FullPredictor
from thrifty.models.stopping.predictor_fit import SUPPORTED, PredictorError, accepts_nan
from thrifty.models.stopping.terms import KERNELS, Kernel, KernelTerms, LinearTerms, Scaling, Terms, TreeTerms


def read_terms(estimator: Any, n_features: int, means: np.ndarray) -> Terms:
    """Return the terms of a fitted predictor.

    Parameters
    ----------
    estimator : classifier, Forest or booster
        The fitted predictor.
    n_features : int
        Number of columns of X.
    means : ndarray of shape (n_features,)
        Values that replace NaN if the predictor does not accept it.

    Raises
    ------
    PredictorError
        If the predictor is not a sum of terms.
    """
    if isinstance(estimator, FullPredictor):
        return estimator.terms
    fill = None if accepts_nan(estimator) else means
    scaling, predictor = _unwrap(estimator, n_features)
    parts = predictor.estimators_ if isinstance(predictor, OneVsRestClassifier) else [predictor]
    if all(hasattr(part, "support_vectors_") for part in parts):
        return _kernel_terms(parts, scaling, means)
    if all(hasattr(part, "coef_") for part in parts):
        coefs = [np.atleast_2d(_dense(part.coef_)) for part in parts]
        intercepts = [np.broadcast_to(part.intercept_, len(coef)) for part, coef in zip(parts, coefs, strict=True)]
        return LinearTerms.of(np.concatenate(coefs), np.concatenate(intercepts), scaling, means)
    return TreeTerms.of(_forest(predictor), scaling, fill)


def _unwrap(estimator: Any, n_features: int) -> tuple[Scaling | None, Any]:
    """Return the scaling of the columns, and the predictor inside of pipelines and frozen estimators."""
    scaling, steps = None, [estimator]
    while steps:
        step = steps.pop(0)
        if isinstance(step, FrozenEstimator):
            steps.insert(0, step.estimator)
        elif isinstance(step, Pipeline):
            steps = [each for _, each in step.steps if each not in (None, "passthrough")] + steps
        elif steps:
            next_scaling = _scaling(step, n_features)
            scaling = next_scaling if scaling is None else next_scaling.after(scaling)
    return scaling, step


def _scaling(step: Any, n_features: int) -> Scaling:
    reader = next((read for kind, read in _SCALERS.items() if isinstance(step, kind)), None)
    if reader is None:
        raise PredictorError(
            f"estimator has the step {step!r}, whose columns are not scaled columns of X. "
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
    """Return the terms of machines with two classes each; a support vector of several machines is one term."""
    kernel = _common_kernel(machines)
    vectors, position = _distinct(np.concatenate([_dense(each.support_vectors_) for each in machines]).astype(float))
    weights = np.zeros((len(machines), len(vectors)))
    first = 0
    for line, machine in zip(weights, machines, strict=True):
        dual = _dense(machine.dual_coef_)[0]
        np.add.at(line, position[first : first + len(dual)], dual)
        first += len(dual)
    intercept = np.concatenate([machine.intercept_ for machine in machines])
    return KernelTerms(vectors, kernel, scaling, weights, intercept, np.arange(len(vectors)), fill)


def _common_kernel(machines: Sequence[Any]) -> Kernel:
    for machine in machines:
        if machine.kernel not in KERNELS:
            raise PredictorError(f"estimator has the kernel {machine.kernel!r}; expected one of {', '.join(KERNELS)}.")
        if len(machine.classes_) > 2:
            raise PredictorError(
                f"estimator is {machine!r} with {len(machine.classes_)} classes. Its one-against-one votes are not "
                "scores of classes. Wrap it in OneVsRestClassifier."
            )
    kernels = {Kernel(each.kernel, float(each._gamma), float(each.coef0), float(each.degree)) for each in machines}
    if len(kernels) > 1:
        raise PredictorError("estimator has machines with different kernels; expected one kernel, with the same gamma.")
    return next(iter(kernels))


def _distinct(lines: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the distinct lines in order of appearance, and the position of each line among them."""
    _, first, group = np.unique(lines, axis=0, return_index=True, return_inverse=True)
    appearance = np.argsort(first)
    return lines[first[appearance]], np.argsort(appearance)[group]


def _forest(predictor: Any) -> Forest:
    """Return the trees of an ensemble whose outputs add up to scores of classes."""
    has_scores = type(predictor).__module__.split(".")[0] in ("lightgbm", "xgboost") or isinstance(predictor, Forest)
    if not has_scores and not hasattr(predictor, "decision_function"):
        lacks = "probabilities only" if hasattr(predictor, "predict_proba") else "no scores"
        raise PredictorError(f"estimator is {predictor!r}, which has {lacks}. Pass {SUPPORTED}.")
    try:
        return Forest.from_model(predictor)
    except (TypeError, ValueError) as error:
        raise PredictorError(f"estimator is {predictor!r}, which is not a sum of terms. Pass {SUPPORTED}.") from error


def _dense(array: Any) -> np.ndarray:
    return array.toarray() if issparse(array) else np.asarray(array)
