"""Support vector machines as arrays."""

from typing import Any

import numpy as np
from sklearn.utils.multiclass import _ovr_decision_function

from thrifty.kernels.stopping import LINEAR, POLY, RBF, SIGMOID, kernel_values, padded
from thrifty.models.policies.native_bases import NativeClassifier, NativeModel, linear_scores, refuse_single
from thrifty.models.rebuilt import Rebuilt
from thrifty.models.soundness import require
from thrifty.stored import Array, Labels, Number, Structure, Text, stored

KERNELS = {"linear": LINEAR, "poly": POLY, "rbf": RBF, "sigmoid": SIGMOID}


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
        return linear_scores(values, self.weights, self.intercepts)


@stored(classes_=Labels("n_classes"), machine=Structure(Machine))
class KernelClassifier(NativeClassifier):
    """A support vector machine for classes."""

    _made_of = ("classes_", "machine")

    def __init__(self, classes_: np.ndarray, machine: Machine):
        refuse_single(classes_)
        n_pairs = len(classes_) * (len(classes_) - 1) // 2
        require(len(machine.intercepts) == n_pairs, "a machine has another number of pairs of classes")
        self.classes_, self.machine, self.n_features_in_ = classes_, machine, machine.vectors.shape[1]

    def decision_function(self, X: Any) -> np.ndarray:
        """Return the margin of the second class, or the votes of each class with a share for the margins."""
        decisions = self.machine.decisions(self._checked(X))
        if len(self.classes_) == 2:
            return decisions[:, 0]
        return _ovr_decision_function(decisions < 0, -decisions, len(self.classes_))

    def predict(self, X: Any) -> np.ndarray:
        """Return the class with the most votes of pairs; the first of them, as scikit-learn does by default."""
        n_classes = len(self.classes_)
        if n_classes == 2:
            return super().predict(X)
        first, second = np.triu_indices(n_classes, 1)
        winner = np.where(self.machine.decisions(self._checked(X)) > 0, first, second)
        return self.classes_[(winner[:, :, None] == np.arange(n_classes)).sum(axis=1).argmax(axis=1)]


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


def is_plain(machine: Any) -> bool:
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
