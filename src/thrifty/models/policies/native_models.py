"""Data models and policies of scikit-learn as structures of thrifty: arrays that a model file can hold.

A fitted model that has such a structure is turned into it as soon as it is fitted. So a loaded model predicts what the
saved one did. All models here score a row alone exactly as in a batch.
"""

from abc import ABC
from typing import Any

import numpy as np
from scipy.special import expit, logsumexp, softmax
from sklearn import ensemble, svm, tree
from sklearn.base import BaseEstimator, clone
from sklearn.naive_bayes import GaussianNB
from sklearn.utils.multiclass import _ovr_decision_function

from thrifty.kernels.policies import add_products
from thrifty.kernels.stopping import LINEAR, POLY, RBF, SIGMOID, kernel_values, padded
from thrifty.models.base import drop_single_column
from thrifty.models.forests.forest import Forest
from thrifty.models.rebuilt import Rebuilt
from thrifty.models.soundness import require
from thrifty.stored import Array, Labels, Number, Structure, Text, Whole, stored

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
KERNELS = {"linear": LINEAR, "poly": POLY, "rbf": RBF, "sigmoid": SIGMOID}
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
    if isinstance(model, svm.SVC | svm.NuSVC | svm.SVR | svm.NuSVR) and _is_plain(model):
        machine = Machine.of(model)
        return KernelClassifier(model.classes_, machine) if hasattr(model, "classes_") else KernelRegressor(machine)
    return model


def unfitted(estimator: Any) -> Any:
    """Return an estimator that will be cloned before it is fitted in the form that a file can hold: unfitted."""
    return clone(estimator) if isinstance(estimator, BaseEstimator) else estimator


class NativeModel(Rebuilt, ABC):
    """A fitted model of arrays.

    Attributes
    ----------
    n_features_in_ : int
        Number of columns of X.
    """

    n_features_in_: int

    def _checked(self, X: Any) -> np.ndarray:
        rows = np.ascontiguousarray(X, dtype=np.float64)
        if rows.ndim != 2 or rows.shape[1] != self.n_features_in_:
            name = type(self).__name__
            raise ValueError(f"{name}: X has shape {rows.shape}; expected (n, {self.n_features_in_}).")
        return rows


class NativeClassifier(NativeModel):
    """A fitted classifier of arrays; it has `predict_proba` or `decision_function`, or both.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
    """

    classes_: np.ndarray

    def predict(self, X: Any) -> np.ndarray:
        """Return the class of each row (n,)."""
        scores = getattr(self, "decision_function", None) or self.predict_proba  # type: ignore[attr-defined]
        found = scores(X)
        return self.classes_[(found > 0).astype(int) if found.ndim == 1 else found.argmax(axis=1)]


def _refuse_single(classes: np.ndarray) -> None:
    require(len(classes) > 1, "a classifier has fewer than two classes")


def _linear(X: np.ndarray, weights: np.ndarray, intercepts: np.ndarray) -> np.ndarray:
    scores = np.tile(intercepts, (len(X), 1))
    add_products(scores, X, weights)
    return scores


@stored(
    classes_=Labels("n_classes"),
    n_features_in_=Whole(1),
    weights=Array("float64", "n_features_in_", "n_classes"),
    intercepts=Array("float64", "n_classes"),
)
class LinearClassifier(NativeClassifier):
    """A linear classifier."""

    _made_of = ("classes_", "n_features_in_", "weights", "intercepts")

    def __init__(self, classes_: np.ndarray, n_features_in_: int, weights: np.ndarray, intercepts: np.ndarray):
        _refuse_single(classes_)
        self.classes_, self.n_features_in_ = classes_, n_features_in_
        self.weights, self.intercepts = np.ascontiguousarray(weights), intercepts

    def decision_function(self, X: Any) -> np.ndarray:
        """Return one score per row for two classes, otherwise one per class."""
        scores = _linear(self._checked(X), self.weights, self.intercepts)
        return scores[:, 1] - scores[:, 0] if scores.shape[1] == 2 else scores


