"""Predictors as sums of terms: what each term is worth for a row, and what it takes to know.

    score (k,) of a row  =  intercept (k,)  +  sum over terms t of  weights[:, t] * value of t

    LinearTerms    a feature                          costs that feature
    KernelTerms    the kernel with a support vector   costs all features at once, so what is saved is evaluations
    TreeTerms      what a tree puts out               costs the features that it splits on

A value depends on nothing but its row, to the last bit, however many rows are evaluated together.
"""

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Any, ClassVar, Self

import numpy as np

from thrifty.kernels.stopping import LINEAR, POLY, RBF, SIGMOID, TILE, kernel_values, padded
from thrifty.models.forests.forest import Forest
from thrifty.models.rebuilt import Rebuilt

KERNELS = {"linear": LINEAR, "poly": POLY, "rbf": RBF, "sigmoid": SIGMOID}


@dataclass(frozen=True, eq=False)
class Scaling:
    """What a pipeline does to the columns first: ``(x - centre) / divisor``."""

    centre: np.ndarray
    divisor: np.ndarray

    def after(self, first: "Scaling") -> "Scaling":
        """Return what doing `first` and then this amounts to."""
        return Scaling(first.centre + self.centre * first.divisor, first.divisor * self.divisor)

    def of(self, X: np.ndarray) -> np.ndarray:
        """Return rows, scaled."""
        return (X - self.centre) / self.divisor


class Terms(Rebuilt, ABC):
    """The terms of a fitted predictor; `fill` stands in for NaN unless it is None, where NaN is a value like others.

    Attributes
    ----------
    weights : ndarray of shape (n_scores, n_terms)
    intercept : ndarray of shape (n_scores,)
    ids : ndarray of int, shape (n_terms,)
        What the predictor itself calls the terms: columns, support vectors, outputs of trees.
    """

    _made_of: ClassVar[tuple[str, ...]] = ("weights", "intercept", "ids", "fill")
    rows_at_once: ClassVar[int] = 1024
    grain: ClassVar[int] = 1  # terms that are best evaluated together

    def __init__(self, weights: np.ndarray, intercept: np.ndarray, ids: np.ndarray, fill: np.ndarray | None):
        self.weights, self.intercept, self.ids, self.fill = np.ascontiguousarray(weights), intercept, ids, fill

    @property
    def n_terms(self) -> int:
        """How many terms there are."""
        return self.weights.shape[1]

    @property
    def n_own(self) -> int:
        """How many numbers the predictor has for terms, those without weight included."""
        return self.n_terms

    def values(self, X: np.ndarray) -> np.ndarray:
        """Return the values (n, n_terms) of all terms."""
        held = np.empty((len(X), self.n_terms))
        self.evaluate(self.prepare(X), np.arange(len(X)), 0, self.n_terms, held)
        return held

    def scores(self, values: np.ndarray) -> np.ndarray:
        """Return the full scores (n, n_scores) that all values add up to."""
        return values @ self.weights.T + self.intercept

    def prepare(self, X: np.ndarray) -> np.ndarray:
        """Return a block of rows as `evaluate` wants it."""
        return X if self.fill is None else np.where(np.isnan(X), self.fill, X)

    def own_rows(self, X: np.ndarray) -> np.ndarray:
        """Mark rows (n,) whose values are unlike those of new rows, because a term was made from them."""
        return np.zeros(len(X), dtype=bool)

    @abstractmethod
    def ordered(self, order: np.ndarray) -> Self:
        """Return the same terms in another order."""

    @abstractmethod
    def reads(self, terms: np.ndarray) -> np.ndarray:
        """Return the features (len(terms), n_features) that terms require."""

    def units(self, terms: np.ndarray, requirement: np.ndarray) -> np.ndarray:
        """Return the units (len(terms), n_units) that terms require, given those of the features."""
        return self.reads(terms).astype(np.float32) @ requirement > 0

    @abstractmethod
    def evaluate(self, block: np.ndarray, rows: np.ndarray, first: int, last: int, held: np.ndarray) -> None:
        """Write the values of terms first..last for some rows of a prepared block into the same place of `held`."""


