"""Base of the Greedy Miser estimators: parameters, ``fit`` and ``path``, for any loss."""

from abc import abstractmethod
from collections.abc import Iterable
from copy import copy
from typing import Any, ClassVar, Self

import numpy as np
from sklearn.base import clone

from thrifty.metrics.scoring import query_metric
from thrifty.models.boosting.coded_rows import CodedRows, code_rows, generator_of
from thrifty.models.boosting.rounds import Plan, Rounds, boost
from thrifty.models.derived import Derivation
from thrifty.models.forests.estimator import ForestEstimator
from thrifty.models.growing.binning import MAX_BINS, translated_categories
from thrifty.models.growing.limits import Limits
from thrifty.models.growing.losses import Loss
from thrifty.models.growing.payments import PAYMENTS
from thrifty.models.held_out import given_rows, hold_out
from thrifty.models.homes import Here, is_collection
from thrifty.models.parameters import ascending_cost_weights, is_flag, is_number, is_whole
from thrifty.models.progress import progress
from thrifty.models.rows import distinct_queries, refuse_divided_queries
from thrifty.stored import Array, MappingOf, Whole, stored


@stored(
    history_=MappingOf(Array("float64", None)),
    n_iter_=Whole(0),
    best_iteration_=Whole(0),
    features_=Array("int64", "n_used", low=0, below="n_features_in_"),
)
class GreedyMiserEstimator(ForestEstimator):
    """Base of the Greedy Miser estimators. A subclass provides the loss and documents the parameters."""

    _choices: ClassVar[dict[str, tuple[str, ...]]] = {"charge": tuple(PAYMENTS)}  # the values of text parameters
    _reads_columns = True  # to code them

    def __init__(
        self,
        *,
        costs: Any = None,
        cost_weight: float = 1e-3,
        charge: str = "ensemble",
        lookahead: bool = False,
        budget: float | None = None,
        evaluation_cost: float = 0.0,
        n_estimators: int = 100,
        learning_rate: float = 0.1,
        max_depth: int | None = 4,
        max_leaf_nodes: int | None = None,
        min_samples_leaf: int = 20,
        l2_regularization: float = 0.0,
        subsample: float = 1.0,
        max_features: float = 1.0,
        max_bins: int = MAX_BINS,
        categorical_features: Any = None,
        early_stopping: bool = False,
        n_iter_no_change: int = 20,
        scoring: Any = None,
        validation_fraction: float = 0.1,
        random_state: Any = None,
        verbose: bool = False,
    ):
        self.costs = costs
        self.cost_weight = cost_weight
        self.charge = charge
        self.lookahead = lookahead
        self.budget = budget
        self.evaluation_cost = evaluation_cost
        self.n_estimators = n_estimators
        self.learning_rate = learning_rate
        self.max_depth = max_depth
        self.max_leaf_nodes = max_leaf_nodes
        self.min_samples_leaf = min_samples_leaf
        self.l2_regularization = l2_regularization
        self.subsample = subsample
        self.max_features = max_features
        self.max_bins = max_bins
        self.categorical_features = categorical_features
        self.early_stopping = early_stopping
        self.n_iter_no_change = n_iter_no_change
        self.scoring = scoring
        self.validation_fraction = validation_fraction
        self.random_state = random_state
        self.verbose = verbose

    def fit(self, X: Any, y: Any, sample_weight: Any = None, *, qid: Any = None, validation: Any = None) -> Self:
        """Fit the boosted trees.

        Parameters
        ----------
        X : array-like of shape (n, n_features)
            NaN means missing. Each split learns on which side missing values do best. It may be a Dask DataFrame or
            Array. Then y, the weights and the queries are Dask collections too, and validation rows are not.
        y : array-like of shape (n,)
            The targets: numbers, classes, or the relevance of documents.
        sample_weight : array-like of shape (n,), optional
            The weight of each row.
        qid : array-like of shape (n,), optional
            The query of each row, for rankers and for scoring by query. The rows of a query are held out together.
            Without queries, a ranker treats all rows as one query.
        validation : tuple (X, y) or (X, y, qid), optional
            Rows on which the best number of rounds is chosen. Without them, and with ``early_stopping=True``, a share
            ``validation_fraction`` of the training rows is held out.

        Returns
        -------
        self : object
            The fitted estimator.
        """
        check_parameters(self)
        return _fitted(self, _prepare(self, X, y, sample_weight, qid, validation))

    def path(
        self,
        X: Any,
        y: Any,
        sample_weight: Any = None,
        *,
        cost_weights: Iterable[float] | None = None,
        qid: Any = None,
        validation: Any = None,
    ) -> list[Self]:
        """Return fitted models from cheap to expensive, for a curve of accuracy against cost.

        Parameters
        ----------
        X : array-like of shape (n, n_features)
            NaN means missing.
        y : array-like of shape (n,)
            The targets.
        sample_weight : array-like of shape (n,), optional
            The weight of each row.
        cost_weights : iterable of float, optional
            Fit one model for each cost weight. By default there is one fit with the estimator's own cost weight, and
            the models are its first 1, 2, 3, ... rounds.
        qid : array-like of shape (n,), optional
            The query of each row.
        validation : tuple (X, y) or (X, y, qid), optional
            Rows on which the best number of rounds is chosen.

        Returns
        -------
        list of estimators
            With ``cost_weights``: one model per cost weight, the largest weight first. Otherwise: one model per round,
            up to the best round if ``early_stopping`` is set. The estimator itself is not changed.
        """
        template = clone(self)
        check_parameters(template)
        descending = [] if cost_weights is None else ascending_cost_weights(cost_weights, type(self).__name__)[::-1]
        rows = _prepare(template, X, y, sample_weight, qid, validation)
        if cost_weights is None:
            return _prefixes(template, _boost(template, rows))
        return [_fitted(copy(template).set_params(cost_weight=each), rows) for each in descending]

    @abstractmethod
    def _loss(self, targets: np.ndarray, weight: np.ndarray, qid: np.ndarray) -> Loss:
        """Return the loss of rows with these targets (n, n_targets), weights (n,) and queries (n,)."""

    def _keep(self, rounds: Rounds, n_rounds: int) -> Self:
        """Set the fitted attributes to the first rounds of a fit."""
        self.forest_ = rounds.forest(self.n_features_in_, n_rounds)
        self.evaluation_costs_ = np.full(self.forest_.n_trees, self.evaluation_cost if n_rounds else 0.0)
        self.history_ = {name: np.array(values) for name, values in rounds.history.items()}
        self.n_iter_ = rounds.n_rounds
        self.best_iteration_ = n_rounds
        self.features_ = np.array(sorted(rounds.features[n_rounds - 1]) if n_rounds else [], dtype=int)
        return self

    def _translate_parameters(self, derivation: Derivation) -> None:
        self.categorical_features = translated_categories(self, derivation)


