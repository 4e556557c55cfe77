"""Taking a predictor in: a fitted one as it is, of any other a fitted clone."""

from typing import Any

import numpy as np
from sklearn.base import BaseEstimator, clone, is_classifier
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.validation import check_is_fitted, has_fit_parameter

WELCOME = "a linear classifier, an SVC, a boosted ensemble of trees or a Forest"


class PredictorError(ValueError):
    """A predictor that cannot be stopped; the message lacks the name of who was asked to."""


def default_predictor(sparse: bool) -> Pipeline:
    """Return a logistic regression on standardised columns, which for sparse rows are not centred."""
    return make_pipeline(StandardScaler(with_mean=not sparse), LogisticRegression(max_iter=1000))


def is_fitted(predictor: Any) -> bool:
    """Tell whether a predictor has been fitted."""
    if not isinstance(predictor, BaseEstimator):
        return True  # a Forest or a Booster, which does not exist before it is grown
    try:
        check_is_fitted(predictor)
    except NotFittedError:
        return False
    return True


def takes_missing_values(predictor: Any) -> bool:
    """Tell whether a predictor knows what to do with NaN."""
    return not isinstance(predictor, BaseEstimator) or predictor.__sklearn_tags__().input_tags.allow_nan


def takes_sparse_rows(predictor: Any) -> bool:
    """Tell whether a predictor can be fitted to sparse rows."""
    return isinstance(predictor, BaseEstimator) and predictor.__sklearn_tags__().input_tags.sparse


def adopt(predictor: Any, X: Any, filled: Any, y: np.ndarray, count: np.ndarray, classes: np.ndarray) -> Any:
    """Return the predictor, fitted; `filled` are the rows X without NaN, `count` how often each row counts."""
    if isinstance(predictor, BaseEstimator) and not is_classifier(predictor):
        raise PredictorError(f"estimator is {predictor!r}, which is no classifier. Pass {WELCOME}.")
    if is_fitted(predictor):
        return predictor
    rows = X if takes_missing_values(predictor) else filled
    fitted = clone(predictor).fit(rows, y, **_weighing(predictor, count))
    if len(lost := np.setdiff1d(classes, fitted.classes_)):
        raise PredictorError(
            f"no row of class {lost.tolist()[0]!r} is left when some are held out. "
            "Pass more rows, or calibration rows of their own."
        )
    return fitted


def _weighing(predictor: Any, count: np.ndarray) -> dict[str, np.ndarray]:
    """Return the arguments by which a predictor learns how often rows count; none if all count once."""
    if (count == 1).all():
        return {}
    steps = predictor.steps if isinstance(predictor, Pipeline) else [("", predictor)]
    if not has_fit_parameter(steps[-1][1], "sample_weight"):
        raise PredictorError(
            f"estimator {predictor!r} takes no sample_weight. Leave the weights out, or pass one that takes them."
        )
    weighed = [name for name, step in steps if has_fit_parameter(step, "sample_weight")]
    return {f"{name}__sample_weight".removeprefix("__"): count for name in weighed}
