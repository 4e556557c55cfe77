"""Points of the frontier fitted to all rows, and whether they still keep to the budget there."""

from collections.abc import Sequence
from typing import Any

from thrifty.tuning.cross_validation import acquire
from thrifty.tuning.raw_rows import Numbers
from thrifty.tuning.sweep import Fitted, Sweep


class Refits:
    """Fits batches to all rows, each once, and remembers them."""

    def __init__(self, batches: Sequence[Sweep], rows: Numbers, cap: float | None):
        self.rows, self.cap = rows, cap
        self._place = [(batch, k) for batch in batches for k in range(len(batch.settings))]
        self._fitted: dict[int, list[Fitted]] = {}

    def first_within(self, points: Sequence[int], budget: float | None) -> tuple[int, Fitted]:
        """Return the first point whose model spends no more than the budget on all rows, else the cheapest there.

        Fitted to other rows, a model may come out dearer than those of the folds; that shows here before it does in
        use.
        """
        found: list[tuple[float, int, Fitted]] = []
        failed = ""
        for point in points:
            fitted = self._fit(point)
            if fitted.error:
                failed = failed or fitted.error
                continue
            spend = float(acquire(fitted, self.rows, self.cap).spend.mean())
            if budget is None or spend <= budget:
                return int(point), fitted
            found.append((spend, int(point), fitted))
        if not found:
            raise ValueError(f"BudgetSearchCV: fitted to all rows, every chosen candidate failed: {failed}")
        _, point, fitted = min(found, key=lambda each: each[0])
        return point, fitted

    def unfitted(self, point: int) -> Any:
        """Return the estimator of a point before it was fitted."""
        batch, k = self._place[point]
        return batch.unfitted(batch.settings[k])

    def _fit(self, point: int) -> Fitted:
        batch, k = self._place[point]
        if id(batch) not in self._fitted:
            self._fitted[id(batch)] = batch.fit(self.rows)
        return self._fitted[id(batch)][k]