def check_parameters(estimator: GreedyMiserEstimator) -> None:
    """Raise ValueError unless all parameters are valid."""
    refuse_unless = estimator._refuse_unless
    for name in ("cost_weight", "evaluation_cost", "l2_regularization"):
        refuse_unless(is_number(value := getattr(estimator, name), 0), name, value, "a number of at least 0")
    for name in ("n_estimators", "n_iter_no_change", "min_samples_leaf"):
        refuse_unless(is_whole(value := getattr(estimator, name), 1), name, value, "a whole number of at least 1")
    for name, least in (("max_depth", 1), ("max_leaf_nodes", 2)):
        valid = (value := getattr(estimator, name)) is None or is_whole(value, least)
        refuse_unless(valid, name, value, f"a whole number of at least {least}, or None")
    for name in ("learning_rate", "subsample", "max_features"):
        valid = is_number(value := getattr(estimator, name)) and 0 < value <= 1
        refuse_unless(valid, name, value, "a number above 0, up to 1")
    for name in ("lookahead", "early_stopping", "verbose"):
        refuse_unless(is_flag(value := getattr(estimator, name)), name, value, "True or False")
    for name, choices in estimator._choices.items():
        refuse_unless((value := getattr(estimator, name)) in choices, name, value, " or ".join(map(repr, choices)))
    bins, budget, scoring = estimator.max_bins, estimator.budget, estimator.scoring
    refuse_unless(is_whole(bins, 2) and bins <= MAX_BINS, "max_bins", bins, f"a whole number from 2 to {MAX_BINS}")
    refuse_unless(budget is None or is_number(budget, 0), "budget", budget, "a number of at least 0, or None")
    lookahead, charge = estimator.lookahead, estimator.charge
    refuse_unless(not lookahead or charge == "ensemble", "lookahead", lookahead, f"False with charge={charge!r}")
    valid = scoring is None or callable(scoring) or bool(query_metric(scoring))
    refuse_unless(valid, "scoring", scoring, "None for the loss, 'ndcg@k', 'precision@k', or a function of (y, scores)")


