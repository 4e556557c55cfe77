"""The boosting loop: each round grows one tree per score, pays for its features, and records the loss and the spend."""

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from thrifty.models.boosting.coded_rows import CodedRows
from thrifty.models.boosting.lookahead import Lookahead
from thrifty.models.forests.forest import LEAF, Forest, Tree
from thrifty.models.growing.grown_tree import GrownTree
from thrifty.models.growing.growth import Grower
from thrifty.models.growing.limits import Limits
from thrifty.models.growing.payments import PAYMENTS, Payments


@dataclass(frozen=True)
class Plan:
    """The parameters of boosting.

    Attributes
    ----------
    n_estimators : int
        The largest number of rounds.
    learning_rate : float
    limits : Limits
        Limits on each tree.
    cost_weight : float
    charge : {"ensemble", "row"}
    lookahead : bool
    budget : float
        Infinity if there is no budget.
    evaluation_cost : float
        The cost of evaluating one tree.
    subsample, max_features : float
        The share of the rows, and of the features, that each round draws.
    n_iter_no_change : int or None
        Boosting stops after this many rounds without a better score of the held-out rows; None: it does not.
    """

    n_estimators: int
    learning_rate: float
    limits: Limits
    cost_weight: float
    charge: str
    lookahead: bool
    budget: float
    evaluation_cost: float
    subsample: float
    max_features: float
    n_iter_no_change: int | None

    @property
    def is_random(self) -> bool:
        """Whether each round draws its rows or features."""
        return self.subsample < 1 or self.max_features < 1


@dataclass(eq=False)
class Rounds:
    """The result of boosting.

    Attributes
    ----------
    base : ndarray of shape (n_scores,)
        The initial scores.
    trees : list of Tree
        The trees of all rounds, ``n_scores`` per round.
    features : list of frozenset of int
        The features that the trees up to each round split on.
    history : dict of list
        Loss, spend and other numbers after each round.
    """

    base: np.ndarray
    trees: list[Tree] = field(default_factory=list)
    features: list[frozenset[int]] = field(default_factory=list)
    history: dict[str, list[float]] = field(default_factory=dict)

    @property
    def n_rounds(self) -> int:
        """The number of rounds."""
        return len(self.features)

    @property
    def best(self) -> int:
        """The number of rounds with the best score of the held-out rows; all rounds if no rows are held out."""
        scores = self.history.get("validation_score")
        return int(np.argmax(scores)) + 1 if scores else self.n_rounds

    def forest(self, n_features: int, n_rounds: int) -> Forest:
        """Return the trees of the first rounds; without rounds, trees that consist of a leaf with value 0."""
        zero = Tree([LEAF], [0.0], [0], [0], [[0.0]])
        trees = self.trees[: n_rounds * len(self.base)] or [zero] * len(self.base)
        return Forest.from_trees(trees, n_features=n_features, base=self.base)


def boost(rows: CodedRows, plan: Plan, random: np.random.Generator, advance: Callable[[str], None]) -> Rounds:
    """Run the boosting loop.

    A split must save ``rate`` units of loss per row for each unit of cost, where rate = cost_weight / learning_rate *
    scale of the loss. The factor 1 / learning_rate is that of eq. (5) of the Greedy Miser.

    Parameters
    ----------
    rows : CodedRows
    plan : Plan
    random : Generator
        Draws the rows and features of each round.
    advance : callable
        Called after each round with a text that reports progress.

    Returns
    -------
    Rounds
    """
    loss = rows.loss
    rate = plan.cost_weight / plan.learning_rate * loss.scale(rows.train)
    payments = PAYMENTS[plan.charge](rows.cost_model, rows.training_weight, rate)
    all_weight = float(rows.training_weight.sum())
    grower = Grower(rows.codes, rows.bins, payments, plan.limits, loss.constant_hessian, all_weight)
    lookahead = Lookahead(payments) if plan.lookahead and rate > 0 else None
    rounds = Rounds(loss.base(rows.train))
    scores = np.repeat(rounds.base[:, None], rows.codes.n_rows, axis=1)
    for _ in range(plan.n_estimators):
        evaluation = plan.evaluation_cost * (len(rounds.trees) + len(rounds.base))
        if evaluation > plan.budget:
            break
        payments.start_round(plan.budget - evaluation)
        grown = _grow(grower, lookahead, Draw.of(rows, plan, random), loss.derivatives(scores))
        saved = sum(tree.saved for tree in grown)
        if any(tree.n_splits for tree in grown) and saved > rate * plan.evaluation_cost * len(grown):
            for tree, line in zip(grown, scores, strict=True):
                tree.add_to(line, plan.learning_rate)
            _record(rounds, rows, plan, grown, payments, scores)
            advance(f"loss {rounds.history['loss'][-1]:.5g}, spend {rounds.history['spend'][-1]:.4g}")
            if plan.n_iter_no_change is not None and rounds.n_rounds - rounds.best >= plan.n_iter_no_change:
                break
        else:
            payments.undo_round()
            if not plan.is_random:
                break  # every further round would be the same
    return rounds


