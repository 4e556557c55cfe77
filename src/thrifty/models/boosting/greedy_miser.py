"""The Greedy Miser: gradient boosting that pays for a feature the first time it is used.

Z. Xu, K. Q. Weinberger, O. Chapelle. The Greedy Miser: Learning under Test-time Budgets. ICML 2012.

Each round fits a tree of limited depth to the gradient of the loss. A split pays for what its feature requires and is
not paid for yet (eq. 5); afterwards it is free. Everything is in loss per row, so a data set given twice over gives
the same model.
"""

from abc import abstractmethod
from collections.abc import Iterable
from copy import copy
from typing import Any, Self

import numpy as np
from sklearn.base import clone
from sklearn.utils import check_random_state

from thrifty.metrics.scoring import QUERY_METRICS, query_metric
from thrifty.models.boosting.accounts import CHARGES
from thrifty.models.boosting.binning import MAX_BINS, Bins, check_categories
from thrifty.models.boosting.growth import Limits
from thrifty.models.boosting.losses import LambdaRank, LogLoss, Loss, SoftmaxLoss, SquaredError
from thrifty.models.boosting.rounds import CodedRows, Judge, Plan, Rounds, boost
from thrifty.models.boosting.table import Table
from thrifty.models.forests.estimator import ForestEstimator
from thrifty.models.held_out import given_rows, hold_out
from thrifty.models.parameters import ascending_cost_weights, is_number, is_whole
from thrifty.models.progress import progress
from thrifty.models.rows import Rows
from thrifty.models.tasks import BudgetedClassifier, BudgetedRanker, BudgetedRegressor


