"""The conformal factor of a model, from calibration rows, or from training rows by cross-fitting.

In cross-fitting, the rows of each fold are evaluated by a chain that is learned from the other folds: predictor, order
and checkpoints. So they stand for new rows.
"""

from copy import copy
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
from sklearn.base import BaseEstimator, clone

from thrifty.models.forests.converters import is_fitted
from thrifty.models.rows import Rows
from thrifty.models.stopping.conformal import are_too_few, conformal_factor, critical_factors
from thrifty.models.stopping.term_sample import evenly_spaced
from thrifty.models.stopping.terms import KernelTerms

if TYPE_CHECKING:
    from thrifty.models.stopping.attentive import AttentiveClassifier
    from thrifty.models.stopping.attentive_regressor import AttentiveRegressor

    Attentive: TypeAlias = AttentiveClassifier | AttentiveRegressor

N_FOLDS = 5
ENOUGH_ROWS = 2**16  # more rows would not make a quantile much more precise
ENOUGH_ERRORS = 50  # unless so few of them may have a stop-error


def fit_conformal_factor(model: "Attentive", rows: Rows, calibration: Any) -> float:
    """Return the conformal factor of a model whose chain is learned.

    Parameters
    ----------
    model : AttentiveClassifier or AttentiveRegressor
    rows : Rows
        The training rows.
    calibration : array, sparse matrix or None
        Rows that nothing was fitted to.
    """
    if calibration is not None:
        critical = critical_factors(*model._ratios_and_errors(model.chain_, calibration))
        return conformal_factor(critical, np.ones(len(critical)), model.delta)
    if are_too_few(rows.weight, model.delta):
        return np.inf
    return conformal_factor(*cross_fitted_factors(model, rows), model.delta)


def cross_fitted_factors(model: "Attentive", rows: Rows) -> tuple[np.ndarray, np.ndarray]:
    """Return the critical factors of training rows by chains learned without them, and the weight of each row."""
    learner = copy(model)
    learner.estimator = _unfitted(model.estimator)
    _refuse_terms_by_number(model, learner.estimator)
    folds, critical, weight = model._folds(rows, N_FOLDS), [np.empty(0)], [np.empty(0)]
    max_rows = int(max(ENOUGH_ROWS, ENOUGH_ERRORS / model.delta)) // N_FOLDS
    for fold in np.unique(folds[folds >= 0]):
        held_out = np.flatnonzero(folds == fold)
        held_out = held_out[evenly_spaced(held_out.size, max_rows)]
        learner._learn_chain(rows.take(folds != fold))
        critical.append(critical_factors(*learner._ratios_and_errors(learner.chain_, rows.X[held_out])))
        weight.append(rows.weight[held_out])
    return np.concatenate(critical), np.concatenate(weight)


def _unfitted(estimator: Any) -> Any:
    """Return an unfitted copy of a predictor; the predictor itself if it cannot be fitted again.

    A Forest, a booster of another library or a FrozenEstimator cannot.
    """
    if not isinstance(estimator, BaseEstimator):
        return estimator
    unfitted = clone(estimator)
    return estimator if is_fitted(unfitted) else unfitted


def _refuse_terms_by_number(model: "Attentive", estimator: Any) -> None:
    """Refuse parameters that list support vectors by their numbers, since a refitted machine has others."""
    if not isinstance(model.chain_.terms, KernelTerms) or is_fitted(estimator):
        return
    for name, listed in (
        ("order", not isinstance(model.order, str)),
        ("evaluation_cost", np.ndim(model.evaluation_cost)),
    ):
        if listed:
            raise ValueError(
                f"{type(model).__name__}: {name} lists support vectors of one machine, so it cannot be used for the "
                "machines that cross-fitting trains. Pass calibration rows to fit, or another boundary."
            )
