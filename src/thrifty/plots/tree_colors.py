"""What colour a mean label has, and the key that explains it."""

from collections.abc import Sequence

import numpy as np
from matplotlib.colors import to_rgb

from thrifty.plots.axes import Color, KeyItem
from thrifty.plots.palette import CYCLE, LOW_TO_HIGH, UNKNOWN
from thrifty.plots.tree_cards import Labels


class LabelColors:
    """Colours of mean labels: a scale from low to high, or for several classes the largest one's own colour.

    Parameters
    ----------
    labels : Labels
        What the means are of.
    means : sequence of tuples of float
        The mean labels that will be shown; in regression their range is the scale.
    """

    def __init__(self, labels: Labels, means: Sequence[tuple[float, ...]]):
        known = [mean[0] for mean in means if mean] or [0.0]
        self.names = labels.names
        self.is_scale = len(self.names) <= 1
        self.low, self.high = (0.0, 1.0) if self.names else (min(known), max(known))

    def of(self, mean: tuple[float, ...]) -> Color:
        """Colour of a mean label; neutral where there is none."""
        if not mean:
            return to_rgb(UNKNOWN)
        if self.is_scale:
            span = self.high - self.low
            return to_rgb(LOW_TO_HIGH((mean[0] - self.low) / span if span else 0.5))
        largest = int(np.argmax(mean))
        return mixed(_class_color(largest), mean[largest])

    def key(self) -> list[KeyItem]:
        """What explains the colours, from left to right: words, and strips of colour."""
        if self.low == self.high:
            return []
        scale = [to_rgb(LOW_TO_HIGH(x)) for x in np.linspace(0, 1, 64)]
        if not self.names:
            return [f"mean {self.low:.3g}", scale, f"{self.high:.3g}"]
        if self.is_scale:
            return [f"0% {self.names[0]}", scale, "100%"]
        beyond = ("other classes",) if len(self.names) > len(CYCLE) else ()
        names = self.names[: len(CYCLE) - len(beyond)] + beyond
        return [item for i, name in enumerate(names) for item in ([_class_color(i)], f"{name}   ")]


def mixed(color: Color, strength: float) -> Color:
    """Colour thinned with white."""
    red, green, blue = (strength * part + 1 - strength for part in color)
    return red, green, blue


def _class_color(i: int) -> Color:
    return to_rgb(CYCLE[min(i, len(CYCLE) - 1)])
