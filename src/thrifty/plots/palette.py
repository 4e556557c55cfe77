"""The colours of every picture: quiet, told apart by colour-blind eyes, and legible under dark text."""

from matplotlib.colors import LinearSegmentedColormap

INK = "#22303c"
MUTED = "#586571"
RULE = "#cfd6dc"
UNKNOWN = "#b3bdc6"

CYCLE = ("#2f6690", "#d1793f", "#4f8f7b", "#8a5a8c", "#b5952f", "#6c757d")

LOW_TO_HIGH = LinearSegmentedColormap.from_list("thrifty", ["#2f6690", "#93b7d3", "#dcd8cf", "#ecb184", "#c8641f"])
