"""The session of a tree of linear nodes."""

from collections.abc import Callable
from typing import Any

import numpy as np

from thrifty.kernels.linear_tree import weigh
from thrifty.models.linear_nodes.tree import END, ROOT, LinearTree
from thrifty.models.session import Acquire, Feature, Session, Stop

Answer = Callable[[np.ndarray], tuple[Any, Any]]  # scores (1, n_scores) -> prediction, score


class TreeSession(Session):
    """The acquisition of one row, which goes down a tree of linear nodes.

    The features of consecutive nodes are asked for in one step if there is no decision between these nodes.

    Parameters
    ----------
    tree : LinearTree
        The fitted tree.
    cap : float
        The most that the session may spend.
    answer : callable
        Returns the prediction and the score of the row, given its scores (1, n_scores).
    """

    def __init__(self, tree: LinearTree, cap: float, answer: Answer):
        super().__init__()
        self._tree, self._cap, self._answer = tree, cap, answer
        self._held = np.empty(tree.longest_path)  # values observed so far, in the order of purchase
        self._n_held = 0
        self._node = END  # where the row is; END means before the root
        self._target = END  # where it will be when the planned step is observed

    def _plan(self) -> Acquire | Stop:
        features: tuple[Feature, ...] = ()
        while not features:
            following = ROOT if self._node == END else self._next_node()
            features = self._advance_target(following)
            if self._target == self._node:
                return self._stop("done" if following == END else "cap")
            if not features:  # a node that buys nothing is entered without asking
                self._node = self._target
        return Acquire(features, self._tree.price_between(self._node, self._target))

    def _advance_target(self, node: int) -> tuple[Feature, ...]:
        """Move the target as far as the cap allows and no decision intervenes; return the features to ask for."""
        features: tuple[Feature, ...] = ()
        while node != END and (step := self._tree.steps[node]).path_cost <= self._cap:
            features += step.asks
            self._target = node
            if step.upper != step.lower:  # the next node depends on values that are not observed yet
                break
            node = step.upper
        return features

    def _next_node(self) -> int:
        step = self._tree.steps[self._node]
        if step.upper == step.lower:
            return step.upper
        weighed = weigh(self._held, step.projection, step.features, self._tree.fill)
        return step.upper if step.projection_intercept + weighed > step.threshold else step.lower

    def _receive(self, values: list[float]) -> None:
        first, self._n_held = self._n_held, self._n_held + len(values)
        self._held[first : self._n_held] = values
        self._node = self._target
        self.spend = self._tree.steps[self._node].path_cost

    def _answer_now(self) -> Stop:
        return self._stop("stopped")

    def _stop(self, reason: str) -> Stop:
        prediction, score = self._answer(self._tree.score(self._node, self._held)[None])
        return Stop(prediction, score, self._node, reason)
