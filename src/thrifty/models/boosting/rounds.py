"""The boosting loop: each round grows one tree per score, pays for its features, and records the loss and the spend."""

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from thrifty.costs import CostModel
from thrifty.models.boosting.coded_rows import CodedBlock, CodedRows, held_out_score
from thrifty.models.boosting.lookahead import Lookahead
from thrifty.models.forests.forest import LEAF, Forest, Tree
from thrifty.models.growing.bag import Bag, TreeRows
from thrifty.models.growing.growth import Grower
from thrifty.models.growing.limits import Limits
from thrifty.models.growing.losses import ratio
from thrifty.models.growing.payments import PAYMENTS, Payments, RowAccounts
from thrifty.models.growing.scattered_bag import ScatteredAccounts, ScatteredBag
from thrifty.models.homes import Here, Home, PerBlock

MakeBag = Callable[..., TreeRows]  # of the features that a tree may split on


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
    home = rows.home
    base = rows.loss.base_of(*home.sum(_target_sums))
    rate = plan.cost_weight / plan.learning_rate * ratio(*home.sum(_scale_sums, base))
    accounts = _accounts(home, rows.cost_model)
    payments = PAYMENTS[plan.charge](rows.cost_model, accounts, rate)
    grower = Grower(rows.codes, rows.bins, payments, plan.limits, rows.loss.constant_hessian, accounts.weight)
    lookahead = Lookahead(payments) if plan.lookahead and rate > 0 else None
    rounds = Rounds(base)
    scores, drawn = home.map_small(_constant_scores, base), None
    for _ in range(plan.n_estimators):
        evaluation = plan.evaluation_cost * (len(rounds.trees) + len(rounds.base))
        if evaluation > plan.budget:
            break
        payments.start_round(plan.budget - evaluation)
        draw, derivatives = Draw.of(rows, plan, random), home.beside(scores).map_small(_derivatives)
        if drawn is None or plan.subsample < 1:
            drawn = home.map_small(_drawn_rows, PerBlock(draw.in_bag))
        bags = _bags(grower, home, derivatives, drawn, len(base))
        if lookahead is not None:
            lookahead.buy(partial(_saving, grower, bags), draw.features)
        grown = [grower.grow(bag(draw.features)) for bag in bags]
        saved = sum(tree.saved for tree in grown)
        if any(tree.n_splits for tree in grown) and saved > rate * plan.evaluation_cost * len(grown):
            scores = type(grown[0]).added(grown, scores, plan.learning_rate)
            _record(rounds, rows, plan, grown, payments, scores)
            advance(f"loss {rounds.history['loss'][-1]:.5g}, spend {rounds.history['spend'][-1]:.4g}")
            if plan.n_iter_no_change is not None and rounds.n_rounds - rounds.best >= plan.n_iter_no_change:
                break
        else:
            payments.undo_round()
            if not plan.is_random:
                break  # every further round would be the same
    return rounds


def _accounts(home: Home[CodedBlock], cost_model: CostModel) -> RowAccounts | ScatteredAccounts:
    """Return the accounts of the rows."""
    if not isinstance(home, Here):
        return ScatteredAccounts(home, cost_model.unit_costs)
    block = home.block
    return RowAccounts(block.weight, cost_model.unit_costs, block.n_train)


def _bags(
    grower: Grower, home: Home[CodedBlock], derivatives: Home[Any], drawn: Home[Any], n_scores: int
) -> list[MakeBag]:
    """Return, for each score, the function that makes the bag of a tree."""
    n_words = grower.n_words
    if not isinstance(home, Here):
        return [partial(ScatteredBag, home, derivatives, drawn, k, n_words) for k in range(n_scores)]
    weight, (bag, rest) = home.block.weight, drawn.block

    def make(k: int, features: np.ndarray, has_rest: bool = True) -> Bag:
        gradient, hessian = (each[k] for each in derivatives.block)
        return Bag(gradient, hessian, weight, bag.copy(), rest[: len(rest) * has_rest].copy(), features, n_words)

    return [partial(make, k) for k in range(n_scores)]


