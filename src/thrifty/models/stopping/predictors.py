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
from thrifty.models.stopping.predictor_fit import CLASSIFIERS, PredictorError, SupportedPredictors, accepts_nan
from thrifty.models.stopping.terms import KERNELS, Kernel, KernelTerms, LinearTerms, Scaling, Terms, TreeTerms


def read_terms(
    estimator: Any, n_features: int, means: np.ndarray, supported: SupportedPredictors = CLASSIFIERS
) -> Terms:
    """Return the terms of a fitted predictor.

    Parameters
    ----------
    estimator : classifier, regressor, Forest or booster
        The fitted predictor.
    n_features : int
        Number of columns of X.
    means : ndarray of shape (n_features,)
        Values that replace NaN if the predictor does not accept it.
    supported : SupportedPredictors
        The predictors that the caller can wrap.

    Raises
    ------
    PredictorError
        If the predictor is not a sum of terms.
    """
    if isinstance(estimator, FullPredictor):
        if estimator.n_features_in_ != n_features:
            fitted_on = f"estimator was fitted on {estimator.n_features_in_} columns"
            raise PredictorError(f"{fitted_on}, X has {n_features}. Pass the same columns.")
        return estimator.terms
    fill = None if accepts_nan(estimator) else means
    scaling, predictor = _unwrap(estimator, n_features)
    parts = predictor.estimators_ if isinstance(predictor, OneVsRestClassifier) else [predictor]
    if all(hasattr(part, "support_vectors_") or hasattr(part, "X_fit_") for part in parts):
        return _kernel_terms(parts, scaling, means)
    if all(hasattr(part, "coef_") for part in parts):
        coefs = [np.atleast_2d(_dense(part.coef_)) for part in parts]
        intercepts = [np.broadcast_to(part.intercept_, len(coef)) for part, coef in zip(parts, coefs, strict=True)]
        return LinearTerms.of(np.concatenate(coefs), np.concatenate(intercepts), scaling, means)
    return TreeTerms.of(_forest(predictor, supported), scaling, fill)


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
    vectors, position = _distinct(np.concatenate([_dense(_vectors(each)) for each in machines]).astype(float))
    weights = np.zeros((len(machines), len(vectors)))
    first = 0
    for line, machine in zip(weights, machines, strict=True):
        dual = np.ravel(_dense(machine.dual_coef_))
        np.add.at(line, position[first : first + len(dual)], dual)
        first += len(dual)
    intercept = np.concatenate([np.ravel(getattr(machine, "intercept_", 0.0)) for machine in machines]).astype(float)
    return KernelTerms(vectors, kernel, scaling, weights, intercept, np.arange(len(vectors)), fill)


def _vectors(machine: Any) -> Any:
    """Return the support vectors of a machine; the training rows of a KernelRidge, which is recognised by them."""
    return machine.X_fit_ if hasattr(machine, "X_fit_") else machine.support_vectors_


def _kernel(machine: Any) -> Kernel:
    if not hasattr(machine, "X_fit_"):
        return Kernel(machine.kernel, float(machine._gamma), float(machine.coef0), float(machine.degree))
    name = "poly" if machine.kernel == "polynomial" else machine.kernel
    gamma = 1.0 / machine.X_fit_.shape[1] if machine.gamma is None else machine.gamma
    return Kernel(name, float(gamma), float(machine.coef0), float(machine.degree))


def _common_kernel(machines: Sequence[Any]) -> Kernel:
    for machine in machines:
        if machine.kernel not in (*KERNELS, "polynomial"):
            raise PredictorError(f"estimator has the kernel {machine.kernel!r}; expected one of {', '.join(KERNELS)}.")
        if len(getattr(machine, "classes_", ())) > 2:
            raise PredictorError(
                f"estimator is {machine!r} with {len(machine.classes_)} classes. Its one-against-one votes are not "
                "scores of classes. Wrap it in OneVsRestClassifier."
            )
    kernels = {_kernel(each) for each in machines}
    if len(kernels) > 1:
        raise PredictorError("estimator has machines with different kernels; expected one kernel, with the same gamma.")
    return next(iter(kernels))


def _distinct(lines: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the distinct lines in order of appearance, and the position of each line among them."""
    _, first, group = np.unique(lines, axis=0, return_index=True, return_inverse=True)
    appearance = np.argsort(first)
    return lines[first[appearance]], np.argsort(appearance)[group]


def _forest(predictor: Any, supported: SupportedPredictors) -> Forest:
    """Return the trees of an ensemble whose outputs add up to scores of classes, or to a predicted value."""
    has_scores = type(predictor).__module__.split(".")[0] in ("lightgbm", "xgboost") or isinstance(predictor, Forest)
    if supported.kind == "classifier" and not has_scores and not hasattr(predictor, "decision_function"):
        lacks = "probabilities only" if hasattr(predictor, "predict_proba") else "no scores"
        raise PredictorError(f"estimator is {predictor!r}, which has {lacks}. Pass {supported.names}.")
    refusal = PredictorError(f"estimator is {predictor!r}, which is not a sum of terms. Pass {supported.names}.")
    try:
        forest = Forest.from_model(predictor)
    except (TypeError, ValueError) as error:
        raise refusal from error
    if supported.kind == "regressor" and forest.task is not None and forest.task.link != "identity":
        raise refusal
    return forest


def _dense(array: Any) -> np.ndarray:
    return array.toarray() if issparse(array) else np.asarray(array)
