"""Which features a fitted tree or cascade uses at which depth, by price, with the supports as learned."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from thrifty.bench.reproductions._measuring.problems import Problem
from thrifty.costs import Ledger
from thrifty.metrics import cost_curve
from thrifty.plots.fitted import purchases_of

CHEAP, EXPENSIVE = 5.0, 20.0  # at most, at least: as in section 6.4 of Xu et al. (2014)
ENOUGH = 0.95  # share of the best score on held-out rows


def cheapest_good(models: Sequence[Any], problem: Problem) -> Any:
    """Return the cheapest model whose score on held-out rows is at least `ENOUGH` of the best one."""
    held = problem.held
    curve = cost_curve(models, held.X, held.y, scoring=problem.scoring, qid=held.qid)
    good = np.flatnonzero(curve.score >= ENOUGH * curve.score.max())
    return models[good[curve.spend[good].argmin()]]


def shares_by_depth(model: Any) -> dict[str, Any]:
    """Return the share of the features of each price that are used at each depth or above it."""
    purchases, depth = purchases_of(model, True), model.tree_.depth
    prices = Ledger(model.cost_model_).prices
    used = np.logical_or.accumulate([purchases[depth == d].any(axis=0) for d in range(depth.max() + 1)])
    known = np.unique(prices)
    return {
        "prices": known.tolist(),
        "sizes": [int((prices == price).sum()) for price in known],
        "share": [used[:, prices == price].mean(axis=1).tolist() for price in known],
    }


def mean_first_depth(values: Mapping[str, Any], lowest: float, highest: float) -> float:
    """Return the mean relative depth (0 to 1) at which the features of some prices are first used; NaN if none is."""
    share, prices = np.array(values["share"]), np.array(values["prices"])
    counts = np.diff(share * np.array(values["sizes"])[:, None], axis=1, prepend=0.0)
    by_depth = counts[(prices >= lowest) & (prices <= highest)].sum(axis=0)
    relative = np.linspace(0, 1, len(by_depth)) if len(by_depth) > 1 else np.zeros(1)
    return float(by_depth @ relative / by_depth.sum()) if by_depth.sum() else float("nan")


def share_at_first_node(values: Mapping[str, Any], lowest: float) -> float:
    """Return the share of the features from some price on that are used at the first node."""
    sizes, prices = np.array(values["sizes"]), np.array(values["prices"])
    expensive = prices >= lowest
    return float(np.array(values["share"])[expensive, 0] @ sizes[expensive] / max(sizes[expensive].sum(), 1))


def figure_by_depth(shown: Sequence[Mapping[str, Any]]) -> Any:
    """Draw the shares by depth, one panel per contender."""
    from thrifty.bench.reproductions._measuring.drawing import panels

    figure, axes = panels([values["contender"] for values in shown], "node or depth", "share of features used")
    for values in shown:
        ax = axes[values["contender"]]
        for price, size, share in zip(values["prices"], values["sizes"], values["share"], strict=True):
            ax.plot(np.arange(1, len(share) + 1), share, marker="o", label=f"c = {price:g} ({size})")
        ax.set_ylim(-0.02, 1.02)
    next(iter(axes.values())).legend(frameon=False, fontsize=8)
    return figure
