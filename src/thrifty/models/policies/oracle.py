"""The forward-selection oracle (section 3.2) and the coach (section 4.2).

He He, H. Daumé III, J. Eisner. Cost-sensitive Dynamic Feature Selection. ICML workshop on Inferning, 2012.

The oracle knows the class y of a row, or the number to predict, and so the reward r of a state
(`thrifty.models.policies.rewards`). From its state, it repeatedly acquires the factor that leads to the largest reward,
until it has all factors. If one of these later states has a larger reward than the current state, its action is the
first of these factors; otherwise its action is to stop (3). The stake of a state is

    | largest reward of the later states - reward of the current state |

A coach chooses the first factor a by the largest sum (4)

    r after a  +  eta * score of a by the current policy

and stops like the oracle. If it weighs stopping, to stop is one of the actions of (4); r after it is the reward of the
current state. In the code, the second part of the sum is called bonus; the oracle has a bonus of 0.
"""

from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from sklearn.utils import check_array, get_tags
from sklearn.utils.validation import check_is_fitted

from thrifty.costs import CostModel
from thrifty.kernels.policies import guide
from thrifty.kernels.threads import over_rows
from thrifty.models.factors import Factors
from thrifty.models.parameters import is_number
from thrifty.models.policies.data_model import LinearScores, Scores
from thrifty.models.policies.rewards import Reward, refuse_unless_margin
from thrifty.models.policies.rollout import Rollout
from thrifty.models.policies.tasks import Classification

NO_FACTOR = -1


@dataclass(frozen=True, eq=False)
class OracleRun:
    """What the oracle acquires for rows whose classes it knows.

    Attributes
    ----------
    order : ndarray of int, shape (n, n_factors)
        Factors in the order of acquisition until a row has all of them. Free factors are not listed, because every row
        has them from the start; -1 fills the end.
    reward : ndarray of shape (n, n_factors + 1)
        Reward after 0, 1, 2, ... of these factors; -infinity after the last.
    n_bought : ndarray of int, shape (n,)
        Number of these factors that the oracle buys: it stops where the reward is largest.
    acquired : ndarray of bool, shape (n, n_features)
        The features that the row then has.
    spend : ndarray of shape (n,)
        What the row has then paid.
    prediction : ndarray of shape (n,)
        The class that the data classifier then predicts.
    """

    order: np.ndarray
    reward: np.ndarray
    n_bought: np.ndarray
    acquired: np.ndarray
    spend: np.ndarray
    prediction: np.ndarray