def _grow(
    grower: Grower, lookahead: Lookahead | None, draw: "Draw", derivatives: tuple[np.ndarray, np.ndarray]
) -> list[GrownTree]:
    """Grow the trees of a round, given the gradients and Hessians (n_scores, n) of all rows."""
    by_score: list[tuple[Any, Any]] = list(zip(*derivatives, strict=True))
    if lookahead is not None:
        lookahead.buy(partial(_saving, grower, by_score, draw.bag), draw.features)
    return [grower.grow(*each, draw.bag.copy(), draw.rest.copy(), draw.features) for each in by_score]


def _saving(grower: Grower, derivatives: list[tuple[Any, Any]], bag: np.ndarray, features: np.ndarray) -> float:
    """Return the loss per row that a round on these features would save if they were free."""
    return sum(grower.saving(gradient, hessian, bag, features) for gradient, hessian in derivatives)


class Draw(NamedTuple):
    """The features and rows of one round.

    Attributes
    ----------
    features : ndarray of int
        The features that trees may split on.
    bag : ndarray of uint32
        The rows that trees are grown on.
    rest : ndarray of uint32
        The other rows, which are only sent down the trees.
    """

    features: np.ndarray
    bag: np.ndarray
    rest: np.ndarray

    @classmethod
    def of(cls, rows: CodedRows, plan: Plan, random: np.random.Generator) -> "Draw":
        """Draw the features and the training rows of a round, without replacement."""
        n_features, n_rows = rows.codes.n_features, rows.codes.n_rows
        features, in_bag = np.arange(n_features), np.zeros(n_rows, dtype=bool)
        if plan.max_features < 1:
            features = np.sort(random.choice(n_features, max(1, round(plan.max_features * n_features)), replace=False))
        if plan.subsample < 1:
            in_bag[random.choice(rows.n_train, max(1, round(plan.subsample * rows.n_train)), replace=False)] = True
        else:
            in_bag[rows.train] = True
        bag, rest = (np.flatnonzero(each).astype(np.uint32) for each in (in_bag, ~in_bag))
        return cls(features, bag, rest)


def _record(
    rounds: Rounds, rows: CodedRows, plan: Plan, grown: list[GrownTree], payments: Payments, scores: np.ndarray
) -> None:
    """Add a round to the result."""
    rounds.trees += [tree.as_tree(plan.learning_rate) for tree in grown]
    rounds.features.append(frozenset().union(*rounds.features[-1:], *(tree.features for tree in grown)))
    payments.give_back_unread(set(rounds.features[-1]))
    evaluation = plan.evaluation_cost * len(rounds.trees)
    record = {
        "loss": rows.loss.value(scores, rows.train),
        "spend": evaluation + float(np.average(payments.spend[rows.train], weights=payments.weight[rows.train])),
        "cost": evaluation + payments.ledger.spent,
        "n_features": len(payments.features),
    }
    if rows.held_out_score is not None:
        record["validation_score"] = rows.held_out_score(scores)
        record["validation_spend"] = evaluation + float(payments.spend[rows.held_out].mean())
    for name, value in record.items():
        rounds.history.setdefault(name, []).append(value)
