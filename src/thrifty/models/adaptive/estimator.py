"""Base of the adaptive estimators: parameters, ``fit``, operating points, prediction and sessions."""

from abc import abstractmethod
from collections.abc import Iterable
from copy import copy
from functools import partial
from typing import Any, Self

import numpy as np
from sklearn.utils import check_random_state
from threadpoolctl import threadpool_limits

from thrifty.kernels.adaptive.rows import run_rows
from thrifty.kernels.threads import over_rows
from thrifty.models.adaptive.boosting import Plan
from thrifty.models.adaptive.learning import Learner, Settings
from thrifty.models.adaptive.operating_points import OperatingCurve
from thrifty.models.adaptive.policy import PurchasePolicy, StoppingRule
from thrifty.models.adaptive.session import AdaptiveSession
from thrifty.models.adaptive.training_rows import Objective, TrainingRows
from thrifty.models.base import BudgetedEstimator, Run, drop_single_column
from thrifty.models.derived import Derivation
from thrifty.models.distinct_rows import assign_folds, column_order, distinct_rows
from thrifty.models.factors import Factors
from thrifty.models.growing.binning import categorical_columns, check_categories, translated_categories
from thrifty.models.growing.growth import Limits
from thrifty.models.outline import Columns, Outline
from thrifty.models.parameters import ascending_cost_weights, is_flag, is_number, is_whole
from thrifty.models.progress import progress
from thrifty.models.rows import Rows
from thrifty.models.session import Session
from thrifty.models.soundness import require
from thrifty.stored import Number, Structure, Whole, stored

PATIENCE = 15  # rounds without a smaller held-out loss after which the predictor is complete
MAX_FEATURES = 0.5  # share of the columns that each tree of the predictor draws
COPIED_ROWS, FEWEST_COPIES, MOST_COPIES = 40_000, 2, 8  # masked copies in a phase: in all, and of each row
ROWS_PER_LEAF, FEWEST_LEAVES, MOST_LEAVES = 60, 4, 31  # of a tree of the predictor by default
ROWS_PER_LATE_LEAF, MOST_LATE_LEAVES = 160, 127  # of rows with many groups
BAGGED_ROWS, MOST_BAGS = 4_000, 4  # averaged ensembles, if there are fewer rows than this
FOLDS, FOLDS_OF_FEW_ROWS, FEW_ROWS = 3, 5, 2_000
FEWEST_DISTINCT, FEW_DISTINCT_ROWS = 0.3, 100  # equal rows are merged unless so small a share of rows is distinct
MAX_WALKING_ROWS = 20_000  # the policy is learned on a random sample of this size
SMALLEST_BLOCK = 64  # rows of a thread
N_USUAL_WEIGHTS = 24  # cost weights of a path
STEPS_PER_ROUND = 4  # of the progress bar