def forward_selection_oracle(
    classifier: Any,
    X: Any,
    y: Any,
    *,
    costs: Any = None,
    factors: Any = None,
    cost_weight: float = 0.5,
    margin: Literal["probability", "score"] = "probability",
) -> OracleRun:
    """Buy factors for rows of known classes, greedily by reward.

    The reward of a row is ``margin - cost_weight * cost``. The cost is a share of the cost of all features. The oracle
    repeatedly buys the factor that leads to the largest reward, until it has all factors, and then returns to the state
    with the largest reward. A policy does not know the classes, so this is an upper reference for policies.

    Parameters
    ----------
    classifier : fitted scikit-learn classifier
        It has ``decision_function`` or ``predict_proba``. Features that are not acquired are 0 for it, so it should be
        fitted to standardised features.
    X : array-like of shape (n, n_features)
        Complete rows.
    y : array-like of shape (n,)
        Their classes.
    costs : array-like, dict, CostModel or None, default=None
        What each feature costs to acquire. None means one unit per feature.
    factors : sequence of sequences of str or int, or None, default=None
        Features that are bought together, by name or index. A feature that is not listed is a factor of its own. None
        means that every bundle whose members have no price of their own is a factor.
    cost_weight : float, default=0.5
        Weight of the cost in the reward.
    margin : {"probability", "score"}, default="probability"
        "probability": the probability of the true class minus that of the most likely other class. "score": the score
        of the true class minus the largest score of another class, as in the paper. Scores are those of a linear
        classifier (for two classes, 0 and the log-odds), else log-probabilities or the decision function.

    Returns
    -------
    OracleRun
        The order of the factors, the rewards, and where the oracle stops.

    References
    ----------
    He He, H. Daumé III, J. Eisner. Cost-sensitive Dynamic Feature Selection. ICML workshop on Inferning, 2012.

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
    Classification().refuse_unless_usable(classifier, owner, "classifier")
    check_is_fitted(classifier)
    if not is_number(cost_weight, 0):
        raise ValueError(f"{owner}: cost_weight is {cost_weight!r}; expected a number of at least 0.")
    refuse_unless_margin(margin, owner)
    Z = check_array(X, dtype=np.float64, input_name="X")
    parsed = Factors.of(CostModel.resolve(costs, Z.shape[1], owner=owner), factors, owner)
    if (parsed.columns != np.arange(Z.shape[1])).any():
        classifier, Z = _WithSortedColumns(classifier, parsed), parsed.sorted_columns(Z)
    rollout = Rollout(parsed, Scores.of([classifier], parsed), Z).start()
    labels = _class_indices(classifier.classes_, y, owner)
    return _run(rollout, labels, Reward(margin, cost_weight), classifier.classes_)


def _run(rollout: Rollout, labels: np.ndarray, reward: Reward, classes: np.ndarray) -> OracleRun:
    order, rewards = forward_selection(rollout.copy_rows(np.arange(len(rollout))), labels, reward)
    n_bought = rewards.argmax(axis=1)
    for t in range(order.shape[1]):
        buyers = np.flatnonzero(n_bought > t)
        rollout.acquire(buyers, order[buyers, t])
    factors = rollout.factors
    return OracleRun(
        order,
        rewards,
        n_bought,
        factors.acquired_columns(rollout.acquired),
        factors.spend(rollout.ticks),
        classes[rollout.score.argmax(axis=1)],
    )


def forward_selection(
    rollout: Rollout, targets: np.ndarray, reward: Reward, bonus: np.ndarray | None = None
) -> tuple[np.ndarray, np.ndarray]:
    """Acquire the factor with the largest reward until rows have all factors.

    Parameters
    ----------
    rollout : Rollout
        It is advanced to the end.
    targets : ndarray of shape (n,)
        Indices of the true classes, or the numbers to predict.
    reward : Reward
    bonus : ndarray of shape (n, n_factors), default=None
        Added to the rewards when the first factor is chosen.

    Returns
    -------
    order : ndarray of int, shape (n, n_factors)
        As in `OracleRun`.
    rewards : ndarray of shape (n, n_factors + 1)
        As in `OracleRun`, without the bonus.
    """
    n, n_factors = rollout.acquired.shape
    order, rewards = np.full((n, n_factors), NO_FACTOR), np.full((n, n_factors + 1), -np.inf)
    rewards[:, 0] = current_rewards(rollout, targets, reward)
    for t in range(n_factors):
        rows = np.flatnonzero(~rollout.acquired.all(axis=1))
        after = _candidate_rewards(rollout, rows, targets[rows], reward)
        preferred = after if bonus is None or t > 0 else after + bonus[rows]
        chosen = np.where(rollout.acquired[rows], -np.inf, preferred).argmax(axis=1)
        order[rows, t], rewards[rows, t + 1] = chosen, after[np.arange(len(rows)), chosen]
        rollout.acquire(rows, chosen)
    return order, rewards


def current_rewards(rollout: Rollout, targets: np.ndarray, reward: Reward) -> np.ndarray:
    """Return the rewards (n,) of the current states."""
    return reward.of(rollout.score, targets, rollout.now.cost)


def _candidate_rewards(rollout: Rollout, rows: np.ndarray, targets: np.ndarray, reward: Reward) -> np.ndarray:
    """Return the rewards (len(rows), n_factors) after each factor."""
    states = (rollout.score[rows], rollout.masked[rows], rollout.Z[rows], rollout.which[rows])
    cost = rollout.now.cost[rows, None] + rollout.factors.prices_after(rollout.acquired[rows])
    return reward.of(rollout.scores.candidates(*states), targets, cost)


def guided_actions(
    rollout: Rollout,
    rows: np.ndarray,
    targets: np.ndarray,
    reward: Reward,
    bonus: np.ndarray,
    weighs_stop: bool = False,
) -> tuple[np.ndarray, np.ndarray]:
    """Return the action of the oracle or coach for some rows in their current states, and the stakes.

    Parameters
    ----------
    rollout : Rollout
        It is not changed.
    rows : ndarray of int, shape (m,)
    targets : ndarray of shape (m,)
        Indices of the true classes of these rows, or the numbers to predict.
    reward : Reward
    bonus : ndarray of shape (m, n_factors + 1)
        Added to the rewards of the actions when the first factor is chosen; all 0 for the oracle.
    weighs_stop : bool, default=False
        Whether to stop is one of the actions of (4). False: rows stop where the oracle stops.

    Returns
    -------
    actions : ndarray of int, shape (m,)
        Factors, or ``n_factors`` to stop.
    stakes : ndarray of shape (m,)
    """
    scores = rollout.scores
    if not isinstance(scores, LinearScores):
        return _actions_by_prediction(rollout.copy_rows(rows), targets, reward, bonus, weighs_stop)
    actions, stakes = np.empty(len(rows), dtype=np.int64), np.empty(len(rows))
    model = (scores.starts, scores.weights, rollout.which[rows])
    state = (rollout.Z[rows], *model, rollout.score[rows], rollout.acquired[rows])
    goal = (targets.astype(float), rollout.factors.prices, reward.rule, bonus, weighs_stop)
    over_rows(lambda first, last: guide(*state, *goal, first, last, actions, stakes), len(rows))
    return actions, stakes


def _actions_by_prediction(
    rollout: Rollout, targets: np.ndarray, reward: Reward, bonus: np.ndarray, weighs_stop: bool
) -> tuple[np.ndarray, np.ndarray]:
    order, rewards = forward_selection(rollout, targets, reward, bonus[:, :-1])
    first, now, best = order[:, 0], rewards[:, 0], rewards[:, 1:].max(axis=1)
    continues = best > now
    if weighs_stop:
        of_first = np.take_along_axis(bonus, first[:, None], axis=1)[:, 0]
        continues = rewards[:, 1] + of_first > now + bonus[:, -1]
    actions = np.where(continues, first, len(rollout.factors))
    return actions, np.where(np.isfinite(best), abs(best - now), 0.0)


class _WithSortedColumns:
    """A fitted classifier that takes rows whose columns are sorted by factor."""

    def __init__(self, classifier: Any, factors: Factors):
        self._classifier, self._original_order = classifier, np.argsort(factors.columns)
        self.classes_ = classifier.classes_

    def __sklearn_tags__(self) -> Any:
        return get_tags(self._classifier)

    def __getattr__(self, name: str) -> Any:
        if name in ("predict_proba", "decision_function"):
            method = getattr(self._classifier, name)
            return lambda Z: method(Z[:, self._original_order])
        raise AttributeError(name)


def _class_indices(classes: np.ndarray, y: Any, owner: str) -> np.ndarray:
    y = np.asarray(y)
    if (unknown := np.setdiff1d(y, classes)).size:
        raise ValueError(
            f"{owner}: y has class {unknown.tolist()[0]!r}, which the classifier does not know. "
            f"Pass rows of the classes {classes.tolist()}."
        )
    return np.searchsorted(classes, y)