def _saving(grower: Grower, bags: list[MakeBag], features: np.ndarray) -> float:
    """Return the loss per row that a round on these features would save if they were free."""
    return sum(grower.saving(bag(features, has_rest=False)) for bag in bags)


class Draw(NamedTuple):
    """The features and rows of one round.

    Attributes
    ----------
    features : ndarray of int
        The features that trees may split on.
    in_bag : list of ndarray of bool, or of None
        Which training rows of each block trees are grown on; None means all.
    """

    features: np.ndarray
    in_bag: list[Any]

    @classmethod
    def of(cls, rows: CodedRows, plan: Plan, random: np.random.Generator) -> "Draw":
        """Draw the features and the training rows of a round, without replacement."""
        n_features, n_rows = rows.codes.n_features, sum(rows.n_train)
        features = np.arange(n_features)
        in_bag: list[Any] = [None] * len(rows.n_train)
        if plan.max_features < 1:
            features = np.sort(random.choice(n_features, max(1, round(plan.max_features * n_features)), replace=False))
        if plan.subsample < 1:
            of_all = np.zeros(n_rows, dtype=bool)
            of_all[random.choice(n_rows, max(1, round(plan.subsample * n_rows)), replace=False)] = True
            in_bag = np.split(of_all, np.cumsum(rows.n_train)[:-1])
        return cls(features, in_bag)


def _record(
    rounds: Rounds, rows: CodedRows, plan: Plan, grown: list[Any], payments: Payments, scores: Home[np.ndarray]
) -> None:
    """Add a round to the result."""
    rounds.trees += [tree.as_tree(plan.learning_rate) for tree in grown]
    rounds.features.append(frozenset().union(*rounds.features[-1:], *(tree.features for tree in grown)))
    payments.give_back_unread(set(rounds.features[-1]))
    evaluation = plan.evaluation_cost * len(rounds.trees)
    scored = rows.home.beside(scores)
    spend, weight, held_out_spend, n_held_out = payments.accounts.spend_sums()
    record = {
        "loss": ratio(*scored.sum(_loss_sums)),
        "spend": evaluation + float(spend / weight),
        "cost": evaluation + payments.ledger.spent,
        "n_features": len(payments.features),
    }
    if rows.has_held_out:
        found = [each for each in scored.collect(held_out_score, rows.scoring) if each is not None]
        record["validation_score"] = found[0]
        record["validation_spend"] = evaluation + float(held_out_spend / n_held_out)
    for name, value in record.items():
        rounds.history.setdefault(name, []).append(value)


# Functions of one block


def _target_sums(block: CodedBlock) -> tuple[np.ndarray, float]:
    return block.loss.target_sums(block.train)


def _scale_sums(block: CodedBlock, base: np.ndarray) -> tuple[float, float]:
    return block.loss.scale_sums(block.train, base)


def _loss_sums(block: CodedBlock, scores: np.ndarray) -> tuple[float, float]:
    return block.loss.value_sums(scores, block.train)


def _constant_scores(block: CodedBlock, base: np.ndarray) -> np.ndarray:
    return np.repeat(base[:, None], block.codes.n_rows, axis=1)


def _derivatives(block: CodedBlock, scores: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    return block.loss.derivatives(scores)


def _drawn_rows(block: CodedBlock, in_bag: np.ndarray | None) -> tuple[np.ndarray, np.ndarray]:
    """Return the rows of a block that trees are grown on, and its other rows."""
    of_all = np.zeros(block.codes.n_rows, dtype=bool)
    of_all[block.train] = True if in_bag is None else in_bag
    return np.flatnonzero(of_all).astype(np.uint32), np.flatnonzero(~of_all).astype(np.uint32)
