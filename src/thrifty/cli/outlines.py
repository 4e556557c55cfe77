"""What a fitted model buys for whom, read off its structure: stages of a tree, rounds of a forest, a policy's steps."""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from rich.text import Text
from rich.tree import Tree

from thrifty.cli.amounts import amount
from thrifty.cli.served import Served
from thrifty.cli.terminal import plain_table
from thrifty.models.boosting.estimator import ForestEstimator
from thrifty.models.policies.estimator import PolicyClassifier
from thrifty.models.session import Acquire
from thrifty.models.tables.table_model import TableModel
from thrifty.models.trees.estimator import TreeEstimator
from thrifty.models.trees.linear_tree import END, ROOT

MOST_TERMS = 4  # of a rule


@dataclass(frozen=True)
class Stage:
    """What rows that get here buy, what decides where they go on, and where that is."""

    who: str
    buys: list[str]
    cost: float
    paid: float
    share: float | None  # of the rows that were shown
    rule: str | None = None  # None where the row is answered
    children: list["Stage"] = field(default_factory=list)


@dataclass(frozen=True)
class Use:
    """When a column is first looked at, and what it costs alone."""

    feature: str
    price: float
    first: int | None  # None where that depends on the row
    count: int | None  # in how many rounds or steps


Outline = Stage | list[Use]


def outline_of(served: Served, exits: np.ndarray | None = None) -> Outline:
    """Return the structure of a model; `exits` are those of rows whose shares are to be told."""
    if isinstance(served.method, TreeEstimator):
        return TreeReader(served, exits).stage(ROOT, "every row")
    return uses(served)


def draw_outline(served: Served, outline: Outline) -> Any:
    """Return the structure as the terminal shows it."""
    if isinstance(outline, Stage):
        return _branch(served, outline, Tree(_label(served, outline), guide_style="dim"))
    table = plain_table(feature="left", price_alone="right")
    ordered = not isinstance(served.method, PolicyClassifier)
    what = "round" if isinstance(served.method, ForestEstimator) else "step"
    for name in (f"first {what}", f"{what}s") if ordered else ():
        table.add_column(name, justify="right")
    for use in outline:
        counts = (str(use.first), str(use.count)) if ordered else ()
        table.add_row(use.feature, amount(use.price, served.costs.unit, fixed=True), *counts)
    return table


def explanation(served: Served) -> str:
    """Say how such a model goes about it."""
    if isinstance(served.method, TreeEstimator):
        return "Bought in stages; what is found decides which one comes next."
    if isinstance(served.method, ForestEstimator):
        return "Trees in rounds; a row pays for a feature when its way through a tree first comes to it."
    if isinstance(served.method, PolicyClassifier):
        step = served.model.session().next()
        first = f" It begins with {', '.join(map(served.name_of, step.features))}." if isinstance(step, Acquire) else ""
        return f"One thing at a time, chosen by what is known of the row; it may stop after any of them.{first}"
    return "The same order for every row, which stops when its answer is evident."


# Trees and cascades


