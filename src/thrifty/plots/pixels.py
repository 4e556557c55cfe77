"""Plot of the pixels of an image that a tree buys at each node, and of those that it bought before.

Such a plot is Figure 13 of Xu et al. (2014), JMLR 15.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.colors import ListedColormap, to_rgb
from matplotlib.figure import Figure, SubFigure
from matplotlib.patches import PathPatch, Rectangle
from matplotlib.path import Path
from numpy.typing import NDArray

from thrifty.plots.axes import LEGEND_HEIGHT, Canvas, LegendItem, legend_width
from thrifty.plots.node_pixels import BOUGHT, NOT_ACQUIRED, NodePixels, node_pixels
from thrifty.plots.palette import LINE_COLOR, UNKNOWN_COLOR
from thrifty.plots.text import MUTED_STYLE, TITLE_STYLE, line_height, text_width

STATE_COLORS = ("#eceff2", "#8fb3d0", "#c8641f")
STATE_NAMES = ("not acquired", "held from before", "bought here")

Shape = tuple[int, int]
IMAGE_SIZE, IMAGE_GAP = 0.95, 0.1  # inches, like all lengths below
COLUMN_GAP, ROW_GAP = 0.5, 0.22
NODE_HEIGHT = IMAGE_SIZE + line_height(TITLE_STYLE) + line_height(MUTED_STYLE) + 0.02
MARGIN, FOOTER = 0.15, 0.4


class PixelsDisplay:
    """Plot of the pixels that each node of a tree buys.

    The root is at the left. Each node shows one small image per resolution.

    Parameters
    ----------
    nodes : sequence of NodePixels
        Pixels of each node. `from_estimator` computes them.
    shapes : sequence of (int, int)
        Height and width of the images whose pixels are the features, in the order of the columns.

    Attributes
    ----------
    ax_ : matplotlib Axes
        Axes of the plot. Set by `plot`.
    figure_ : matplotlib Figure
        Figure of the plot. Set by `plot`.

    Examples
    --------
    >>> from matplotlib.figure import Figure
    >>> from sklearn.datasets import load_digits
    >>> from thrifty import ASTCClassifier
    >>> from thrifty.plots import PixelsDisplay
    >>> X, y = load_digits(n_class=3, return_X_y=True)
    >>> model = ASTCClassifier(max_depth=2, node_budget=3).fit(X, y)
    >>> display = PixelsDisplay.from_estimator(model, [(8, 8)], ax=Figure().subplots())
    >>> [node.caption for node in display.nodes]
    ['buys 3', 'buys 3, holds 3', 'buys 3, holds 3']
    """

    ax_: Axes
    figure_: Figure | SubFigure

    def __init__(self, nodes: Sequence[NodePixels], shapes: Sequence[Shape]):
        self.nodes = list(nodes)
        self.shapes = [(int(height), int(width)) for height, width in shapes]
        n_pixels, n_features = sum(height * width for height, width in self.shapes), len(self.nodes[0].pixels)
        if n_pixels != n_features:
            raise ValueError(
                f"shapes is {self.shapes}, which makes {n_pixels} pixels, but the tree has {n_features} features; "
                "pass the height and width of every image whose pixels are columns of X."
            )
        self._strip_width = len(self.shapes) * (IMAGE_SIZE + IMAGE_GAP) - IMAGE_GAP
        self._node_width = max(self._strip_width, *(text_width(node.caption, MUTED_STYLE) for node in self.nodes))
        self._last_slot = max(node.slot for node in self.nodes)

    @classmethod
    def from_estimator(
        cls, estimator: Any, shapes: Sequence[Shape], X: Any = None, *, learned: bool = False, ax: Axes | None = None
    ) -> "PixelsDisplay":
        """Plot the pixels that a fitted tree buys.

        Parameters
        ----------
        estimator : fitted tree estimator
            Object with ``tree_``, ``node_purchases`` and ``acquire``.
        shapes : sequence of (int, int)
            Height and width of the images whose pixels are the features, in the order of the columns: for
            ``load_mnist(resolutions=(4, 8))`` pass ``[(4, 4), (8, 8)]``.
        X : array-like of shape (n, d), default=None
            Show only the nodes that these rows reach. None shows all nodes.
        learned : bool, default=False
            Whether to show the features that nodes weigh as learned, before fine-tuning, as the paper does. Only for
            CSTC, CSCC, Cronus and AND-OR cascades.
        ax : matplotlib Axes, default=None
            Axes to draw in; the text is scaled to their size. None creates a new figure of a suitable size.

        Returns
        -------
        PixelsDisplay
            The display, already plotted.
        """
        return cls(node_pixels(estimator, X, learned=learned), shapes).plot(ax)

    def plot(self, ax: Axes | None = None) -> "PixelsDisplay":
        """Plot the images.

        Parameters
        ----------
        ax : matplotlib Axes, default=None
            Axes to draw in; the text is scaled to their size. None creates a new figure of a suitable size.

        Returns
        -------
        PixelsDisplay
            The display itself.
        """
        canvas = Canvas(ax, corner=(-MARGIN, -MARGIN - FOOTER), size=self._frame())
        self.ax_, self.figure_ = canvas.ax, canvas.ax.figure
        corners = {node.node: self._corner(node) for node in self.nodes}
        for node in self.nodes:
            if node.parent in corners:
                self._draw_link(corners[node.parent], corners[node.node])
            self._draw_node(node, corners[node.node], canvas)
        canvas.draw_legend(0.0, -FOOTER / 2 - LEGEND_HEIGHT, self._legend())
        return self

    def _frame(self) -> tuple[float, float]:
        """Return the width and height of the nodes, the legend below them, and the margins."""
        lefts, bottoms = zip(*map(self._corner, self.nodes), strict=True)
        width = max(max(lefts) + self._node_width, legend_width(self._legend()))
        return width + 2 * MARGIN, max(bottoms) + NODE_HEIGHT + FOOTER + 2 * MARGIN

    def _corner(self, node: NodePixels) -> tuple[float, float]:
        """Return the lower left corner of the images of a node."""
        n_below = self._last_slot - node.slot
        return node.depth * (self._node_width + COLUMN_GAP), n_below * (NODE_HEIGHT + ROW_GAP)

    def _legend(self) -> list[LegendItem]:
        sizes = ", ".join(f"{height} \N{MULTIPLICATION SIGN} {width}" for height, width in self.shapes)
        states = zip(STATE_COLORS[::-1], STATE_NAMES[::-1], strict=True)
        return [item for color, name in states for item in ([to_rgb(color)], f"{name}   ")] + [f"pixels: {sizes}"]

    def _draw_node(self, node: NodePixels, corner: tuple[float, float], canvas: Canvas) -> None:
        left, bottom = corner
        canvas.write(left, bottom + NODE_HEIGHT - line_height(TITLE_STYLE) / 2, f"node {node.node}", TITLE_STYLE)
        canvas.write(left, bottom + IMAGE_SIZE + line_height(MUTED_STYLE) * 0.6, node.caption, MUTED_STYLE)
        ends = np.cumsum([height * width for height, width in self.shapes])
        for shape, pixels in zip(self.shapes, np.split(node.pixels, ends[:-1]), strict=True):
            self._draw_image(pixels.reshape(shape), left, bottom)
            left += IMAGE_SIZE + IMAGE_GAP

    def _draw_image(self, image: NDArray[np.int8], left: float, bottom: float) -> None:
        """Draw an image into its square and keep its proportions."""
        height, width = (IMAGE_SIZE * side / max(image.shape) for side in image.shape)
        extent = (left, left + width, bottom, bottom + height)
        colors: dict[str, Any] = {"cmap": ListedColormap(STATE_COLORS), "vmin": NOT_ACQUIRED, "vmax": BOUGHT}
        self.ax_.imshow(image, extent=extent, origin="upper", interpolation="nearest", aspect="equal", **colors)
        self.ax_.add_patch(Rectangle((left, bottom), width, height, fill=False, edgecolor=UNKNOWN_COLOR, linewidth=0.6))

    def _draw_link(self, parent: tuple[float, float], child: tuple[float, float]) -> None:
        """Draw a curve that is horizontal at both ends."""
        start, end = (parent[0] + self._strip_width, parent[1] + IMAGE_SIZE / 2), (child[0], child[1] + IMAGE_SIZE / 2)
        middle = (start[0] + end[0]) / 2
        path = Path([start, (middle, start[1]), (middle, end[1]), end], [Path.MOVETO] + 3 * [Path.CURVE4])
        self.ax_.add_patch(PathPatch(path, fill=False, edgecolor=LINE_COLOR, linewidth=1.6))