class LinearTerms(Terms):
    """The features of a linear model that have a weight."""

    @classmethod
    def of(cls, coef: np.ndarray, intercept: np.ndarray, scaling: Scaling | None, fill: np.ndarray) -> "LinearTerms":
        """Read a linear model, working the scaling of the columns into its weights."""
        if scaling is not None:
            coef = coef / scaling.divisor
            intercept = intercept - coef @ scaling.centre
        weighed = np.flatnonzero(coef.any(axis=0))
        return cls(coef[:, weighed], intercept, weighed, fill)

    @property
    def n_own(self) -> int:
        """How many columns there are."""
        return len(self.fill)  # type: ignore[arg-type]

    def prepare(self, X: np.ndarray) -> np.ndarray:
        """Leave the rows as they are: what is missing is seen to when a column is read."""
        return X

    def ordered(self, order: np.ndarray) -> "LinearTerms":
        """Return the same terms in another order."""
        return LinearTerms(self.weights[:, order], self.intercept, self.ids[order], self.fill)

    def reads(self, terms: np.ndarray) -> np.ndarray:
        """Return one feature for each term."""
        reads = np.zeros((len(terms), self.n_own), dtype=bool)
        reads[np.arange(len(terms)), self.ids[terms]] = True
        return reads

    def units(self, terms: np.ndarray, requirement: np.ndarray) -> np.ndarray:
        """Return the units of the features."""
        return requirement[self.ids[terms]]

    def evaluate(self, block: np.ndarray, rows: np.ndarray, first: int, last: int, held: np.ndarray) -> None:
        """Read the columns of the terms."""
        columns = self.ids[first:last]
        values = block[rows[:, None], columns]
        held[rows, first:last] = np.where(np.isnan(values), self.fill[columns], values)  # type: ignore[index]


@dataclass(frozen=True)
class Kernel:
    """The kernel of a support vector machine, in scikit-learn's parameters."""

    name: str
    gamma: float
    coef0: float
    degree: float


class KernelTerms(Terms):
    """The support vectors of a kernel machine."""

    _made_of = ("vectors", "kernel", "scaling", *Terms._made_of)
    rows_at_once = 256  # which stay in cache from one checkpoint to the next
    grain = TILE

    def __init__(self, vectors: np.ndarray, kernel: Kernel, scaling: Scaling | None, *rest: Any):
        super().__init__(*rest)
        self.vectors, self.kernel, self.scaling = vectors, kernel, scaling
        self._padded = padded(vectors)
        self._squares = np.einsum("ij,ij->i", self._padded, self._padded)

    def prepare(self, X: np.ndarray) -> np.ndarray:
        """Fill, scale and pad the rows."""
        if np.isnan(X).any():
            X = super().prepare(X)
        return padded(X if self.scaling is None else self.scaling.of(X.astype(np.float64, copy=False)))

    def own_rows(self, X: np.ndarray) -> np.ndarray:
        """Mark the rows that are support vectors."""
        kept = {line.tobytes() for line in self._padded}
        return np.array([line.tobytes() in kept for line in self.prepare(X)], dtype=bool)

    def ordered(self, order: np.ndarray) -> "KernelTerms":
        """Return the same terms in another order."""
        rest = (self.weights[:, order], self.intercept, self.ids[order], self.fill)
        return KernelTerms(self.vectors[order], self.kernel, self.scaling, *rest)

    def reads(self, terms: np.ndarray) -> np.ndarray:
        """Return all features for each term."""
        return np.ones((len(terms), self.vectors.shape[1]), dtype=bool)

    def units(self, terms: np.ndarray, requirement: np.ndarray) -> np.ndarray:
        """Return all units for each term."""
        return np.tile(requirement.any(axis=0), (len(terms), 1))

    def evaluate(self, block: np.ndarray, rows: np.ndarray, first: int, last: int, held: np.ndarray) -> None:
        """Compare the rows with the support vectors."""
        kernel = self.kernel
        shape = (KERNELS[kernel.name], kernel.gamma, kernel.coef0, kernel.degree)
        kernel_values(block, rows, self._padded, self._squares, first, last, *shape, held)


class TreeTerms(Terms):
    """The outputs of the trees of an ensemble."""

    _made_of = ("forest", "scaling", *Terms._made_of)
    rows_at_once = 2048
    grain = 16

    def __init__(self, forest: Forest, scaling: Scaling | None, *rest: Any):
        super().__init__(*rest)
        self.forest, self.scaling = forest, scaling

    @classmethod
    def of(cls, forest: Forest, scaling: Scaling | None, fill: np.ndarray | None) -> "TreeTerms":
        """Read a forest, each of whose outputs adds to one of the scores."""
        weights = (forest.score_of == np.arange(len(forest.base))[:, None]).astype(float)
        return cls(forest, scaling, weights, forest.base.copy(), np.arange(forest.n_outputs), fill)

    def prepare(self, X: np.ndarray) -> np.ndarray:
        """Fill and scale the rows."""
        X = super().prepare(X)
        return X if self.scaling is None else self.scaling.of(X)

    def ordered(self, order: np.ndarray) -> "TreeTerms":
        """Return the same terms in another order."""
        rest = (self.weights[:, order], self.intercept, self.ids[order], self.fill)
        return TreeTerms(self.forest, self.scaling, *rest)

    def reads(self, terms: np.ndarray) -> np.ndarray:
        """Return the features that the trees split on."""
        return self.forest.reads[self.ids[terms]]

    def evaluate(self, block: np.ndarray, rows: np.ndarray, first: int, last: int, held: np.ndarray) -> None:
        """Send the rows down the trees."""
        active = rows if len(rows) < len(block) else slice(len(block))  # at first all are, and need no copy
        held[active, first:last] = self.forest.outputs(block[active], self.ids[first:last])
