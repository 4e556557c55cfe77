"""The boosting loop: round after round a tree per score, what it bought, and how far the loss has come down.

Rows are coded once and shared by every fit on them. Rows that are held out stand behind the training rows in the same
arrays: they are sent down every tree and pay like any other, but no tree is grown on them.
"""

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from thrifty.costs import CostModel
from thrifty.models.boosting.accounts import CHARGES, Accounts
from thrifty.models.boosting.binning import Bins, Codes
from thrifty.models.boosting.growth import Grower, GrownTree, Limits
from thrifty.models.boosting.lookahead import Shopper
from thrifty.models.boosting.losses import Loss
from thrifty.models.forests.forest import LEAF, Forest, Tree

Judge = Callable[[np.ndarray], float]  # of the scores (n_scores, n) of all rows; larger is better


@dataclass(frozen=True, eq=False)
class CodedRows:
    """Training rows, and behind them those held out, as a booster sees them."""

    bins: Bins
    codes: Codes
    loss: Loss
    n_train: int
    cost_model: CostModel
    judge: Judge | None  # of the rows held out, if there are any

    @property
    def train(self) -> slice:
        """The rows that trees are grown on."""
        return slice(0, self.n_train)

    @property
    def held_out(self) -> slice:
        """The rows that are only looked on."""
        return slice(self.n_train, None)


@dataclass(frozen=True)
class Plan:
    """How to boost."""

    n_estimators: int
    learning_rate: float
    limits: Limits
    cost_weight: float
    charge: str
    evaluation_cost: float
    subsample: float
    max_features: float
    patience: int | None  # rounds without a better validation score before the end
    lookahead: bool
    budget: float

    @property
    def draws(self) -> bool:
        """Whether rounds differ in what they are grown on."""
        return self.subsample < 1 or self.max_features < 1


@dataclass(eq=False)
class Rounds:
    """What boosting came to: the trees of every round and the record of each."""

    base: np.ndarray
    trees: list[Tree] = field(default_factory=list)
    features: list[frozenset[int]] = field(default_factory=list)  # bought so far, by round
    history: dict[str, list[float]] = field(default_factory=dict)

    @property
    def n_rounds(self) -> int:
        """How many rounds there were."""
        return len(self.features)

    @property
    def best(self) -> int:
        """The number of rounds after which the held-out rows were answered best, else all."""
        scores = self.history.get("validation_score")
        return int(np.argmax(scores)) + 1 if scores else self.n_rounds

    def forest(self, n_features: int, n_rounds: int) -> Forest:
        """Return the trees of the first rounds; if there are none, a tree that is a leaf and changes nothing."""
        nothing = Tree([LEAF], [0.0], [0], [0], [[0.0]])
        trees = self.trees[: n_rounds * len(self.base)] or [nothing] * len(self.base)
        return Forest.from_trees(trees, n_features=n_features, base=self.base)


def boost(rows: CodedRows, plan: Plan, random: np.random.Generator, advance: Callable[[str], None]) -> Rounds:
    """Boost as planned."""
    loss = rows.loss
    rate = plan.cost_weight / plan.learning_rate * loss.scale(rows.train)
    accounts = CHARGES[plan.charge](rows.cost_model, loss.weight, rate, plan.budget)
    grower = Grower(
        rows.codes, rows.bins, accounts, plan.limits, loss.constant_curvature, float(loss.weight[rows.train].sum())
    )
    shopper = Shopper(accounts) if plan.lookahead and rate > 0 else None
    rounds = Rounds(loss.base(rows.train))
    scores = np.repeat(rounds.base[:, None], rows.codes.n_rows, axis=1)
    for _ in range(plan.n_estimators):
        accounts.budget -= plan.evaluation_cost * len(rounds.base)
        if accounts.budget < 0:
            break
        draw = Draw.of(rows, plan, random)
        derivatives = list(zip(*loss.derivatives(scores), strict=True))
        if shopper is not None:
            shopper.shop(partial(_saving, grower, derivatives, draw.bag), draw.features)
        grown = [grower.grow(*each, draw.bag.copy(), draw.rest.copy(), draw.features) for each in derivatives]
        saved = sum(tree.saved for tree in grown)
        if any(tree.n_splits for tree in grown) and saved > rate * plan.evaluation_cost * len(grown):
            for tree, line in zip(grown, scores, strict=True):
                tree.add_to(line, plan.learning_rate)
            _record(rounds, rows, plan, grown, accounts, scores)
            advance(f"loss {rounds.history['loss'][-1]:.5g}, spend {rounds.history['spend'][-1]:.4g}")
            if plan.patience is not None and rounds.n_rounds - rounds.best >= plan.patience:
                break
        elif not plan.draws:
            break  # and so it would be in every round to come
    return rounds


def _saving(grower: Grower, derivatives: list[tuple[Any, Any]], bag: np.ndarray, features: np.ndarray) -> float:
    """Return what a round on some features would save if they were free."""
    return sum(grower.saving(gradient, curvature, bag, features) for gradient, curvature in derivatives)


class Draw(NamedTuple):
    """What a round is grown on."""

    features: np.ndarray  # that it may split on
    bag: np.ndarray  # rows it learns from
    rest: np.ndarray  # rows that are only sent down its trees

    @classmethod
    def of(cls, rows: CodedRows, plan: Plan, random: np.random.Generator) -> "Draw":
        """Draw the features and the training rows of a round."""
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
    rounds: Rounds, rows: CodedRows, plan: Plan, grown: list[GrownTree], accounts: Accounts, scores: np.ndarray
) -> None:
    rounds.trees += [tree.as_tree(plan.learning_rate) for tree in grown]
    rounds.features.append(frozenset(accounts.features))
    evaluated = plan.evaluation_cost * len(rounds.trees)
    record = {
        "loss": rows.loss.value(scores, rows.train),
        "spend": evaluated + float(np.average(accounts.spend[rows.train], weights=accounts.weight[rows.train])),
        "cost": evaluated + accounts.ledger.spent,
        "n_features": len(accounts.features),
    }
    if rows.judge is not None:
        record["validation_score"] = rows.judge(scores)
        record["validation_spend"] = evaluated + float(accounts.spend[rows.held_out].mean())
    for name, value in record.items():
        rounds.history.setdefault(name, []).append(value)
