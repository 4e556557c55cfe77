"""Whether a searched model keeps to its budget: held-out mean spend over repeated splits of real data."""

import warnings

import numpy as np
from sklearn.model_selection import GroupShuffleSplit, ShuffleSplit

from benchmarks.problems import missing
from benchmarks.report import table
from thrifty import BudgetSearchCV
from thrifty.datasets import load_heart, load_mq2008, load_spambase, load_thyroid

LOADERS = {"heart": load_heart, "thyroid": load_thyroid, "spambase": load_spambase, "mq2008": load_mq2008}
METHODS = ("l1", "astc", "attentive")  # static, tree-shaped and sequential, all quick
SHARES = (0.05, 0.3)  # of the cost of everything
MAX_ROWS = 1000


def main() -> None:
    guarantee()


def guarantee(n_splits: int = 20) -> None:
    """Search on two thirds of the rows, spend on the rest, again and again."""
    rows = []
    for name, load in LOADERS.items():
        if name == "heart" or not missing(name):
            data = load()
            rows += [(name, share, *_told(held_out(data, share, n_splits))) for share in SHARES]
    columns = ("", "budget / cost of everything", "splits within", "spend / budget, mean", "largest")
    table(f"held-out mean spend within the budget, {n_splits} splits", columns, rows)


def held_out(data, share: float, n_splits: int) -> np.ndarray:
    """Return held-out mean spend over budget, split by split."""
    budget, qid = share * data.costs.total, getattr(data, "qid", None)
    methods = METHODS if qid is None else METHODS[:2]
    splitter = (ShuffleSplit if qid is None else GroupShuffleSplit)(n_splits, test_size=1 / 3, random_state=0)
    spent = []
    for seed, (train, test) in enumerate(splitter.split(data.X, data.y, qid)):
        search = BudgetSearchCV(methods, budget=budget, costs=data.costs, max_rows=MAX_ROWS, random_state=seed)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", UserWarning)
            search.fit(data.X[train], data.y[train], qid=None if qid is None else qid[train])
        spent.append(search.spend(data.X[test]).mean() / budget)
    return np.array(spent)


def _told(spent):
    return f"{np.mean(spent <= 1):.0%}", f"{spent.mean():.2f}", f"{spent.max():.2f}"
