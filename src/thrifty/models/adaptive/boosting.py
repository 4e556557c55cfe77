"""Boosted trees on coded rows, for one score or many.

Trees are grown with the booster of the package, without charging for features: a masked row reads only what it bought.
With many outputs, a tree is grown on the derivatives along one random direction, and its leaves hold a step for every
output (the random projection of L. Iosipoi, A. Vakhrushev, SketchBoost, NeurIPS 2022, with one dimension).
"""

from typing import NamedTuple, Protocol

import numpy as np

from thrifty.models.forests.forest import LEAF, Forest, Tree
from thrifty.models.growing.bag import Bag
from thrifty.models.growing.binning import Bins, Codes
from thrifty.models.growing.grown_tree import GrownTree
from thrifty.models.growing.growth import Grower
from thrifty.models.growing.limits import Limits
from thrifty.models.growing.payments import NoPayments


class Plan(NamedTuple):
    """The parameters of boosting.

    Attributes
    ----------
    n_rounds : int
        The largest number of rounds.
    learning_rate : float
    limits : Limits
        Limits on each tree. ``limits.l2_regularization`` also shrinks the steps of its leaves.
    max_features : float
        The share of the features that each tree draws.
    patience : int or None
        Boosting stops after this many rounds without a smaller loss of the held-out rows; None: it does not. The trees
        of these rounds are returned too.
    """

    n_rounds: int
    learning_rate: float
    limits: Limits
    max_features: float = 1.0
    patience: int | None = None


class Outputs(Protocol):
    """What trees are fitted to: the outputs of all rows so far, and their loss; see `boosted_outputs`.

    Attributes
    ----------
    base : ndarray of shape (n_outputs,)
        What the outputs start from.
    weight : ndarray of shape (n,)
        The weights of the rows.
    constant_hessian : bool
        Whether the second derivatives are the weights.
    """

    base: np.ndarray
    weight: np.ndarray
    constant_hessian: bool

    def derivatives(self, random: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
        """Return the first and second derivative (n,) of the loss along one direction of the outputs."""

    def take_steps(self, grown: GrownTree, plan: Plan) -> Tree:
        """Change the outputs by the steps of the leaves of a tree, and return the tree with these steps."""

    def loss(self, rows: np.ndarray) -> float:
        """Return the mean loss of some rows."""


class Boosted(NamedTuple):
    """Boosted trees.

    Attributes
    ----------
    trees : list of Tree
        A leaf has a value for each output.
    base : ndarray of shape (n_outputs,)
        What their sums start from.
    n_features : int
    n_trees : list of int
        The number of trees after 0, 1, 2, ... rounds. A tree without a split is left out.
    losses : list of float
        The loss of held-out rows after 0, 1, 2, ... rounds; NaN if the plan has no patience.
    """

    trees: list[Tree]
    base: np.ndarray
    n_features: int
    n_trees: list[int]
    losses: list[float]

    def first(self, n_rounds: int) -> "Boosted":
        """Return the trees of the first rounds."""
        trees = self.trees[: self.n_trees[min(n_rounds, len(self.n_trees) - 1)]]
        return self._replace(trees=trees or [constant_tree(len(self.base))])

    def forest(self) -> Forest:
        """Return the trees as a forest."""
        return Forest.from_trees(self.trees, n_features=self.n_features, base=self.base)


def boost(
    codes: Codes,
    bins: Bins,
    outputs: Outputs,
    bag: np.ndarray,
    held_out: np.ndarray,
    plan: Plan,
    random: np.random.Generator,
    features: np.ndarray | None = None,
) -> Boosted:
    """Fit boosted trees to some rows; other rows may decide the number of rounds.

    Parameters
    ----------
    codes : Codes
    bins : Bins
    outputs : Outputs
        The outputs of all rows. They change.
    bag : ndarray of uint32
        The rows to fit.
    held_out : ndarray of uint32
        Rows whose loss decides when to stop, if the plan has patience.
    plan : Plan
    random : Generator
        Draws the features and the direction of each round.
    features : ndarray of int, optional
        The features that trees may split on, in ascending order; all by default.

    Returns
    -------
    Boosted
    """
    weight, n_features = outputs.weight, codes.n_features
    features = np.arange(n_features) if features is None else features
    payments = NoPayments(n_features)
    grower = Grower(codes, bins, payments, plan.limits, outputs.constant_hessian, float(weight[bag].sum()))
    trees: list[Tree] = []
    n_trees, losses, best_round = [0], [_held_out_loss(outputs, held_out, plan)], 0
    for round_ in range(1, plan.n_rounds + 1):
        drawn = drawn_features(features, plan, random)
        rows = bag.copy(), held_out.copy()
        grown = grower.grow(Bag(*outputs.derivatives(random), weight, *rows, drawn, grower.n_words))
        if grown.n_splits:  # a tree without a split changes nothing
            trees.append(outputs.take_steps(grown, plan))
        n_trees.append(len(trees))
        losses.append(_held_out_loss(outputs, held_out, plan))
        if plan.patience is None or losses[-1] < losses[best_round]:
            best_round = round_
        elif round_ - best_round >= plan.patience:
            break
    return Boosted(trees or [constant_tree(len(outputs.base))], outputs.base, n_features, n_trees, losses)


def _held_out_loss(outputs: Outputs, held_out: np.ndarray, plan: Plan) -> float:
    return outputs.loss(held_out) if plan.patience is not None else np.nan


def drawn_features(features: np.ndarray, plan: Plan, random: np.random.Generator) -> np.ndarray:
    """Return the features that a tree may split on, in ascending order."""
    if plan.max_features >= 1:
        return features
    n_drawn = max(1, round(plan.max_features * len(features)))
    return np.sort(random.permutation(features)[:n_drawn])


def constant_tree(n_outputs: int) -> Tree:
    """Return a tree that adds nothing."""
    return Tree([LEAF], [0.0], [0], [0], np.zeros((1, n_outputs)), [True])
