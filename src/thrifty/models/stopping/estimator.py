"""What the classifiers that stop a sum of terms have in common: which predictor, which order, which checkpoints."""

from abc import abstractmethod
from functools import partial
from typing import Any

import numpy as np
from scipy.sparse import issparse
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from thrifty.models.base import Run, drop_single_column
from thrifty.models.least_squares.moments import TrainingRows
from thrifty.models.outline import Columns, Outline
from thrifty.models.parameters import is_number
from thrifty.models.session import Session
from thrifty.models.soundness import require
from thrifty.models.stopping.adoption import PredictorError, adopt, default_predictor, is_fitted, takes_sparse_rows
from thrifty.models.stopping.boundaries import Boundary
from thrifty.models.stopping.chain import Chain, ChainSession
from thrifty.models.stopping.checkpoints import plain_checkpoints, refit_checkpoints
from thrifty.models.stopping.order import ORDERS, Prices, given_order, order_terms
from thrifty.models.stopping.predictors import read_terms
from thrifty.models.stopping.probabilities import ENOUGH_ROWS, are_log_odds, best_slope
from thrifty.models.stopping.sample import Sample, dense, evenly
from thrifty.models.stopping.terms import Terms
from thrifty.models.tasks import BudgetedClassifier


class SumClassifier(BudgetedClassifier):
    """A wrapped predictor, its terms put in order, and what the full score is expected to be along the way."""

    chain_: Chain
    _accepts_sparse = True
    variance: str = "measured"  # how that of terms still to come is estimated

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "chain_")

    # Fitting

    def _learn(self, X: Any, y: np.ndarray, targets: np.ndarray, count: np.ndarray) -> Sample:
        """Fit the predictor if need be, order its terms, lay the checkpoints; return the ordered sample."""
        filled, means = _filled(X, targets, count)
        predictor = default_predictor(issparse(X)) if self.estimator is None else self.estimator
        try:
            self.estimator_ = adopt(predictor, X, filled, y, count, self.classes_)
            terms = read_terms(self.estimator_, X.shape[1], means)
        except PredictorError as error:
            raise ValueError(f"{type(self).__name__}: {error}") from error
        self._refuse_misfits(terms)
        sample = Sample.of(terms, X, targets, count)
        self.slope_ = self._slope(terms, filled, targets, count)
        order = self._ordered(terms, sample)
        sample = sample.ordered(order)
        self._lay(terms.ordered(order), order, sample)
        return sample

    def _slope(self, terms: Terms, X: Any, targets: np.ndarray, count: np.ndarray) -> float:
        """Return the factor that makes the full scores log-odds; here rows that are themselves terms count too."""
        rows = evenly(X.shape[0], ENOUGH_ROWS)
        scores = terms.scores(terms.values(dense(X[rows])))
        known = are_log_odds(self.estimator_, X[rows], scores)
        return 1.0 if known else best_slope(scores, targets[rows], count[rows])

    def _targets(self, y: np.ndarray) -> np.ndarray:
        """Return the targets of the classes that the predictor knows, those of y if it is not fitted yet."""
        targets = super()._targets(y)
        if self.estimator is None or not is_fitted(self.estimator) or not hasattr(self.estimator, "classes_"):
            return targets
        known = np.asarray(self.estimator.classes_)
        if strangers := np.setdiff1d(self.classes_, known).tolist():
            raise ValueError(
                f"{type(self).__name__}: y holds {strangers[0]!r}, but estimator was fitted on the classes "
                f"{known.tolist()}."
            )
        self.classes_, codes = known, np.searchsorted(known, y)
        return 2.0 * codes[:, None] - 1.0 if len(known) == 2 else np.eye(len(known))[codes]

    def _refuse_misfits(self, terms: Terms) -> None:
        n_scores, n_classes = len(terms.intercept), len(self.classes_)
        if n_scores != (1 if n_classes == 2 else n_classes):
            raise ValueError(
                f"{type(self).__name__}: estimator has {n_scores} scores for {n_classes} classes; expected one for "
                "two classes, else one each."
            )

    def _ordered(self, terms: Terms, sample: Sample) -> np.ndarray:
        if not isinstance(self.order, str):
            return given_order(self.order, terms.ids, type(self).__name__)
        evaluation = self._evaluation_costs(terms)

        def prices(candidates: np.ndarray) -> Prices:
            requires = terms.units(candidates, self.cost_model_.requirement)
            return Prices(requires, self.cost_model_.unit_costs, evaluation[candidates])

        return order_terms(self.order, sample, prices, check_random_state(self.random_state))

    def _evaluation_costs(self, terms: Terms) -> np.ndarray:
        if np.ndim(self.evaluation_cost) == 0:
            return np.full(terms.n_terms, float(self.evaluation_cost))
        each = np.asarray(self.evaluation_cost, dtype=float)
        if each.shape != (terms.n_own,):
            raise ValueError(
                f"{type(self).__name__}: evaluation_cost has shape {each.shape}; expected one number, or one for each "
                f"of the {terms.n_own} terms."
            )
        return each[terms.ids]

    def _lay(self, terms: Terms, order: np.ndarray, sample: Sample) -> None:
        """Lay the checkpoints along the ordered terms; the boundary comes later."""
        ends = self._ends(terms)
        centre = self._centre(sample)
        prior = sample.intercept + sample.weights @ centre
        expected = (
            refit_checkpoints(sample, ends) if self.refit else plain_checkpoints(sample, centre, ends, self.variance)
        )
        self.chain_ = Chain(
            terms,
            order,
            list(expected),
            Boundary.around(-np.inf, np.inf, len(ends)),
            prior,
            self.cost_model_,
            self._evaluation_costs(terms),
        )

    def _centre(self, sample: Sample) -> np.ndarray:
        """Return what terms still to come count as: their mean."""
        return sample.means

    @abstractmethod
    def _ends(self, terms: Terms) -> list[int]:
        """Return the numbers of terms at the checkpoints."""

    # What was learnt

    @property
    def order_(self) -> np.ndarray:
        """The terms, by the predictor's own numbers, in the order in which they are evaluated."""
        return self.chain_.terms.ids

    @property
    def checkpoints_(self) -> np.ndarray:
        """How many terms have been evaluated at each checkpoint."""
        return self.chain_.n_terms

    @property
    def deviations_(self) -> np.ndarray:
        """How far the full score is from what each checkpoint expects, root mean square."""
        return np.array([checkpoint.deviation for checkpoint in self.chain_.checkpoints])

    def terms_evaluated(self, X: Any, cap: Any = None) -> np.ndarray:
        """Return how many terms are evaluated for each row.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n, n_features)
        cap : float or array-like of shape (n,), optional
            Hard limit on each row's spend.

        Returns
        -------
        ndarray of int, shape (n,)
        """
        return np.maximum(self.acquire(X, cap).exit, 0)

    def partial_scores(self, X: Any) -> np.ndarray:
        """Return what every checkpoint makes of each row, whether or not the row would get there.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n, n_features)

        Returns
        -------
        ndarray of shape (n, n_checkpoints) for two classes, else (n, n_checkpoints, n_classes)
        """
        check_is_fitted(self)
        return drop_single_column(self.chain_.partial_scores(self._checked(X)))

    # The two drivers

    def _run(self, X: Any, cap: np.ndarray, qid: np.ndarray | None) -> Run:
        chain = self.chain_
        scores, exits = chain.run(X, cap)
        acquired = partial(chain.acquired_at, exits)
        return Run(drop_single_column(scores), acquired, chain.spent_at(exits), chain.terms_at(exits))

    def _start(self, cap: float) -> Session:
        return ChainSession(self.chain_, cap, self._answer_one)

    def _outline(self, columns: Columns, exits: np.ndarray | None) -> Outline:
        summary = "All rows evaluate the same terms in the same order; a row stops when its answer is evident."
        return self._outlined(columns, summary, uses=columns.uses(self.chain_.buys), counted_in="step")

    def refuse_unsound(self) -> None:
        """Raise ValueError unless a loaded model is complete and consistent; see `BudgetedEstimator`."""
        super().refuse_unsound()
        chain = self.chain_
        require(isinstance(chain, Chain) and chain.cost_model == self.cost_model_, "its chain has other costs")
        require(len(chain.prior) == self._n_scores(), "its chain has another number of scores")
        require(is_number(self.slope_), "its slope is not a number")

    def _probabilities(self, score: np.ndarray) -> np.ndarray:
        """Scale what are no log-odds, such as margins, to be."""
        return super()._probabilities(self.slope_ * score)

    def _refuse_bad_parameters(self) -> None:
        costs = np.asarray(self.evaluation_cost)
        numeric = np.issubdtype(costs.dtype, np.number) and costs.dtype != bool
        self._require(
            numeric and costs.ndim < 2 and bool((costs >= 0).all() and np.isfinite(costs).all()),
            "evaluation_cost",
            "a number of at least 0, or one for each term",
        )
        self._require(
            not isinstance(self.order, str) or self.order in ORDERS, "order", f"one of {ORDERS}, or an array of terms"
        )
        self._require(isinstance(self.refit, (bool, np.bool_)), "refit", "True or False")

    def _require(self, fine: bool, name: str, expected: str) -> None:
        self._refuse_unless(fine, name, getattr(self, name), expected)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = self.estimator is None or takes_sparse_rows(self.estimator)
        return tags


def _filled(X: Any, targets: np.ndarray, count: np.ndarray) -> tuple[Any, np.ndarray]:
    """Return rows without NaN, and the means of the columns, which stand in for it."""
    if issparse(X):
        return X, count @ X / count.sum()
    data = TrainingRows(X, targets, count)
    return data.X, data.fill
