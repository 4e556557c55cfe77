"""What happens after each round of a solver: progress is shown, and the validation score may stop the solver."""

from collections.abc import Callable
from typing import Any, Self

from thrifty.models.expected_cost.tree_parameters import Parameters
from thrifty.models.progress import progress

PATIENCE = 5  # rounds without a better validation score after which the solver is stopped


class Monitor:
    """Callback of a solver that shows progress and stops early.

    Parameters
    ----------
    max_iter : int
        Maximum number of rounds.
    title : str or None
        Title of the progress bar; None shows no bar.
    score : callable or None
        Returns the validation score of parameters, larger is better; None does not stop early.

    Attributes
    ----------
    best : Parameters or None
        The parameters with the best validation score.
    scores : list of float
        The validation score after each round.
    """

    def __init__(self, max_iter: int, title: str | None, score: Callable[[Parameters], float] | None):
        self.best: Parameters | None = None
        self.scores: list[float] = []
        self._score, self._rounds_since_best = score, 0
        self._bar = progress(title, max_iter)

    def __enter__(self) -> Self:
        self._advance = self._bar.__enter__()
        return self

    def __exit__(self, *raised: Any) -> None:
        self._bar.__exit__(*raised)

    def after_round(self, parameters: Parameters, objective: float) -> bool:
        """Record the parameters after a round; return whether to stop."""
        state = f"objective {objective:.6g}"
        if self._score is not None:
            state += f", validation {self._record(parameters, self._score(parameters)):.4g}"
        self._advance(state)
        return self._rounds_since_best >= PATIENCE

    def _record(self, parameters: Parameters, score: float) -> float:
        self._rounds_since_best += 1
        if not self.scores or score > max(self.scores):
            self.best, self._rounds_since_best = parameters, 0
        self.scores.append(score)
        return score
