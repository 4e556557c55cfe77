"""Whoever looks on while a solver descends: a progress bar, and the validation score that may end it."""

from collections.abc import Callable
from typing import Any, Self

from thrifty.models.expected_cost.objective import Parameters
from thrifty.models.progress import progress

PATIENCE = 5  # rounds without a better validation score before the descent is stopped


class Watcher:
    """Shows progress if asked to, and keeps the parameters of the best validation score if there is one.

    Parameters
    ----------
    max_iter : int
        Rounds at most.
    title : str or None
        What to call the progress bar; None shows none.
    score : callable or None
        Returns the validation score of parameters, larger is better; None does not stop early.
    """

    def __init__(self, max_iter: int, title: str | None, score: Callable[[Parameters], float] | None):
        self.best: Parameters | None = None
        self.scores: list[float] = []
        self._score, self._waited = score, 0
        self._bar = progress(title, max_iter)

    def __enter__(self) -> Self:
        self._advance = self._bar.__enter__()
        return self

    def __exit__(self, *raised: Any) -> None:
        self._bar.__exit__(*raised)

    def watch(self, parameters: Parameters, objective: float) -> bool:
        """Look at the parameters after a round; tell whether to stop."""
        state = f"objective {objective:.6g}"
        if self._score is not None:
            state += f", validation {self._judge(parameters):.4g}"
        self._advance(state)
        return self._waited >= PATIENCE

    def _judge(self, parameters: Parameters) -> float:
        score = self._score(parameters)  # type: ignore[misc]
        self._waited += 1
        if not self.scores or score > max(self.scores):
            self.best, self._waited = parameters, 0
        self.scores.append(score)
        return score
