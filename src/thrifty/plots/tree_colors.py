"""Colours of mean labels in the plot of a tree, and the legend that explains them."""

from collections.abc import Sequence

import numpy as np
from matplotlib.colors import to_rgb

from thrifty.plots.axes import Color, LegendItem
from thrifty.plots.palette import COLOR_CYCLE, LOW_TO_HIGH, UNKNOWN_COLOR
from thrifty.plots.tree_labels import Labels


class LabelColors:
    """Map mean labels to colours.

    For regression and for two classes the colours are a scale from low to high. For more classes each class has a
    colour; a node gets the colour of its most frequent class, mixed with white by one minus the share of that class.

    Parameters
    ----------
    labels : Labels
        Describes what the mean labels are means of.
    means : sequence of tuples of float
        Mean labels of all nodes. In regression the scale runs from the smallest to the largest.
    """

    def __init__(self, labels: Labels, means: Sequence[tuple[float, ...]]):
        known = [mean[0] for mean in means if mean] or [0.0]
        self.names = labels.names
        self.is_scale = len(self.names) <= 1
        self.low, self.high = (0.0, 1.0) if self.names else (min(known), max(known))

    def color_of(self, mean: tuple[float, ...]) -> Color:
        """Return the colour of a mean label; grey if the mean label is unknown."""
        if not mean:
            return to_rgb(UNKNOWN_COLOR)
        if self.is_scale:
            span = self.high - self.low
            return to_rgb(LOW_TO_HIGH((mean[0] - self.low) / span if span else 0.5))
        largest = int(np.argmax(mean))
        return mix_with_white(_class_color(largest), mean[largest])

    def legend(self) -> list[LegendItem]:
        """Return the texts and colour strips that explain the colours, from left to right."""
        if self.low == self.high:
            return []
        scale = [to_rgb(LOW_TO_HIGH(x)) for x in np.linspace(0, 1, 64)]
        if not self.names:
            return [f"mean {self.low:.3g}", scale, f"{self.high:.3g}"]
        if self.is_scale:
            return [f"0% {self.names[0]}", scale, "100%"]
        others = ("other classes",) if len(self.names) > len(COLOR_CYCLE) else ()
        names = self.names[: len(COLOR_CYCLE) - len(others)] + others
        return [item for i, name in enumerate(names) for item in ([_class_color(i)], f"{name}   ")]


def mix_with_white(color: Color, strength: float) -> Color:
    """Mix a colour with white: a strength of 1 returns the colour, 0 returns white."""
    red, green, blue = (strength * part + 1 - strength for part in color)
    return red, green, blue


def _class_color(i: int) -> Color:
    return to_rgb(COLOR_CYCLE[min(i, len(COLOR_CYCLE) - 1)])
