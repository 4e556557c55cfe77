"""Any estimator on a table of mixed columns, at the prices of the raw columns."""

from collections.abc import Mapping
from copy import copy
from dataclasses import replace
from typing import Any, Self

import numpy as np
from sklearn.base import clone, is_classifier, is_regressor
from sklearn.metrics import accuracy_score, r2_score
from sklearn.utils import get_tags
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted

from thrifty.costs.error_costs import ClassErrorCosts, ErrorCosts
from thrifty.models.base import BudgetedEstimator, Run, forget_fit
from thrifty.models.derived import DerivedSession
from thrifty.models.outline import Columns, Outline
from thrifty.models.parameters import is_number, is_whole
from thrifty.models.promise import Promise
from thrifty.models.rows import class_weighted, refuse_bad_class_weight
from thrifty.models.session import Feature, Session
from thrifty.models.soundness import require
from thrifty.models.tables.checked_table import checked_rows, checked_table, resolved_costs
from thrifty.models.tables.encoder import TableEncoder
from thrifty.models.tables.preparation import learned_encoder, prepared
from thrifty.models.tables.reading import ReadTable
from thrifty.models.task_bases import mean_ndcg
from thrifty.stored import OrNone, Structure, stored


def _estimator_has(name: str) -> Any:
    return lambda model: hasattr(getattr(model, "estimator_", model.estimator), name)


