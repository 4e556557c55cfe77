"""The contract of every estimator: predict, and say what the prediction cost.

A subclass fits `cost_model_` and two drivers of one fitted model, which must agree on every row:
:meth:`BudgetedEstimator._run` for a batch and :meth:`BudgetedEstimator._start` for a single lazy row.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Sequence
from inspect import signature
from numbers import Integral, Real
from typing import Any, NamedTuple

import numpy as np
from scipy.special import expit, softmax
from sklearn.base import BaseEstimator, ClassifierMixin, RegressorMixin
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import _check_sample_weight, _num_samples, check_is_fitted, validate_data

from thrifty.costs import CostModel
from thrifty.metrics import ndcg_at_k
from thrifty.models.acquisition import Acquisition
from thrifty.models.session import Feature, Session
from thrifty.models.training import Training


class Run(NamedTuple):
    """What a fitted model made of a batch; `acquired` is a function, for few look at its (n, d) result."""

    score: np.ndarray
    acquired: Callable[[], np.ndarray]
    spend: np.ndarray
    exit: np.ndarray


class BudgetedEstimator(BaseEstimator, ABC):
    """Base of every estimator that charges for what it acquires.

    ``acquire``, ``spend``, ``predict`` and ``session`` are built on two drivers that a subclass provides, `_run` for
    a batch and `_start` for one row, and on `_answer`, which turns scores into predictions. Costs come in as the
    parameter ``costs`` and are resolved against the columns of X in `_validated`, which ``fit`` calls first. See
    CONTRIBUTING for how to write one, and ``thrifty.testing.check_estimator`` for what it has to pass.

    Attributes
    ----------
    cost_model_ : CostModel
        The costs, aligned with the columns of X.
    training_ : Training
        How many rows the model was fitted on, when, and the fingerprint of the data.
    """

    cost_model_: CostModel
    training_: Training

    @abstractmethod
    def _run(self, X: np.ndarray, cap: np.ndarray) -> Run:
        """Answer a batch; row i may spend at most cap[i]."""

    @abstractmethod
    def _start(self, cap: float) -> Session:
        """Return a fresh session whose answers and spend equal those of `_run`."""

    @abstractmethod
    def _answer(self, score: np.ndarray) -> np.ndarray:
        """Turn scores into predictions."""

    def acquire(self, X: Any, cap: Any = None) -> Acquisition:
        """Acquire what each row needs and answer it.

        Parameters
        ----------
        X : array-like of shape (n, n_features)
            Values that a row does not acquire are never looked at. NaN in one that it does acquire means that it
            was paid for but could not be had.
        cap : float or array-like of shape (n,), optional
            Hard limit on each row's spend. A row that cannot afford its next step is answered with what it has.

        Returns
        -------
        Acquisition
            With prediction, score, acquired, spend and exit of each row.
        """
        check_is_fitted(self)
        X = validate_data(self, X, reset=False, dtype=[np.float64, np.float32], order="C", ensure_all_finite=False)
        run = self._run(X, self._row_caps(cap, len(X)))
        self._refuse_unusable_values(X, run)
        return Acquisition(self._answer(run.score), *run)

    def spend(self, X: Any, cap: Any = None) -> np.ndarray:
        """Return what each row is charged, in the unit of the cost model.

        Parameters
        ----------
        X : array-like of shape (n, n_features)
        cap : float or array-like of shape (n,), optional
            Hard limit on each row's spend.

        Returns
        -------
        ndarray of shape (n,)
        """
        return self.acquire(X, cap).spend

    def session(self, cap: Any = None) -> Session:
        """Start the acquisition of one row whose features are fetched as they are asked for.

        Parameters
        ----------
        cap : float, optional
            Hard limit on what the session may spend.

        Returns
        -------
        Session
            To be driven by ``next()`` and ``observe()``; it acquires, spends and answers what a batch would.
        """
        check_is_fitted(self)
        if np.ndim(cap):
            raise ValueError(f"{type(self).__name__}: cap is {cap!r}; a session serves one row, so pass one number.")
        return self._start(float(self._row_caps(cap, 1)[0]))

    def predict(self, X: Any, cap: Any = None) -> np.ndarray:
        """Predict each row from the features it acquires.

        Parameters
        ----------
        X : array-like of shape (n, n_features)
        cap : float or array-like of shape (n,), optional
            Hard limit on each row's spend.

        Returns
        -------
        ndarray of shape (n,)
        """
        return self.acquire(X, cap).prediction

    def _row_caps(self, cap: Any, n_rows: int) -> np.ndarray:
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
            caps = caps.astype(str)  # the float32 0.7 means 0.7, not the 0.699999988 that it widens to
        return np.full(n_rows, caps.astype(float))

    def _refuse_unusable_values(self, X: np.ndarray, run: Run) -> None:
        """Refuse infinities where they were bought; anywhere else they are never looked at."""
        if np.isfinite(run.score).all():
            return
        for row, column in np.argwhere(run.acquired() & np.isinf(X)):
            raise ValueError(
                f"{type(self).__name__}: row {row} acquires {self._feature_ids()[column]!r}, which is "
                f"{X[row, column]}. Pass finite numbers, or NaN for what could not be had."
            )

    def _feature_ids(self) -> Sequence[Feature]:
        """Return what sessions and messages call the columns: their names where known, else their positions."""
        return self.cost_model_.names or range(self.n_features_in_)

    def _validated(self, X: Any, y: Any, sample_weight: Any) -> tuple[np.ndarray, Any, np.ndarray]:
        """Check training data, drop rows that weigh nothing, resolve the costs against the columns."""
        X, y = validate_data(self, X, y, dtype=[np.float64, np.float32], order="C", ensure_all_finite="allow-nan")
        weight = _check_sample_weight(sample_weight, X, dtype=np.float64, ensure_non_negative=True)
        if not (counted := weight > 0).all():
            X, y, weight = X[counted], y[counted], weight[counted]
        self.cost_model_ = CostModel.resolve(
            self.costs,
            X.shape[1],
            feature_names=getattr(self, "feature_names_in_", None),
            owner=type(self).__name__,
        )
        self.training_ = Training.on(X, y)
        return X, y, as_counts(weight)

    def _queries(self, qid: Any, X: Any, sample_weight: Any) -> np.ndarray | None:
        """Return the queries of the rows that weigh something, if there are queries."""
        if qid is None:
            return None
        queries = np.asarray(qid)
        if queries.ndim != 1 or len(queries) != _num_samples(X):
            raise ValueError(
                f"{type(self).__name__}: qid has shape {queries.shape} for {_num_samples(X)} rows. "
                "Pass one query per row."
            )
        weighed = np.broadcast_to(1.0 if sample_weight is None else np.asarray(sample_weight), queries.shape)
        return queries[weighed > 0]

    def _refuse_unless(self, fine: bool, name: str, value: Any, expected: str) -> None:
        """Refuse a parameter that is not what it should be."""
        if not fine:
            raise ValueError(f"{type(self).__name__}: {name} is {value!r}; expected {expected}.")

    def _ascending_weights(self, cost_weights: Any) -> list[float]:
        """Check the cost weights of a sweep and return them in order."""
        if not isinstance(cost_weights, Iterable) or not (listed := list(cost_weights)):
            raise ValueError(f"{type(self).__name__}: cost_weights is {cost_weights!r}; expected a list of numbers.")
        for each in listed:
            self._refuse_unless(is_number(each, 0), "cost_weight", each, "a number of at least 0")
        return sorted(map(float, listed))

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        return tags


class BudgetedRegressor(RegressorMixin, BudgetedEstimator):
    """What regressors add to the contract: their score is the prediction."""

    def _answer(self, score: np.ndarray) -> np.ndarray:
        return score

    def _targets(self, y: np.ndarray) -> np.ndarray:
        """Return the targets as one column."""
        return np.asarray(y, dtype=float)[:, None]

    _encoded = _targets


class BudgetedClassifier(ClassifierMixin, BudgetedEstimator):
    """What classifiers add to the contract: their scores are log-odds, one for two classes, else one a class."""

    classes_: np.ndarray

    def decision_function(self, X: Any, cap: Any = None) -> np.ndarray:
        """Return the log-odds of the second class, or one unnormalised log-probability per class.

        Parameters
        ----------
        X : array-like of shape (n, n_features)
        cap : float or array-like of shape (n,), optional
            Hard limit on each row's spend.

        Returns
        -------
        ndarray of shape (n,) for two classes, else (n, n_classes)
        """
        return self.acquire(X, cap).score

    def predict_proba(self, X: Any, cap: Any = None) -> np.ndarray:
        """Return calibrated class probabilities, columns in the order of ``classes_``.

        Parameters
        ----------
        X : array-like of shape (n, n_features)
        cap : float or array-like of shape (n,), optional
            Hard limit on each row's spend.

        Returns
        -------
        ndarray of shape (n, n_classes)
        """
        return self._probabilities(self.decision_function(X, cap))

    def _probabilities(self, score: np.ndarray) -> np.ndarray:
        """Turn scores into the probabilities (n, n_classes) behind them."""
        if score.ndim == 1:
            return np.column_stack([expit(-score), expit(score)])
        return softmax(score, axis=1)

    def _answer(self, score: np.ndarray) -> np.ndarray:
        winner = (score > 0).astype(int) if score.ndim == 1 else score.argmax(axis=1)
        return self.classes_[winner]

    def _targets(self, y: np.ndarray) -> np.ndarray:
        """Learn the classes and return +-1 in one column for two of them, else one 0/1 column per class."""
        check_classification_targets(y)
        classes = np.unique(y)
        if len(classes) < 2:
            raise ValueError(
                f"{type(self).__name__} needs samples of at least 2 classes in y, "
                f"got one class: {classes.tolist()[0]!r}."
            )
        self.classes_ = classes
        return self._encoded(y)

    def _encoded(self, y: np.ndarray) -> np.ndarray:
        """Return the targets of known classes."""
        codes = np.searchsorted(self.classes_, y)
        if len(self.classes_) == 2:
            return 2.0 * codes[:, None] - 1.0
        return np.eye(len(self.classes_))[codes]


class BudgetedRanker(BudgetedEstimator):
    """What rankers add to the contract: documents of a query are ordered by their score, best first."""

    def score(self, X: Any, y: Any, *, qid: Any = None) -> float:
        """Return the mean NDCG@5 of the queries.

        Parameters
        ----------
        X : array-like of shape (n, n_features)
        y : array-like of shape (n,)
            Relevance of each document, 0 for irrelevant.
        qid : array-like of shape (n,), optional
            The query each document belongs to; all to one by default.

        Returns
        -------
        float
        """
        scores = self.predict(X)
        return float(ndcg_at_k(y, scores, qid=np.zeros(len(scores), dtype=int) if qid is None else qid, k=5))

    def _answer(self, score: np.ndarray) -> np.ndarray:
        return score

    def _targets(self, y: np.ndarray) -> np.ndarray:
        """Return the relevance labels as one column."""
        return np.asarray(y, dtype=float)[:, None]

    _encoded = _targets


def as_counts(weight: np.ndarray) -> np.ndarray:
    """Read sample weights as numbers of rows: as they are if none is below one, else rescaled to a mean of one.

    Rules that count rows (``min_samples_leaf``, leverages) then neither change when a row is repeated instead of
    weighted, nor break on weights that sum to one.
    """
    return weight if weight.min() >= 1 else weight * (weight.size / weight.sum())


def takes_queries(method: Callable[..., Any]) -> bool:
    """Tell whether a method of an estimator can be told which query each row belongs to."""
    return "qid" in signature(method).parameters


def is_whole(value: Any, minimum: int) -> bool:
    """Tell whether a parameter is a whole number, not a bool, of at least `minimum`."""
    return isinstance(value, Integral) and not isinstance(value, bool) and int(value) >= minimum


def is_number(value: Any, minimum: float = -np.inf) -> bool:
    """Tell whether a parameter is a finite real number, not a bool, of at least `minimum`."""
    return isinstance(value, Real) and not isinstance(value, bool) and minimum <= float(value) < np.inf