class TreeReader:
    """Reads the stages of a tree of linear nodes; nodes with no decision between them are one stage."""

    def __init__(self, served: Served, exits: np.ndarray | None):
        self.served, self.exits, self.tree = served, exits, served.method.tree_
        self.buys = _raw(served, served.method.node_purchases())
        self.labels = _derived_labels(served)

    def stage(self, node: int, who: str) -> Stage:
        """Return the stage that begins at a node, with all that follows."""
        tree, parent = self.tree, int(self.tree.parent[node])
        share = self._share(node)
        while tree.upper[node] == tree.lower[node] != END:
            node = int(tree.upper[node])
        cost, paid = float(tree.price_between(parent, node)), float(tree.path_cost[node])
        bought = self._held(node) & ~self._held(parent)
        names = [self.served.names[j] for j in np.flatnonzero(bought)]
        if tree.upper[node] == tree.lower[node]:
            return Stage(who, names, cost, paid, share)
        children = [self._way(node, int(child), word) for child, word in self._ways(node)]
        return Stage(who, names, cost, paid, share, self._rule(node), children)

    def _ways(self, node: int) -> list[tuple[int, str]]:
        return [(self.tree.upper[node], "yes"), (self.tree.lower[node], "no")]

    def _way(self, node: int, child: int, word: str) -> Stage:
        if child != END:
            return self.stage(child, word)
        share = None if self.exits is None else float(np.mean(self.exits == node))
        return Stage(word, [], 0.0, float(self.tree.path_cost[node]), share)

    def _held(self, node: int) -> np.ndarray:
        held = np.zeros(len(self.served.names), dtype=bool)
        while node != END:
            held |= self.buys[node]
            node = int(self.tree.parent[node])
        return held

    def _share(self, node: int) -> float | None:
        if self.exits is None:
            return None
        below = np.zeros(self.tree.n_nodes, dtype=bool)
        below[node] = True
        for k in range(node + 1, self.tree.n_nodes):  # a child follows its parent
            below[k] = below[self.tree.parent[k]]
        return float(np.mean((self.exits != END) & below[self.exits]))

    def _rule(self, node: int) -> str:
        arrays = self.tree.arrays
        path = slice(*arrays.at[node : node + 2].tolist())
        weights, features = arrays.projection[path], arrays.features[path].astype(int)
        weighty = np.argsort(-np.abs(weights), kind="stable")[:MOST_TERMS]
        terms = " ".join(f"{weights[k]:+.3g} {self.labels(int(features[k]))}" for k in weighty if weights[k])
        rest = " ..." if np.count_nonzero(weights) > MOST_TERMS else ""
        return f"{terms.removeprefix('+')}{rest} > {arrays.threshold[node] - arrays.projection_intercept[node]:.3g}"


def _branch(served: Served, stage: Stage, tree: Tree) -> Tree:
    for child in stage.children:
        _branch(served, child, tree.add(_label(served, child)))
    return tree


def _label(served: Served, stage: Stage) -> Text:
    """Write a stage: who comes, what is bought for how much, and what is asked next."""
    text = Text.assemble((stage.who, "bold"), ": ")
    if stage.buys:
        text.append(f"buy {', '.join(stage.buys)} for {served.amount(stage.cost)}")
        text.append(f", {served.amount(stage.paid)} in all" if stage.paid != stage.cost else "")
    elif stage.rule is not None:
        text.append("buy nothing more")
    if stage.rule is None:
        text.append(" and answer" if stage.buys else "answer")
    text.append(f" ({stage.share:.0%} of rows)" if stage.share is not None else "", "cyan")
    if stage.rule is not None:
        text.append(f"\n{stage.rule}?", "dim")
    return text


def _raw(served: Served, derived: np.ndarray) -> np.ndarray:
    """Return which raw columns are behind marked ones."""
    return served.model.encoder_.raw_mask(derived) if isinstance(served.model, TableModel) else derived


def _derived_labels(served: Served) -> Callable[[int], str]:
    """Return what calls the numbers that a tree is linear in by their names."""
    if getattr(served.method, "feature_map_", None) is not None:
        return "tree {}".format
    labels = served.model.encoder_.labels if isinstance(served.model, TableModel) else served.names
    return labels.__getitem__


# Everything else: when is a column first used?


def uses(served: Served) -> list[Use]:
    """Return the columns in the order in which they come up; none that never does."""
    alone = served.costs.of(np.eye(len(served.names), dtype=bool)).tolist()
    if isinstance(served.method, PolicyClassifier):
        return [Use(name, price, None, None) for name, price in zip(served.names, alone, strict=True)]
    marks = _raw(served, _marks(served.method))
    order = [j for j in np.argsort(marks.argmax(axis=0), kind="stable").tolist() if marks[:, j].any()]
    return [Use(served.names[j], alone[j], int(marks[:, j].argmax()) + 1, int(marks[:, j].sum())) for j in order]


def _marks(method: Any) -> np.ndarray:
    """Mark the columns that come up in each round of a forest or step of a chain."""
    if isinstance(method, ForestEstimator):
        edges = method._priced().round_at[:-1].astype(int)
        return np.logical_or.reduceat(method.forest_.tree_reads, edges, axis=0)
    return method.chain_.buys
