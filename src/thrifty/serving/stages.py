"""Where a row is in a tree: the stages of the outline that it has reached.

The outline tells the share of given rows at each stage. For one row this share is 1 on its path, and 0 elsewhere.
"""

from collections.abc import Iterator
from functools import lru_cache
from typing import Any

from thrifty.models.outline import Stage
from thrifty.models.session import Stop

MAX_PATHS = 4096
BEFORE_FIRST = -1  # exit of a row that could not pay for the first stage; see `Stop`


class StagePaths:
    """Finds the path of a row from the place where it is.

    Parameters
    ----------
    model : BudgetedEstimator
    """

    def __init__(self, model: Any):
        self._model = model
        self._is_tree = model.outline().stages is not None
        self._reached = lru_cache(MAX_PATHS)(self._stages_on_path)

    def of(self, stop: Stop | None) -> list[int] | None:
        """Return the numbers of the stages that a row has reached, depth-first; None if the model is not a tree."""
        if not self._is_tree or stop is None:
            return None
        reached = self._reached(int(stop.exit))
        if stop.reason != "done" and reached and reached[-1][1]:
            reached = reached[:-1]  # the row is still at the decision before this end
        return [number for number, _ in reached]

    def _stages_on_path(self, node: int) -> list[tuple[int, bool]]:
        """Return the number of each stage on the path to an exit, and whether it is an end that buys nothing."""
        if node == BEFORE_FIRST:
            return []
        stages = enumerate(_depth_first(self._model.outline([node]).stages))
        return [(number, not (stage.buys or stage.children)) for number, stage in stages if stage.share]


def _depth_first(stage: Stage) -> Iterator[Stage]:
    yield stage
    for child in stage.children:
        yield from _depth_first(child)
