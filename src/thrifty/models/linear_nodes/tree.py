"""The one fitted structure of ASTC, CSTC, CSCC and Cronus: a flat tree of linear nodes.

Every node is a classifier, so a row can be answered wherever it ends. A node buys features, projects what the
row holds, and passes it on: to the upper child if the projection exceeds the threshold, else to the lower.

    child -1          the row ends at this node (both -1: a leaf; one -1: a cascade's exit)
    upper == lower    a pass-through node: everyone goes on, nothing is decided (a static model is a chain of them)

Nodes are numbered so that a child follows its parent; the root is node 0.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from thrifty.costs import CostModel, Ledger
from thrifty.kernels.linear_tree import TreeArrays, walk_rows, weigh
from thrifty.kernels.threads import over_rows
from thrifty.models.session import Feature

ROOT, END = 0, -1
STORED = (
    "scores",
    "score_intercept",
    "projection",
    "projection_intercept",
    "threshold",
    "upper",
    "lower",
    "prior",
    "fill",
)


@dataclass(eq=False)
class LinearNode:
    """One node as a model builds it; weights run over everything held on the path, in order of purchase.

    Let a node buy in column order: rows are then read from memory front to back, which is several times faster.
    """

    buys: Sequence[int]
    scores: np.ndarray  # (n_scores, n_held)
    score_intercept: np.ndarray  # (n_scores,)
    projection: np.ndarray  # (n_held,)
    projection_intercept: float = 0.0
    threshold: float = 0.0
    upper: int = END
    lower: int = END


class Step(NamedTuple):
    """A node as a session sees it: plain Python numbers and views, since indexing arrays one by one is slow."""

    asks: tuple[Feature, ...]  # what the node buys, by name where columns have names
    path_cost: float
    upper: int
    lower: int
    threshold: float
    projection_intercept: float
    projection: np.ndarray
    features: np.ndarray


class LinearTree:
    """A tree of linear nodes with what each of its paths costs.

    Parameters
    ----------
    nodes : sequence of LinearNode
        Parents before children, the root first.
    prior : array-like of shape (n_scores,)
        The score of a row that cannot afford the root.
    cost_model : CostModel
        Prices the paths; a unit shared by features of one path is paid once.
    fill : array-like of shape (n_features,), optional
        What stands in for a value that was bought but could not be had; zero by default.
    """

    def __init__(self, nodes: Sequence[LinearNode], prior: Any, cost_model: CostModel, fill: Any = None):
        self.upper = np.array([node.upper for node in nodes], dtype=np.int64)
        self.lower = np.array([node.lower for node in nodes], dtype=np.int64)
        self.threshold = np.array([node.threshold for node in nodes], dtype=float)
        self.prior = np.asarray(prior, dtype=float)
        self.fill = np.zeros(cost_model.n_features) if fill is None else np.asarray(fill, dtype=float)
        self.cost_model = cost_model
        self.parent, self.depth = ancestry(self.upper, self.lower)
        self._ids = cost_model.names or range(cost_model.n_features)
        self._purchases = [np.asarray(node.buys, dtype=np.int64) for node in nodes]
        self._held: list[np.ndarray] = []
        for buys, parent in zip(self._purchases, self.parent, strict=True):
            self._held.append(buys if parent == END else np.concatenate([self._held[parent], buys]))
        self._refuse_misfits(nodes, cost_model.n_features)
        self._price(cost_model)
        self.arrays = self._flatten(nodes)
        self.longest_path = int(np.diff(self.arrays.at).max())  # most features that a row can hold

    @property
    def n_nodes(self) -> int:
        """Return the number of nodes."""
        return len(self.upper)

    @property
    def terminal(self) -> np.ndarray:
        """Mark the nodes where a row may end of its own accord."""
        return (self.upper == END) | (self.lower == END)

    def buys(self, node: int) -> np.ndarray:
        """Return the feature columns a row acquires on arriving at the node."""
        return self._purchases[node]

    def holds(self, node: int) -> np.ndarray:
        """Return the feature columns a row holds at the node, in order of purchase."""
        return self._held[node]

    def weighs(self, node: int) -> np.ndarray:
        """Return the feature columns that the node's own model gives a weight, to answer or to route."""
        path = slice(*self.arrays.at[node : node + 2].tolist())
        used = self.arrays.scores[:, path].any(axis=0) | (self.arrays.projection[path] != 0)
        return self.holds(node)[used]

    @cached_property
    def purchases(self) -> np.ndarray:
        """The columns that a row acquires on arriving at each node, bool (n_nodes, n_features)."""
        return self._marked(self.buys)

    @cached_property
    def supports(self) -> np.ndarray:
        """The columns that each node's own model weighs, bought there or before, bool (n_nodes, n_features)."""
        return self._marked(self.weighs)

    def _marked(self, columns_of: Callable[[int], np.ndarray]) -> np.ndarray:
        marks = np.zeros((self.n_nodes, self.cost_model.n_features), dtype=bool)
        for k, line in enumerate(marks):
            line[columns_of(k)] = True
        return marks

    def run(self, X: np.ndarray, cap: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Send rows to their exits; return their scores (n, n_scores) and the exits (n,)."""
        exits = np.empty(len(X), dtype=np.int64)
        scores = np.empty((len(X), len(self.prior)))
        over_rows(lambda first, last: walk_rows(self.arrays, X, cap, first, last, exits, scores), len(X))
        return scores, exits

    def acquired_at(self, exits: np.ndarray) -> np.ndarray:
        """Return the features (n, n_features) that rows have acquired at these nodes; -1 stands for none."""
        acquired = np.empty((len(exits), self._node_acquires.shape[1]), dtype=bool)

        def look_up(first: int, last: int) -> None:
            np.take(self._node_acquires, exits[first:last], axis=0, out=acquired[first:last], mode="wrap")

        over_rows(look_up, len(exits))
        return acquired

    def spent_at(self, exits: np.ndarray) -> np.ndarray:
        """Return what rows have spent at these nodes."""
        return np.append(self.path_cost, 0.0)[exits]  # the last entry serves -1

    @cached_property
    def steps(self) -> list[Step]:
        """The nodes as a session sees them."""
        return [self._step(k, slice(*self.arrays.at[k : k + 2].tolist())) for k in range(self.n_nodes)]

    def _step(self, k: int, path: slice) -> Step:
        return Step(
            asks=tuple(self._ids[j] for j in self.buys(k).tolist()),
            path_cost=float(self.path_cost[k]),
            upper=int(self.upper[k]),
            lower=int(self.lower[k]),
            threshold=float(self.threshold[k]),
            projection_intercept=float(self.arrays.projection_intercept[k]),
            projection=self.arrays.projection[path],
            features=self.arrays.features[path],
        )

    def score(self, node: int, held: np.ndarray) -> np.ndarray:
        """Return the answer of a node (-1: before the root) to the values held."""
        if node == END:
            return self.prior.copy()
        path = slice(*self.arrays.at[node : node + 2].tolist())
        weighed = [weigh(held, line[path], self.arrays.features[path], self.fill) for line in self.arrays.scores]
        return self.arrays.score_intercept[node] + weighed

    def price_between(self, node: int, descendant: int) -> float:
        """Return what a row at `node` (-1: before the root) pays to get to a descendant."""
        if self.parent[descendant] == node:
            return float(self.step_cost[descendant])
        return self.steps[descendant].path_cost - (self.steps[node].path_cost if node != END else 0.0)

    def _refuse_misfits(self, nodes: Sequence[LinearNode], n_features: int) -> None:
        """Check every index and length: kernels index without looking, and trees also come from files."""
        if not len(nodes) or self.prior.ndim != 1 or not self.prior.size or self.fill.shape != (n_features,):
            raise ValueError(
                f"a tree has {len(nodes)} nodes, a prior of shape {self.prior.shape} and a fill of shape "
                f"{self.fill.shape}; expected at least one node and one score, and one fill for each of the "
                f"{n_features} features"
            )
        for k, node in enumerate(nodes):
            held = self.holds(k)
            if held.size and not (held.min() >= 0 and held.max() < n_features):
                raise ValueError(f"node {k} buys a column outside 0..{n_features - 1}")
            if np.unique(held).size != held.size:
                raise ValueError(f"node {k} buys a feature that its path already holds")
            shapes = (np.shape(node.projection), np.shape(node.scores), np.shape(node.score_intercept))
            n_scores = len(self.prior)
            if shapes != ((held.size,), (n_scores, held.size), (n_scores,)):
                raise ValueError(f"node {k} has weights of shapes {shapes} for {held.size} features held")

    def _price(self, cost_model: CostModel) -> None:
        self._node_acquires = np.zeros((self.n_nodes + 1, cost_model.n_features), dtype=bool)
        self.step_cost = np.empty(self.n_nodes)
        for k in range(self.n_nodes):
            parent = self.parent[k]
            self._node_acquires[k] = self._node_acquires[parent]  # the line of -1, the root's parent, is empty
            ledger = Ledger(cost_model, np.flatnonzero(self._node_acquires[k]))
            self.step_cost[k] = ledger.price_of(self.buys(k))
            self._node_acquires[k, self.buys(k)] = True
        self.path_cost = cost_model.of(self._node_acquires[:-1])

    def _flatten(self, nodes: Sequence[LinearNode]) -> TreeArrays:
        n_scores = len(self.prior)
        at = np.cumsum([0] + [np.size(node.projection) for node in nodes]).astype(np.uint64)
        return TreeArrays(
            at=at,
            bought_at=at[1:] - np.array([len(buys) for buys in self._purchases], dtype=np.uint64),
            features=np.concatenate([self.holds(k) for k in range(self.n_nodes)]).astype(np.uint64),
            projection=np.concatenate([np.asarray(node.projection, float) for node in nodes]),
            projection_intercept=np.array([node.projection_intercept for node in nodes], dtype=float),
            threshold=self.threshold,
            scores=np.ascontiguousarray(np.concatenate([np.asarray(node.scores, float) for node in nodes], axis=1)),
            score_intercept=np.array([node.score_intercept for node in nodes], dtype=float).reshape(-1, n_scores),
            upper=self.upper,
            lower=self.lower,
            path_cost=self.path_cost,
            prior=self.prior,
            fill=self.fill,
        )

    # Copies and files hold what the constructor takes, node after node, so that reading them checks everything

    def __getstate__(self) -> dict[str, Any]:
        stored = {name: getattr(self.arrays, name) for name in STORED}
        bought = {"buys": np.concatenate(self._purchases), "n_bought": np.array([*map(len, self._purchases)])}
        return stored | bought | {"n_held": np.diff(self.arrays.at.astype(np.int64)), "cost_model": self.cost_model}

    def __setstate__(self, state: dict[str, Any]) -> None:
        held, bought = (np.cumsum(state[name])[:-1] for name in ("n_held", "n_bought"))
        columns = (
            np.split(state["buys"], bought),
            np.split(state["scores"], held, axis=1),
            state["score_intercept"],
            np.split(state["projection"], held),
            *(state[name].tolist() for name in ("projection_intercept", "threshold", "upper", "lower")),
        )
        nodes = [LinearNode(*line) for line in zip(*columns, strict=True)]
        LinearTree.__init__(self, nodes, state["prior"], state["cost_model"], state["fill"])

    def __copy__(self) -> "LinearTree":
        twin = LinearTree.__new__(LinearTree)
        vars(twin).update(vars(self))
        return twin


def ancestry(upper: np.ndarray, lower: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return parent and depth of each node, refusing anything that is not a tree."""
    parent = np.full(len(upper), END)
    depth = np.zeros(len(upper), dtype=np.int64)
    for k in range(len(upper)):
        for child in {int(upper[k]), int(lower[k])} - {END}:
            if not k < child < len(upper) or parent[child] != END:
                raise ValueError(f"node {k} has child {child}; expected an unclaimed node in {k + 1}..{len(upper) - 1}")
            parent[child], depth[child] = k, depth[k] + 1
    if (orphans := np.flatnonzero(parent[1:] == END)).size:
        raise ValueError(f"node {orphans[0] + 1} has no parent")
    return parent, depth