@stored(
    encoder_=Structure(TableEncoder),
    estimator_=Structure(BudgetedEstimator),
    error_costs_=OrNone(Structure(ErrorCosts)),
    promise_=OrNone(Structure(Promise)),
)
class TableModel(BudgetedEstimator):
    """Any estimator of this package on a table with numbers, text, categories, booleans, dates and missing values.

    Each raw column is turned into one or more derived columns of numbers, and the estimator is fitted on those. All
    columns that are derived from a raw column require its units, so a raw column is paid for once. Prices,
    acquisitions, sessions and messages refer to raw columns.

    Parameters
    ----------
    estimator : BudgetedEstimator
        A classifier, regressor or ranker of this package. It is cloned and fitted.
    costs : array-like, dict, CostModel or None, default=None
        What each raw column costs to acquire. None means the costs of `estimator`, or one unit each if it has none.
    cap : float or None, default=None
        Hard limit on each row's spend. If a call has a cap too, the smaller one holds.
    max_levels : int, default=20
        The number of levels of a category that get a column each: the most frequent ones. Other levels are not
        distinguished from each other.
    kinds : dict or None, default=None
        ``{column: kind}`` with kind "number", "boolean", "date" or "category", for columns whose kind should not be
        inferred from their values. Values that cannot be read as the given kind are treated as missing.
    error_costs : array-like of shape (n_classes, n_classes), DataFrame, dict, float or ErrorCosts, default=None
        What each answer (column) costs for each true class (row), or ``{(true, answer): cost}``, where pairs that are
        not listed cost 0; see `thrifty.costs.ErrorCosts`. A classifier then answers with the class of the smallest
        expected cost, argmin_c sum_k p_k C[k, c], with the probabilities p and the costs C. None means the answers of
        `estimator`. Costs of errors of a regressor do not change its answers; evaluations use them.
    class_weight : dict, "balanced" or None, default=None
        Weights of the classes, as scikit-learn has them. They are multiplied into the sample weights of the fit.

    Attributes
    ----------
    encoder_ : TableEncoder
        Turns raw columns into derived columns. Its ``report_`` says what each raw column was taken for, and
        ``encoder_.odd_cells(X)`` finds values that cannot be read, and levels that are new to the model.
    estimator_ : BudgetedEstimator
        The estimator, fitted on derived columns.
    cost_model_ : CostModel
        The costs, aligned with the raw columns.
    training_ : Training
        The number of training rows, the date of the fit, and a fingerprint of the data.
    error_costs_ : ErrorCosts or None
        What mistakes cost.
    promise_ : Promise or None
        What a search promised about this model; None if it does not come from a search.
    classes_ : ndarray of shape (n_classes,)
        The classes, if `estimator` is a classifier.
    n_features_in_ : int
        The number of raw columns.
    feature_names_in_ : ndarray of shape (n_features,)
        The names of the raw columns, if X has names that are all text.

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
    error_costs_: ErrorCosts | None
    promise_: Promise | None

    def __init__(
        self,
        estimator: Any,
        *,
        costs: Any = None,
        cap: float | None = None,
        max_levels: int = 20,
        kinds: Mapping[Feature, str] | None = None,
        error_costs: Any = None,
        class_weight: Any = None,
    ):
        self.estimator = estimator
        self.costs = costs
        self.cap = cap
        self.max_levels = max_levels
        self.kinds = kinds
        self.error_costs = error_costs
        self.class_weight = class_weight

    def fit(self, X: Any, y: Any, sample_weight: Any = None, *, qid: Any = None) -> Self:
        """Learn the kinds of the raw columns, and fit the estimator on the derived columns.

        Parameters
        ----------
        X : frame or array-like of shape (n, n_features)
            None, NaN, NaT or NA where a value is missing.
        y : array-like of shape (n,)
            Classes, numbers, or the relevance of each document.
        sample_weight : array-like of shape (n,), optional
            Weight of each row.
        qid : array-like of shape (n,), optional
            The query of each row, for ranking.

        Returns
        -------
        self : object
            The fitted estimator.
        """
        self._refuse_bad_parameters()
        forget_fit(self)
        rows = checked_rows(self, X, y, sample_weight, qid)
        refuse_bad_class_weight(self.class_weight, rows.y, type(self).__name__)
        rows = class_weighted(rows, self.class_weight)
        self.cost_model_ = resolved_costs(self, self.estimator.costs if self.costs is None else self.costs)
        self.encoder_ = learned_encoder(rows, self.cost_model_, self.kinds, self.max_levels)
        estimator = prepared(self.estimator, self.encoder_, self.cost_model_)
        self.estimator_ = estimator.fit(self.encoder_.transform(rows.X), rows.y, rows.weight, qid=rows.qid)
        self.error_costs_ = self._parsed_error_costs()
        self.training_ = self.estimator_.training_
        self.promise_ = None
        return self

    def adopt(self, search: Any, encoder: TableEncoder, estimator: Any, promise: Promise) -> Self:
        """Take over an estimator that a search has fitted on derived columns.

        Parameters
        ----------
        search : BudgetSearchCV
            It has checked the raw columns and their costs.
        encoder : TableEncoder
            The encoder of the derived columns.
        estimator : BudgetedEstimator
            Prepared for the derived columns and fitted.
        promise : Promise
            What the search promises about the estimator.

        Returns
        -------
        self : object
            The fitted estimator.
        """
        for name in ("n_features_in_", "feature_names_in_", "cost_model_"):
            if hasattr(search, name):
                setattr(self, name, getattr(search, name))
        self.encoder_, self.estimator_ = encoder, estimator
        self.error_costs_ = self._parsed_error_costs()
        self.training_, self.promise_ = estimator.training_, promise
        return self

    # Operating points of estimators that have several

    @available_if(_estimator_has("at_budget"))
    def at_budget(self, budget: float, confidence: float | None = None) -> Self:
        """Return the model at the operating point that keeps a budget, without fitting again.

        Parameters
        ----------
        budget : float
            Bound on the mean spend per row.
        confidence : float, optional
            The confidence with which it is kept; by default that of the estimator.

        Returns
        -------
        TableModel
            A copy that shares its fitted parts with this one. It has no promise of a search.
        """
        check_is_fitted(self)
        return self._at(self.estimator_.at_budget(budget, confidence))

    @available_if(_estimator_has("at_cost_weight"))
    def at_cost_weight(self, cost_weight: float) -> Self:
        """Return the model at another cost weight, without fitting again.

        Parameters
        ----------
        cost_weight : float
            How much loss a purchase must be expected to save for each unit of cost.

        Returns
        -------
        TableModel
            A copy that shares its fitted parts with this one. It has no promise of a search.
        """
        check_is_fitted(self)
        return self._at(self.estimator_.at_cost_weight(cost_weight))

    def _at(self, point: Any) -> Self:
        """Return a copy whose estimator is at another operating point."""
        chosen = {name: getattr(point, name) for name in ("budget", "cost_weight", "confidence")}
        twin = copy(self)
        twin.estimator, twin.estimator_, twin.promise_ = clone(self.estimator).set_params(**chosen), point, None
        return twin

    def for_positions(self, positions: Any) -> Self:
        """Return the model for rows at given positions. Only mixtures of models look at the position of a row.

        Parameters
        ----------
        positions : array-like of int, shape (n,)
            One for each row that will be passed, such as the numbers of rows in a table of which this is a part.

        Returns
        -------
        TableModel
        """
        inner = self.estimator_.for_positions(positions)
        if inner is self.estimator_:
            return self
        twin = copy(self)
        twin.estimator_ = inner
        return twin

    @property
    def _depends_on_position(self) -> bool:  # type: ignore[override]
        return getattr(self, "estimator_", self.estimator)._depends_on_position

    # Prediction

    def _checked(self, X: Any) -> ReadTable:
        return self.encoder_.read_table(checked_table(self, X, reset=False))

    def _run(self, X: ReadTable, cap: np.ndarray, qid: np.ndarray | None) -> Run:
        inner = self.estimator_.acquire(X.derived, cap, qid=qid)
        return Run(inner.score, lambda: self.encoder_.raw_mask(inner.acquired), inner.spend, inner.exit)

    def _refuse_unusable_values(self, X: ReadTable, run: Run) -> None:
        """Refuse values that were acquired and cannot be read; others are never used."""
        for odd in X.unreadable:
            for i in np.flatnonzero(run.acquired()[odd.rows, odd.field])[:1]:
                raise self.encoder_.refusal(odd, i, "acquires")

    def _row_caps(self, cap: Any, n_rows: int) -> np.ndarray:
        return np.minimum(super()._row_caps(cap, n_rows), super()._row_caps(self.cap, n_rows))

    def _start(self, cap: float) -> Session:
        decide = self._decide if isinstance(self.error_costs_, ClassErrorCosts) else None
        return DerivedSession(self.estimator_.session(cap), self.encoder_, self._feature_ids(), decide)

    def _answer(self, score: np.ndarray) -> np.ndarray:
        if isinstance(self.error_costs_, ClassErrorCosts):
            return self.error_costs_.cheapest(self._probabilities(score))
        return self.estimator_._answer(score)

    def _decide(self, score: Any) -> tuple[Any, Any]:
        """Return the prediction and the score of one row from its score."""
        return self._answer(np.asarray(score)[None])[0], score

    def _probabilities(self, score: np.ndarray) -> np.ndarray:
        return self.estimator_._probabilities(score)

    def _outline(self, columns: Columns, exits: np.ndarray | None) -> Outline:
        derived = replace(columns, labels=self.encoder_.labels, to_bought=self.encoder_.raw_mask)
        return self.estimator_._outline(derived, exits)

    def refuse_unsound(self) -> None:
        """Raise ValueError unless a loaded model is complete and consistent; see `BudgetedEstimator`."""
        super().refuse_unsound()
        encoder, inner = self.encoder_, self.estimator_
        require(_can_be_wrapped(inner), "its estimator is not an estimator of thrifty that a TableModel can wrap")
        require(hasattr(inner, "cost_model_"), "its estimator is not fitted")
        encoder.refuse_unsound(list(self._feature_ids()))
        require(inner.cost_model_ == encoder.derived_costs(self.cost_model_), "its estimator has other costs")
        require(_is_limit(self.cap), "its cap is not a limit of at least 0")
        if self.error_costs_ is not None:
            classes = getattr(self.error_costs_, "classes", np.empty(0)).tolist()
            same = classes == (inner.classes_.tolist() if is_classifier(inner) else [])
            require(same, "its error costs are for other classes")

    # What depends on the task of the estimator

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
        """Return class probabilities, columns in the order of ``classes_``.

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
            The query of each row. By default a ranker treats all rows as one query.

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

    # Checks

    def _refuse_bad_parameters(self) -> None:
        expected = "an estimator of thrifty, such as ASTCClassifier()"
        self._refuse_unless(_can_be_wrapped(self.estimator), "estimator", self.estimator, expected)
        self._refuse_unless(_is_limit(self.cap), "cap", self.cap, "a limit of at least 0, or None")
        self._refuse_unless(is_whole(self.max_levels, 1), "max_levels", self.max_levels, "a whole number of at least 1")
        valid = self.kinds is None or isinstance(self.kinds, Mapping)
        self._refuse_unless(valid, "kinds", self.kinds, "a dict of columns and kinds, or None")
        has_classes = is_classifier(self.estimator)
        valid = self.class_weight is None or has_classes
        expected = "None, because the estimator has no classes"
        self._refuse_unless(valid, "class_weight", self.class_weight, expected)
        valid = self.error_costs is None or has_classes or is_regressor(self.estimator)
        expected = "None, because the estimator predicts neither classes nor numbers"
        self._refuse_unless(valid, "error_costs", self.error_costs, expected)

    def _parsed_error_costs(self) -> ErrorCosts | None:
        if self.error_costs is None:
            return None
        classes = self.classes_ if is_classifier(self.estimator_) else None
        return ErrorCosts.resolve(self.error_costs, classes, type(self).__name__)

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


def _can_be_wrapped(estimator: Any) -> bool:
    return isinstance(estimator, BudgetedEstimator) and not isinstance(estimator, TableModel)


def _is_limit(cap: Any) -> bool:
    return cap is None or cap == np.inf or is_number(cap, 0)
