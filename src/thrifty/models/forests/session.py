"""The session of a forest: trees in order, and a feature is asked for when the path first reaches a split on it.

This is plain Python on Python numbers. Only a few splits lie between two requests, and they take less time than the
call of a compiled kernel.
"""

from collections.abc import Callable, Iterator, Sequence
from typing import Any

from thrifty.models.forests.forest import LEAF
from thrifty.models.forests.priced_forest import PricedForest
from thrifty.models.session import Acquire, Feature, Session, Stop

Answer = Callable[[list[float], int], tuple[Any, Any]]  # (sums, last complete round) -> (prediction, score)


class ForestSession(Session):
    """The acquisition of one row through the rounds of a forest.

    The evaluation of the rounds that a row enters is announced with the next feature that it asks for. If it asks for
    none, the evaluation is announced in a step without features before the session stops.

    Parameters
    ----------
    priced : PricedForest
    cap : float
        The most that may be spent.
    ids : sequence
        The names or positions of the columns.
    answer : callable
        Returns the prediction and the score, given the sums of the complete rounds and the last of these rounds.
    """

    def __init__(self, priced: PricedForest, cap: float, ids: Sequence[Feature], answer: Answer):
        super().__init__()
        self._priced, self._cap, self._ids, self._answer = priced, cap, ids, answer
        self._row: list[Any] = [None] * priced.forest.n_features
        self._paid = bytearray(len(priced.units.ticks))
        self._spent = self._announced = 0.0  # in ticks
        self._sums, self._exit = priced.forest.base.tolist(), -1
        self._asked = LEAF
        self._steps = self._evaluate()

    def _plan(self) -> Acquire | Stop:
        return next(self._steps)

    def _evaluate(self) -> Iterator[Acquire | Stop]:
        """Evaluate the rounds; pause at every feature that has not been observed."""
        row, nodes, leaf_values, trees = self._row, self._priced.nodes, self._priced.leaf_values, self._priced.trees
        for stage, (ticks, round_trees) in enumerate(self._priced.rounds):
            if not self._affords(ticks):
                yield from self._end("cap")
            self._spent += ticks
            sums = self._sums.copy()
            for node, scores in trees[round_trees]:
                while split := nodes[node]:
                    feature, threshold, left, right, missing_left, codes = split
                    x = row[feature]
                    if x is None:
                        price = self._price(feature)
                        if not self._affords(price):
                            yield from self._end("cap")
                        yield self._ask(feature, price)
                        x = row[feature]
                    if x <= threshold:
                        node = left
                    elif x > threshold:
                        node = right
                    elif x != x:
                        node = left if missing_left else right
                    else:
                        node = left if x >= 0 and int(x) in codes else right
                for score, value in zip(scores, leaf_values[node], strict=True):
                    sums[score] += value
            self._sums, self._exit = sums, stage
        yield from self._end("done")

    def _ask(self, feature: int, price: float) -> Acquire:
        self._asked = feature
        due = self._spent + price - self._announced
        return Acquire((self._ids[feature],), due / self._priced.units.scale)

    def _end(self, reason: str) -> Iterator[Acquire | Stop]:
        """Announce evaluation that has not been announced yet, then stop."""
        if self._spent > self._announced:
            yield Acquire((), (self._spent - self._announced) / self._priced.units.scale)
        yield self._stop(reason)

    def _stop(self, reason: str) -> Stop:
        prediction, score = self._answer(self._sums, self._exit)
        return Stop(prediction, score, self._exit, reason)

    def _answer_now(self) -> Stop:
        return self._stop("stopped")

    def _receive(self, values: list[float]) -> None:
        if values:
            self._spent += self._price(self._asked)
            for unit, _ in self._priced.units_of[self._asked]:
                self._paid[unit] = True
            self._row[self._asked] = float(values[0])  # a float32 would be compared in single precision
        self._announced = self._spent
        self.spend = self._spent / self._priced.units.scale

    def _price(self, feature: int) -> float:
        return sum(ticks for unit, ticks in self._priced.units_of[feature] if not self._paid[unit])

    def _affords(self, ticks: float) -> bool:
        return (self._spent + ticks) / self._priced.units.scale <= self._cap
