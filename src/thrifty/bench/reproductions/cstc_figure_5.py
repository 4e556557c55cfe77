"""Figure 5 of Xu et al. (2014): CSTC on the four quadrants, with the predictions of each node.

Of 16 cost weights, the one with the best R2 on held-out rows within a mean spend of 12.5 is chosen. The optimal cost of
a perfect prediction is 12. The claim is reproduced if, for the paper's kind of label means and every seed,

    mean squared error / variance of the labels <= 0.002 on test rows    and    mean spend <= 12.5

Section 6.1 does not print the label means; the ones here keep its order (quadrants with z < 0 have the higher labels,
or the lower ones, and similar labels are neighbours).
"""

from functools import partial
from typing import Any

import numpy as np

from thrifty import CSTCRegressor
from thrifty.bench.claims import Claim, Verdict
from thrifty.bench.reproductions._measuring.absence import not_run
from thrifty.bench.reproductions._measuring.seeds import seeds_in_words
from thrifty.bench.results import Results
from thrifty.bench.runs import Key, Run
from thrifty.datasets import make_quadrants

NAME = __name__.rpartition(".")[2]
CLAIM = Claim(
    paper="Xu et al. (2014), CSTC, CSCC and Cronus",
    where="Figure 5",
    text="On the four quadrants, a CSTC tree of three levels predicts without error at the optimal cost of 12 units.",
)
LABEL_MEANS = ((27, 9, -9, -27), (27, 9, -27, -9), (15, 5, -15, -5), (20, 10, -20, -10), (9, 3, -9, -3))
COST_WEIGHTS = np.geomspace(1e-5, 1e-1, 16)
ROWS, DRAWN_ROWS, DEPTH = 2000, 60, 3
BUDGET, LARGEST_ERROR = 12.5, 0.002
SEEDS = (1, 5)


def runs(full: bool) -> list[Run]:
    """Return one run per seed and label means."""
    return [
        Run(Key(NAME, seed, f"means {means}", full), partial(_measure, means, seed))
        for seed in range(SEEDS[full])
        for means in (LABEL_MEANS if full else LABEL_MEANS[:3])
    ]


def _measure(means: tuple[int, ...], seed: int, n_rows: int = ROWS) -> dict[str, Any]:
    train, held, test = (make_quadrants(n_rows, label_means=means, random_state=3 * seed + k) for k in range(3))
    models = CSTCRegressor(costs=train.costs, max_depth=DEPTH, random_state=seed).path(
        train.X, train.y, cost_weights=COST_WEIGHTS
    )
    cheap = [model for model in models if model.spend(held.X).mean() <= BUDGET]
    model = max(cheap, key=lambda each: each.score(held.X, held.y))
    tree, nodes = model.tree_, range(model.tree_.n_nodes)
    return {
        "means": list(means),
        "error": float(1 - model.score(test.X, test.y)),
        "spend": float(model.spend(test.X).mean()),
        "buys": [[train.names[j] for j in tree.buys(node)] for node in nodes],
        "depth": tree.depth.tolist(),
        "labels": test.y[:DRAWN_ROWS].tolist(),
        "predictions": [_predictions(tree, node, test.X[:DRAWN_ROWS]) for node in nodes],
        "visits": _visits(model, test.X[:DRAWN_ROWS]).tolist(),
    }


def _predictions(tree: Any, node: int, X: np.ndarray) -> list[float]:
    """Return the predictions of a node for rows, given the features that are held there."""
    held = tree.holds(node)
    return [float(tree.score(node, row[held])[0]) for row in X]


def _visits(model: Any, X: np.ndarray) -> np.ndarray:
    """Return which rows visit each node, shape (n_nodes, n)."""
    visits = np.zeros((model.tree_.n_nodes, len(X)), dtype=bool)
    for row, node in enumerate(model.acquire(X).exit):
        while node >= 0:
            visits[node, row] = True
            node = model.tree_.parent[node]
    return visits


def verdicts(results: Results) -> list[Verdict]:
    """Judge the claim."""
    found = results.of(NAME)
    if not found:
        return [not_run(CLAIM, NAME, results, "quadrants")]
    error, spend = (max(result.values[name] for result in found) for name in ("error", "spend"))
    seeds = seeds_in_words(result.key.seed for result in found)
    n_means = len({tuple(result.values["means"]) for result in found})
    sentence = (
        f"{n_means} sets of label means, {seeds}: the largest error "
        f"is {error:.2g} of the variance, and the largest mean spend {spend:.2f}."
    )
    met = error <= LARGEST_ERROR and spend <= BUDGET
    return [Verdict(CLAIM, "reproduced" if met else "not reproduced", sentence)]


def figure(results: Results) -> Any:
    """Draw the prediction of each node against the label, for the rows that visit it."""
    from thrifty.bench.reproductions._measuring.drawing import panels

    found = results.of(NAME)
    if not found:
        return None
    values = found[0].values
    names = [f"node {k}: {', '.join(buys) or 'nothing new'}" for k, buys in enumerate(values["buys"])]
    figure, axes = panels(names, "label", "prediction")
    labels = np.array(values["labels"])
    for ax, predictions, visits in zip(axes.values(), values["predictions"], values["visits"], strict=True):
        rows = np.array(visits)
        ax.plot(labels[rows], np.array(predictions)[rows], "o", markersize=3)
        ax.axline((0, 0), slope=1, color="grey", linewidth=0.8)
    return figure