def _prepare(
    estimator: GreedyMiserEstimator, X: Any, y: Any, sample_weight: Any, qid: Any, validation: Any
) -> CodedRows:
    """Check the training data, hold out rows if needed, and code all rows."""
    if is_collection(X):
        return _prepare_blocks(estimator, X, y, sample_weight, qid, validation)
    rows, held_out = estimator._validated(X, y, sample_weight, qid), None
    estimator._targets(rows.y)
    if validation is not None:
        held_out = given_rows(estimator, validation)
    elif estimator.early_stopping:
        rows, held_out = hold_out(estimator, rows)
    return code_rows(estimator, Here(rows), held_out)


def _prepare_blocks(
    estimator: GreedyMiserEstimator, X: Any, y: Any, sample_weight: Any, qid: Any, validation: Any
) -> CodedRows:
    """Do what `_prepare` does with rows that live elsewhere. Validation rows live in this process."""
    owner, reason = type(estimator).__name__, "needs all rows in one process, but X is a Dask collection."
    if getattr(estimator, "loss", None) == "lambdarank":
        raise ValueError(f"{owner}: loss='lambdarank' {reason} Pass loss='squared_error', or X.compute(), y.compute().")
    if estimator.early_stopping and validation is None:
        raise ValueError(f"{owner}: early_stopping=True {reason} Pass validation=(X, y) with arrays.")
    if validation is not None and any(map(is_collection, validation)):
        raise TypeError(f"{owner}: validation holds a Dask collection; expected arrays. Pass X.compute(), y.compute().")
    rows = estimator._located(X, y, sample_weight, qid)
    refuse_divided_queries(rows.collect(distinct_queries), owner)
    estimator._encoder(rows)
    return code_rows(estimator, rows, None if validation is None else given_rows(estimator, validation))


def _fitted(estimator: GreedyMiserEstimator, rows: CodedRows) -> Any:
    """Fit an estimator and keep the rounds up to the best one."""
    rounds = _boost(estimator, rows)
    return estimator._keep(rounds, rounds.best)


def _boost(estimator: GreedyMiserEstimator, rows: CodedRows) -> Rounds:
    title = type(estimator).__name__ if estimator.verbose else None
    with progress(title, estimator.n_estimators) as advance:
        return boost(rows, _plan(estimator), generator_of(estimator.random_state), advance)


def _prefixes(estimator: GreedyMiserEstimator, rounds: Rounds) -> list[Any]:
    """Return one model for each number of rounds; one model without trees if there are no rounds."""
    last = rounds.best if estimator.early_stopping else rounds.n_rounds
    return [copy(estimator)._keep(rounds, n) for n in range(1, last + 1)] or [estimator._keep(rounds, 0)]


def _plan(estimator: GreedyMiserEstimator) -> Plan:
    return Plan(
        n_estimators=estimator.n_estimators,
        learning_rate=estimator.learning_rate,
        limits=Limits(
            estimator.max_depth,
            estimator.max_leaf_nodes,
            float(estimator.min_samples_leaf),
            estimator.l2_regularization,
        ),
        cost_weight=estimator.cost_weight,
        charge=estimator.charge,
        lookahead=estimator.lookahead,
        budget=np.inf if estimator.budget is None else estimator.budget,
        evaluation_cost=estimator.evaluation_cost,
        subsample=estimator.subsample,
        max_features=estimator.max_features,
        n_iter_no_change=estimator.n_iter_no_change if estimator.early_stopping else None,
    )