class _GreedyMiser(ForestEstimator):
    """The algorithm, whatever the loss."""

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
        """Boost.

        Parameters
        ----------
        X : array-like of shape (n, n_features)
            NaN is a value like any other: at each split it goes where it does best.
        y : array-like of shape (n,)
        sample_weight : array-like of shape (n,), optional
        qid : array-like of shape (n,), optional
            Query of each row, for rankers and for scores by query; rows of one query are held out together.
        validation : tuple of (X, y) or (X, y, qid), optional
            Rows to choose the best iteration by. With ``early_stopping`` a share ``validation_fraction`` of the rows
            is held out where none are given.
        """
        self._refuse_bad_parameters()
        return self._boosted(self._coded(X, y, sample_weight, qid, validation))

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
        """Return fitted models from cheap to dear, for one cost-accuracy curve.

        By default these are the prefixes of a single fit: one model after each iteration, at no cost beyond it. With
        ``cost_weights`` there is one model per cost weight, from the largest to the smallest; the rows are coded once
        for all of them.
        """
        template = clone(self)
        template._refuse_bad_parameters()
        if cost_weights is None:
            return template._prefixes(template._coded(X, y, sample_weight, qid, validation))
        ascending = ascending_cost_weights(cost_weights, type(self).__name__)
        rows = template._coded(X, y, sample_weight, qid, validation)
        return [copy(template).set_params(cost_weight=each)._boosted(rows) for each in reversed(ascending)]

    @abstractmethod
    def _loss(self, rows: Table) -> Loss:
        """Return the loss of scores of these rows."""

    # From rows to trees

    def _boosted(self, rows: CodedRows) -> Self:
        rounds = self._rounds(rows)
        return self._settle(rounds, rounds.best)

    def _prefixes(self, rows: CodedRows) -> list[Self]:
        rounds = self._rounds(rows)
        last = rounds.best if self.early_stopping else rounds.n_rounds
        return [copy(self)._settle(rounds, n) for n in range(1, last + 1)] or [self._settle(rounds, 0)]

    def _rounds(self, rows: CodedRows) -> Rounds:
        title = type(self).__name__ if self.verbose else None
        with progress(title, self.n_estimators) as advance:
            return boost(rows, self._plan(), self._generator(), advance)

    def _settle(self, rounds: Rounds, n_rounds: int) -> Self:
        self.forest_ = rounds.forest(self.n_features_in_, n_rounds)
        self.evaluation_costs_ = np.full(self.forest_.n_trees, self.evaluation_cost if n_rounds else 0.0)
        self.history_ = {name: np.array(values) for name, values in rounds.history.items()}
        self.n_iter_ = rounds.n_rounds
        self.best_iteration_ = n_rounds
        self.features_ = np.array(sorted(rounds.features[n_rounds - 1]) if n_rounds else [], dtype=int)
        return self

    def _plan(self) -> Plan:
        return Plan(
            n_estimators=self.n_estimators,
            learning_rate=self.learning_rate,
            limits=Limits(self.max_depth, self.max_leaf_nodes, self.min_samples_leaf, self.l2_regularization),
            cost_weight=self.cost_weight,
            charge=self.charge,
            lookahead=self.lookahead,
            budget=np.inf if self.budget is None else self.budget,
            evaluation_cost=self.evaluation_cost,
            subsample=self.subsample,
            max_features=self.max_features,
            patience=self.n_iter_no_change if self.early_stopping else None,
        )

    def _generator(self) -> np.random.Generator:
        return np.random.default_rng(check_random_state(self.random_state).randint(2**31))

    # From a table to coded rows

    def _coded(self, X: Any, y: Any, sample_weight: Any, qid: Any, validation: Any) -> CodedRows:
        rows = self._validated(X, y, sample_weight, qid)
        self._targets(rows.y)
        rows, held = (self._table(each) for each in self._divided(rows, validation))
        everything = rows if held is None else rows.followed_by(held)
        categorical = self._categorical()
        check_categories(everything.X, categorical, type(self).__name__, self._feature_ids())
        bins = Bins.of(rows.X, rows.weight, self.max_bins, categorical, self._generator())
        loss = self._loss(everything)
        judge = None if held is None else self._judge(held, loss, slice(len(rows.X), None))
        return CodedRows(bins, bins.codes(everything.X), loss, len(rows.X), self.cost_model_, judge)

    def _table(self, rows: Rows | None) -> Any:
        if rows is None:
            return None
        return Table(rows.X, rows.y, self._encoded(rows.y), rows.weight, self._queries_of(rows))

    def _queries_of(self, rows: Rows) -> np.ndarray | None:
        return rows.qid

    def _divided(self, rows: Rows, validation: Any) -> tuple[Rows, Rows | None]:
        """Return the rows to learn from, and those to be judged by if anything is."""
        if validation is not None:
            return rows, given_rows(self, validation)
        if not self.early_stopping:
            return rows, None
        return hold_out(self, rows)

    def _judge(self, held: Table, loss: Loss, where: slice) -> Judge:
        """Return how held-out rows are scored."""
        if (by_query := query_metric(self.scoring)) and held.qid is not None:
            (name, k), qid = by_query, held.qid
            return lambda scores: float(QUERY_METRICS[name](held.y, scores[0, where], qid=qid, k=k))
        if self.scoring is None:
            return lambda scores: -loss.value(scores, where)
        return lambda scores: float(self.scoring(held.y, scores[:, where].T if len(scores) > 1 else scores[0, where]))

    def _categorical(self) -> np.ndarray:
        """Return which columns hold categories."""
        given, ids = self.categorical_features, list(self._feature_ids())
        marks = np.zeros(len(ids), dtype=bool)
        if given is None:
            return marks
        listed = np.asarray(given)
        if listed.dtype == bool and listed.shape == marks.shape:
            return listed
        for each in listed.ravel().tolist():
            place = ids.index(each) if each in ids else each
            known = is_whole(place, 0) and place < len(ids)
            self._refuse_unless(known, "categorical_features", given, "names or positions of columns, or a mask")
            marks[place] = True
        return marks

    # Parameters

    def _refuse_bad_parameters(self) -> None:
        for name in ("cost_weight", "evaluation_cost", "l2_regularization"):
            self._refuse_unless(is_number(value := getattr(self, name), 0), name, value, "a number of at least 0")
        for name in ("n_estimators", "n_iter_no_change", "min_samples_leaf"):
            self._refuse_unless(is_whole(value := getattr(self, name), 1), name, value, "a whole number of at least 1")
        for name, least in (("max_depth", 1), ("max_leaf_nodes", 2)):
            fine = (value := getattr(self, name)) is None or is_whole(value, least)
            self._refuse_unless(fine, name, value, f"a whole number of at least {least}, or None")
        for name in ("learning_rate", "subsample", "max_features"):
            fine = is_number(value := getattr(self, name)) and 0 < value <= 1
            self._refuse_unless(fine, name, value, "a number above 0, up to 1")
        bins = self.max_bins
        self._refuse_unless(is_whole(bins, 2) and bins <= MAX_BINS, "max_bins", bins, f"2 to {MAX_BINS}")
        self._refuse_unless(self.charge in CHARGES, "charge", self.charge, " or ".join(map(repr, CHARGES)))
        judged = not self.lookahead or self.charge == "ensemble"
        self._refuse_unless(judged, "lookahead", self.lookahead, "False where rows are charged")
        fine = self.budget is None or is_number(self.budget, 0)
        self._refuse_unless(fine, "budget", self.budget, "a number of at least 0, or None")
        known = self.scoring is None or callable(self.scoring) or bool(query_metric(self.scoring))
        self._refuse_unless(
            known, "scoring", self.scoring, "None for the loss, 'ndcg@k', 'precision@k', or a function of (y, scores)"
        )


