"""AdaBoost with trees, for two or more classes.

Y. Freund, R. E. Schapire. A Decision-Theoretic Generalization of On-Line Learning and an Application to Boosting.
Journal of Computer and System Sciences 55, 1997.

J. Zhu, H. Zou, S. Rosset, T. Hastie. Multi-class AdaBoost. Statistics and Its Interface 2, 2009 (SAMME).

A tree with error e (weighted share of wrong votes) has, with K classes, the weight

    a  =  log((1 - e) / e) + log(K - 1)

Then the weight of each row is multiplied by exp(a / K) if the vote was wrong and by exp(-a (K - 1) / K) if it was
right, and all are rescaled to the same sum. A tree must be better than guessing: e < 1 - 1 / K. With two classes this
is AdaBoost; its weights are usually written as half of a, which makes no difference.
"""

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from thrifty.models.boosting.class_tree import ClassTreeGrower
from thrifty.models.forests.forest import LEAF, Tree
from thrifty.models.growing.bag import Bag
from thrifty.models.growing.binning import MAX_BINS, Bins
from thrifty.models.growing.growth import Grower
from thrifty.models.growing.limits import Limits
from thrifty.models.growing.payments import NoPayments

MIN_ERROR = 1e-10  # least error of a tree; the weight of a tree without errors would be infinite

VotingTree = tuple[Tree, np.ndarray]  # a tree whose leaves vote, and its votes on the training rows
WeakLearner = Callable[[np.ndarray], VotingTree]  # of the weights of the rows


class Voter(NamedTuple):
    """A tree of AdaBoost.

    Attributes
    ----------
    tree : Tree
        Its leaves vote +1 or -1 for two classes; for more classes, 1 for one of them and 0 for the others.
    votes : ndarray of int8, shape (n, 1) or (n, n_classes)
        The votes on the training rows.
    weight : float
        The weight of the tree in AdaBoost.
    """

    tree: Tree
    votes: np.ndarray
    weight: float


def ada_boost(learn: WeakLearner, targets: np.ndarray, count: np.ndarray, n_estimators: int) -> list[Voter]:
    """Return the trees of AdaBoost.

    A tree that votes the same on all rows has no effect other than the offsets of the log-odds. It is left out unless
    there is no other tree.

    Parameters
    ----------
    learn : callable
        Returns a tree that is fitted to rows of some weights, and its votes.
    targets : ndarray of shape (n, 1) or (n, n_classes)
        One column of +-1, or one-hot columns.
    count : ndarray of shape (n,)
        The initial weights of the rows.
    n_estimators : int
        The largest number of trees.

    Returns
    -------
    list of Voter
    """
    n_classes = max(2, targets.shape[1])
    chance = 1 - 1 / n_classes  # the error of guessing
    voters: list[Voter] = []
    constants: list[Voter] = []
    weight = count.copy()
    for _ in range(n_estimators):
        tree, votes = learn(weight)
        wrong = (votes != targets).any(axis=1)
        error = max(weight @ wrong / weight.sum(), MIN_ERROR)
        voter = Voter(tree, votes, np.log(1 / error - 1) + np.log(n_classes - 1))
        useful = tree.feature[0] != LEAF and error < chance
        (voters if useful else constants).append(voter)
        if error >= chance or error == MIN_ERROR:
            break
        weight *= np.exp(voter.weight * (wrong - chance))
        weight *= count.sum() / weight.sum()
    return voters or [constants[0]._replace(weight=1.0)]


def tree_learner(
    model: Any, X: np.ndarray, targets: np.ndarray, count: np.ndarray, random: np.random.Generator
) -> WeakLearner:
    """Return the function that fits trees of an estimator's size to weighted rows, with all features free."""
    limits = Limits(model.max_depth, None, model.min_samples_leaf, 0.0, by_hessian=True)
    bins = Bins.of(X, count, MAX_BINS, np.zeros(X.shape[1], dtype=bool), random)
    codes = bins.codes(X)
    if targets.shape[1] > 1:
        classes = ClassTreeGrower(codes, bins, targets.argmax(axis=1), count, limits)
        return lambda weight: _without_idle_splits(*classes.grow(weight))
    grower = Grower(codes, bins, NoPayments(X.shape[1]), limits, constant_hessian=False, all_weight=float(count.sum()))
    return lambda weight: _without_idle_splits(*_sign_tree(grower, weight, count, targets[:, 0]))


def _sign_tree(grower: Grower, weight: np.ndarray, count: np.ndarray, targets: np.ndarray) -> VotingTree:
    """Fit a regression tree to targets of +-1; its leaves vote by their signs."""
    all_rows, no_rows = np.arange(len(targets), dtype=np.uint32), np.arange(0, dtype=np.uint32)
    features = np.arange(grower.codes.n_features)
    grown = grower.grow(Bag(-weight * targets, weight, count, all_rows, no_rows, features, grower.n_words))
    scores = np.zeros(len(targets))
    grown.add_to(scores, 1.0)
    tree = grown.as_tree(1.0)
    votes = np.where(scores > 0, 1, -1).astype(np.int8)
    return tree._replace(value=np.where(tree.value > 0, 1.0, -1.0)), votes[:, None]


def _without_idle_splits(tree: Tree, votes: np.ndarray) -> VotingTree:
    """Turn splits with the same vote on both sides into leaves, so that no row pays for them."""
    value, feature = tree.value.copy(), tree.feature.copy()
    for node in np.flatnonzero(feature != LEAF)[::-1]:  # children come after their parents
        left, right = tree.left[node], tree.right[node]
        if feature[left] == feature[right] == LEAF and (value[left] == value[right]).all():
            feature[node], value[node] = LEAF, value[left]
    return tree._replace(feature=feature, value=value), votes
