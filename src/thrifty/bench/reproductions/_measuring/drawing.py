"""Panels of a figure, one per problem."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from numpy.typing import NDArray

from thrifty.plots import JaccardDisplay
from thrifty.plots.axes import style_axes
from thrifty.plots.palette import COLOR_CYCLE

WIDTH, HEIGHT = 4.2, 3.4  # inches of a panel
PER_ROW = 3
LINE_STYLES = ("-", "--", ":")


def panels(titles: Sequence[str], x_label: str, y_label: str) -> tuple[Figure, dict[str, Axes]]:
    """Return a figure with one panel per title, and the panels by title."""
    n_columns = min(PER_ROW, len(titles))
    n_rows = -(-len(titles) // n_columns)
    figure = Figure(figsize=(WIDTH * n_columns, HEIGHT * n_rows), layout="constrained")
    grid = figure.subplots(n_rows, n_columns, squeeze=False).ravel()
    for unused in grid[len(titles) :]:
        unused.set_axis_off()
    axes = dict(zip(titles, grid, strict=False))
    for title, ax in axes.items():
        style_axes(ax)
        ax.set(title=title, xlabel=x_label, ylabel=y_label)
    return figure, axes


def style_of(number: int) -> dict[str, Any]:
    """Return the colour and the line style of a curve; no two of the first eighteen curves look the same."""
    styles = LINE_STYLES[number // len(COLOR_CYCLE) % len(LINE_STYLES)]
    return {"color": COLOR_CYCLE[number % len(COLOR_CYCLE)], "linestyle": styles}


def matrices(shown: Sequence[tuple[str, Sequence[str], NDArray[np.float64]]]) -> Figure:
    """Return a figure of Jaccard matrices: a title, the names of the rows, and the values of each."""
    figure, axes = panels([title for title, *_ in shown], "", "")
    for (_, names, values), ax in zip(shown, axes.values(), strict=True):
        ax.grid(visible=False)
        JaccardDisplay(values, names).plot(ax)
    return figure