@stored(n_features_in_=Whole(1), weights=Array("float64", "n_features_in_", 1), intercepts=Array("float64", 1))
class LinearRegressor(NativeModel):
    """A linear regressor."""

    _made_of = ("n_features_in_", "weights", "intercepts")

    def __init__(self, n_features_in_: int, weights: np.ndarray, intercepts: np.ndarray):
        self.n_features_in_ = n_features_in_
        self.weights, self.intercepts = np.ascontiguousarray(weights), intercepts

    def predict(self, X: Any) -> np.ndarray:
        """Return the number of each row (n,)."""
        return _linear(self._checked(X), self.weights, self.intercepts)[:, 0]


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
        _refuse_single(classes_)
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


# Trees


def _sums(forest: Forest, X: np.ndarray) -> np.ndarray:
    """Return the sums (n, n_scores) of the trees, in the same order for batches and for single rows."""
    weights = (forest.score_of[:, None] == np.arange(len(forest.base))).astype(float)
    return _linear(forest.outputs(X), weights, forest.base)


@stored(n_features_in_=Whole(1), forest=Structure(Forest))
class ForestRegressor(NativeModel):
    """Trees that predict a number."""

    _made_of = ("n_features_in_", "forest")

    def __init__(self, n_features_in_: int, forest: Forest):
        self.n_features_in_, self.forest = n_features_in_, forest
        _refuse_other_trees(forest, n_features_in_, 1)

    def predict(self, X: Any) -> np.ndarray:
        """Return the number of each row (n,)."""
        sums = _sums(self.forest, self._checked(X))
        return sums[:, 0] if self.forest.task is None else self.forest.task.scores(sums)


@stored(classes_=Labels("n_classes"), n_features_in_=Whole(1), forest=Structure(Forest))
class ForestClassifier(NativeClassifier):
    """Trees whose sums are probabilities: of the second of two classes, otherwise of every class."""

    _made_of = ("classes_", "n_features_in_", "forest")

    def __init__(self, classes_: np.ndarray, n_features_in_: int, forest: Forest):
        _refuse_single(classes_)
        self.classes_, self.n_features_in_, self.forest = classes_, n_features_in_, forest
        _refuse_other_trees(forest, n_features_in_, 1 if len(classes_) == 2 else len(classes_))

    def predict_proba(self, X: Any) -> np.ndarray:
        """Return the probabilities (n, n_classes)."""
        sums = _sums(self.forest, self._checked(X))
        return np.column_stack([1.0 - sums, sums]) if sums.shape[1] == 1 else sums


@stored()
class BoostedClassifier(ForestClassifier):
    """Trees whose sums are log-odds."""

    def decision_function(self, X: Any) -> np.ndarray:
        """Return the log-odds of the second class, or one score per class."""
        return drop_single_column(_sums(self.forest, self._checked(X)))

    def predict_proba(self, X: Any) -> np.ndarray:
        """Return the probabilities (n, n_classes)."""
        scores = self.decision_function(X)
        return np.column_stack([expit(-scores), expit(scores)]) if scores.ndim == 1 else softmax(scores, axis=1)


def _refuse_other_trees(forest: Forest, n_columns: int, n_scores: int) -> None:
    require(forest.n_features == n_columns, "a data model has trees that read other columns")
    require(len(forest.base) == n_scores, "a data model has trees with another number of scores")


# Support vector machines


