"""Mean spend of searched models on held-out rows, relative to the budget, over repeated splits of real data."""

import warnings

import numpy as np
from sklearn.model_selection import GroupShuffleSplit, ShuffleSplit

from benchmarks.problems import missing
from benchmarks.report import table
from thrifty import BudgetSearchCV
from thrifty.datasets import load_heart, load_mq2008, load_spambase, load_thyroid

LOADERS = {"heart": load_heart, "thyroid": load_thyroid, "spambase": load_spambase, "mq2008": load_mq2008}
METHODS = ("l1", "astc", "attentive")  # fast methods: a static one, a tree and a sequential one
SHARES = (0.05, 0.3)  # budget / cost of all features
MAX_ROWS = 1000


def main() -> None:
    guarantee()


def guarantee(n_splits: int = 20) -> None:
    """Search on two thirds of the rows and measure the mean spend on the others, for several splits."""
    rows = []
    for name, load in LOADERS.items():
        if name == "heart" or not missing(name):
            data = load()
            rows += [(name, share, *_summary(held_out(data, share, n_splits))) for share in SHARES]
    columns = (
        "",
        "budget / cost of all features",
        "splits within budget",
        "mean spend / budget",
        "largest spend / budget",
    )
    table(f"Mean spend on held-out rows, {n_splits} splits", columns, rows)


def held_out(data, share: float, n_splits: int) -> np.ndarray:
    """Return the mean spend on held-out rows divided by the budget, for each split."""
    budget, qid = share * data.costs.total, getattr(data, "qid", None)
    methods = METHODS if qid is None else METHODS[:2]
    splitter = (ShuffleSplit if qid is None else GroupShuffleSplit)(n_splits, test_size=1 / 3, random_state=0)
    ratios = []
    for seed, (train, test) in enumerate(splitter.split(data.X, data.y, qid)):
        search = BudgetSearchCV(methods, budget=budget, costs=data.costs, max_rows=MAX_ROWS, random_state=seed)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", UserWarning)
            search.fit(data.X[train], data.y[train], qid=None if qid is None else qid[train])
        ratios.append(search.spend(data.X[test]).mean() / budget)
    return np.array(ratios)


def _summary(ratios):
    return f"{np.mean(ratios <= 1):.0%}", f"{ratios.mean():.2f}", f"{ratios.max():.2f}"
