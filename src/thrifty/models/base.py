"""The contract of every estimator: it predicts, and reports what each prediction costs.

A subclass provides two drivers of one fitted model, which must agree on every row:
:meth:`BudgetedEstimator._run` for a batch and :meth:`BudgetedEstimator._start` for a single row.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple, Self

import numpy as np
from scipy.sparse import issparse
from sklearn.base import BaseEstimator
from sklearn.utils.validation import _check_sample_weight, check_is_fitted, validate_data

from thrifty.arrays import cast, host_dtype, is_device_array, namespace_of, number, to_host, without_gradient
from thrifty.costs import CostModel
from thrifty.models.acquisition import Acquisition
from thrifty.models.derived import Derivation
from thrifty.models.homes import Here, Home, collections, is_collection
from thrifty.models.magnitudes import refuse_extreme
from thrifty.models.outline import Columns, Outline
from thrifty.models.rows import (
    Encoder,
    NumberEncoder,
    Rows,
    as_counts,
    checked_queries,
    largest_target,
    refuse_missing_targets,
)
from thrifty.models.session import Feature, Session
from thrifty.models.soundness import require
from thrifty.models.training_record import Training
from thrifty.stored import Labels, Maybe, Structure, Whole, register, stored

FLOATS = [np.float64, np.float32]


class Run(NamedTuple):
    """What a fitted model returns for a batch of ``n`` rows.

    Attributes
    ----------
    score : ndarray of shape (n,) or (n, n_classes)
        What predictions are made from.
    acquired : callable
        Returns the features that rows bought, (n, n_features) bool. It is a function because few callers need this
        large array.
    spend : ndarray of shape (n,)
        What rows are charged.
    exit : ndarray of int, shape (n,)
        Where rows ended.
    """

    score: np.ndarray
    acquired: Callable[[], np.ndarray]
    spend: np.ndarray
    exit: np.ndarray


@stored(
    n_features_in_=Whole(1),
    feature_names_in_=Maybe(Labels("n_features_in_")),
    cost_model_=Structure(CostModel),
    training_=Structure(Training),
)
class BudgetedEstimator(BaseEstimator, ABC):
    """Base of every estimator that charges for what it acquires.

    A subclass implements ``fit``, which calls `_validated` first, and two drivers of the fitted model: `_run` for a
    batch and `_start` for one row. It derives from `BudgetedClassifier`, `BudgetedRegressor` or `BudgetedRanker`,
    which turn scores into predictions. CONTRIBUTING shows a complete example, and
    ``thrifty.testing.check_estimator`` tests it.

    Attributes
    ----------
    cost_model_ : CostModel
        The costs, aligned with the columns of X.
    training_ : Training
        The number of training rows, the date of the fit, and a fingerprint of the data.
    """

    cost_model_: CostModel
    training_: Training
    n_features_in_: int
    _accepts_sparse = False
    _follows_device = False  # whether a fit computes where X is, for arrays on a device
    _reads_columns = False  # whether a fit reads X only once, so that the columns of a partition may stay as they are
    _depends_on_position = False  # whether the position of a row in a batch decides how it is answered

    def __init_subclass__(cls, **options: Any) -> None:
        super().__init_subclass__(**options)
        register(cls)

    # What a subclass provides

    @abstractmethod
    def _run(self, X: Any, cap: np.ndarray, qid: np.ndarray | None) -> Run:
        """Predict a batch; row i may spend at most cap[i]. Most models do not use the queries."""

    @abstractmethod
    def _start(self, cap: float) -> Session:
        """Return a new session that acquires, spends and predicts what `_run` does."""

    def _answer(self, score: np.ndarray) -> np.ndarray:
        """Return the predictions that scores stand for."""
        return score

    def _outline(self, columns: Columns, exits: np.ndarray | None) -> Outline:
        """Return the outline of the fitted model, in terms of the columns given."""
        summary = "The model decides for each row which columns to buy."
        return self._outlined(columns, summary, uses=columns.unordered_uses())

    # Public methods

    def acquire(self, X: Any, cap: Any = None, *, qid: Any = None) -> Acquisition:
        """Acquire what each row needs, and predict.

        Parameters
        ----------
        X : array-like of shape (n, n_features)
            Values that a row does not acquire are never read. NaN in a value that it does acquire means that the
            value was paid for but is unavailable.
        cap : float or array-like of shape (n,), optional
            Hard limit on each row's spend. If the next step of a row would exceed it, the row is answered with what
            it has.
        qid : array-like of shape (n,), optional
            The query of each row, for models that compare the rows of a query.

        Returns
        -------
        Acquisition
            With prediction, score, acquired, spend and exit of each row.
        """
        self._refuse_unfitted()
        if is_collection(X):
            return collections().acquired(self, X, cap, qid)
        return self._acquire_checked(self._checked(X), cap, qid)

    def _acquire_checked(self, X: Any, cap: Any = None, qid: Any = None) -> Acquisition:
        """Acquire what rows need that `_checked` has returned, and predict."""
        n_rows = X.shape[0]
        run = self._run(X, self._row_caps(cap, n_rows), checked_queries(qid, n_rows, type(self).__name__))
        self._refuse_unusable_values(X, run)
        return Acquisition(self._answer(run.score), *run, self.cost_model_)

    def spend(self, X: Any, cap: Any = None, *, qid: Any = None) -> np.ndarray:
        """Return what each row is charged, in the unit of the cost model.

        Parameters
        ----------
        X : array-like of shape (n, n_features)
        cap : float or array-like of shape (n,), optional
            Hard limit on each row's spend.
        qid : array-like of shape (n,), optional
            The query of each row.

        Returns
        -------
        ndarray of shape (n,)
        """
        return self.acquire(X, cap, qid=qid).spend

    def predict(self, X: Any, cap: Any = None, *, qid: Any = None) -> np.ndarray:
        """Predict each row from the features that it acquires.

        Parameters
        ----------
        X : array-like of shape (n, n_features)
        cap : float or array-like of shape (n,), optional
            Hard limit on each row's spend.
        qid : array-like of shape (n,), optional
            The query of each row.

        Returns
        -------
        ndarray of shape (n,)
        """
        return self.acquire(X, cap, qid=qid).prediction

    def session(self, cap: Any = None) -> Session:
        """Start the acquisition of one row whose features are fetched when the model asks for them.

        Parameters
        ----------
        cap : float, optional
            Hard limit on what the session may spend.

        Returns
        -------
        Session
            Driven by ``next()`` and ``observe()``. It acquires, spends and predicts what a batch would.
        """
        self._refuse_unfitted()
        if np.ndim(cap):
            raise ValueError(f"{type(self).__name__}: cap is {cap!r}; a session serves one row, so pass one number.")
        return self._start(float(self._row_caps(cap, 1)[0]))

    def for_positions(self, positions: Any) -> Self:
        """Return the model for rows at given positions. Only mixtures of models look at the position of a row.

        Parameters
        ----------
        positions : array-like of int, shape (n,)
            One for each row that will be passed, such as the numbers of rows in a table of which this is a part.

        Returns
        -------
        BudgetedEstimator
        """
        return self

    def outline(self, exits: Any = None) -> Outline:
        """Describe the fitted model: what it buys, where rows go, and what that costs.

        Parameters
        ----------
        exits : array-like of int, optional
            Where some rows ended (``acquire(X).exit``). The outline of a tree then tells the share of these rows at
            each stage.

        Returns
        -------
        Outline
        """
        check_is_fitted(self)
        return self._outline(Columns.of(self.cost_model_), None if exits is None else self._checked_exits(exits))

    def _checked_exits(self, exits: Any) -> np.ndarray:
        """Return where rows ended as an array of whole numbers."""
        array = np.asarray(exits)
        valid = array.ndim == 1 and array.size > 0 and np.issubdtype(array.dtype, np.integer) and array.min() >= -1
        self._refuse_unless(bool(valid), "exits", exits, "the exits of some rows, such as acquire(X).exit")
        return array

    def refuse_unsound(self) -> None:
        """Raise ValueError unless the fitted model is complete and consistent.

        A model file may have been altered. So ``thrifty.load`` calls this before it returns a model, and kernels may
        then follow the indices in the model without checking them. The types and shapes of stored attributes have been
        checked already. A subclass compares its parts after ``super().refuse_unsound()``; it must not run them.
        """
        require(self.cost_model_.n_features == self.n_features_in_, "its costs are for another number of columns")
        names = getattr(self, "feature_names_in_", None)
        require(names is None or tuple(names) == self.cost_model_.names, "its costs are for columns of other names")

    def _state_to_store(self) -> dict[str, Any]:
        """Return the parameters and the fitted attributes for a model file, without objects of other libraries."""
        return dict(vars(self))

    def _complete_loaded(self) -> None:
        """Set the attributes of a loaded model that its file does not hold, because others determine them."""

    # For subclasses: fitting

    def _validated(self, X: Any, y: Any, sample_weight: Any = None, qid: Any = None) -> Rows:
        """Check training data, drop rows of weight 0, and resolve the costs against the columns."""
        if is_collection(X):
            raise TypeError(collections().cannot_fit(type(self).__name__))
        forget_fit(self)
        y, sample_weight, qid = to_host(y), to_host(sample_weight), to_host(qid)
        X, y = self._checked_on_device(X, y) if self._computes_where(X) else self._checked_to_fit(to_host(X), y)
        weight = _check_sample_weight(sample_weight, y, dtype=np.float64, ensure_non_negative=True)
        refuse_extreme(weight, "sample_weight", type(self).__name__, "Multiply all weights by a constant.")
        rows = Rows(X, y, weight, checked_queries(qid, X.shape[0], type(self).__name__)).counted()
        self._resolve_costs()
        self.training_ = Training.on(rows.X, rows.y)
        return Rows(rows.X, rows.y, as_counts(rows.weight), rows.qid)

    def _located(self, X: Any, y: Any, sample_weight: Any = None, qid: Any = None) -> Home[Rows]:
        """Do what `_validated` does with rows that live in this process or in Dask collections."""
        if is_collection(X):
            forget_fit(self)
            return collections().located(self, X, y, sample_weight, qid)
        return Here(self._validated(X, y, sample_weight, qid))

    def _resolve_costs(self) -> None:
        """Set `cost_model_`, aligned with the columns of X."""
        names, owner = getattr(self, "feature_names_in_", None), type(self).__name__
        self.cost_model_ = CostModel.resolve(self.costs, self.n_features_in_, feature_names=names, owner=owner)

    def _checked_to_fit(self, X: Any, y: Any) -> tuple[Any, np.ndarray]:
        """Check features and targets in the memory of this process."""
        owner = type(self).__name__
        if (labels := np.asarray(y)).dtype.kind in "OU" and labels.ndim == 1:
            # scikit-learn cannot sort None, and NumPy makes the text "nan" of NaN in a list of texts.
            refuse_missing_targets(np.array(y, dtype=object) if isinstance(y, list | tuple) else labels, owner)
        return validate_data(
            self,
            X,
            y,
            dtype=FLOATS,
            order="C",
            accept_sparse="csr" if self._accepts_sparse else False,
            ensure_all_finite=True if issparse(X) else "allow-nan",
        )

    def _computes_where(self, X: Any) -> bool:
        """Tell whether a fit computes on the device of X. All other fits read a copy in the memory of this process."""
        return is_device_array(X) and self._follows_device and getattr(self, "device", None) != "cpu"

    def _checked_on_device(self, X: Any, y: Any) -> tuple[Any, np.ndarray]:
        """Check features on a device and targets in the memory of this process."""
        owner = type(self).__name__
        if len(X.shape) != 2:
            raise ValueError(f"{owner}: X has {len(X.shape)} axes; expected 2, rows and columns.")
        X = without_gradient(X)
        X = X if host_dtype(X) in FLOATS else cast(X, namespace_of(X).float64)
        if number(namespace_of(X).any(namespace_of(X).isinf(X))):
            raise ValueError(f"{owner}: X contains infinity. Pass finite numbers, or NaN for what is missing.")
        stand_in = np.broadcast_to(np.zeros(1), tuple(X.shape))  # for all checks that do not read values
        return X, validate_data(self, stand_in, y, dtype=None, ensure_all_finite=False)[1]

    def _targets(self, y: np.ndarray) -> np.ndarray:
        """Return the targets of training rows as columns of numbers (n, n_targets); a classifier sets `classes_`."""
        return self._encoder(Here(Rows(None, y)))(y)

    def _encoded(self, y: np.ndarray) -> np.ndarray:
        """Return targets as columns of numbers (n, n_targets); a classifier must have `classes_`."""
        return self._encoder(Here(Rows(None, y)))(y)

    def _encoder(self, rows: Home[Rows]) -> Encoder:
        """Return what turns y of a block of training rows into columns of numbers; a classifier sets `classes_`."""
        return NumberEncoder(max(rows.collect(largest_target)), type(self).__name__)

    def _refuse_unless(self, valid: bool, name: str, value: Any, expected: str) -> None:
        """Raise ValueError about a parameter unless its value is valid."""
        if not valid:
            raise ValueError(f"{type(self).__name__}: {name} is {value!r}; expected {expected}.")

    def _translate_parameters(self, derivation: Derivation) -> None:
        """Translate parameters that name raw columns to derived columns; most estimators have none."""

    # For subclasses: prediction

    def _answer_one(self, scores: np.ndarray) -> tuple[Any, Any]:
        """Return the prediction and the score of one row from its scores (1, n_scores)."""
        shaped = drop_single_column(scores)
        return self._answer(shaped)[0], shaped[0]

    def _outlined(self, columns: Columns, summary: str, **parts: Any) -> Outline:
        """Return an outline of this model; `parts` are further fields of `Outline`."""
        return Outline(type(self).__name__, summary, columns.costs.unit, columns.costs.total, **parts)

    def _feature_ids(self) -> Sequence[Feature]:
        """Return how sessions and messages call the columns: by name if they have names, else by position."""
        return self.cost_model_.names or range(self.n_features_in_)

    def _n_scores(self) -> int:
        """Return how many scores the model computes for a row."""
        return 1

    def _refuse_unfitted(self) -> None:
        """Raise NotFittedError unless the model is fitted. The first test is faster."""
        if not self._seems_fitted():
            check_is_fitted(self)

    def _seems_fitted(self) -> bool:
        return self.__sklearn_is_fitted__() if hasattr(self, "__sklearn_is_fitted__") else hasattr(self, "training_")

    def _checked(self, X: Any) -> Any:
        """Check rows to predict, in the memory of this process; infinities that are acquired are refused later."""
        if self._needs_no_check(X):
            return X
        return validate_data(
            self,
            to_host(X),
            reset=False,
            dtype=FLOATS,
            order="C",
            accept_sparse="csr" if self._accepts_sparse else False,
            ensure_all_finite=issparse(X),
        )

    def _needs_no_check(self, X: Any) -> bool:
        """Tell whether X is what the checks would return, because checking one row takes longer than predicting it."""
        return (
            type(X) is np.ndarray
            and X.dtype in FLOATS
            and X.flags.c_contiguous
            and X.shape[1:] == (self.n_features_in_,)
            and len(X) > 0
            and not hasattr(self, "feature_names_in_")
        )

    @property
    def _takes_numbers(self) -> bool:
        """Whether the columns of X hold numbers only."""
        return True

    def _row_caps(self, cap: Any, n_rows: int) -> np.ndarray:
        """Return one limit per row; infinity for rows without a limit."""
        if cap is None:
            return np.full(n_rows, np.inf)
        caps = np.asarray(cap)
        if caps.shape not in ((), (n_rows,)):
            raise ValueError(
                f"{type(self).__name__}: cap has shape {caps.shape}; expected one number, or one for each of the "
                f"{n_rows} rows."
            )
        numeric = np.issubdtype(caps.dtype, np.number)
        for bad in caps[~(caps >= 0)][:1].tolist() if numeric else [cap]:  # NaN is not >= 0 either
            raise ValueError(
                f"{type(self).__name__}: cap is {bad!r}; expected a limit of at least 0 on each row's spend."
            )
        if caps.dtype in (np.float16, np.float32):
            caps = caps.astype(str)  # the float32 0.7 means 0.7, not 0.699999988, to which it converts
        return np.full(n_rows, caps.astype(float))

    def _refuse_unusable_values(self, X: Any, run: Run) -> None:
        """Refuse infinities in values that were acquired; others are never read."""
        if np.isfinite(run.score).all():
            return
        for row, column in np.argwhere(run.acquired() & np.isinf(X)):
            raise ValueError(
                f"{type(self).__name__}: row {row} acquires {self._feature_ids()[column]!r}, which is "
                f"{X[row, column]}. Pass finite numbers, or NaN for what is unavailable."
            )

    # Hooks of scikit-learn

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        return tags

    def _repr_html_inner(self) -> str:
        """Return scikit-learn's diagram, followed by the outline of a fitted model."""
        return super()._repr_html_inner() + (self.outline()._repr_html_() if self._seems_fitted() else "")

    def _repr_mimebundle_(self, **options: Any) -> dict[str, str]:
        bundle = super()._repr_mimebundle_(**options)
        return bundle | {"text/html": self._repr_html_inner()} if "text/html" in bundle else bundle


def forget_fit(estimator: Any) -> None:
    """Delete the attributes of an earlier fit, so that a fit that fails does not leave parts of two models."""
    for name in [name for name in vars(estimator) if name.endswith("_") and not name.startswith("_")]:
        delattr(estimator, name)


def drop_single_column(scores: np.ndarray) -> np.ndarray:
    """Drop the last axis if there is one score only, as scikit-learn does."""
    return scores[..., 0] if scores.ndim > 1 and scores.shape[-1] == 1 else scores
