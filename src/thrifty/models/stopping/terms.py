"""Predictors as sums of terms: the value of each term for a row, and the features that it reads.

    scores (k,) of a row  =  intercept (k,)  +  sum over terms t of  weights[:, t] * value of t

    LinearTerms    a term is a feature; it reads this feature
    KernelTerms    a term is the kernel of the row and a support vector; it reads all features
    TreeTerms      a term is an output of a tree; it reads the features that the tree splits on

The value of a term is exactly the same for a row alone and in a batch.
"""

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Any, ClassVar, Self

import numpy as np

from thrifty.costs import CostModel
from thrifty.kernels.stopping import LINEAR, POLY, RBF, SIGMOID, TILE, kernel_values, padded
from thrifty.models.forests.forest import Forest
from thrifty.models.rebuilt import Rebuilt
from thrifty.stored import Array, Number, OrNone, Structure, Text, stored

KERNELS = {"linear": LINEAR, "poly": POLY, "rbf": RBF, "sigmoid": SIGMOID}


@stored(centre=Array("float64", "n_features"), divisor=Array("float64", "n_features"))
@dataclass(frozen=True, eq=False)
class Scaling:
    """Scaling of the columns before the predictor: ``(x - centre) / divisor``."""

    centre: np.ndarray
    divisor: np.ndarray

    def after(self, first: "Scaling") -> "Scaling":
        """Return the scaling that applies `first` and then this one."""
        return Scaling(first.centre + self.centre * first.divisor, first.divisor * self.divisor)

    def of(self, X: np.ndarray) -> np.ndarray:
        """Return scaled rows."""
        return (X - self.centre) / self.divisor


@stored(
    weights=Array("float64", "n_scores", "n_terms"),
    intercept=Array("float64", "n_scores"),
    ids=Array("int64", "n_terms", low=0),
    fill=OrNone(Array("float64", "n_features")),
)
class Terms(Rebuilt, ABC):
    """The terms of a fitted predictor.

    Attributes
    ----------
    weights : ndarray of shape (n_scores, n_terms)
        Weight of each term in each score.
    intercept : ndarray of shape (n_scores,)
        Scores without any term.
    ids : ndarray of int, shape (n_terms,)
        Numbers of the terms in the predictor: columns, support vectors, or outputs of trees.
    fill : ndarray of shape (n_features,) or None
        Values that replace NaN. None if the predictor accepts NaN.
    """

    _made_of: ClassVar[tuple[str, ...]] = ("weights", "intercept", "ids", "fill")
    rows_at_once: ClassVar[int] = 1024
    grain: ClassVar[int] = 1  # number of terms that are best evaluated together

    def __init__(self, weights: np.ndarray, intercept: np.ndarray, ids: np.ndarray, fill: np.ndarray | None):
        self.weights, self.intercept, self.ids, self.fill = np.ascontiguousarray(weights), intercept, ids, fill

    @property
    def n_terms(self) -> int:
        """Number of terms."""
        return self.weights.shape[1]

    @property
    @abstractmethod
    def n_features(self) -> int:
        """Number of columns of X."""

    @property
    def n_ids(self) -> int:
        """Number of terms of the predictor, including those without weight."""
        return self.n_terms

    def values(self, X: np.ndarray) -> np.ndarray:
        """Return the values (n, n_terms) of all terms."""
        held = np.empty((len(X), self.n_terms))
        self.evaluate(self.prepare(X), np.arange(len(X)), 0, self.n_terms, held)
        return held

    def scores(self, values: np.ndarray) -> np.ndarray:
        """Return the full scores (n, n_scores) from the values of all terms."""
        return values @ self.weights.T + self.intercept

    def prepare(self, X: np.ndarray) -> np.ndarray:
        """Return a block of rows in the form that `evaluate` takes."""
        return X if self.fill is None else np.where(np.isnan(X), self.fill, X)

    def is_own_row(self, X: np.ndarray) -> np.ndarray:
        """Return which rows (n,) a term was made from. Their values differ from those of new rows."""
        return np.zeros(len(X), dtype=bool)

    @abstractmethod
    def ordered(self, order: np.ndarray) -> Self:
        """Return the same terms in another order."""

    @abstractmethod
    def reads(self, terms: np.ndarray) -> np.ndarray:
        """Return the features (len(terms), n_features) that some terms read."""

    def costs(self, terms: np.ndarray, cost_model: CostModel) -> CostModel:
        """Return the cost model of some terms without their evaluation: the features that each term reads."""
        return cost_model.derive(self.reads(terms), 0.0)

    @abstractmethod
    def evaluate(self, block: np.ndarray, rows: np.ndarray, first: int, last: int, held: np.ndarray) -> None:
        """Write the values of terms first..last to `held`, for some rows of a prepared block.

        Parameters
        ----------
        block : ndarray
            Rows as `prepare` returns them.
        rows : ndarray of int
            The rows of the block to evaluate.
        first, last : int
            The terms to evaluate, `last` excluded.
        held : ndarray of shape (len(block), n_terms)
            Values of the terms; only the rows and terms above are written.
        """


