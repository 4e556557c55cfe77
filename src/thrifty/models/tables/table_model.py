"""Any estimator on a table of mixed columns, at the prices of its raw columns."""

from dataclasses import replace
from typing import Any, Self

import numpy as np
import pandas as pd
from sklearn.base import is_classifier, is_regressor
from sklearn.metrics import accuracy_score, r2_score
from sklearn.utils import check_consistent_length, get_tags
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import _check_sample_weight

from thrifty.costs import CostModel
from thrifty.models.base import BudgetedEstimator, Run
from thrifty.models.derived import DerivedSession
from thrifty.models.outline import Columns, Outline
from thrifty.models.parameters import is_number, is_whole
from thrifty.models.promise import Promise
from thrifty.models.session import Session
from thrifty.models.soundness import require
from thrifty.models.tables.encoder import ReadTable, TableEncoder
from thrifty.models.tables.preparation import prepared
from thrifty.models.tables.validation import validated_table
from thrifty.models.tasks import mean_ndcg


def _estimator_has(name: str) -> Any:
    return lambda model: hasattr(getattr(model, "estimator_", model.estimator), name)


class TableModel(BudgetedEstimator):
    """Any estimator of this package on a table of numbers, text, categories, booleans, dates and gaps.

    Each raw column is turned into one or more derived columns of numbers, and the estimator is fitted on those. All
    columns derived from a raw one require its units, so that it is paid for once. Prices, acquisitions, sessions and
    messages speak of raw columns.

    Parameters
    ----------
    estimator : BudgetedEstimator
        A classifier, regressor or ranker of this package; it is cloned and fitted.
    costs : array-like, dict, CostModel or None
        What each raw column costs to acquire; ``None`` means the costs of `estimator`, and one unit each if it has
        none.
    cap : float, optional
        Hard limit on each row's spend. Where a call has a cap too the smaller one holds.
    max_levels : int, default=20
        How many levels of a category are told apart: the most frequent.

    Attributes
    ----------
    encoder_ : TableEncoder
        From raw to derived columns.
    estimator_ : BudgetedEstimator
        The estimator, fitted on derived columns.
    cost_model_ : CostModel
        The costs, aligned with the raw columns.
    promise_ : Promise or None
        What a search for a budget promised of this model.
    classes_ : ndarray of shape (n_classes,)
        If `estimator` is a classifier.

    Examples
    --------
    >>> import pandas as pd
    >>> from thrifty import CostWeightedL1Regressor, TableModel
    >>> flats = pd.DataFrame({"rooms": [1, 2, 3, 4], "lift": [True, False, True, False], "heating": list("gogo")})
    >>> model = TableModel(CostWeightedL1Regressor(cost_weight=0.1), costs={"rooms": 1, "lift": 5, "heating": 2})
    >>> model.fit(flats, [500.0, 800.0, 1100.0, 1400.0]).acquire(flats).acquired[0]
    array([ True, False, False])
    >>> model.session().next()
    Acquire(features=('rooms',), cost=1.0)
    """

    encoder_: TableEncoder
    estimator_: Any
    promise_: Promise | None

    def __init__(self, estimator: Any, *, costs: Any = None, cap: float | None = None, max_levels: int = 20):
        self.estimator = estimator
        self.costs = costs
        self.cap = cap
        self.max_levels = max_levels

    def fit(self, X: Any, y: Any, sample_weight: Any = None, *, qid: Any = None) -> Self:
        """Learn what the columns are, and fit the estimator on what is derived from them.

        Parameters
        ----------
        X : frame or array-like of shape (n, n_features)
            None, NaN and the like where a value could not be had.
        y : array-like of shape (n,)
        sample_weight : array-like of shape (n,), optional
        qid : array-like of shape (n,), optional
            The query each row belongs to, for rankers.
        """
        self._refuse_bad_parameters()
        X, y = validated_table(self, X, reset=True), self._target(X, y)
        self.cost_model_ = self._resolved_costs()
        weight = _check_sample_weight(sample_weight, y, dtype=np.float64)
        self.encoder_ = TableEncoder(self.max_levels).fit(X, weight, self._feature_ids())
        estimator = prepared(self.estimator, self.encoder_, self.cost_model_)
        self.estimator_ = estimator.fit(self.encoder_.transform(X), y, sample_weight, qid=qid)
        self.training_ = self.estimator_.training_
        self.promise_ = None
        return self

    def _resolved_costs(self) -> CostModel:
        return CostModel.resolve(
            self.estimator.costs if self.costs is None else self.costs,
            self.n_features_in_,
            feature_names=getattr(self, "feature_names_in_", None),
            owner=type(self).__name__,
        )

    def adopt(self, search: Any, encoder: TableEncoder, estimator: Any, promise: Promise) -> Self:
        """Take an estimator that a search has fitted, as `prepared` for this encoder, on columns it has validated."""
        for name in ("n_features_in_", "feature_names_in_", "cost_model_"):
            if hasattr(search, name):
                setattr(self, name, getattr(search, name))
        self.encoder_, self.estimator_ = encoder, estimator
        self.training_, self.promise_ = estimator.training_, promise
        return self

    # The two drivers

    def _checked(self, X: Any) -> ReadTable:
        return self.encoder_.read_table(validated_table(self, X, reset=False))

    def _run(self, X: ReadTable, cap: np.ndarray, qid: np.ndarray | None) -> Run:
        inner = self.estimator_.acquire(X.derived, cap, qid=qid)
        return Run(inner.score, lambda: self.encoder_.raw_mask(inner.acquired), inner.spend, inner.exit)

    def _refuse_unusable_values(self, X: ReadTable, run: Run) -> None:
        """Refuse values that were acquired and cannot be read; others are never looked at."""
        for field, rows, values in X.unreadable:
            for i in np.flatnonzero(run.acquired()[rows, field])[:1]:
                raise self.encoder_.refusal(field, int(rows[i]), values[i], "acquires")

    def _row_caps(self, cap: Any, n_rows: int) -> np.ndarray:
        return np.minimum(super()._row_caps(cap, n_rows), super()._row_caps(self.cap, n_rows))

    def _start(self, cap: float) -> Session:
        return DerivedSession(self.estimator_.session(cap), self.encoder_, self._feature_ids())

    def _answer(self, score: np.ndarray) -> np.ndarray:
        return self.estimator_._answer(score)

    def _probabilities(self, score: np.ndarray) -> np.ndarray:
        return self.estimator_._probabilities(score)

    def _outline(self, columns: Columns, exits: np.ndarray | None) -> Outline:
        derived = replace(columns, labels=self.encoder_.labels, to_bought=self.encoder_.raw_mask)
        return self.estimator_._outline(derived, exits)

    def refuse_unsound(self) -> None:
        """Raise ValueError unless a loaded model is complete and consistent; see `BudgetedEstimator`."""
        super().refuse_unsound()
        encoder, inner = self.encoder_, self.estimator_
        require(isinstance(inner, BudgetedEstimator) and not isinstance(inner, TableModel), "its estimator is not one")
        require(isinstance(encoder, TableEncoder), "its encoder is not a TableEncoder")
        encoder.refuse_unsound(list(self._feature_ids()))
        type(inner).refuse_unsound(inner)
        require(inner.cost_model_ == encoder.derived_costs(self.cost_model_), "its estimator has other costs")
        require(
            self.cap is None or self.cap == np.inf or is_number(self.cap, 0), "its cap is not a limit of at least 0"
        )

    # What is passed on to the estimator

    @available_if(_estimator_has("decision_function"))
    def decision_function(self, X: Any, cap: Any = None, *, qid: Any = None) -> np.ndarray:
        """Return the log-odds of the second class, or one unnormalised log-probability per class.

        Parameters
        ----------
        X : frame or array-like of shape (n, n_features)
        cap : float or array-like of shape (n,), optional
            Hard limit on each row's spend.
        qid : array-like of shape (n,), optional
            The query of each row.

        Returns
        -------
        ndarray of shape (n,) for two classes, otherwise (n, n_classes)
        """
        return self.acquire(X, cap, qid=qid).score

    @available_if(_estimator_has("predict_proba"))
    def predict_proba(self, X: Any, cap: Any = None, *, qid: Any = None) -> np.ndarray:
        """Return calibrated class probabilities, columns in the order of ``classes_``.

        Parameters
        ----------
        X : frame or array-like of shape (n, n_features)
        cap : float or array-like of shape (n,), optional
            Hard limit on each row's spend.
        qid : array-like of shape (n,), optional
            The query of each row.

        Returns
        -------
        ndarray of shape (n, n_classes)
        """
        return self._probabilities(self.acquire(X, cap, qid=qid).score)

    def score(self, X: Any, y: Any, sample_weight: Any = None, *, qid: Any = None) -> float:
        """Return the accuracy of a classifier, R² of a regressor, or the mean NDCG@5 if queries are given.

        Parameters
        ----------
        X : frame or array-like of shape (n, n_features)
        y : array-like of shape (n,)
        sample_weight : array-like of shape (n,), optional
            Weight of each row in the accuracy or R².
        qid : array-like of shape (n,), optional
            The query of each row. A ranker takes all rows for one query by default.

        Returns
        -------
        float
        """
        if qid is not None or not (is_classifier(self) or is_regressor(self)):
            return mean_ndcg(self, X, y, np.zeros(len(y), dtype=int) if qid is None else qid)
        metric = accuracy_score if is_classifier(self) else r2_score
        return float(metric(y, self.predict(X), sample_weight=sample_weight))

    @property
    def classes_(self) -> np.ndarray:
        """The classes, if the estimator is a classifier."""
        return self.estimator_.classes_

    # Input

    def _target(self, X: Any, y: Any) -> np.ndarray:
        if y is None:
            raise ValueError(f"{type(self).__name__} requires y to be passed, but the target y is None.")
        check_consistent_length(X, y)
        target = np.asarray(y)
        if (missing := np.flatnonzero(pd.isna(target))).size and target.ndim == 1:
            raise ValueError(f"{type(self).__name__}: y is missing (NaN) in row {missing[0]}. Leave such rows out.")
        return target

    def _refuse_bad_parameters(self) -> None:
        estimator = self.estimator
        fine = isinstance(estimator, BudgetedEstimator) and not isinstance(estimator, TableModel)
        self._refuse_unless(fine, "estimator", estimator, "an estimator of thrifty, such as ASTCClassifier()")
        self._refuse_unless(
            self.cap is None or self.cap == np.inf or is_number(self.cap, 0), "cap", self.cap, "a limit of at least 0"
        )
        self._refuse_unless(is_whole(self.max_levels, 1), "max_levels", self.max_levels, "a whole number of at least 1")

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "estimator_")

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        if isinstance(self.estimator, BudgetedEstimator):
            inner = get_tags(self.estimator)
            tags.estimator_type, tags.target_tags = inner.estimator_type, inner.target_tags
            tags.classifier_tags, tags.regressor_tags = inner.classifier_tags, inner.regressor_tags
            tags.non_deterministic = inner.non_deterministic
        tags.input_tags.string = tags.input_tags.categorical = True
        return tags
