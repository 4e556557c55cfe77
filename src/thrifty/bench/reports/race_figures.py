"""Figures of the race: score against spend on a problem, and mean ranks with the critical difference."""

from typing import Any

import numpy as np
from matplotlib.figure import Figure

from thrifty.bench.contenders import FLAGSHIP, FULL
from thrifty.bench.curves import Curve, Scale, half_width, standings
from thrifty.bench.ranks import Ranking
from thrifty.bench.results import Results
from thrifty.plots.palette import COLOR_CYCLE, LINE_COLOR, MUTED_COLOR, TEXT_COLOR

SHOWN = 6  # contenders, the best ones, and the default model
GRID = np.linspace(0.0, 1.0, 201)
STYLES = ("-", "--", "-.", ":", (0, (5, 1)), (0, (1, 1)), (0, (3, 1, 1, 1)))


def curve_figure(results: Results, problem: str) -> Figure | None:
    """Return the mean curves of the default model and of the best others; a band is its confidence interval."""
    found = results.of(problem)
    scale = Scale.of(found)
    if scale is None:
        return None
    figure = Figure(figsize=(6.4, 4.0), layout="constrained")
    axes = _axes(figure)
    top = max(1.0, float(scale.points(scale.full)))
    for k, name in enumerate(shown(results, problem)):
        curves = [scale.points(Curve.of(each.values).at(GRID)) for each in found if each.key.setting == name]
        mean = np.mean(curves, axis=0)
        top = max(top, float(mean.max()))
        color, own = COLOR_CYCLE[k % len(COLOR_CYCLE)], name == FLAGSHIP
        axes.plot(GRID, mean, color=color, linestyle=STYLES[k % len(STYLES)], linewidth=2.4 if own else 1.5, label=name)
        if own and len(curves) > 1:
            half = np.array([half_width(list(column)) for column in np.transpose(curves)])
            axes.fill_between(GRID, mean - half, mean + half, color=color, alpha=0.15, linewidth=0)
    axes.axhline(scale.points(scale.full), color=LINE_COLOR, linewidth=1, zorder=0)
    axes.set(
        xlabel="mean spend, share of the cost of all columns",
        ylabel=f"{found[0].values['score']} above the constant answer, points",
    )
    axes.set_xscale("function", functions=(np.sqrt, np.square))
    axes.set_xlim(0, 1)
    axes.set_xticks([0, 0.02, 0.1, 0.25, 0.5, 1])
    axes.set_ylim(-0.05 * top, 1.12 * top)
    axes.legend(frameon=False, fontsize=8, loc="lower right")
    return figure


def shown(results: Results, problem: str) -> list[str]:
    """Return the default model and the contenders with the largest gains."""
    names = [each.contender for each in standings(results, problem) if each.contender != FULL and not each.failures]
    others = [name for name in names if name != FLAGSHIP]
    return [*(name for name in names if name == FLAGSHIP), *others[: SHOWN - 1]]


def describe_curves(results: Results, problem: str) -> str:
    """Return what `curve_figure` shows, in words."""
    gains = {each.contender: each.gain for each in standings(results, problem)}
    listed = ", ".join(f"{name} {gains[name]:.2f}" for name in shown(results, problem))
    return (
        f"Score above that of the constant answer against mean spend on {problem}, in points. "
        f"Means over all spends: {listed}.{_unclear(results, problem)}"
    )


def _unclear(results: Results, problem: str) -> str:
    """Return why there are no normalised areas; empty if there are."""
    scale = Scale.of(results.of(problem))
    if scale is None or scale.is_clear:
        return ""
    return (
        f" LightGBM on all columns scores {scale.points(scale.full):.1f} points more than the constant answer, which "
        "is not clearly above the error, so that gains are not divided by it."
    )


def rank_figure(ranking: Ranking) -> Figure:
    """Return mean ranks as points, the best first, and the critical difference from the best as a bar."""
    figure = Figure(layout="constrained")
    draw_ranks(ranking, figure)
    return figure


def draw_ranks(ranking: Ranking, figure: Figure) -> None:
    """Draw mean ranks on a figure."""
    n = len(ranking.contenders)
    figure.set_size_inches(6.4, 1.2 + 0.24 * n)
    axes = _axes(figure)
    ranks = ranking.mean_ranks
    for j, (name, rank) in enumerate(zip(ranking.contenders, ranks, strict=True)):
        own = name == FLAGSHIP
        color = COLOR_CYCLE[1] if own else COLOR_CYCLE[0]
        axes.plot([ranks.min(), rank], [j, j], color=LINE_COLOR, linewidth=1, zorder=0)
        axes.plot(rank, j, "o", color=color, markersize=6)
        axes.annotate(f" {rank:.1f}", (rank, j), xytext=(5, 0), textcoords="offset points", va="center", fontsize=8)
    end = ranks.min() + ranking.critical_difference
    axes.plot([ranks.min(), end], [-1, -1], color=TEXT_COLOR, linewidth=3, solid_capstyle="butt")
    axes.annotate(
        f"critical difference {ranking.critical_difference:.1f}", (ranks.min(), -1), xytext=(0, 5),
        textcoords="offset points", fontsize=8, color=MUTED_COLOR,
    )  # fmt: skip
    axes.set_yticks(range(n), ranking.contenders, fontsize=8)
    axes.set_ylim(n - 0.4, -2)
    axes.set_xlim(min(1.0, ranks.min() - 0.3), max(end, ranks.max()) + 1.0)
    axes.set_xlabel(f"mean rank over {len(ranking.problems)} problems")


def describe_ranks(ranking: Ranking) -> str:
    """Return what `rank_figure` shows, in words."""
    listed = ", ".join(f"{name} {rank:.1f}" for name, rank in zip(ranking.contenders, ranking.mean_ranks, strict=True))
    return (
        f"Mean ranks over {', '.join(ranking.problems)}: {listed}. "
        f"The critical difference is {ranking.critical_difference:.1f} (Nemenyi, 5%)."
    )


def _axes(figure: Figure) -> Any:
    axes = figure.subplots()
    axes.spines[["top", "right"]].set_visible(False)
    axes.tick_params(colors=MUTED_COLOR)
    return axes
