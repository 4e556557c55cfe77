"""From a budget to a model file: what the money buys, what is promised, and whether it holds on other patients.

python examples/budget_search.py [folder]
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
    """Search on two thirds of the patients, keep the picture and the model, and look at the others."""
    heart, place = load_heart(as_frame=True), Path(folder or gettempdir())
    held_out = np.arange(len(heart.y)) % 3 == 0
    search = BudgetSearchCV(["l1", "static", "attentive"], budget=150, cap=300, costs=heart.costs, scoring="roc_auc")
    search.fit(heart.X[~held_out], heart.y[~held_out])
    frontier = search.frontier_[~search.frontier_["dominated"]].sort_values("spend")
    print(frontier[["method", "spend", "spend_bound", "score"]].round(3).to_string(index=False))
    spend = search.spend(heart.X[held_out])
    print(f"promised {search.promise_.spend_bound:.2f}, spent {spend.mean():.2f} on average, {spend.max():.2f} at most")
    picture = place / "frontier.png"
    CostCurveDisplay.from_search(search).figure_.savefig(picture)
    print(f"wrote {picture} and {thrifty.save(search, place / 'heart.thrifty')}")


if __name__ == "__main__":
    main(*sys.argv[1:2])
