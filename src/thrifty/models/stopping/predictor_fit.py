"""The predictor that an estimator wraps: a fitted one is used unchanged, of any other a clone is fitted."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator, clone, is_classifier, is_regressor
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.validation import has_fit_parameter

from thrifty.models.forests.converters import is_fitted
from thrifty.models.rows import Rows


class PredictorError(ValueError):
    """A predictor that cannot be wrapped. The caller adds its name to the message."""


@dataclass(frozen=True)
class SupportedPredictors:
    """The predictors that can be wrapped for a task.

    Attributes
    ----------
    kind : str
        "classifier" or "regressor".
    names : str
        The supported predictors, for messages.
    final_step : callable
        Returns the last step of the default predictor, which follows a StandardScaler.
    """

    kind: str
    names: str
    final_step: Callable[[], Any]

    def default(self, is_sparse: bool) -> Pipeline:
        """Return the default predictor; columns of sparse rows are scaled but not centred."""
        return make_pipeline(StandardScaler(with_mean=not is_sparse), self.final_step())

    def accepts(self, predictor: Any) -> bool:
        """Return whether a predictor is of this kind; one that is not of scikit-learn is tested when it is read."""
        is_kind = is_classifier if self.kind == "classifier" else is_regressor
        return not isinstance(predictor, BaseEstimator) or is_kind(predictor)


CLASSIFIERS = SupportedPredictors(
    "classifier",
    "a linear classifier, an SVC, a boosted ensemble of trees or a Forest",
    lambda: LogisticRegression(max_iter=1000),
)
REGRESSORS = SupportedPredictors(
    "regressor",
    "a linear regressor, an SVR, a KernelRidge, a boosted or averaged ensemble of trees or a Forest",
    Ridge,
)


def accepts_nan(predictor: Any) -> bool:
    """Return whether a predictor accepts NaN; forests and boosters do."""
    return not isinstance(predictor, BaseEstimator) or predictor.__sklearn_tags__().input_tags.allow_nan


def accepts_sparse(predictor: Any) -> bool:
    """Return whether a predictor can be fitted to sparse rows."""
    return isinstance(predictor, BaseEstimator) and predictor.__sklearn_tags__().input_tags.sparse


def fitted_predictor(
    predictor: Any, rows: Rows, filled: Any, supported: SupportedPredictors, classes: np.ndarray | None
) -> Any:
    """Return the predictor if it is fitted, else a clone that is fitted to the rows.

    Parameters
    ----------
    predictor : classifier, regressor, Forest or booster
    rows : Rows
        Training rows; their X may have NaN.
    filled : array or sparse matrix
        The X of the rows without NaN.
    supported : SupportedPredictors
        What kind of predictor is expected.
    classes : ndarray of shape (n_classes,) or None
        The classes that a fitted classifier must know.
    """
    if not supported.accepts(predictor):
        raise PredictorError(f"estimator is {predictor!r}, which is not a {supported.kind}. Pass {supported.names}.")
    if is_fitted(predictor):
        return predictor
    X = rows.X if accepts_nan(predictor) else filled
    fitted = clone(predictor).fit(X, rows.y, **_weight_arguments(predictor, rows.weight))
    if classes is not None and len(missing := np.setdiff1d(classes, fitted.classes_)):
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
