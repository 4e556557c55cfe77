"""Search for the best model within a budget, check its spend on held-out patients, and save it.

Run: python examples/budget_search.py [folder]
"""

import sys
from pathlib import Path
from tempfile import gettempdir

import numpy as np

import thrifty
from thrifty import BudgetSearchCV
from thrifty.datasets import load_heart
from thrifty.plots import CostCurveDisplay


def main(folder: str | None = None) -> None:
    """Search on two thirds of the patients, measure the spend on the others, and save the plot and the model."""
    heart, output = load_heart(as_frame=True), Path(folder or gettempdir())
    held_out = np.arange(len(heart.y)) % 3 == 0
    search = BudgetSearchCV(["l1", "static", "attentive"], budget=150, cap=300, costs=heart.costs, scoring="roc_auc")
    search.fit(heart.X[~held_out], heart.y[~held_out])
    frontier = search.frontier_[~search.frontier_["dominated"]].sort_values("spend")
    print(frontier[["method", "spend", "spend_bound", "score"]].round(3).to_string(index=False))
    spend = search.spend(heart.X[held_out])
    print(f"upper bound on the mean spend: {search.promise_.spend_bound:.2f}")
    print(f"spend of held-out patients: {spend.mean():.2f} on average, {spend.max():.2f} at most")
    plot = output / "frontier.png"
    CostCurveDisplay.from_search(search).figure_.savefig(plot)
    print(f"wrote {plot} and {thrifty.save(search, output / 'heart.thrifty')}")


if __name__ == "__main__":
    main(*sys.argv[1:2])
