"""Converters: read the trees of scikit-learn, LightGBM and XGBoost models.

The libraries are not imported. A model is recognised by the name and package of its class or of a base class, and read
through its attributes or its own text format.

    scikit_learn.py       arrays of fitted estimators
    lightgbm.py           the text that LightGBM saves
    xgboost.py            the JSON that XGBoost saves
    single_precision.py   thresholds that are compared with values rounded to float32
"""

from collections.abc import Callable
from typing import Any

from sklearn.exceptions import NotFittedError
from sklearn.utils.validation import check_is_fitted

from thrifty.models.forests.converters import lightgbm, scikit_learn, xgboost
from thrifty.models.forests.forest import Forest
from thrifty.models.forests.task import task_of


def thrifty_estimator(model: Any) -> Forest:
    """Return the forest of a fitted estimator of thrifty, with its task and the names of its columns."""
    forest = model.forest_
    if forest.task and forest.feature_names:
        return forest
    names = forest.feature_names or getattr(model, "feature_names_in_", None)
    return forest.replace(task=forest.task or task_of(model), feature_names=names)


READERS: dict[tuple[str, str], Callable[[Any], Forest]] = {
    ("sklearn", "ForestRegressor"): scikit_learn.averaged_values,
    ("sklearn", "ForestClassifier"): scikit_learn.averaged_probabilities,
    ("sklearn", "DecisionTreeRegressor"): scikit_learn.averaged_values,
    ("sklearn", "DecisionTreeClassifier"): scikit_learn.averaged_probabilities,
    ("sklearn", "BaseGradientBoosting"): scikit_learn.gradient_boosting,
    ("sklearn", "BaseHistGradientBoosting"): scikit_learn.hist_gradient_boosting,
    ("sklearn", "AdaBoostClassifier"): scikit_learn.ada_boost,
    ("lightgbm", "LGBMModel"): lightgbm.estimator,
    ("lightgbm", "Booster"): lightgbm.booster,
    ("xgboost", "XGBModel"): xgboost.estimator,
    ("xgboost", "Booster"): xgboost.booster,
    ("thrifty", "ForestEstimator"): thrifty_estimator,
}


REASONS = {
    ("sklearn", "AdaBoostRegressor"): "predicts a weighted median of its trees, and a Forest predicts a sum",
    ("sklearn", "IsolationForest"): "predicts from the lengths of paths, and a Forest from the values of leaves",
    ("sklearn", "RandomTreesEmbedding"): "returns the leaves themselves, and a Forest the sum of their values",
}  # why some forests cannot be read


def reader_of(model: Any) -> Callable[[Any], Forest] | None:
    """Return the function that reads the trees of such a model, fitted or not; None if there is no such function."""
    if isinstance(getattr(model, "forest_", None), Forest):
        return thrifty_estimator
    return next((READERS[kind] for kind in _ancestry(model) if kind in READERS), None)


def _ancestry(model: Any) -> list[tuple[str, str]]:
    """Return the package and the name of the class of a model and of all its base classes."""
    return [(kind.__module__.partition(".")[0], kind.__name__) for kind in type(model).__mro__]


def is_fitted(model: Any) -> bool:
    """Tell whether a model is fitted.

    Parameters
    ----------
    model : object

    Returns
    -------
    bool
        False for an estimator that is not fitted. True for anything that is not a scikit-learn estimator, such as a
        Forest or a Booster: these exist only after training.

    Examples
    --------
    >>> from sklearn.tree import DecisionTreeRegressor
    >>> tree = DecisionTreeRegressor()
    >>> is_fitted(tree), is_fitted(tree.fit([[0.0], [1.0]], [0.0, 1.0])), is_fitted(Forest.from_model(tree))
    (False, True, True)
    """
    if isinstance(model, type) or not hasattr(model, "__sklearn_tags__"):
        return True
    try:
        check_is_fitted(model)
    except NotFittedError:
        return False
    return True


def convert(model: Any) -> Forest:
    """Read the trees of a fitted model.

    Parameters
    ----------
    model : fitted estimator or Booster

    Returns
    -------
    Forest

    Raises
    ------
    TypeError
        If the model is not a forest that can be read.
    NotFittedError
        If the model is not fitted.

    Examples
    --------
    >>> from sklearn.tree import DecisionTreeRegressor
    >>> convert(DecisionTreeRegressor().fit([[0.0], [1.0], [2.0]], [0.0, 1.0, 2.0]))
    Forest(1 tree, 5 nodes, 1 of 1 features read)
    >>> convert("forest")
    Traceback (most recent call last):
    TypeError: 'forest' is not a forest. Pass a Forest, or a fitted forest of scikit-learn, LightGBM or XGBoost.
    """
    for reason in (REASONS[kind] for kind in _ancestry(model) if kind in REASONS):
        raise TypeError(f"{type(model).__name__} is not a forest that can be read: it {reason}.")
    if (read := reader_of(model)) is None:
        shown = model if isinstance(model, str | int | float) else type(model)
        raise TypeError(
            f"{shown!r} is not a forest. Pass a Forest, or a fitted forest of scikit-learn, LightGBM or XGBoost."
        )
    if not is_fitted(model):
        raise NotFittedError(f"{type(model).__name__} is not fitted, so it has no trees. Call its fit first.")
    return read(model)
