"""Colours of all plots. Colour-blind readers can tell them apart, and dark text is legible on them."""

from matplotlib.colors import LinearSegmentedColormap

TEXT_COLOR = "#22303c"
MUTED_COLOR = "#586571"
LINE_COLOR = "#cfd6dc"
UNKNOWN_COLOR = "#b3bdc6"

COLOR_CYCLE = ("#2f6690", "#d1793f", "#4f8f7b", "#8a5a8c", "#b5952f", "#6c757d")

LOW_TO_HIGH = LinearSegmentedColormap.from_list("thrifty", ["#2f6690", "#93b7d3", "#dcd8cf", "#ecb184", "#c8641f"])
