"""One search: fit on two thirds of the rows of a table, score and spend on the others; print one JSON line per budget.

    python benchmarks/search/run.py heart 0 900 0.15 0.4

The third argument is a limit in seconds of CPU time, after which the process is ended. The run uses whichever version
of thrifty is on the path, so that versions can be compared. The rows of a split are the same for every version. With
THRIFTY_MIX=1 in the environment, two models may be mixed, in versions that can do so.
"""

import json
import os
import resource
import sys
import warnings
from time import perf_counter, process_time
from typing import Any

import numpy as np
from sklearn.model_selection import GroupShuffleSplit, ShuffleSplit

from thrifty import BudgetSearchCV, datasets
from thrifty.costs import CostModel

SAMPLE = {"covtype": 5_000}  # rows drawn from larger tables
TEST_SHARE = 1 / 3


class SweepOnce(BudgetSearchCV):
    """An exhaustive search whose points do not depend on the budget: it chooses a model for each of several budgets."""

    def choose_for(self, budgets: list[float]) -> "SweepOnce":
        """Name the budgets; `fit` then sets ``chosen_``."""
        self.budgets_, self.chosen_ = budgets, []
        return self

    def _choose(self, refits: Any, n_measured: int) -> None:
        for budget in self.budgets_:
            self.budget = budget
            self.frontier_["within_budget"] = self.frontier_["spend_bound"] <= self.budget
            super()._choose(refits, n_measured)
            self.chosen_.append((self.best_estimator_, self.promise_))


def split(name: str, seed: int) -> tuple[Any, np.ndarray, np.ndarray, Any]:
    """Return the data of a table, the positions of training and test rows, and the queries."""
    data = datasets.load(name)
    y, qid = np.asarray(data.y), data.get("qid")
    rows = np.arange(len(y))
    if name in SAMPLE:
        rows = np.random.default_rng(seed).choice(rows, SAMPLE[name], replace=False)
    splitter = (ShuffleSplit if qid is None else GroupShuffleSplit)(1, test_size=TEST_SHARE, random_state=seed)
    train, test = next(splitter.split(rows[:, None], groups=None if qid is None else np.asarray(qid)[rows]))
    return data, rows[train], rows[test], qid


def options() -> dict[str, Any]:
    """Return the options of the search that only some versions have."""
    can_mix = "mix" in BudgetSearchCV().get_params()
    return {"mix": True} if can_mix and os.environ.get("THRIFTY_MIX") else {}


def rise(search: Any, budget: float) -> float | None:
    """Return by how much the frontier rises at the budget above the chosen point; None if the version cannot tell."""
    try:
        from thrifty.tuning.mixing import rise_at
    except ImportError:
        return None
    return rise_at(search.frontier_, budget, search.best_index_)


def note(search: Any) -> str:
    """Return what the frontier says about the chosen point, such as how it was calibrated."""
    chosen = getattr(search, "best_index_", None)
    has_notes = "note" in getattr(search, "frontier_", ())
    return str(search.frontier_.loc[chosen, "note"]) if has_notes and chosen is not None else ""


def main(name: str, seed: int, shares: list[float]) -> None:
    """Search for each budget and print what was found."""
    data, train, test, qid = split(name, seed)
    X, y = np.asarray(data.X, dtype=float), np.asarray(data.y)
    costs = CostModel.resolve(data.costs, X.shape[1])
    budgets, queries = [share * costs.total for share in shares], None if qid is None else np.asarray(qid)
    of_test = {} if queries is None else {"qid": queries[test]}
    of_train = {} if queries is None else {"qid": queries[train]}
    warnings.simplefilter("ignore", UserWarning)

    def found(model: Any, promise: Any, seconds: float, wall: float, n_points: int, budget: float) -> None:
        spend = model.spend(X[test], **of_test)
        line = {
            "table": name,
            "seed": seed,
            "share": budget / costs.total,
            "score": search.score(X[test], y[test], **of_test),
            "spend": float(spend.mean()) / budget,
            "method": promise.method,
            "parameters": promise.parameters,
            "promised_score": promise.score,
            "promised_error": promise.score_error,
            "rise": rise(search, budget),
            "promised_spend": promise.spend / budget,
            "bound": promise.spend_bound / budget,
            "seconds": round(seconds, 2),
            "wall": round(wall, 2),
            "n_points": n_points,
            "mix": getattr(search, "mix", False),
            "note": note(search),
            "n_train": len(train),
            "n_test": len(test),
        }
        print(json.dumps(line, default=str), flush=True)

    if hasattr(BudgetSearchCV, "at_budget"):
        for budget in budgets:
            start = process_time(), perf_counter()
            search = BudgetSearchCV(budget=budget, costs=costs, random_state=seed, **options())
            search.fit(X[train], y[train], **of_train)
            times = process_time() - start[0], perf_counter() - start[1]
            found(search.best_estimator_, search.promise_, *times, len(search.frontier_), budget)
        return
    start = process_time(), perf_counter()
    search = SweepOnce(budget=budgets[0], costs=costs, random_state=seed).choose_for(budgets)
    search.fit(X[train], y[train], **of_train)
    times = process_time() - start[0], perf_counter() - start[1]
    for budget, (model, promise) in zip(budgets, search.chosen_, strict=True):
        search.best_estimator_ = model
        found(model, promise, *times, len(search.frontier_), budget)


if __name__ == "__main__":
    limit = int(sys.argv[3])
    resource.setrlimit(resource.RLIMIT_CPU, (limit, limit))
    main(sys.argv[1], int(sys.argv[2]), [float(each) for each in sys.argv[4:]])
