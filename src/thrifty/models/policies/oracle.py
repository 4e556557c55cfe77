"""The forward-selection oracle of section 3.2, and the coach of section 4.2 who makes it easier to follow.

He He, H. Daumé III, J. Eisner. Cost-sensitive Dynamic Feature Selection. ICML workshop on Inferning, 2012.

The oracle knows the class of a row. It buys the factor that brings the largest immediate reward

    r(s, a) = margin after a  -  cost_weight x cost after a                                             (1)

until it has all of them, looks back, and stops in the state of the largest reward (3). The margin is the probability
of the true class less that of the likeliest other, the cost a share of the cost of everything.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.special import softmax
from sklearn.utils import check_array
from sklearn.utils.validation import check_is_fitted

from thrifty.costs import CostModel
from thrifty.kernels.policies import guide
from thrifty.kernels.threads import over_rows
from thrifty.models.parameters import is_number
from thrifty.models.policies.data_classifier import LinearScores, Scores, refuse_unscored
from thrifty.models.policies.factors import Factors
from thrifty.models.policies.rollout import Walk

NONE_LEFT = -1


@dataclass(frozen=True, eq=False)
class OracleRun:
    """What the oracle does with rows whose class it knows.

    Attributes
    ----------
    order : ndarray of int, shape (n, n_factors)
        Factors in the order of purchase, were all bought; -1 at the end, for free ones are there from the start.
    reward : ndarray of shape (n, n_factors + 1)
        Reward of the state after so many purchases; -inf past the last.
    n_bought : ndarray of int, shape (n,)
        How many of them the oracle buys: it stops where the reward is largest.
    acquired : ndarray of bool, shape (n, n_features)
        What it has then.
    spend : ndarray of shape (n,)
        What it has paid then.
    prediction : ndarray of shape (n,)
        What the data classifier answers then.
    """

    order: np.ndarray
    reward: np.ndarray
    n_bought: np.ndarray
    acquired: np.ndarray
    spend: np.ndarray
    prediction: np.ndarray


def forward_selection_oracle(
    classifier: Any, X: Any, y: Any, *, costs: Any = None, factors: Any = None, cost_weight: float = 0.5
) -> OracleRun:
    """Buy for rows of known class what raises the reward most, as an upper mark for policies that do not know it.

    Parameters
    ----------
    classifier : fitted scikit-learn classifier
        With ``decision_function`` or ``predict_proba``; it sees 0 in place of what is not acquired, so standardise.
    X : array-like of shape (n, n_features)
    y : array-like of shape (n,)
        The classes.
    costs : array-like, dict, CostModel or None
        What each feature costs to acquire; ``None`` means one unit each.
    factors : sequence of sequences of features, optional
        What is bought together; by default bundles whose members have no price of their own.
    cost_weight : float, default=0.5
        What the cost of everything is worth in margin.

    Returns
    -------
    OracleRun
        The order of purchase, the rewards, and where it stops.

    Examples
    --------
    >>> from sklearn.linear_model import LogisticRegression
    >>> from thrifty import forward_selection_oracle
    >>> X, y = [[-1.0, 0.0], [1.0, 0.0], [-1.0, 0.1], [1.0, 0.1]], [0, 1, 0, 1]
    >>> run = forward_selection_oracle(LogisticRegression().fit(X, y), X, y, cost_weight=0.1)
    >>> run.n_bought
    array([1, 1, 1, 1])
    >>> run.order[:, 0]
    array([0, 0, 0, 0])
    """
    owner = "forward_selection_oracle"
    refuse_unscored(classifier, owner, "classifier")
    check_is_fitted(classifier)
    if not is_number(cost_weight, 0):
        raise ValueError(f"{owner}: cost_weight is {cost_weight!r}; expected a number of at least 0.")
    Z = check_array(X, dtype=np.float64, input_name="X")
    sold = Factors.of(CostModel.resolve(costs, Z.shape[1], owner=owner), factors, owner)
    if (sold.columns != np.arange(Z.shape[1])).any():
        classifier, Z = _Reordered(classifier, sold), sold.sorted_columns(Z)
    walk = Walk(sold, Scores.of([classifier], sold), Z).begin()
    return _run(walk, _codes(classifier.classes_, y, owner), cost_weight, classifier.classes_)


def _run(walk: Walk, labels: np.ndarray, cost_weight: float, classes: np.ndarray) -> OracleRun:
    path = walk.part(np.arange(len(walk)))
    order, reward = forward(path, labels, cost_weight)
    n_bought = reward.argmax(axis=1)
    for t in range(order.shape[1]):
        buying = np.flatnonzero(n_bought > t)
        walk.take(buying, order[buying, t])
    factors = walk.factors
    return OracleRun(
        order,
        reward,
        n_bought,
        factors.acquired_columns(walk.acquired),
        factors.spend(walk.ticks),
        classes[walk.now.guess],
    )


def forward(
    walk: Walk, labels: np.ndarray, cost_weight: float, wish: np.ndarray | None = None
) -> tuple[np.ndarray, np.ndarray]:
    """Take one factor after another, that of the largest reward, until rows have all; return order and rewards.

    `wish` (n, n_factors) counts with the rewards of the first step.
    """
    n, n_factors = walk.acquired.shape
    order, reward = np.full((n, n_factors), NONE_LEFT), np.full((n, n_factors + 1), -np.inf)
    reward[:, 0] = rewards(walk, labels, cost_weight)
    for t in range(n_factors):
        left = np.flatnonzero(~walk.acquired.all(axis=1))
        then = _candidate_rewards(walk, left, labels[left], cost_weight)
        preferred = then if wish is None or t > 0 else then + wish[left]
        chosen = np.where(walk.acquired[left], -np.inf, preferred).argmax(axis=1)
        order[left, t], reward[left, t + 1] = chosen, then[np.arange(len(left)), chosen]
        walk.take(left, chosen)
    return order, reward


def rewards(walk: Walk, labels: np.ndarray, cost_weight: float) -> np.ndarray:
    """Return the reward (1) of the current states."""
    return margins(walk.score, labels) - cost_weight * walk.now.cost


def margins(scores: np.ndarray, labels: np.ndarray) -> np.ndarray:
    """Return the probability of the true class less that of the likeliest other; scores (n, ..., n_classes)."""
    probabilities = softmax(scores, axis=-1)
    at = np.broadcast_to(labels.reshape(-1, *[1] * (scores.ndim - 1)), (*scores.shape[:-1], 1))
    true = np.take_along_axis(probabilities, at, axis=-1)[..., 0]
    np.put_along_axis(probabilities, at, -np.inf, axis=-1)
    return true - probabilities.max(axis=-1)


def _candidate_rewards(walk: Walk, rows: np.ndarray, labels: np.ndarray, cost_weight: float) -> np.ndarray:
    then = walk.scores.candidates(walk.score[rows], walk.masked[rows], walk.Z[rows], walk.which[rows])
    cost = walk.now.cost[rows, None] + walk.factors.prices_after(walk.acquired[rows])
    return margins(then, labels) - cost_weight * cost


def advise(
    walk: Walk, rows: np.ndarray, labels: np.ndarray, cost_weight: float, wish: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Tell what rows should do in their states, and what is at stake there.

    Parameters
    ----------
    wish : ndarray of shape (n, n_factors)
        What the policy prefers, times how far the coach gives in to it: the hope action (4) has the largest sum of
        wish and reward. When to stop is told as ever, by the largest reward ahead. All 0: the oracle (3).

    Returns
    -------
    actions : ndarray of int, shape (n,)
        Factors, or ``n_factors`` to stop.
    stakes : ndarray of shape (n,)
        By how much the best ahead and the current reward differ.
    """
    if not isinstance(walk.scores, LinearScores):
        return _advise_by_prediction(walk.part(rows), labels, cost_weight, wish)
    scores, actions, stakes = walk.scores, np.empty(len(rows), dtype=np.int64), np.empty(len(rows))
    state = (walk.Z[rows], scores.starts, scores.weights, walk.which[rows], walk.score[rows], walk.acquired[rows])
    rules = (labels, walk.factors.prices, float(cost_weight), wish)
    over_rows(lambda first, last: guide(*state, *rules, first, last, actions, stakes), len(rows))
    return actions, stakes


def _advise_by_prediction(
    walk: Walk, labels: np.ndarray, cost_weight: float, wish: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    order, reward = forward(walk, labels, cost_weight, wish)
    now, best = reward[:, 0], reward[:, 1:].max(axis=1)
    actions = np.where(best > now, order[:, 0], len(walk.factors))
    return actions, np.where(np.isfinite(best), abs(best - now), 0.0)


class _Reordered:
    """A fitted classifier whose columns come sorted by factor."""

    def __init__(self, classifier: Any, factors: Factors):
        self._classifier, self._back = classifier, np.argsort(factors.columns)
        self.classes_ = classifier.classes_

    def __getattr__(self, name: str) -> Any:
        if name in ("predict_proba", "decision_function"):
            method = getattr(self._classifier, name)
            return lambda Z: method(Z[:, self._back])
        raise AttributeError(name)


def _codes(classes: np.ndarray, y: Any, owner: str) -> np.ndarray:
    y = np.asarray(y)
    if (strange := np.setdiff1d(y, classes)).size:
        raise ValueError(f"{owner}: y holds {strange.tolist()[0]!r}, which the classifier does not know.")
    return np.searchsorted(classes, y)
