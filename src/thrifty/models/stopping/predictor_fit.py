"""The predictor that a classifier wraps: a fitted one is used unchanged, of any other a clone is fitted."""

from typing import Any

import numpy as np
from sklearn.base import BaseEstimator, clone, is_classifier
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.validation import has_fit_parameter

from thrifty.models.forests.converters import is_fitted
from thrifty.models.rows import Rows

SUPPORTED = "a linear classifier, an SVC, a boosted ensemble of trees or a Forest"


class PredictorError(ValueError):
    """A predictor that cannot be wrapped. The caller adds its name to the message."""


def default_predictor(is_sparse: bool) -> Pipeline:
    """Return a logistic regression on standardised columns; columns of sparse rows are scaled but not centred."""
    return make_pipeline(StandardScaler(with_mean=not is_sparse), LogisticRegression(max_iter=1000))


def accepts_nan(predictor: Any) -> bool:
    """Return whether a predictor accepts NaN; forests and boosters do."""
    return not isinstance(predictor, BaseEstimator) or predictor.__sklearn_tags__().input_tags.allow_nan


def accepts_sparse(predictor: Any) -> bool:
    """Return whether a predictor can be fitted to sparse rows."""
    return isinstance(predictor, BaseEstimator) and predictor.__sklearn_tags__().input_tags.sparse


def fitted_predictor(predictor: Any, rows: Rows, filled: Any, classes: np.ndarray) -> Any:
    """Return the predictor if it is fitted, else a clone that is fitted to the rows.

    Parameters
    ----------
    predictor : classifier, Forest or booster
    rows : Rows
        Training rows; their X may have NaN.
    filled : array or sparse matrix
        The X of the rows without NaN.
    classes : ndarray of shape (n_classes,)
        The classes that the fitted predictor must know.
    """
    if isinstance(predictor, BaseEstimator) and not is_classifier(predictor):
        raise PredictorError(f"estimator is {predictor!r}, which is not a classifier. Pass {SUPPORTED}.")
    if is_fitted(predictor):
        return predictor
    X = rows.X if accepts_nan(predictor) else filled
    fitted = clone(predictor).fit(X, rows.y, **_weight_arguments(predictor, rows.weight))
    if len(missing := np.setdiff1d(classes, fitted.classes_)):
        raise PredictorError(
            f"the rows left to fit estimator on have no row of class {missing.tolist()[0]!r}. "
            "Pass more rows of each class, or pass calibration rows to fit."
        )
    return fitted


def _weight_arguments(predictor: Any, weight: np.ndarray) -> dict[str, np.ndarray]:
    """Return the arguments of ``fit`` that pass the weights of the rows; none if all weights are 1."""
    if (weight == 1).all():
        return {}
    steps = predictor.steps if isinstance(predictor, Pipeline) else [("", predictor)]
    if not has_fit_parameter(steps[-1][1], "sample_weight"):
        raise PredictorError(
            f"estimator is {predictor!r}, which does not accept sample_weight. "
            "Fit without weights, or pass an estimator that accepts them."
        )
    names = [name for name, step in steps if has_fit_parameter(step, "sample_weight")]
    return {f"{name}__sample_weight".removeprefix("__"): weight for name in names}
