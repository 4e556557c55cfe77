"""Data models and policies of scikit-learn as structures of thrifty: arrays that a model file can hold.

A fitted model that has such a structure is turned into it as soon as it is fitted. So a loaded model predicts what the
saved one did. All these models score a row alone exactly as in a batch.
"""

from typing import Any

import numpy as np
from scipy.special import logsumexp
from sklearn import ensemble, svm, tree
from sklearn.base import BaseEstimator, clone
from sklearn.naive_bayes import GaussianNB

from thrifty.models.forests.forest import Forest
from thrifty.models.policies.native_bases import NativeClassifier, refuse_single
from thrifty.models.policies.native_forests import BoostedClassifier, ForestClassifier, ForestRegressor
from thrifty.models.policies.native_machines import KernelClassifier, KernelRegressor, Machine, is_plain
from thrifty.stored import Array, Labels, Whole, stored

CLASSIFIERS_OF_TREES = (
    *(tree.DecisionTreeClassifier, tree.ExtraTreeClassifier),
    *(ensemble.RandomForestClassifier, ensemble.ExtraTreesClassifier),
    *(ensemble.GradientBoostingClassifier, ensemble.HistGradientBoostingClassifier),
)
REGRESSORS_OF_TREES = (
    *(tree.DecisionTreeRegressor, tree.ExtraTreeRegressor),
    *(ensemble.RandomForestRegressor, ensemble.ExtraTreesRegressor),
    *(ensemble.GradientBoostingRegressor, ensemble.HistGradientBoostingRegressor),
)
NOT_NATIVE = (
    "A model file holds linear models, support vector machines without probability, trees, forests, boosted trees and "
    "GaussianNB. Use one of these, or save the model with allow_scikit_learn=True"
)


def native(model: Any) -> Any:
    """Return a fitted classifier or regressor as a structure of thrifty; the model itself if there is none for it."""
    kind, n_columns = type(model), getattr(model, "n_features_in_", 0)
    if kind in CLASSIFIERS_OF_TREES:
        boosted = hasattr(model, "decision_function")
        return (BoostedClassifier if boosted else ForestClassifier)(model.classes_, n_columns, Forest.from_model(model))
    if kind in REGRESSORS_OF_TREES and np.ndim(getattr(model, "n_outputs_", 1)) == 0:
        return ForestRegressor(n_columns, Forest.from_model(model))
    if kind is GaussianNB:
        return GaussianClassifier(model.classes_, n_columns, model.theta_, model.var_, model.class_prior_)
    if isinstance(model, svm.SVC | svm.NuSVC | svm.SVR | svm.NuSVR) and is_plain(model):
        machine = Machine.of(model)
        return KernelClassifier(model.classes_, machine) if hasattr(model, "classes_") else KernelRegressor(machine)
    return model


def unfitted(estimator: Any) -> Any:
    """Return an estimator that will be cloned before it is fitted in the form that a file can hold: unfitted."""
    return clone(estimator) if isinstance(estimator, BaseEstimator) else estimator


@stored(
    classes_=Labels("n_classes"),
    n_features_in_=Whole(1),
    theta=Array("float64", "n_classes", "n_features_in_"),
    variance=Array("float64", "n_classes", "n_features_in_"),
    prior=Array("float64", "n_classes"),
)
class GaussianClassifier(NativeClassifier):
    """Naive Bayes with a normal distribution of each column in each class."""

    _made_of = ("classes_", "n_features_in_", "theta", "variance", "prior")

    def __init__(self, classes_: Any, n_features_in_: int, theta: np.ndarray, variance: np.ndarray, prior: np.ndarray):
        refuse_single(classes_)
        self.classes_, self.n_features_in_ = classes_, n_features_in_
        self.theta, self.variance, self.prior = theta, variance, prior

    def predict_proba(self, X: Any) -> np.ndarray:
        """Return the probabilities (n, n_classes)."""
        rows = self._checked(X)
        constant = np.log(self.prior) - 0.5 * np.log(2.0 * np.pi * self.variance).sum(axis=1)
        columns = zip(self.theta, self.variance, strict=True)
        distances = [((rows - theta) ** 2 / variance).sum(axis=1) for theta, variance in columns]
        joint = constant - 0.5 * np.column_stack(distances)
        return np.exp(joint - logsumexp(joint, axis=1, keepdims=True))
