"""The two static baselines of section 5: one order of the factors for all rows.

He He, H. Daumé III, J. Eisner. Cost-sensitive Dynamic Feature Selection. ICML workshop on Inferning, 2012.
"""

from typing import Any, Literal, Self

import numpy as np

from thrifty.models.factors import Factors
from thrifty.models.outline import Columns, Outline
from thrifty.models.parameters import is_number
from thrifty.models.policies.data_model import LinearScores
from thrifty.models.policies.data_model_fits import OutOfFoldRows
from thrifty.models.policies.estimator import (
    PolicyClassifier,
    PolicyEstimator,
    refuse_bad_parameters,
    refuse_unless_whole,
)
from thrifty.models.policies.meta_features import n_meta_features
from thrifty.models.policies.policy import queue_policy
from thrifty.models.soundness import require
from thrifty.stored import FeatureId, ListOf, TupleOf, stored


@stored(queue_=ListOf(TupleOf(FeatureId())))
class StaticSelection(PolicyEstimator):
    """Buys the factors of a queue in order, whatever the data model predicts.

    Attributes
    ----------
    queue_ : list of tuples
        The features of each factor that is bought, in order.
    policy_ : Policy
        The policy that buys the factors of the queue in order.
    """

    queue_: list[tuple[Any, ...]]
    ranking: str
    budget: float | None
    n_factors: int | None

    def fit(self, X: Any, y: Any, sample_weight: Any = None, *, qid: Any = None) -> Self:
        """Fit the data model and order the factors.

        Parameters
        ----------
        X : array-like of shape (n, n_features)
            Training rows. NaN means that a value is unavailable.
        y : array-like of shape (n,)
            Classes, or numbers to predict.
        sample_weight : array-like of shape (n,), default=None
            How often each row counts; None means once. If a weight is below 1, all are rescaled to a mean of 1.
        qid : array-like of shape (n,), default=None
            The query of each row. It is checked but not used by this method.

        Returns
        -------
        self : object
            The fitted estimator.
        """
        self._refuse_bad_parameters()
        rows, _ = self._fit_data_model(X, y, sample_weight, qid)
        factors, ids = self.factors_, self._feature_ids()
        queue = _forward_order(rows) if self.ranking == "forward" else _order_by_weight_per_cost(self)
        queue = queue[: _n_bought(queue, factors, self.n_factors, self.budget)]
        self.queue_ = [tuple(ids[column] for column in factors.groups[factor]) for factor in queue]
        n_columns = factors.starts[-1]
        n_inputs = n_columns + n_meta_features(self.scores_.n_scores)
        self.policy_ = queue_policy(queue, len(factors), n_inputs, n_columns)
        return self

    def _outline(self, columns: Columns, exits: np.ndarray | None) -> Outline:
        ids = list(self._feature_ids())
        free = [ids[column] for factor in self.factors_.free for column in self.factors_.groups[factor]]
        steps = [step for step in (free, *self.queue_) if step]
        reads = np.zeros((len(steps), len(ids)), dtype=bool)
        for read, step in zip(reads, steps, strict=True):
            read[[ids.index(feature) for feature in step]] = True
        summary = "All rows buy the same columns in the same order; a cap ends the list early."
        return self._outlined(columns, summary, uses=columns.uses(reads) if steps else (), counted_in="step")

    def refuse_unsound(self) -> None:
        """Raise ValueError unless a loaded model is complete and consistent; see `BudgetedEstimator`."""
        super().refuse_unsound()
        ids = self._feature_ids()
        groups = {tuple(ids[column] for column in group) for group in self.factors_.groups}
        bought = set(self.queue_)
        require(bought <= groups and len(bought) == len(self.queue_), "its queue is not a list of its factors")

    def _refuse_bad_parameters(self) -> None:
        known = self.ranking in ("forward", "weight_per_cost")
        self._refuse_unless(known, "ranking", self.ranking, "'forward' or 'weight_per_cost'")
        is_valid = self.budget is None or is_number(self.budget, 0)
        self._refuse_unless(is_valid, "budget", self.budget, "a number of at least 0, or None")
        if self.n_factors is not None:
            refuse_unless_whole(self, "n_factors", 0)
        refuse_bad_parameters(self)


