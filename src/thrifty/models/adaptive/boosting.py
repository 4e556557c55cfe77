"""Boosted trees on coded rows: a predictor of one or more scores, and a regressor of many numbers at once.

Both grow trees with the booster of the package, without charging for features: a masked row reads only what it bought.
"""

from typing import NamedTuple

import numpy as np

from thrifty.kernels.adaptive import leaf_means, subtract_steps
from thrifty.models.forests.forest import LEAF, Forest, Tree
from thrifty.models.growing.binning import Bins, Codes
from thrifty.models.growing.growth import Grower, Limits
from thrifty.models.growing.losses import Loss
from thrifty.models.growing.payments import NoPayments


class Plan(NamedTuple):
    """The parameters of boosting.

    Attributes
    ----------
    n_rounds : int
        The largest number of rounds.
    learning_rate : float
    limits : Limits
        Limits on each tree.
    max_features : float
        The share of the features that each tree draws.
    patience : int or None
        Boosting stops after this many rounds without a smaller loss of the held-out rows; None: it does not.
    """

    n_rounds: int
    learning_rate: float
    limits: Limits
    max_features: float = 1.0
    patience: int | None = None


class Boosted(NamedTuple):
    """Boosted trees of one or more scores, what the scores start from (n_scores,), and the number of rounds."""

    trees: list[Tree]
    base: np.ndarray
    n_features: int
    n_rounds: float

    @property
    def forest(self) -> Forest:
        """The trees as a forest; tree t adds to score t % n_scores."""
        return Forest.from_trees(self.trees, n_features=self.n_features, base=self.base)


class VectorTrees(NamedTuple):
    """Trees with one value per output at each leaf, and what their sums start from (n_outputs,)."""

    trees: list[Tree]
    base: np.ndarray
    n_features: int

    def forest(self) -> Forest:
        """Return the trees as a forest; without trees, one that adds nothing."""
        return Forest.from_trees(self.trees, n_features=self.n_features, base=self.base)


def constant_tree(value: np.ndarray) -> Tree:
    """Return a tree of one leaf with these values."""
    return Tree([LEAF], [0.0], [0], [0], np.reshape(value, (1, -1)), [True])


def boost(
    codes: Codes, bins: Bins, loss: Loss, bag: np.ndarray, held_out: np.ndarray, plan: Plan, random: np.random.Generator
) -> Boosted:
    """Fit boosted trees to some rows; other rows may decide the number of rounds.

    Parameters
    ----------
    codes : Codes
    bins : Bins
    loss : Loss
        The loss of all rows.
    bag : ndarray of uint32
        The rows to fit.
    held_out : ndarray of uint32
        Rows whose loss decides when to stop, if the plan has patience.
    plan : Plan
    random : Generator
        Draws the features of each round.

    Returns
    -------
    Boosted
    """
    grower = Grower(
        codes, bins, NoPayments(loss.weight, codes.n_features), plan.limits, loss.constant_hessian, float(len(bag))
    )
    base = loss.base(slice(None))  # of all rows, because a fold may lack a class
    scores = np.repeat(base[:, None], codes.n_rows, axis=1)
    trees: list[Tree] = []
    best, best_round = np.inf, 0
    for round_ in range(1, plan.n_rounds + 1):
        grown = [
            grower.grow(gradient, hessian, bag.copy(), held_out.copy(), drawn_features(codes.n_features, plan, random))
            for gradient, hessian in zip(*loss.derivatives(scores), strict=True)
        ]
        for tree, line in zip(grown, scores, strict=True):
            tree.add_to(line, plan.learning_rate)
        trees += [tree.as_tree(plan.learning_rate) for tree in grown]
        if not any(tree.n_splits for tree in grown) and plan.max_features >= 1:
            break  # every further round would be the same
        if plan.patience is None:
            best_round = round_
        elif (value := loss.value(scores, held_out)) < best:
            best, best_round = value, round_
        elif round_ - best_round >= plan.patience:
            break
    kept = trees[: best_round * len(base)] or [constant_tree(np.zeros(1))] * len(base)
    return Boosted(kept, base, codes.n_features, best_round)


def boost_vector(
    codes: Codes, bins: Bins, labels: np.ndarray, weight: np.ndarray, plan: Plan, random: np.random.Generator
) -> VectorTrees:
    """Fit trees whose leaves predict many numbers at once, by least squares.

    In each round the residuals of all outputs are projected on a random direction, a tree is grown on this one number,
    and its leaves hold the mean residual of each output (the random projection of L. Iosipoi, A. Vakhrushev,
    SketchBoost, NeurIPS 2022, with one dimension).

    Parameters
    ----------
    codes : Codes
        The rows.
    bins : Bins
    labels : ndarray of shape (n, n_outputs)
        NaN in an output that does not count for a row.
    weight : ndarray of shape (n,)
    plan : Plan
        ``limits.l2_regularization`` shrinks the means of leaves, as if so many rows had a residual of 0.
    random : Generator

    Returns
    -------
    VectorTrees
        One tree per round.
    """
    n_outputs = labels.shape[1]
    known = np.isfinite(labels)
    base = _means(labels, known, weight)
    residual = np.where(known, labels - base, 0.0)
    spread = np.sqrt(_means(residual**2, known, weight))
    grower = Grower(codes, bins, NoPayments(weight, codes.n_features), plan.limits, True, float(weight.sum()))
    rows, nobody = np.arange(codes.n_rows, dtype=np.uint32), np.empty(0, dtype=np.uint32)
    trees = []
    for _ in range(plan.n_rounds):
        direction = random.standard_normal(n_outputs) * spread
        gradient = -weight * (residual @ direction)
        grown = grower.grow(gradient, weight, rows.copy(), nobody, drawn_features(codes.n_features, plan, random))
        if not grown.n_splits:
            continue
        values = np.zeros((grown.n_nodes, n_outputs))
        for leaf, (members, _) in grown.rows.items():
            leaf_means(members, residual, known, weight, plan.limits.l2_regularization, values[leaf])
            values[leaf] *= plan.learning_rate
            subtract_steps(members, values[leaf], known, residual)
        trees.append(grown.with_values(values))
    return VectorTrees(trees or [constant_tree(np.zeros(n_outputs))], base, codes.n_features)


def drawn_features(n_features: int, plan: Plan, random: np.random.Generator) -> np.ndarray:
    """Return the features that a tree may split on, in ascending order."""
    if plan.max_features >= 1:
        return np.arange(n_features)
    n_drawn = max(1, round(plan.max_features * n_features))
    return np.sort(random.choice(n_features, n_drawn, replace=False))


def _means(values: np.ndarray, known: np.ndarray, weight: np.ndarray) -> np.ndarray:
    """Return the weighted mean of the known values of each column; 0 if there are none."""
    total = weight @ known
    return np.divide(weight @ np.where(known, values, 0.0), total, out=np.zeros(len(total)), where=total > 0)