class GreedyMiserRegressor(_GreedyMiser, BudgetedRegressor):
    """Boosted regression trees, squared loss, that pay for a feature the first time they use it.

    Parameters
    ----------
    costs : array-like, dict, CostModel or None
        What each feature costs to acquire; ``None`` means one unit each.
    cost_weight : float, default=1e-3
        Loss per row, in variances of the target, that one unit of cost has to save.
    charge : {"ensemble", "row"}, default="ensemble"
        Who pays in training. ``"ensemble"``: the first split on a feature buys it for all rows, as in the paper.
        ``"row"``: a row pays for what its own paths look at, and a split is charged for those of its rows that have
        not paid yet. In prediction rows always buy what their own paths ask for.
    lookahead : bool, default=False
        Judge a purchase by what a whole tree makes of it instead of a single split (beyond the paper). Better features
        where few can be bought, for more training time; only with ``charge="ensemble"``.
    budget : float, optional
        Stop buying where this would be exceeded: by the cost of all features bought with ``charge="ensemble"``, and so
        by no row ever; by the mean spend of the training rows with ``charge="row"``. Evaluation costs count.
    evaluation_cost : float, default=0
        What evaluating one tree costs a row, in the unit of the costs. A round that saves less than this ends the
        boosting.
    n_estimators : int, default=100
        Rounds at most.
    learning_rate : float, default=0.1
        Share of each tree's steps that is taken.
    max_depth : int or None, default=4
    max_leaf_nodes : int or None, default=None
    min_samples_leaf : int, default=20
        Rows, by their weight, that every leaf must hold.
    l2_regularization : float, default=0
        Added to the second derivative of every leaf, in rows.
    subsample : float, default=1
        Share of the rows that each round is grown on.
    max_features : float, default=1
        Share of the features that each round may split on.
    max_bins : int, default=254
        Bins at most of each column.
    categorical_features : array-like of names, positions or bool, optional
        Columns whose whole numbers are categories without an order.
    early_stopping : bool, default=False
        Stop when the score of held-out rows has not risen for ``n_iter_no_change`` rounds.
    n_iter_no_change : int, default=20
    scoring : None, "ndcg@k", "precision@k" or callable, default=None
        How held-out rows are scored: by the loss, by query, or by a function of (y, scores); larger is better.
    validation_fraction : float, default=0.1
    random_state : int, RandomState or None, default=None
    verbose : bool, default=False
        Show a progress bar.

    Attributes
    ----------
    forest_ : Forest
    features_ : ndarray of int
        The columns that the model can ask for.
    history_ : dict of ndarray
        By iteration: ``loss`` of the training rows, their mean ``spend``, the ``cost`` of all features bought so far
        and their number ``n_features``; ``validation_score`` and ``validation_spend`` if rows were held out.
    n_iter_ : int
        Rounds boosted.
    best_iteration_ : int
        Rounds kept: those up to the best validation score, or all.

    Examples
    --------
    >>> from thrifty import GreedyMiserRegressor
    >>> from thrifty.datasets import make_quadrants
    >>> data = make_quadrants(2000, random_state=0)
    >>> model = GreedyMiserRegressor(costs=data.costs, cost_weight=1e-4, charge="row").fit(data.X, data.y)
    >>> bool(model.spend(data.X).mean() < data.costs.total)
    True
    """

    def _loss(self, rows: Table) -> Loss:
        return SquaredError(rows.targets[:, 0], rows.weight)


