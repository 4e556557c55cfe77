"""The session of a tree of linear nodes: one row on its way from the root to its exit."""

from collections.abc import Callable
from typing import Any

import numpy as np

from thrifty.kernels.linear_tree import weigh
from thrifty.models.linear_nodes.tree import END, ROOT, LinearTree
from thrifty.models.session import Acquire, Feature, Session, Stop

Answer = Callable[[np.ndarray], tuple[Any, Any]]


class TreeSession(Session):
    """The session of a tree of linear nodes.

    Purchases with no decision between them are asked for in one step.

    Parameters
    ----------
    tree : LinearTree
    cap : float
        The most that the session may spend.
    answer : callable
        Turns the scores of the row (1, n_scores) into its prediction and score.
    """

    def __init__(self, tree: LinearTree, cap: float, answer: Answer):
        super().__init__()
        self._tree, self._cap, self._answer = tree, cap, answer
        self._held = np.empty(tree.longest_path)
        self._n_held = 0
        self._node = self._reaching = END

    def _plan(self) -> Acquire | Stop:
        target = ROOT if self._node == END else self._next_node()
        features: tuple[Feature, ...] = ()
        while target != END and (step := self._tree.steps[target]).path_cost <= self._cap:
            features += step.asks
            self._reaching = target
            if step.upper != step.lower:  # the next node depends on the values that are asked for
                break
            target = step.upper
        if self._reaching == self._node:
            return self._stop("done" if target == END else "cap")
        if not features:  # the purchases before this one suffice here
            self._receive([])
            return self._plan()
        return Acquire(features, self._tree.price_between(self._node, self._reaching))

    def _next_node(self) -> int:
        step = self._tree.steps[self._node]
        if step.upper == step.lower:
            return step.upper
        weighed = weigh(self._held, step.projection, step.features, self._tree.fill)
        return step.upper if step.projection_intercept + weighed > step.threshold else step.lower

    def _receive(self, values: list[float]) -> None:
        first, self._n_held = self._n_held, self._n_held + len(values)
        self._held[first : self._n_held] = values
        self._node = self._reaching
        self.spend = self._tree.steps[self._node].path_cost

    def _stop(self, reason: str) -> Stop:
        prediction, score = self._answer(self._tree.score(self._node, self._held)[None])
        return Stop(prediction, score, self._node, reason)
