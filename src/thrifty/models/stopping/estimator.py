"""Base of the estimators that evaluate a sum of terms up to some checkpoint."""

from abc import abstractmethod
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
from scipy.sparse import issparse
from sklearn.base import BaseEstimator, clone
from sklearn.utils import assert_all_finite, check_random_state
from sklearn.utils.validation import check_is_fitted

from thrifty.models.base import BudgetedEstimator, Run, drop_single_column
from thrifty.models.forests.forest import Forest
from thrifty.models.least_squares.moments import FilledRows
from thrifty.models.magnitudes import refuse_extreme, refuse_extreme_columns
from thrifty.models.outline import Columns, Outline
from thrifty.models.parameters import is_flag
from thrifty.models.rows import Rows
from thrifty.models.session import Session
from thrifty.models.soundness import require
from thrifty.models.stopping.boundaries import Boundary
from thrifty.models.stopping.chain import Chain
from thrifty.models.stopping.checkpoints import plain_checkpoints, refit_checkpoints
from thrifty.models.stopping.full_predictor import FullPredictor
from thrifty.models.stopping.order import ORDERS, given_order, order_terms
from thrifty.models.stopping.predictor_fit import PredictorError, SupportedPredictors, accepts_sparse, fitted_predictor
from thrifty.models.stopping.predictors import read_terms
from thrifty.models.stopping.session import ChainSession
from thrifty.models.stopping.term_sample import TermSample
from thrifty.models.stopping.terms import Terms
from thrifty.stored import Structure, stored


@stored(chain_=Structure(Chain))
class SumEstimator(BudgetedEstimator):
    """A wrapped predictor whose terms are evaluated in a fixed order, with checkpoints where a row may stop.

    Attributes
    ----------
    estimator_ : classifier or regressor
        The full predictor.
    chain_ : Chain
        Its terms in order, the checkpoints and the boundary.
    """

    chain_: Chain
    estimator: Any
    _supported: SupportedPredictors
    _accepts_sparse = True
    _summary = "All rows evaluate the same terms in the same order; a row stops when its answer is evident."
    variance: str = "measured"

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "chain_")

    def _learn(
        self, rows: Rows, ends: Callable[[Terms], list[int]], centre: Callable[[TermSample], np.ndarray]
    ) -> TermSample:
        """Fit the predictor if needed, order its terms and compute the checkpoints; return the ordered sample.

        Parameters
        ----------
        rows : Rows
            Training rows, whose classes are known already.
        ends : callable
            Returns the number of terms at each checkpoint.
        centre : callable
            Returns the values (n_terms,) that plain checkpoints assume for terms that are not evaluated yet.
        """
        refuse_extreme_columns(rows.X, self._feature_ids(), type(self).__name__)
        targets = self._encoded(rows.y)
        filled, means = _filled(rows.X, targets, rows.weight)
        self.estimator_, terms = _predictor_and_terms(self, rows, filled, means)
        sample = TermSample.of(terms, rows.X, targets, rows.weight)
        refuse_extreme(sample.values, "a term of estimator", type(self).__name__)
        self._read_scores(terms, Rows(filled, targets, rows.weight))
        order = _order(self, terms, sample)
        terms, sample = terms.ordered(order), sample.ordered(order)
        self.chain_ = _chain(self, terms, order, sample, ends(terms), centre(sample))
        return sample

    def _read_scores(self, terms: Terms, rows: Rows) -> None:
        """Learn what the scores of the predictor mean; `rows` have no NaN, and targets as y."""

    @abstractmethod
    def _folds(self, rows: Rows, n_folds: int) -> np.ndarray:
        """Return the fold of each row for cross-fitting; -1 for a row that is never held out."""

    # The fitted chain

    @property
    def order_(self) -> np.ndarray:
        """The terms in the order of evaluation, as numbered by the predictor."""
        return self.chain_.terms.ids

    @property
    def checkpoints_(self) -> np.ndarray:
        """The number of terms evaluated at each checkpoint."""
        return self.chain_.n_terms

    @property
    def deviations_(self) -> np.ndarray:
        """The root mean square of (full score - expected full score) at each checkpoint."""
        return self.chain_.deviations

    def terms_evaluated(self, X: Any, cap: Any = None) -> np.ndarray:
        """Return the number of terms that are evaluated for each row.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n, n_features)
            Rows to predict.
        cap : float or array-like of shape (n,), default=None
            Hard limit on each row's spend. None means no limit.

        Returns
        -------
        ndarray of int, shape (n,)
            0 for a row that cannot pay for the first checkpoint.
        """
        return np.maximum(self.acquire(X, cap).exit, 0)

    def partial_scores(self, X: Any) -> np.ndarray:
        """Return the scores of each row at every checkpoint, even those after the row would stop.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n, n_features)
            Rows to evaluate. All values are read, so none may be infinite.

        Returns
        -------
        ndarray of shape (n, n_checkpoints) for one score, otherwise (n, n_checkpoints, n_classes)
        """
        check_is_fitted(self)
        return drop_single_column(self.chain_.partial_scores(finite_rows(self, X, "X")))

    # Prediction

    def _run(self, X: Any, cap: np.ndarray, qid: np.ndarray | None) -> Run:
        chain = self.chain_
        scores, exits = chain.run(X, cap)
        acquired = partial(chain.acquired_at, exits)
        return Run(drop_single_column(scores), acquired, chain.spend_at(exits), chain.terms_at(exits))

    def _start(self, cap: float) -> Session:
        return ChainSession(self.chain_, cap, self._answer_one)

    def _outline(self, columns: Columns, exits: np.ndarray | None) -> Outline:
        uses, evaluation = columns.uses(self.chain_.buys), float(np.sum(self.chain_.evaluation_costs))
        return self._outlined(columns, self._summary, uses=uses, counted_in="step", evaluation=evaluation)

    def refuse_unsound(self) -> None:
        """Raise ValueError unless a loaded model is complete and consistent; see `BudgetedEstimator`."""
        super().refuse_unsound()
        chain = self.chain_
        require(chain.cost_model == self.cost_model_, "its chain has other costs")
        require(len(chain.prior) == self._n_scores(), "its chain has another number of scores")

    def _state_to_store(self) -> dict[str, Any]:
        """Return the attributes without the predictor, because the chain has its terms."""
        state, given = super()._state_to_store(), self.estimator
        if (used := state.pop("estimator_", None)) is None:
            return state
        if used is not given:
            state["estimator"] = clone(given) if isinstance(given, BaseEstimator) else given
        elif not isinstance(given, Forest | BudgetedEstimator):
            state["estimator"] = self._full_predictor()
        return state

    def _complete_loaded(self) -> None:
        self.estimator_ = self.estimator if isinstance(self.estimator, FullPredictor) else self._full_predictor()

    def _full_predictor(self) -> FullPredictor:
        terms = self.chain_.terms
        return FullPredictor(terms.ordered(np.argsort(self.chain_.order)), getattr(self, "classes_", None))

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = self.estimator is None or accepts_sparse(self.estimator)
        return tags