class GreedyMiserClassifier(_GreedyMiser, BudgetedClassifier):
    """Boosted trees on the log-loss that pay for a feature the first time they use it.

    Two classes share one tree a round; more classes have one each. The parameters and attributes are those of
    `GreedyMiserRegressor`; ``cost_weight`` is in nats of log-loss per unit of cost.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)

    Examples
    --------
    >>> from thrifty import GreedyMiserClassifier
    >>> from thrifty.datasets import load_heart
    >>> heart = load_heart()
    >>> thrifty, lavish = (
    ...     GreedyMiserClassifier(costs=heart.costs, cost_weight=weight).fit(heart.X, heart.y) for weight in (1e-3, 0)
    ... )
    >>> bool(thrifty.spend(heart.X).mean() < lavish.spend(heart.X).mean())
    True
    """

    def _loss(self, rows: Table) -> Loss:
        if rows.targets.shape[1] == 1:
            return LogLoss((rows.targets[:, 0] + 1) / 2, rows.weight)
        return SoftmaxLoss(np.ascontiguousarray(rows.targets.T), rows.weight)


class GreedyMiserRanker(_GreedyMiser, BudgetedRanker):
    """Boosted trees that rank the documents of each query, and pay for a feature the first time they use it.

    The parameters and attributes are those of `GreedyMiserRegressor`, and one more:

    Parameters
    ----------
    loss : {"lambdarank", "squared_error"}, default="lambdarank"
        What is descended on: NDCG through pairs of documents, or the squared error of the labels, as in the paper.

    Examples
    --------
    >>> from thrifty import GreedyMiserRanker
    >>> from thrifty.datasets import make_ltr
    >>> data = make_ltr(30, 20, 40, random_state=0)
    >>> model = GreedyMiserRanker(costs=data.costs, cost_weight=1e-5).fit(data.X, data.y, qid=data.qid)
    >>> model.score(data.X, data.y, qid=data.qid) > 0.6
    True
    """

    def __init__(
        self,
        *,
        loss: str = "lambdarank",
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
        super().__init__(
            costs=costs,
            cost_weight=cost_weight,
            charge=charge,
            lookahead=lookahead,
            budget=budget,
            evaluation_cost=evaluation_cost,
            n_estimators=n_estimators,
            learning_rate=learning_rate,
            max_depth=max_depth,
            max_leaf_nodes=max_leaf_nodes,
            min_samples_leaf=min_samples_leaf,
            l2_regularization=l2_regularization,
            subsample=subsample,
            max_features=max_features,
            max_bins=max_bins,
            categorical_features=categorical_features,
            early_stopping=early_stopping,
            n_iter_no_change=n_iter_no_change,
            scoring=scoring,
            validation_fraction=validation_fraction,
            random_state=random_state,
            verbose=verbose,
        )
        self.loss = loss

    def _refuse_bad_parameters(self) -> None:
        super()._refuse_bad_parameters()
        choices = ("lambdarank", "squared_error")
        self._refuse_unless(self.loss in choices, "loss", self.loss, " or ".join(map(repr, choices)))

    def _queries_of(self, rows: Rows) -> np.ndarray | None:
        return np.zeros(len(rows), dtype=int) if rows.qid is None else rows.qid

    def _targets(self, y: np.ndarray) -> np.ndarray:
        labels = super()._targets(y)
        if self.loss == "lambdarank" and not ((labels >= 0) & (labels < 64)).all():
            raise ValueError(
                f"{type(self).__name__}: y holds {labels[~((labels >= 0) & (labels < 64))][0]:g}; expected relevance "
                "labels from 0 to 63, for a document gains 2^label - 1. Pass loss='squared_error' for other targets."
            )
        return labels

    def _loss(self, rows: Table) -> Loss:
        if self.loss == "squared_error":
            return SquaredError(rows.targets[:, 0], rows.weight)
        assert rows.qid is not None  # see _queries
        return LambdaRank(rows.targets[:, 0], rows.weight, rows.qid)