@stored()
class LinearTerms(Terms):
    """The features of a linear model that have a weight."""

    @classmethod
    def of(cls, coef: np.ndarray, intercept: np.ndarray, scaling: Scaling | None, fill: np.ndarray) -> "LinearTerms":
        """Return the terms of a linear model. The scaling of the columns is applied to its weights instead."""
        if scaling is not None:
            coef = coef / scaling.divisor
            intercept = intercept - coef @ scaling.centre
        columns = np.flatnonzero(coef.any(axis=0))
        return cls(coef[:, columns], intercept, columns, fill)

    @property
    def n_features(self) -> int:
        """Number of columns of X."""
        return 0 if self.fill is None else len(self.fill)

    @property
    def n_ids(self) -> int:
        """Number of columns."""
        return self.n_features

    def prepare(self, X: np.ndarray) -> np.ndarray:
        """Return the rows unchanged: `evaluate` replaces NaN in the columns that it reads."""
        return X

    def ordered(self, order: np.ndarray) -> "LinearTerms":
        """Return the same terms in another order."""
        return LinearTerms(self.weights[:, order], self.intercept, self.ids[order], self.fill)

    def reads(self, terms: np.ndarray) -> np.ndarray:
        """Return one feature for each term."""
        reads = np.zeros((len(terms), self.n_ids), dtype=bool)
        reads[np.arange(len(terms)), self.ids[terms]] = True
        return reads

    def costs(self, terms: np.ndarray, cost_model: CostModel) -> CostModel:
        """Return the cost model of the features of some terms."""
        return cost_model.select(self.ids[terms].tolist())

    def evaluate(self, block: np.ndarray, rows: np.ndarray, first: int, last: int, held: np.ndarray) -> None:
        """Read the columns of the terms."""
        columns = self.ids[first:last]
        values = block[rows[:, None], columns]
        held[rows, first:last] = np.where(np.isnan(values), self.fill[columns], values)  # type: ignore[index]


@stored(name=Text(*KERNELS), gamma=Number(), coef0=Number(), degree=Number())
@dataclass(frozen=True)
class Kernel:
    """The kernel of a support vector machine, with scikit-learn's parameters."""

    name: str
    gamma: float
    coef0: float
    degree: float


@stored(
    vectors=Array("float64", "n_terms", "n_features"),
    kernel=Structure(Kernel),
    scaling=OrNone(Structure(Scaling)),
)
class KernelTerms(Terms):
    """The support vectors of a kernel machine."""

    _made_of = ("vectors", "kernel", "scaling", *Terms._made_of)
    rows_at_once = 256  # these rows stay in cache from one checkpoint to the next
    grain = TILE

    def __init__(self, vectors: np.ndarray, kernel: Kernel, scaling: Scaling | None, *rest: Any):
        super().__init__(*rest)
        self.vectors, self.kernel, self.scaling = vectors, kernel, scaling
        self._padded = padded(vectors)
        self._squares = np.einsum("ij,ij->i", self._padded, self._padded)

    @property
    def n_features(self) -> int:
        """Number of columns of X."""
        return self.vectors.shape[1]

    def prepare(self, X: np.ndarray) -> np.ndarray:
        """Replace NaN, and scale and pad the rows."""
        if np.isnan(X).any():
            X = super().prepare(X)
        return padded(X if self.scaling is None else self.scaling.of(X.astype(np.float64, copy=False)))

    def is_own_row(self, X: np.ndarray) -> np.ndarray:
        """Return which rows are support vectors."""
        vectors = {line.tobytes() for line in self._padded}
        return np.array([line.tobytes() in vectors for line in self.prepare(X)], dtype=bool)

    def ordered(self, order: np.ndarray) -> "KernelTerms":
        """Return the same terms in another order."""
        rest = (self.weights[:, order], self.intercept, self.ids[order], self.fill)
        return KernelTerms(self.vectors[order], self.kernel, self.scaling, *rest)

    def reads(self, terms: np.ndarray) -> np.ndarray:
        """Return all features for each term."""
        return np.ones((len(terms), self.vectors.shape[1]), dtype=bool)

    def costs(self, terms: np.ndarray, cost_model: CostModel) -> CostModel:
        """Return the cost model of some terms. All terms read all features, so one unit stands for all features."""
        return CostModel([cost_model.total]).derive(np.ones((len(terms), 1), dtype=bool), 0.0)

    def evaluate(self, block: np.ndarray, rows: np.ndarray, first: int, last: int, held: np.ndarray) -> None:
        """Compute the kernel of the rows and the support vectors."""
        kernel = self.kernel
        shape = (KERNELS[kernel.name], kernel.gamma, kernel.coef0, kernel.degree)
        kernel_values(block, rows, self._padded, self._squares, first, last, *shape, held)


@stored(forest=Structure(Forest), scaling=OrNone(Structure(Scaling)))
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
        """Return the terms of a forest; each output is added to one of the scores."""
        weights = (forest.score_of == np.arange(len(forest.base))[:, None]).astype(float)
        return cls(forest, scaling, weights, forest.base.copy(), np.arange(forest.n_outputs), fill)

    @property
    def n_features(self) -> int:
        """Number of columns of X."""
        return self.forest.n_features

    def prepare(self, X: np.ndarray) -> np.ndarray:
        """Replace NaN and scale the rows."""
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
        """Compute the outputs of the trees."""
        active = rows if len(rows) < len(block) else slice(len(block))  # no copy while all rows are active
        held[active, first:last] = self.forest.outputs(block[active], self.ids[first:last])
