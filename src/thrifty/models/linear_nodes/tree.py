"""The fitted structure of ASTC, CSTC, CSCC and Cronus: a tree of linear nodes in flat arrays.

A row that arrives at a node buys the features of the node. The node projects the features that the row holds: the
projection is a linear function of them. The row goes to the upper child if the projection is larger than the threshold,
otherwise to the lower child. Every node also has score weights, so that a row can be answered at any node.

    child -1          the row ends at this node (both -1: a leaf; one -1: an exit of a cascade)
    upper == lower    all rows go to this child (a model that buys the same for all rows is a chain of such nodes)

The root is node 0. Children have larger numbers than their parents.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from thrifty.costs import CostModel
from thrifty.kernels.linear_tree import TreeArrays, walk_rows, weigh
from thrifty.kernels.threads import over_rows
from thrifty.models.session import Feature
from thrifty.stored import Array, Lengths, Structure, stored

ROOT, END = 0, -1
MAX_NODES = 2**16
MAX_CELLS = 2**28  # of the tables of the features that a row holds, and the prices that it has paid, at each node
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
    """A node, as the constructor of `LinearTree` takes it.

    Attributes
    ----------
    buys : sequence of int
        The columns that a row buys on arriving. Sorted columns are read several times faster than others.
    scores : array of shape (n_scores, n_held)
        Weights of the scores: one per column that the path has bought, in the order of purchase.
    score_intercept : array of shape (n_scores,)
        Intercepts of the scores.
    projection : array of shape (n_held,)
        Weights of the projection that decides the child.
    projection_intercept : float
        Intercept of the projection.
    threshold : float
        A row goes to the upper child if its projection is larger.
    upper, lower : int
        Numbers of the children; -1 if the row ends here.
    """

    buys: Sequence[int]
    scores: np.ndarray
    score_intercept: np.ndarray
    projection: np.ndarray
    projection_intercept: float = 0.0
    threshold: float = 0.0
    upper: int = END
    lower: int = END


class Step(NamedTuple):
    """A node in the form that a session needs: Python numbers, because access to single array elements is slow."""

    asks: tuple[Feature, ...]  # the columns that the node buys, by name if they have names
    path_cost: float
    upper: int
    lower: int
    threshold: float
    projection_intercept: float
    projection: np.ndarray
    features: np.ndarray


@stored(
    upper=Array("int64", "n_nodes", low=END, below="n_nodes"),
    lower=Array("int64", "n_nodes", low=END, below="n_nodes"),
    threshold=Array("float64", "n_nodes"),
    scores=Array("float64", "n_scores", "n_weights"),
    score_intercept=Array("float64", "n_nodes", "n_scores"),
    projection=Array("float64", "n_weights"),
    projection_intercept=Array("float64", "n_nodes"),
    prior=Array("float64", "n_scores"),
    fill=Array("float64", "n_features"),
    buys=Array("int64", "n_buys", low=0, below="n_features"),
    n_bought=Lengths("n_nodes", total="n_buys"),
    n_held=Lengths("n_nodes", total="n_weights"),
    cost_model=Structure(CostModel),
)
class LinearTree:
    """A tree of linear nodes, with the cost of each path.

    Parameters
    ----------
    nodes : sequence of LinearNode
        The root first, and parents before their children.
    prior : array-like of shape (n_scores,)
        The scores of a row that cannot afford the root.
    cost_model : CostModel
        What the features cost. A path pays each unit once.
    fill : array-like of shape (n_features,), default=None
        Values that replace bought values that are unavailable (NaN). None means zeros.

    Attributes
    ----------
    upper, lower : ndarray of int, shape (n_nodes,)
        Children of each node; -1 if the row ends there.
    parent : ndarray of int, shape (n_nodes,)
        Parent of each node; -1 for the root.
    depth : ndarray of int, shape (n_nodes,)
        Depth of each node; 0 for the root.
    threshold : ndarray of shape (n_nodes,)
        A row goes to the upper child if its projection is larger.
    step_cost : ndarray of shape (n_nodes,)
        What a row pays on arriving at each node.
    path_cost : ndarray of shape (n_nodes,)
        What a row has paid on the path from the root to each node, both included.
    arrays : TreeArrays
        The arrays that kernels read.
    """

    def __init__(self, nodes: Sequence[LinearNode], prior: Any, cost_model: CostModel, fill: Any = None):
        refuse_too_large(len(nodes), cost_model)
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
        self._refuse_inconsistent(nodes, cost_model.n_features)
        self._compute_costs(cost_model)
        self.arrays = self._flatten(nodes)
        self.longest_path = int(np.diff(self.arrays.at).max())  # the largest number of features that a row can hold

    @property
    def n_nodes(self) -> int:
        """Number of nodes."""
        return len(self.upper)

    @property
    def terminal(self) -> np.ndarray:
        """Mark the nodes where a row without a cap may end, bool (n_nodes,)."""
        return (self.upper == END) | (self.lower == END)

    def buys(self, node: int) -> np.ndarray:
        """Return the columns that a row acquires on arriving at a node."""
        return self._purchases[node]

    def holds(self, node: int) -> np.ndarray:
        """Return the columns that a row holds at a node, in the order of purchase."""
        return self._held[node]

    def weighs(self, node: int) -> np.ndarray:
        """Return the columns with a nonzero weight in a node's own model, in its scores or its projection."""
        path = slice(*self.arrays.at[node : node + 2].tolist())
        used = self.arrays.scores[:, path].any(axis=0) | (self.arrays.projection[path] != 0)
        return self.holds(node)[used]

    @cached_property
    def purchases(self) -> np.ndarray:
        """The columns that a row acquires on arriving at each node, bool (n_nodes, n_features)."""
        return self._marked(self.buys)

    @cached_property
    def supports(self) -> np.ndarray:
        """The columns with a nonzero weight in each node's own model, bool (n_nodes, n_features)."""
        return self._marked(self.weighs)

    def _marked(self, columns_of: Callable[[int], np.ndarray]) -> np.ndarray:
        marks = np.zeros((self.n_nodes, self.cost_model.n_features), dtype=bool)
        for k, line in enumerate(marks):
            line[columns_of(k)] = True
        return marks

    def run(self, X: np.ndarray, cap: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Send rows down the tree.

        Parameters
        ----------
        X : ndarray of shape (n, n_features)
        cap : ndarray of shape (n,)
            Hard limit on the spend of each row.

        Returns
        -------
        scores : ndarray of shape (n, n_scores)
        exits : ndarray of int, shape (n,)
            The node where each row ended; -1 if it could not afford the root.
        """
        exits = np.empty(len(X), dtype=np.int64)
        scores = np.empty((len(X), len(self.prior)))
        over_rows(lambda first, last: walk_rows(self.arrays, X, cap, first, last, exits, scores), len(X))
        return scores, exits

    def acquired_at(self, exits: np.ndarray) -> np.ndarray:
        """Return the columns (n, n_features) that rows have acquired at these nodes; -1 means before the root."""
        acquired = np.empty((len(exits), self._node_acquires.shape[1]), dtype=bool)

        def look_up(first: int, last: int) -> None:
            np.take(self._node_acquires, exits[first:last], axis=0, out=acquired[first:last], mode="wrap")

        over_rows(look_up, len(exits))
        return acquired

    def spent_at(self, exits: np.ndarray) -> np.ndarray:
        """Return what rows have spent at these nodes (n,); -1 means before the root."""
        return np.append(self.path_cost, 0.0)[exits]  # index -1 finds the 0 at the end

    @cached_property
    def steps(self) -> list[Step]:
        """The nodes in the form that a session needs."""
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
        """Return the scores (n_scores,) of a row at a node (-1: before the root), given the values that it holds."""
        if node == END:
            return self.prior.copy()
        path = slice(*self.arrays.at[node : node + 2].tolist())
        weighed = [weigh(held, line[path], self.arrays.features[path], self.fill) for line in self.arrays.scores]
        return self.arrays.score_intercept[node] + weighed

    def price_between(self, node: int, descendant: int) -> float:
        """Return what a row at `node` (-1: before the root) pays to reach a descendant of it."""
        if self.parent[descendant] == node:
            return float(self.step_cost[descendant])
        return self.steps[descendant].path_cost - (self.steps[node].path_cost if node != END else 0.0)

    def _refuse_inconsistent(self, nodes: Sequence[LinearNode], n_features: int) -> None:
        """Check every index and length, because trees also come from files and kernels do not check indices."""
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

    def _compute_costs(self, cost_model: CostModel) -> None:
        self._node_acquires = np.zeros((self.n_nodes + 1, cost_model.n_features), dtype=bool)
        for k in range(self.n_nodes):
            self._node_acquires[k] = self._node_acquires[self.parent[k]]  # parent -1 of the root: the empty last line
            self._node_acquires[k, self.buys(k)] = True
        units = cost_model._units  # differences of ticks are exact
        ticks = units.ticks_spent(self._node_acquires)
        self.path_cost = ticks[:-1] / units.scale
        self.step_cost = (ticks[:-1] - ticks[self.parent]) / units.scale

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

    # Pickles and files store what the constructor takes, so that reading them runs all checks

    def __getstate__(self) -> dict[str, Any]:
        stored = {name: getattr(self.arrays, name) for name in STORED}
        bought = {"buys": np.concatenate(self._purchases), "n_bought": np.array([*map(len, self._purchases)])}
        return stored | bought | {"n_held": np.diff(self.arrays.at.astype(np.int64)), "cost_model": self.cost_model}

    def __setstate__(self, state: dict[str, Any]) -> None:
        refuse_too_large(len(state["upper"]), state["cost_model"])
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
        duplicate = LinearTree.__new__(LinearTree)
        vars(duplicate).update(vars(self))
        return duplicate


def refuse_too_large(n_nodes: int, cost_model: CostModel) -> None:
    """Raise ValueError if a tree has so many nodes that it could not be built in a few seconds."""
    n_features, n_units = cost_model.n_features, len(cost_model.unit_costs)
    if n_nodes > MAX_NODES or n_nodes * max(n_features, n_units) > MAX_CELLS:
        raise ValueError(
            f"a tree has {n_nodes} nodes, {n_features} features and {n_units} prices; expected at most {MAX_NODES} "
            f"nodes, and at most {MAX_CELLS} nodes times features or prices"
        )


def ancestry(upper: np.ndarray, lower: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the parent and the depth of each node; raise ValueError if the links are not those of a tree.

    Parameters
    ----------
    upper, lower : ndarray of int, shape (n_nodes,)
        Children of each node; -1 if the row ends there.

    Returns
    -------
    parent : ndarray of int, shape (n_nodes,)
        -1 for the root.
    depth : ndarray of int, shape (n_nodes,)
    """
    parent = np.full(len(upper), END)
    depth = np.zeros(len(upper), dtype=np.int64)
    for k in range(len(upper)):
        for child in {int(upper[k]), int(lower[k])} - {END}:
            if not k < child < len(upper) or parent[child] != END:
                raise ValueError(
                    f"node {k} has child {child}; expected one in {k + 1}..{len(upper) - 1} that has no other parent"
                )
            parent[child], depth[child] = k, depth[k] + 1
    if (orphans := np.flatnonzero(parent[1:] == END)).size:
        raise ValueError(f"node {orphans[0] + 1} has no parent")
    return parent, depth
