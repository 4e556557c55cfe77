"""The two baselines of section 5: one queue of factors for all rows.

He He, H. Daumé III, J. Eisner. Cost-sensitive Dynamic Feature Selection. ICML workshop on Inferning, 2012.

A queue is the policy that prefers what stands further in front, whatever it sees.
"""

from typing import Any, Literal, Self

import numpy as np

from thrifty.models.parameters import is_number
from thrifty.models.policies.data_classifier import LinearScores
from thrifty.models.policies.estimator import PolicyClassifier
from thrifty.models.policies.policy import queue_policy
from thrifty.models.policies.rollout import N_NUMBERS
from thrifty.models.policies.states import Pupils


class StaticSelectionClassifier(PolicyClassifier):
    """Buys the same factors for every row, in one order, up to a budget or a number of them.

    Factors that cost nothing are acquired at the start. A capped row is answered with as much of the queue as it can
    pay for.

    Parameters
    ----------
    costs : array-like, dict, CostModel or None
        What each feature costs to acquire; ``None`` means one unit each.
    factors : sequence of sequences of features, optional
        What is bought together, by name or index; features left out are factors of their own. By default a bundle
        whose members have no price of their own is a factor, and any other feature is one by itself.
    ranking : {"forward", "weight_per_cost"}, default="forward"
        How factors queue up: by forward selection, each being the one that raises the accuracy on held-out folds
        most, whatever it costs; or by the largest absolute weight in the (linear) data classifier over the cost.
    budget : float, optional
        Buy the front of the queue, as long as it costs no more than this.
    n_factors : int, optional
        Buy so many factors of the queue, all by default.
    classifier : scikit-learn classifier, optional
        The data classifier, on standardised columns with 0 for what is not acquired or missing; multinomial logistic
        regression by default.
    masked_training : bool, default=False
        Fit the data classifier to randomly masked copies of the rows too, and show it a flag for each factor that is
        known.
    n_folds : int, default=10
        Folds for forward selection.
    random_state : int, RandomState or None
        Draws the folds.

    Attributes
    ----------
    queue_ : list of tuples
        The features of the factors bought, in order.
    classifier_ : estimator
        The fitted data classifier; its columns are standardised and sorted by factor, with masked training each
        factor followed by its flag.
    factors_ : Factors
        What is bought together.
    cost_model_ : CostModel
        The costs, aligned with the columns of X.
    classes_ : ndarray of shape (n_classes,)
    n_features_in_ : int
    feature_names_in_ : ndarray of str

    Notes
    -----
    ``acquire(X).exit`` is the number of factors acquired.

    References
    ----------
    He, Daumé, Eisner (2012). Cost-sensitive Dynamic Feature Selection. ICML workshop on Inferning.

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

    def fit(self, X: Any, y: Any, sample_weight: Any = None, *, qid: Any = None) -> Self:
        """Fit the data classifier and line the factors up.

        Parameters
        ----------
        X : array-like of shape (n, n_features)
            NaN where a value could not be had.
        y : array-like of shape (n,)
        sample_weight : array-like of shape (n,), optional
            Read as numbers of rows; weights below one are first rescaled to a mean of one.
        """
        self._refuse_bad_parameters()
        rows, random = self._prepare(X, y, sample_weight, qid)
        pupils = self._fit_data_classifier(rows, random)
        queue = self._by_weight_per_cost() if self.ranking == "weight_per_cost" else _by_forward_selection(pupils)
        queue = queue[: self._how_many(queue)]
        ids = self._feature_ids()
        self.queue_ = [tuple(ids[column] for column in self.factors_.groups[factor]) for factor in queue]
        width = self.factors_.starts[-1]
        n_inputs = width + N_NUMBERS + len(self.classes_)
        self.policy_ = queue_policy(queue, len(self.factors_), n_inputs, width)
        return self

    def _by_weight_per_cost(self) -> np.ndarray:
        if not isinstance(self.scores_, LinearScores):
            raise ValueError(
                f"{type(self).__name__}: ranking='weight_per_cost' needs a linear data classifier, but classifier is "
                f"{self.classifier!r}. Pass a linear one, or ranking='forward'."
            )
        weight, places = np.zeros(self.factors_.starts[-1]), self.factors_.places
        weight[places] = np.abs(self.scores_.weights[0, places]).max(axis=1)  # flags do not count
        of_factor = np.maximum.reduceat(weight, self.factors_.starts[:-1])
        price = self.factors_.prices_after(np.zeros((1, len(self.factors_)), dtype=bool))[0]
        priced = np.flatnonzero(price > 0)
        return priced[np.argsort(-of_factor[priced] / price[priced], kind="stable")]

    def _how_many(self, queue: np.ndarray) -> int:
        """Return how much of the queue is bought."""
        if self.n_factors is not None:
            queue = queue[: int(self.n_factors)]
        if self.budget is None:
            return len(queue)
        prefixes = np.zeros((len(queue), len(self.factors_)), dtype=bool)
        for k, factor in enumerate(queue):
            prefixes[k:, factor] = True
        return int((self.factors_.spend(self.factors_.ticks(prefixes)) <= self.budget).sum())

    def _refuse_bad_parameters(self) -> None:
        known = self.ranking in ("forward", "weight_per_cost")
        self._refuse_unless(known, "ranking", self.ranking, "'forward' or 'weight_per_cost'")
        fine = self.budget is None or is_number(self.budget, 0)
        self._refuse_unless(fine, "budget", self.budget, "a number of at least 0, or None")
        if self.n_factors is not None:
            self._refuse_non_whole("n_factors", 0)


def _by_forward_selection(pupils: Pupils) -> np.ndarray:
    """Line up the factors, each the one that makes most rows right after those before it."""
    walk, queue = pupils.set_out(), []
    everyone = np.arange(len(walk))
    for _ in range(len(pupils.factors) - len(pupils.factors.free)):
        then = walk.scores.candidates(walk.score, walk.masked, walk.Z, walk.which)
        right = pupils.count @ (then.argmax(axis=2) == pupils.labels[:, None])
        best = int(np.where(walk.acquired[0], -np.inf, right).argmax())
        queue.append(best)
        walk.take(everyone, np.full(len(walk), best))
    return np.array(queue, dtype=np.int64)