def refuse_bad_parameters(model: SumEstimator) -> None:
    """Raise ValueError if a parameter that all these estimators have is not valid."""
    costs = np.asarray(model.evaluation_cost)
    is_numeric = np.issubdtype(costs.dtype, np.number) and costs.dtype != bool
    model._refuse_unless(
        is_numeric and costs.ndim < 2 and bool((costs >= 0).all() and np.isfinite(costs).all()),
        "evaluation_cost",
        model.evaluation_cost,
        "a number of at least 0, or one for each term",
    )
    known = not isinstance(model.order, str) or model.order in ORDERS
    model._refuse_unless(known, "order", model.order, f"one of {ORDERS}, or an array of terms")
    model._refuse_unless(is_flag(model.refit), "refit", model.refit, "True or False")


def finite_rows(model: SumEstimator, X: Any, name: str) -> Any:
    """Check rows of which every value is read: unlike rows to predict, they must not have infinities."""
    try:
        X = model._checked(X)
    except ValueError as error:
        raise ValueError(f"{type(model).__name__}: {name} is not valid as X. {error}") from error
    assert_all_finite(X, allow_nan=True, estimator_name=type(model).__name__, input_name=name)
    return X


def _filled(X: Any, targets: np.ndarray, count: np.ndarray) -> tuple[Any, np.ndarray]:
    """Return rows with NaN replaced by the means of the columns, and the means."""
    if issparse(X):
        return X, count @ X / count.sum()
    data = FilledRows(X, targets, count)
    return data.X, data.fill


def _predictor_and_terms(model: SumEstimator, rows: Rows, filled: Any, means: np.ndarray) -> tuple[Any, Terms]:
    """Return the fitted predictor and its terms."""
    supported = model._supported
    predictor = supported.default(issparse(rows.X)) if model.estimator is None else model.estimator
    try:
        fitted = fitted_predictor(predictor, rows, filled, supported, getattr(model, "classes_", None))
        terms = read_terms(fitted, rows.X.shape[1], means, supported)
        if len(terms.intercept) != model._n_scores():
            raise PredictorError(f"estimator has {len(terms.intercept)} scores; expected {model._n_scores()}.")
    except PredictorError as error:
        raise ValueError(f"{type(model).__name__}: {error}") from error
    return fitted, terms


def _order(model: SumEstimator, terms: Terms, sample: TermSample) -> np.ndarray:
    """Return the order of the terms that the parameters ask for."""
    if not isinstance(model.order, str):
        return given_order(model.order, terms.ids, type(model).__name__)
    costs = partial(terms.costs, cost_model=model.cost_model_)
    random = check_random_state(model.random_state)
    return order_terms(model.order, sample, costs, _evaluation_costs(model, terms), random)


def _evaluation_costs(model: SumEstimator, terms: Terms) -> np.ndarray:
    """Return the evaluation cost of each term."""
    if np.ndim(model.evaluation_cost) == 0:
        return np.full(terms.n_terms, float(model.evaluation_cost))
    each = np.asarray(model.evaluation_cost, dtype=float)
    if each.shape != (terms.n_ids,):
        raise ValueError(
            f"{type(model).__name__}: evaluation_cost has shape {each.shape}; expected one number, or one for each "
            f"of the {terms.n_ids} terms."
        )
    return each[terms.ids]


def _chain(
    model: SumEstimator, terms: Terms, order: np.ndarray, sample: TermSample, ends: list[int], centre: np.ndarray
) -> Chain:
    """Return the chain of the ordered terms, with a boundary that never stops a row early."""
    if model.refit:
        checkpoints = refit_checkpoints(sample, ends)
    else:
        checkpoints = plain_checkpoints(sample, centre, ends, model.variance)
    return Chain(
        terms,
        order,
        list(checkpoints),
        Boundary.constant(-np.inf, np.inf, len(ends)),
        sample.intercept + sample.weights @ centre,
        model.cost_model_,
        _evaluation_costs(model, terms),
    )
