"""What the picture of a tree says: for each node, what it buys, for whom, and where they go next.

Pure bookkeeping: nothing here draws.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from thrifty.plots.tree_order import children


@dataclass(frozen=True)
class NodeCard:
    """One node in words and numbers.

    ``buys`` names the first of its purchases, ``more`` counts the others. ``label`` is the mean label of the
    rows that reach the node: of y itself, of 0/1 for two classes, of one 0/1 column per class for more; empty
    when it is not known.
    """

    node: int
    parent: int
    children: tuple[int, ...]
    buys: tuple[str, ...]
    more: int
    cost: str
    rows: str
    route: str
    n_rows: int
    n_exits: int
    label: tuple[float, ...]


@dataclass(frozen=True)
class Labels:
    """How y becomes numbers, and how their means become words.

    ``classes`` is empty for regression; y is None when labels are not known.
    """

    y: NDArray[Any] | None
    classes: tuple[Any, ...] = ()

    @property
    def names(self) -> tuple[str, ...]:
        """The classes whose shares are shown: the second of two, else all."""
        shown = self.classes[1:] if len(self.classes) == 2 else self.classes
        return tuple(name if isinstance(name, str) else f"class {name}".removesuffix(".0") for name in shown)

    def targets(self, n_rows: int) -> NDArray[np.float64]:
        """One column of numbers per mean that is shown, a row per row of y."""
        if self.y is None:
            return np.empty((n_rows, 0))
        if not self.classes:
            return np.asarray(self.y, dtype=float)[:, None]
        one_hot = (self.y[:, None] == np.asarray(self.classes)).astype(float)
        return one_hot[:, 1:] if len(self.classes) == 2 else one_hot

    def describe(self, mean: Sequence[float]) -> str:
        """Say a mean label in words: the mean itself, or the share of the class that matters."""
        if not mean:
            return ""
        if not self.names:
            return f"mean {mean[0]:.3g}"
        largest = int(np.argmax(mean))
        return f"{mean[largest]:.0%} {self.names[largest]}"


@dataclass(frozen=True)
class TreeCards:
    """Every node's card, in node order, with what is said once for the whole tree."""

    cards: tuple[NodeCard, ...]
    labels: Labels
    summary: str


def tree_cards(
    estimator: Any,
    X: Any,
    y: ArrayLike | None = None,
    *,
    feature_names: Sequence[str] | None = None,
    max_features: int = 4,
) -> TreeCards:
    """Send the rows of X through a fitted tree and write down what happens at each node."""
    exits = np.asarray(estimator.acquire(X).exit)
    n_rows, tree, unit = len(exits), estimator.tree_, estimator.cost_model_.unit
    labels = _labels(estimator, y, n_rows)
    names, purchases = _feature_names(estimator, feature_names), estimator.node_purchases()
    ending = _sums_at_exits(tree, exits, np.column_stack([np.ones(n_rows), labels.targets(n_rows)]))
    passing = _with_those_below(tree, ending)

    def card(k: int) -> NodeCard:
        count, n_exits, bought = int(passing[k, 0]), int(ending[k, 0]), np.flatnonzero(purchases[k])
        mean = tuple((passing[k, 1:] / count).tolist()) if count else ()
        says = (_count_text(count, n_exits, is_leaf=not children(tree, k)), labels.describe(mean))
        return NodeCard(
            node=k,
            parent=int(tree.parent[k]),
            children=children(tree, k),
            buys=tuple(names[j] for j in bought[:max_features]),
            more=max(0, len(bought) - max_features),
            cost=_cost_text(tree.step_cost[k], tree.path_cost[k], unit),
            rows=" · ".join(filter(None, says)),
            route=_route_text(tree.upper[k], tree.lower[k], tree.threshold[k]),
            n_rows=count,
            n_exits=n_exits,
            label=mean,
        )

    spend = ending[:, 0] @ tree.path_cost / n_rows
    summary = f"{_rows(n_rows)} · mean spend {_amount(spend, unit)} per row"
    return TreeCards(tuple(map(card, range(tree.n_nodes))), labels, summary)


def _labels(estimator: Any, y: ArrayLike | None, n_rows: int) -> Labels:
    if y is None:
        return Labels(None)
    given = np.asarray(y)
    if given.shape != (n_rows,):
        raise ValueError(f"y has shape {given.shape} but X has {n_rows} rows; pass one label per row.")
    classes = np.asarray(getattr(estimator, "classes_", ()))
    unknown = np.setdiff1d(given, classes) if len(classes) else classes
    if len(unknown):
        raise ValueError(f"y holds {unknown.tolist()[0]!r}; expected one of the classes {classes.tolist()}.")
    return Labels(given, tuple(classes.tolist()))


def _feature_names(estimator: Any, given: Sequence[str] | None) -> list[str]:
    n_features = estimator.cost_model_.n_features
    if given is None:
        given = getattr(estimator, "feature_names_in_", None)
    if given is None:
        given = estimator.cost_model_.names or [f"x{j}" for j in range(n_features)]
    if len(given) != n_features:
        raise ValueError(f"feature_names has {len(given)} entries but the tree has {n_features} features.")
    return [" ".join(str(name).split()) for name in given]


def _sums_at_exits(tree: Any, exits: NDArray, values: NDArray) -> NDArray:
    """Sum the values of the rows that end at each node; rows that end before the root count nowhere."""
    sums = np.zeros((tree.n_nodes, values.shape[1]))
    started = exits >= 0
    np.add.at(sums, exits[started], values[started])
    return sums


def _with_those_below(tree: Any, ending: NDArray) -> NDArray:
    """Add to what ends at each node what ends below it; children have larger numbers than their parents."""
    passing = ending.copy()
    for k in range(tree.n_nodes - 1, 0, -1):
        passing[tree.parent[k]] += passing[k]
    return passing


def _cost_text(step: float, path: float, unit: str) -> str:
    word = "" if unit else "cost "
    if np.isclose(step, path):  # summed in different orders
        return word + _amount(path, unit)
    if step == 0:
        return f"{word}{_amount(path, unit)} so far"
    return f"{word}{_amount(step, unit)} · {_amount(path)} so far"


def _count_text(n_rows: int, n_exits: int, *, is_leaf: bool) -> str:
    if is_leaf and n_rows:
        return _rows(n_rows) + (" exits" if n_rows == 1 else " exit")
    return f"{_rows(n_rows)}, {n_exits:,} exit" if n_exits else _rows(n_rows)


def _route_text(upper: int, lower: int, threshold: float) -> str:
    if upper == lower:
        return "all go on" if upper >= 0 else ""
    bound = f"{threshold:.3g}".replace("-", "\N{MINUS SIGN}")
    if lower < 0:
        return f"on if projection > {bound}, else exit"
    if upper < 0:
        return f"on if projection ≤ {bound}, else exit"
    return f"up if projection > {bound}"


def _rows(n_rows: int) -> str:
    return {0: "no rows", 1: "1 row"}.get(n_rows, f"{n_rows:,} rows")


def _amount(value: float, unit: str = "") -> str:
    number = f"{value:,.0f}" if value >= 1000 else f"{value:.4g}"
    return f"{number} {unit}".rstrip()