@stored(
    policy_=Structure(PurchasePolicy),
    stopping_rule_=Structure(StoppingRule),
    curve_=Structure(OperatingCurve),
    cost_weight_=Number(0),
    n_rounds_=Whole(0),
)
class AdaptiveEstimator(BudgetedEstimator):
    """Base of the adaptive estimators.

    Attributes
    ----------
    policy_ : PurchasePolicy
        The predictor of masked rows, and what rows buy next.
    stopping_rule_ : StoppingRule
        When rows stop, for every cost weight.
    curve_ : OperatingCurve
        Mean spend and loss at every cost weight, on rows that were not fitted.
    cost_weight_ : float
        The cost weight of this operating point.
    n_rounds_ : int
        How many rounds improved the policy.
    """

    policy_: PurchasePolicy
    stopping_rule_: StoppingRule
    curve_: OperatingCurve
    cost_weight_: float
    n_rounds_: int

    def __init__(
        self,
        *,
        costs: Any = None,
        budget: float | None = None,
        cost_weight: float | None = None,
        confidence: float = 0.95,
        error_costs: Any = None,
        factors: Any = None,
        categorical_features: Any = None,
        n_estimators: int = 500,
        learning_rate: float = 0.1,
        max_leaf_nodes: int | None = None,
        min_samples_leaf: int = 10,
        l2_regularization: float = 5.0,
        n_rounds: int = 3,
        max_steps: int = 24,
        n_folds: int | None = None,
        random_state: Any = None,
        verbose: bool = False,
    ):
        self.costs = costs
        self.budget = budget
        self.cost_weight = cost_weight
        self.confidence = confidence
        self.error_costs = error_costs
        self.factors = factors
        self.categorical_features = categorical_features
        self.n_estimators = n_estimators
        self.learning_rate = learning_rate
        self.max_leaf_nodes = max_leaf_nodes
        self.min_samples_leaf = min_samples_leaf
        self.l2_regularization = l2_regularization
        self.n_rounds = n_rounds
        self.max_steps = max_steps
        self.n_folds = n_folds
        self.random_state = random_state
        self.verbose = verbose

    # What a subclass provides

    @abstractmethod
    def _training_targets(self, y: np.ndarray, weight: np.ndarray) -> np.ndarray:
        """Return indices of classes, or standardised numbers; sets what is needed to return predictions."""

    @abstractmethod
    def _objective(self) -> Objective:
        """Return what predictions are judged by."""

    @abstractmethod
    def _strata(self, targets: np.ndarray) -> np.ndarray:
        """Return the strata (n,) of folds; every fold has its share of each."""

    @abstractmethod
    def _default_cost_weight(self) -> float:
        """Return the cost weight if neither a budget nor a cost weight is given."""

    @abstractmethod
    def _explained_loss(self) -> tuple[str, float]:
        """Return the unit of expected gains for explanations, and what a gain of 1 is in this unit."""

    def _final_score(self, scores: np.ndarray) -> np.ndarray:
        """Return the scores of this estimator from scores (n, n_scores) of the predictor."""
        return drop_single_column(scores)

    # Fitting

    @threadpool_limits.wrap(1, "blas")  # the products are small, and their rounding would depend on the threads
    def fit(self, X: Any, y: Any, sample_weight: Any = None, *, qid: Any = None) -> Self:
        """Learn the predictor, the purchases and the stops, and choose the operating point.

        Parameters
        ----------
        X : array-like of shape (n, n_features)
            NaN is a value of its own: it was bought and turned out to be missing.
        y : array-like of shape (n,)
            The targets.
        sample_weight : array-like of shape (n,), optional
            The weight of each row.
        qid : array-like of shape (n,), optional
            The query of each row. The rows of a query are in one fold.

        Returns
        -------
        self : object
            The fitted estimator.
        """
        self._refuse_bad_parameters()
        rows = self._training_rows(self._validated(X, y, sample_weight, qid))
        title = type(self).__name__ if self.verbose else None
        with progress(title, STEPS_PER_ROUND * (self.n_rounds + 1) + 3) as advance:
            learned = Learner(rows, self._settings(len(rows)), advance).learn()
        self.policy_, self.n_rounds_ = learned.policy, learned.n_rounds
        assert learned.stopped.rule is not None
        self.stopping_rule_ = learned.stopped.rule
        weight, row = rows.weight, learned.row
        self.curve_ = OperatingCurve.of(
            learned.stopped, weight[row], rows.fold[row], learned.refit, weight[learned.refit_row]
        )
        self.cost_weight_ = self._chosen_cost_weight()
        return self

    def at_cost_weight(self, cost_weight: float) -> Self:
        """Return the model at another cost weight, without fitting again.

        Parameters
        ----------
        cost_weight : float
            How much loss a purchase must be expected to save for each unit of cost.

        Returns
        -------
        estimator
            A copy that shares its fitted parts with this one.
        """
        self._check_fitted()
        self._refuse_unless(is_number(cost_weight, 0), "cost_weight", cost_weight, "a number of at least 0")
        return self._at(float(cost_weight), cost_weight=cost_weight, budget=None)

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
        estimator
            A copy that shares its fitted parts with this one.
        """
        self._check_fitted()
        confidence = self.confidence if confidence is None else confidence
        self._refuse_bad_budget(budget, confidence)
        return self._at(self._for_budget(budget, confidence), cost_weight=None, budget=budget, confidence=confidence)

    def path(
        self,
        X: Any,
        y: Any,
        sample_weight: Any = None,
        *,
        cost_weights: Iterable[float] | None = None,
        qid: Any = None,
    ) -> list[Self]:
        """Return models from cheap to expensive, which share one fit.

        Parameters
        ----------
        X : array-like of shape (n, n_features)
        y : array-like of shape (n,)
        sample_weight : array-like of shape (n,), optional
            The weight of each row.
        cost_weights : iterable of float, optional
            One model for each; by default those of ``usual_cost_weights``.
        qid : array-like of shape (n,), optional
            The query of each row.

        Returns
        -------
        list of estimators
            The largest cost weight first. The estimator itself is not changed.
        """
        given = self.usual_cost_weights(X, y) if cost_weights is None else cost_weights
        descending = ascending_cost_weights(given, type(self).__name__)[::-1]
        fitted = copy(self).fit(X, y, sample_weight, qid=qid)
        return [fitted.at_cost_weight(each) for each in descending]

    def usual_cost_weights(self, X: Any, y: Any) -> np.ndarray:
        """Return cost weights from one that buys nothing to one that buys whatever helps.

        They are spaced geometrically between l / c and l / (1000 C), with the mean loss l of a constant answer, the
        price c of the cheapest column that is not free, and the cost C of everything.

        Parameters
        ----------
        X : array-like of shape (n, n_features)
        y : array-like of shape (n,)

        Returns
        -------
        ndarray of shape (24,)
            In descending order.
        """
        twin = copy(self)
        rows = twin._validated(X, y)
        targets = twin._training_targets(rows.y, rows.weight)
        loss = twin._constant_loss(targets, rows.weight)
        alone = twin.cost_model_.marginal(np.zeros(twin.n_features_in_, dtype=bool))
        cheapest = alone[alone > 0].min(initial=np.inf)
        largest = max(loss, 1e-12) / (cheapest if np.isfinite(cheapest) else 1.0)
        smallest = max(loss, 1e-12) / (1000.0 * (twin.cost_model_.total or 1.0))
        return np.geomspace(largest, smallest, N_USUAL_WEIGHTS)

    def _constant_loss(self, targets: np.ndarray, weight: np.ndarray) -> float:
        objective = self._objective()
        training = objective.training_loss(targets.astype(float), weight)
        scores = np.tile(training.base(slice(None)), (len(targets), 1, 1))
        return float(np.average(objective.losses(scores, targets.astype(float))[:, 0], weights=weight))

    def _check_fitted(self) -> None:
        from sklearn.utils.validation import check_is_fitted

        check_is_fitted(self, "policy_")

    def _at(self, chosen: float, **parameters: Any) -> Self:
        twin = copy(self).set_params(**parameters)
        twin.cost_weight_ = chosen
        return twin

    def _chosen_cost_weight(self) -> float:
        if self.budget is not None:
            return self._for_budget(self.budget, self.confidence)
        return self._default_cost_weight() if self.cost_weight is None else float(self.cost_weight)

    def _for_budget(self, budget: float, confidence: float) -> float:
        """Return the cost weight for a budget; infinity, at which nothing is bought, if nothing else keeps it."""
        chosen = self.curve_.for_budget(budget, confidence)
        return np.inf if chosen is None else chosen

    def _settings(self, n_rows: int) -> Settings:
        n_copies = int(np.clip(COPIED_ROWS // n_rows, FEWEST_COPIES, MOST_COPIES))
        early, late = (self._plan(n_rows, n_copies, is_late) for is_late in (False, True))
        n_bags = int(np.clip(BAGGED_ROWS // n_rows, 1, MOST_BAGS))
        return Settings(early, late, self.n_rounds, n_copies, n_bags, self.max_steps, MAX_WALKING_ROWS)

    def _plan(self, n_rows: int, n_copies: int, is_late: bool) -> Plan:
        """Return how a phase of the predictor is boosted."""
        n_leaves = self.max_leaf_nodes
        if n_leaves is None:
            n_leaves = int(np.clip(n_rows // ROWS_PER_LEAF, FEWEST_LEAVES, MOST_LEAVES))
            n_leaves = max(n_leaves, min(n_rows // ROWS_PER_LATE_LEAF, MOST_LATE_LEAVES)) if is_late else n_leaves
        limits = Limits(None, n_leaves, float(self.min_samples_leaf * n_copies), self.l2_regularization)
        return Plan(self.n_estimators, self.learning_rate, limits, MAX_FEATURES, PATIENCE)

    def _training_rows(self, given: Rows) -> TrainingRows:
        """Merge equal rows, sort columns by group, and divide rows into folds."""
        owner, random = type(self).__name__, check_random_state(self.random_state)
        targets = self._training_targets(given.y, given.weight)
        categorical = categorical_columns(self)
        check_categories(given.X, categorical, owner, self._feature_ids())
        if given.qid is None:
            rows = distinct_rows(given.X, targets, given.weight, self._strata(targets))
            if len(rows) < FEWEST_DISTINCT * len(given) and len(given) >= FEW_DISTINCT_ROWS:
                rows = Rows(np.asarray(given.X), targets, given.weight)  # a fold has to know the rows of the others
            fold = assign_folds(self._strata(rows.y), self._n_folds(len(rows), "n_samples"), random)
        else:
            rows = Rows(given.X, targets, given.weight)
            query = np.unique(given.qid, return_inverse=True)[1]
            n_queries = int(query.max()) + 1
            fold = assign_folds(np.zeros(n_queries), self._n_folds(n_queries, "number of queries"), random)[query]
        factors = Factors.of(self.cost_model_, self.factors, owner, column_order(rows.X).tolist())
        return TrainingRows.of(
            factors.sorted_columns(np.asarray(rows.X, dtype=np.float64)),
            rows.y.astype(np.float64),
            rows.weight,
            fold,
            factors,
            categorical[factors.columns],
            self._objective(),
            np.random.default_rng(random.randint(2**31)),
        )

    def _n_folds(self, n: int, what: str) -> int:
        """Return the number of folds of n distinct rows or queries."""
        if n < 2:
            raise ValueError(
                f"{type(self).__name__}: {what}={n} without repetitions is too few; expected at least 2, because "
                "models are judged on rows that they were not fitted on."
            )
        return min(self.n_folds or (FOLDS_OF_FEW_ROWS if n < FEW_ROWS else FOLDS), n)

    def _refuse_bad_parameters(self) -> None:
        """Raise ValueError unless all parameters are valid."""
        refuse_unless = self._refuse_unless
        for name, least in (("n_estimators", 1), ("min_samples_leaf", 1), ("n_rounds", 0), ("max_steps", 1)):
            valid = is_whole(value := getattr(self, name), least)
            refuse_unless(valid, name, value, f"a whole number of at least {least}")
        leaves, folds = self.max_leaf_nodes, self.n_folds
        valid = leaves is None or is_whole(leaves, 2)
        refuse_unless(valid, "max_leaf_nodes", leaves, "a whole number of at least 2, or None")
        refuse_unless(folds is None or is_whole(folds, 2), "n_folds", folds, "a whole number of at least 2, or None")
        rate, penalty, weight = self.learning_rate, self.l2_regularization, self.cost_weight
        refuse_unless(is_number(rate) and 0 < rate <= 1, "learning_rate", rate, "a number above 0, up to 1")
        refuse_unless(is_number(penalty, 0), "l2_regularization", penalty, "a number of at least 0")
        refuse_unless(is_flag(self.verbose), "verbose", self.verbose, "True or False")
        valid = weight is None or is_number(weight, 0)
        refuse_unless(valid, "cost_weight", weight, "a number of at least 0, or None")
        both = self.budget is not None and weight is not None
        refuse_unless(not both, "cost_weight", weight, "None beside a budget, which decides the cost weight")
        self._refuse_bad_budget(0.0 if self.budget is None else self.budget, self.confidence)

    def _refuse_bad_budget(self, budget: Any, confidence: Any) -> None:
        self._refuse_unless(is_number(budget, 0), "budget", budget, "a bound of at least 0 on the mean spend")
        valid = is_number(confidence) and 0.5 <= confidence < 1
        self._refuse_unless(valid, "confidence", confidence, "a number from 0.5 to below 1")

    def _translate_parameters(self, derivation: Derivation) -> None:
        groups = Factors.of(derivation.costs, self.factors, type(self).__name__).groups
        self.factors = [np.flatnonzero(np.isin(derivation.source, group)).tolist() for group in groups]
        self.categorical_features = translated_categories(self, derivation)

    # Prediction

    @property
    def expected_spend_(self) -> float:
        """Mean spend at this operating point, on rows that were not fitted."""
        return self.curve_.spend_at(self.cost_weight_)

    @property
    def spend_bound_(self) -> float:
        """Upper confidence bound on the mean spend of a future batch of rows."""
        return self.curve_.bound_at(self.cost_weight_, self.confidence)

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "cost_weight_")

    def _run(self, X: np.ndarray, cap: np.ndarray, qid: np.ndarray | None) -> Run:
        n, policy, rule = len(X), self.policy_, self.stopping_rule_
        scores, ticks = np.empty((n, policy.n_scores)), np.empty(n)
        bought, exits = np.empty((n, len(policy.factors)), dtype=np.uint8), np.empty(n, dtype=np.int64)
        memory, n_planned = policy.start[:2]
        fixed = n_planned, *rule.position(self.cost_weight_), X, cap
        outcome = scores, bought, ticks, exits

        def run(first: int, last: int) -> None:
            run_rows(policy.memory, rule.memory, memory, memory.copy(), *fixed, first, last, *outcome)

        over_rows(run, n, smallest=SMALLEST_BLOCK)
        columns = partial(_acquired_columns, policy.factors, bought)
        return Run(self._final_score(scores), columns, policy.factors.spend(ticks), exits)

    def _start(self, cap: float) -> Session:
        def answer(scores: np.ndarray) -> tuple[Any, Any]:
            return self._answer_one(self._final_score(scores))

        unit, scale = self._explained_loss()
        return AdaptiveSession(
            self.policy_, self.stopping_rule_, self.cost_weight_, cap, self._feature_ids(), answer, unit, scale
        )

    def _outline(self, columns: Columns, exits: np.ndarray | None) -> Outline:
        policy = self.policy_
        steps = [*policy.first.tolist(), *(g for g in policy.order.tolist() if g not in policy.first)]
        marks = np.zeros((len(steps), self.n_features_in_), dtype=bool)
        for step, group in enumerate(steps):
            marks[step, list(policy.factors.groups[group])] = True
        summary = (
            "Each row buys the columns that are expected to save most for their price, and stops when going on is not "
            "worth its cost. Columns are listed in the order in which rows buy them by default."
        )
        return self._outlined(columns, summary, uses=columns.uses(marks), counted_in="step")

    def refuse_unsound(self) -> None:
        """Raise ValueError unless a loaded model is complete and consistent; see `BudgetedEstimator`."""
        super().refuse_unsound()
        policy, rule = self.policy_, self.stopping_rule_
        require(policy.factors.cost_model == self.cost_model_, "its groups have other costs")
        require(policy.n_scores == self._n_scores(), "its predictor has another number of scores")
        require(rule.forest.n_features == len(policy.fill) + policy.n_described, "its stops are of other states")
        require(len(rule.stage_base) == policy.n_stages, "its stops are of other stages")
        require(not np.isnan(self.cost_weight_), "its cost weight is not a number")


def _acquired_columns(factors: Factors, bought: np.ndarray) -> np.ndarray:
    return factors.acquired_columns(bought.astype(bool))