class StaticSelectionClassifier(StaticSelection, PolicyClassifier):
    """A classifier for which every row buys the same factors in the same order, up to a budget or a number of factors.

    A factor is a group of features that are bought together. Every row has free factors from the start. A row with a
    cap is answered with as many factors of the queue as it can pay for.

    Parameters
    ----------
    costs : array-like, dict, CostModel or None, default=None
        What each feature costs to acquire. None means one unit per feature.
    factors : sequence of sequences of str or int, or None, default=None
        Features that are bought together, by name or index. A feature that is not listed is a factor of its own. None
        means that every bundle whose members have no price of their own is a factor.
    ranking : {"forward", "weight_per_cost"}, default="forward"
        Order of the factors. "forward": forward selection by the accuracy on held-out folds, without regard to the
        costs. "weight_per_cost": by the largest absolute weight of a factor's features in the data classifier, which
        must be linear, divided by the cost of the factor.
    budget : float or None, default=None
        Buy the longest prefix of this order that costs at most this much. None means no limit.
    n_factors : int or None, default=None
        Buy at most so many factors. None means all.
    classifier : scikit-learn classifier or None, default=None
        The data classifier. Its columns are standardised, and 0 where a value is not acquired or unavailable. None
        means multinomial logistic regression.
    masked_training : bool, default=False
        Whether the data classifier is also fitted to copies of the rows with random factors set to 0, and sees a flag
        for each factor that is known.
    n_folds : int, default=10
        Number of folds for forward selection.
    random_state : int, RandomState or None, default=None
        Random state of folds and masks.

    Attributes
    ----------
    queue_ : list of tuples
        The features of each factor that is bought, in order.
    policy_ : Policy
        The policy that buys the factors of the queue in order.
    classifier_ : estimator
        The fitted data classifier. Its columns are standardised and sorted by factor; with masked training, a flag
        follows the columns of each factor.
    factors_ : Factors
        The groups of features that are bought together.
    cost_model_ : CostModel
        The costs, aligned with the columns of X.
    training_ : Training
        The number of training rows, the date of the fit, and a fingerprint of the data.
    classes_ : ndarray of shape (n_classes,)
        The classes in the order of the columns of ``predict_proba``.
    n_features_in_ : int
        Number of columns of X.
    feature_names_in_ : ndarray of str
        Names of the columns, if X has names.

    Notes
    -----
    ``acquire(X).exit`` is the number of factors that a row has.

    References
    ----------
    He He, H. Daumé III, J. Eisner. Cost-sensitive Dynamic Feature Selection. ICML workshop on Inferning, 2012.

    Examples
    --------
    >>> from thrifty import StaticSelectionClassifier
    >>> from thrifty.datasets import load_heart
    >>> heart = load_heart()
    >>> model = StaticSelectionClassifier(costs=heart.costs, ranking="weight_per_cost", n_factors=2)
    >>> model.fit(heart.X, heart.y).queue_
    [('sex',), ('cp',)]
    """

    def __init__(
        self,
        *,
        costs: Any = None,
        factors: Any = None,
        ranking: Literal["forward", "weight_per_cost"] = "forward",
        budget: float | None = None,
        n_factors: int | None = None,
        classifier: Any = None,
        masked_training: bool = False,
        n_folds: int = 10,
        random_state: Any = None,
    ):
        self.costs = costs
        self.factors = factors
        self.ranking = ranking
        self.budget = budget
        self.n_factors = n_factors
        self.classifier = classifier
        self.masked_training = masked_training
        self.n_folds = n_folds
        self.random_state = random_state


def _forward_order(training: OutOfFoldRows) -> np.ndarray:
    """Return the factors that are not free; each gives the best predictions together with those before it."""
    rollout, queue, targets = training.start(), [], training.rows.y
    rows = np.arange(len(rollout))
    for _ in range(len(training.factors) - len(training.factors.free)):
        after = rollout.scores.candidates(rollout.score, rollout.masked, rollout.Z, rollout.which)
        points = training.rows.weight @ training.task.points(after, targets)
        best = int(np.where(rollout.acquired[0], -np.inf, points).argmax())
        queue.append(best)
        rollout.acquire(rows, np.full(len(rollout), best))
    return np.array(queue, dtype=np.int64)


def _order_by_weight_per_cost(model: StaticSelection) -> np.ndarray:
    """Return the factors that are not free, sorted by their largest absolute weight divided by their cost."""
    scores, factors = model.scores_, model.factors_
    if not isinstance(scores, LinearScores):
        raise ValueError(
            f"{type(model).__name__}: ranking='weight_per_cost' needs a linear data {model._data_model}, but "
            f"{model._data_model} is {getattr(model, model._data_model)!r}. Pass a linear one, or ranking='forward'."
        )
    weight = np.zeros(factors.starts[-1])  # flags keep a weight of 0
    weight[factors.places] = np.abs(scores.weights[0, factors.places]).max(axis=1)
    of_factor = np.maximum.reduceat(weight, factors.starts[:-1])
    price = factors.prices_after(np.zeros((1, len(factors)), dtype=bool))[0]
    priced = np.flatnonzero(price > 0)
    return priced[np.argsort(-of_factor[priced] / price[priced], kind="stable")]


def _n_bought(queue: np.ndarray, factors: Factors, n_factors: int | None, budget: float | None) -> int:
    """Return how many factors of the queue are bought."""
    if n_factors is not None:
        queue = queue[: int(n_factors)]
    if budget is None:
        return len(queue)
    prefixes = np.zeros((len(queue), len(factors)), dtype=bool)
    for k, factor in enumerate(queue):
        prefixes[k:, factor] = True
    return int((factors.spend(factors.ticks(prefixes)) <= budget).sum())