@stored(
    vectors=Array("float64", "n_vectors", "n_columns"),
    weights=Array("float64", "n_vectors", "n_decisions"),
    intercepts=Array("float64", "n_decisions"),
    kernel=Text(*KERNELS),
    gamma=Number(finite=True),
    coef0=Number(finite=True),
    degree=Number(finite=True),
)
class Machine(Rebuilt):
    """Sums of kernel values: one for a regressor or two classes, otherwise one for each pair of classes.

    Parameters
    ----------
    vectors : ndarray of shape (n_vectors, n_columns)
        The support vectors.
    weights : ndarray of shape (n_vectors, n_decisions)
        Their weights in each sum.
    intercepts : ndarray of shape (n_decisions,)
    kernel : str
    gamma, coef0, degree : float
        The parameters of the kernel.
    """

    _made_of = ("vectors", "weights", "intercepts", "kernel", "gamma", "coef0", "degree")

    def __init__(
        self,
        vectors: np.ndarray,
        weights: np.ndarray,
        intercepts: np.ndarray,
        kernel: str,
        gamma: float,
        coef0: float,
        degree: float,
    ):
        self.vectors, self.weights, self.intercepts = vectors, np.ascontiguousarray(weights), intercepts
        self.kernel, self.gamma, self.coef0, self.degree = kernel, gamma, coef0, degree
        self._padded = padded(vectors)
        self._squares = np.einsum("ij,ij->i", self._padded, self._padded)

    @classmethod
    def of(cls, fitted: Any) -> "Machine":
        """Return a fitted machine of scikit-learn."""
        return cls(
            np.array(fitted.support_vectors_, dtype=float),
            _pair_weights(fitted),
            np.array(fitted.intercept_, dtype=float),
            fitted.kernel,
            float(fitted._gamma),
            float(fitted.coef0),
            float(fitted.degree),
        )

    def decisions(self, X: np.ndarray) -> np.ndarray:
        """Return the sums (n, n_decisions) of rows."""
        rows = padded(X)
        values = np.empty((len(rows), len(self.vectors)))
        shape = (KERNELS[self.kernel], self.gamma, self.coef0, self.degree)
        kernel_values(rows, np.arange(len(rows)), self._padded, self._squares, 0, len(self.vectors), *shape, values)
        return _linear(values, self.weights, self.intercepts)


@stored(classes_=Labels("n_classes"), machine=Structure(Machine))
class KernelClassifier(NativeClassifier):
    """A support vector machine for classes."""

    _made_of = ("classes_", "machine")

    def __init__(self, classes_: np.ndarray, machine: Machine):
        _refuse_single(classes_)
        n_pairs = len(classes_) * (len(classes_) - 1) // 2
        require(len(machine.intercepts) == n_pairs, "a machine has another number of pairs of classes")
        self.classes_, self.machine, self.n_features_in_ = classes_, machine, machine.vectors.shape[1]

    def decision_function(self, X: Any) -> np.ndarray:
        """Return the margin of the second class, or the votes of each class with a share for the margins."""
        decisions = self.machine.decisions(self._checked(X))
        if len(self.classes_) == 2:
            return decisions[:, 0]
        return _ovr_decision_function(decisions < 0, -decisions, len(self.classes_))


@stored(machine=Structure(Machine))
class KernelRegressor(NativeModel):
    """A support vector machine for numbers."""

    _made_of = ("machine",)

    def __init__(self, machine: Machine):
        require(len(machine.intercepts) == 1, "a machine has another number of sums")
        self.machine, self.n_features_in_ = machine, machine.vectors.shape[1]

    def predict(self, X: Any) -> np.ndarray:
        """Return the number of each row (n,)."""
        return self.machine.decisions(self._checked(X))[:, 0]


def _is_plain(machine: Any) -> bool:
    """Tell whether the predictions of a machine are those of its vectors alone."""
    known = machine.kernel in KERNELS and not machine._sparse and getattr(machine, "probability", False) is not True
    n_classes = len(getattr(machine, "classes_", ()))
    return known and (n_classes <= 2 or machine.decision_function_shape == "ovr")


def _pair_weights(machine: Any) -> np.ndarray:
    """Return the weights (n_vectors, n_decisions) of the support vectors.

    With more than two classes there is one decision per pair. The vectors are sorted by class. The weights of the
    vectors of class i against class j are in line j - 1 of the dual coefficients if j > i, and in line j otherwise.
    """
    dual, n_classes = np.asarray(machine.dual_coef_), len(getattr(machine, "classes_", ()))
    if n_classes <= 2:
        return dual.T.copy()
    ends = np.cumsum(machine.n_support_)
    of_class = [slice(end - count, end) for end, count in zip(ends, machine.n_support_, strict=True)]
    pairs = [(i, j) for i in range(n_classes) for j in range(i + 1, n_classes)]
    weights = np.zeros((dual.shape[1], len(pairs)))
    for column, (i, j) in enumerate(pairs):
        weights[of_class[i], column] = dual[j - 1, of_class[i]]
        weights[of_class[j], column] = dual[i, of_class[j]]
    return weights
