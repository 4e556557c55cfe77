"""Times and memory of fits by method, axis and value, with their exponents, their table and their picture."""

from math import isnan
from typing import Any

import numpy as np
from matplotlib.figure import Figure

from thrifty.bench.contenders import FLAGSHIP, FULL
from thrifty.bench.tables import ShownTable
from thrifty.plots.palette import COLOR_CYCLE, LINE_COLOR, MUTED_COLOR

Growth = dict[str, dict[str, dict[str, dict[str, Any]]]]  # method, axis, value: seconds and megabytes
AXES = ("rows", "columns", "depth", "units")
SHOWN = (FLAGSHIP, FULL, "greedy-miser", "cstc", "astc", "dynamic")  # in colour
LEAST_MEGABYTES = 1.0  # less is noise
HEADER = (
    "method",
    "fewest rows (s)",
    *(f"time, {axis}" for axis in AXES),
    "most rows (s)",
    "most rows (MB)",
    "memory, rows",
)


def exponent(sizes: Any, figures: Any) -> float:
    """Return the slope of the least squares line through log(figure) over log(size); NaN without two positive figures.

    >>> round(exponent([1, 10, 100], [3, 300, 30000]), 6)
    2.0
    """
    x, y = np.asarray(sizes, dtype=float), np.asarray(figures, dtype=float)
    if len(y) < 2 or not (y > 0).all():
        return float("nan")
    return float(np.polyfit(np.log(x), np.log(y), 1)[0])


def exponent_of(growth: Growth, name: str, axis: str, what: str = "seconds") -> float:
    """Return the exponent of a method along an axis; NaN if it is not known."""
    points = growth.get(name, {}).get(axis, {})
    figures = [each[what] for each in points.values()]
    if None in figures or (what == "megabytes" and any(each < LEAST_MEGABYTES for each in figures)):
        return float("nan")
    return exponent([int(value) for value in points], figures)


def growth_table(growth: Growth) -> ShownTable:
    """Return exponents by method, and times and memory at the ends of the axis of rows."""
    caption = "Growth of the time of a fit: exponents; 1 means in proportion, 0 means no growth"
    return ShownTable(caption, HEADER, [growth_row(growth, name) for name in growth])


def growth_row(growth: Growth, name: str) -> tuple[str, ...]:
    """Return the row of a method."""
    by_rows = list(growth[name].get("rows", {}).values())
    first, last = (by_rows[0], by_rows[-1]) if by_rows else ({}, {})
    return (
        name,
        _number(first.get("seconds"), 3),
        *(_number(exponent_of(growth, name, axis), 2) for axis in AXES),
        _number(last.get("seconds"), 3),
        _number(last.get("megabytes"), 1),
        _number(exponent_of(growth, name, "rows", "megabytes"), 2),
    )


def growth_figure(growth: Growth) -> Figure:
    """Return four panels: time against size on logarithmic axes."""
    figure = Figure(layout="constrained")
    draw_growth(growth, figure)
    return figure


def draw_growth(growth: Growth, figure: Figure) -> None:
    """Draw the panels on a figure; some methods are in colour, and all others are grey lines."""
    figure.set_size_inches(8.0, 6.4)
    for axes, axis in zip(figure.subplots(2, 2).flat, AXES, strict=True):
        if not any(axis in points for points in growth.values()):
            axes.set_axis_off()
            continue
        for name in sorted(growth, key=lambda each: each in SHOWN):
            points = growth[name].get(axis, {})
            x, y = [int(value) for value in points], [each["seconds"] for each in points.values()]
            if name in SHOWN:
                color = COLOR_CYCLE[SHOWN.index(name)]
                axes.plot(x, y, "o-", color=color, markersize=4, linewidth=2.2 if name == FLAGSHIP else 1.4, label=name)
            else:
                axes.plot(x, y, color=LINE_COLOR, linewidth=1, zorder=0)
        axes.set(xscale="log", yscale="log", xlabel=axis, ylabel="CPU time of a fit (s)")
        values = sorted({int(value) for points in growth.values() for value in points.get(axis, {})})
        axes.set_xticks(values, [f"{value:,}" for value in values])
        axes.set_xticks([], minor=True)
        axes.spines[["top", "right"]].set_visible(False)
        axes.tick_params(colors=MUTED_COLOR)
    handles, labels = figure.axes[0].get_legend_handles_labels()
    figure.legend(handles, labels, frameon=False, fontsize=8, loc="outside lower center", ncols=3)


def describe_growth(growth: Growth) -> str:
    """Return what the picture shows, in words."""
    found = {name: exponent_of(growth, name, "rows") for name in growth}
    listed = ", ".join(f"{name} {value:.2f}" for name, value in found.items() if not isnan(value))
    return f"CPU time of a fit against rows, columns, depth and units. Exponents over rows: {listed or 'none'}."


def _number(value: float | None, digits: int) -> str:
    return "-" if value is None or isnan(value) else f"{value:.{digits}f}"
