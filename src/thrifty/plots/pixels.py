"""The picture of what a tree buys of an image: at each node, the pixels bought there and those held from before.

Figure 13 of Xu et al. (2014), JMLR 15.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.colors import ListedColormap, to_rgb
from matplotlib.figure import Figure, SubFigure
from matplotlib.patches import PathPatch, Rectangle
from matplotlib.path import Path
from numpy.typing import NDArray

from thrifty.plots.axes import KEY_HEIGHT, Canvas, KeyItem, key_width
from thrifty.plots.palette import RULE, UNKNOWN
from thrifty.plots.text import QUIET, TITLE, line_height, text_width
from thrifty.plots.tree_order import children, top_to_bottom

NOT_ACQUIRED, HELD, BOUGHT = range(3)
COLORS = ("#eceff2", "#8fb3d0", "#c8641f")
WORDS = ("not acquired", "held from before", "bought here")

Shape = tuple[int, int]
IMAGE, IMAGE_GAP = 0.95, 0.1  # inches, as all below
COLUMN_GAP, ROW_GAP = 0.5, 0.22
NODE_HEIGHT = IMAGE + line_height(TITLE) + line_height(QUIET) + 0.02
MARGIN, FOOTER = 0.15, 0.4
MOST_NAMED = 2


@dataclass(frozen=True, eq=False)
class NodePixels:
    """One node: ``pixels`` says of each feature whether it is bought here, held from before, or not acquired.

    ``parent`` is -1 for the root; ``slot`` counts lines of the picture from the top, and falls between two of them
    where a node stands in the middle of its children. ``exits`` are the given rows that end here.
    """

    node: int
    parent: int
    depth: int
    slot: float
    pixels: NDArray[np.int8]
    exits: tuple[int, ...]

    @property
    def caption(self) -> str:
        """What the node buys and holds, and who exits, in words."""
        held, bought = (int((self.pixels == state).sum()) for state in (HELD, BOUGHT))
        says = [f"buys {bought or 'nothing'}", f"holds {held}" if held else "", _exits_text(self.exits)]
        return ", ".join(filter(None, says))


def node_pixels(estimator: Any, X: Any = None) -> list[NodePixels]:
    """Tell what each node of a fitted tree buys: each that a row of X visits, or without X each there is."""
    tree, purchases = estimator.tree_, estimator.node_purchases()
    exits = np.empty(0, dtype=int) if X is None else estimator.acquire(X).exit
    shown = np.ones(tree.n_nodes, dtype=bool) if X is None else _visited(tree, exits)
    slots = _slots(tree, shown)
    held = np.zeros_like(purchases)
    for k in range(1, tree.n_nodes):
        held[k] = held[tree.parent[k]] | purchases[tree.parent[k]]
    return [
        NodePixels(
            node=k,
            parent=int(tree.parent[k]),
            depth=int(tree.depth[k]),
            slot=float(slots[k]),
            pixels=np.select([purchases[k], held[k]], [BOUGHT, HELD], NOT_ACQUIRED).astype(np.int8),
            exits=tuple(np.flatnonzero(exits == k).tolist()),
        )
        for k in np.flatnonzero(shown).tolist()
    ]


class PixelsDisplay:
    """The pixels that each node of a tree buys, one small image per resolution, root at the left.

    Parameters
    ----------
    nodes : sequence of NodePixels
        What each node buys; `from_estimator` finds it out.
    shapes : sequence of (int, int)
        Height and width of the images whose pixels are the features, in the order of the columns.

    Attributes
    ----------
    ax_ : matplotlib Axes
        Axes of the picture, once plotted.
    figure_ : matplotlib Figure
        Figure of the picture, once plotted.

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
                "pass the height and width of every image whose pixels are columns."
            )
        self._strip_width = len(self.shapes) * (IMAGE + IMAGE_GAP) - IMAGE_GAP
        self._node_width = max(self._strip_width, *(text_width(node.caption, QUIET) for node in self.nodes))
        self._last_slot = max(node.slot for node in self.nodes)

    @classmethod
    def from_estimator(
        cls, estimator: Any, shapes: Sequence[Shape], X: Any = None, *, ax: Axes | None = None
    ) -> "PixelsDisplay":
        """Draw what a fitted tree buys.

        Parameters
        ----------
        estimator : fitted tree estimator
            Anything with ``tree_``, ``node_purchases`` and ``acquire``.
        shapes : sequence of (int, int)
            Height and width of the images whose pixels are the features, in the order of the columns: for
            ``load_mnist(resolutions=(4, 8))`` pass ``[(4, 4), (8, 8)]``.
        X : array-like of shape (n, d), default=None
            Show only the paths that these rows take; all nodes when None.
        ax : matplotlib Axes, default=None
            Where to draw; text shrinks and grows with it. A new figure of a fitting size when None.

        Returns
        -------
        PixelsDisplay
            The display, plotted.
        """
        return cls(node_pixels(estimator, X), shapes).plot(ax)

    def plot(self, ax: Axes | None = None) -> "PixelsDisplay":
        """Draw the images.

        Parameters
        ----------
        ax : matplotlib Axes, default=None
            Where to draw; a new figure of a fitting size when None.

        Returns
        -------
        PixelsDisplay
            The display itself.
        """
        canvas = Canvas(ax, corner=(-MARGIN, -MARGIN - FOOTER), size=self._frame())
        self.ax_, self.figure_ = canvas.ax, canvas.ax.figure
        place = {node.node: self._place(node) for node in self.nodes}
        for node in self.nodes:
            if node.parent in place:
                self._draw_link(place[node.parent], place[node.node])
            self._draw_node(node, place[node.node], canvas)
        canvas.draw_key(0.0, -FOOTER / 2 - KEY_HEIGHT, self._key())
        return self

    def _frame(self) -> tuple[float, float]:
        """Width and height of the picture: the nodes, the key below them, and margins."""
        lefts, bottoms = zip(*map(self._place, self.nodes), strict=True)
        width = max(max(lefts) + self._node_width, key_width(self._key()))
        return width + 2 * MARGIN, max(bottoms) + NODE_HEIGHT + FOOTER + 2 * MARGIN

    def _place(self, node: NodePixels) -> tuple[float, float]:
        """Lower left corner of a node's images."""
        n_below = self._last_slot - node.slot
        return node.depth * (self._node_width + COLUMN_GAP), n_below * (NODE_HEIGHT + ROW_GAP)

    def _key(self) -> list[KeyItem]:
        sizes = ", ".join(f"{height} \N{MULTIPLICATION SIGN} {width}" for height, width in self.shapes)
        states = zip(COLORS[::-1], WORDS[::-1], strict=True)
        return [item for color, word in states for item in ([to_rgb(color)], f"{word}   ")] + [f"pixels: {sizes}"]

    def _draw_node(self, node: NodePixels, corner: tuple[float, float], canvas: Canvas) -> None:
        left, bottom = corner
        canvas.write(left, bottom + NODE_HEIGHT - line_height(TITLE) / 2, f"node {node.node}", TITLE)
        canvas.write(left, bottom + IMAGE + line_height(QUIET) * 0.6, node.caption, QUIET)
        ends = np.cumsum([height * width for height, width in self.shapes])
        for shape, pixels in zip(self.shapes, np.split(node.pixels, ends[:-1]), strict=True):
            self._draw_image(pixels.reshape(shape), left, bottom)
            left += IMAGE + IMAGE_GAP

    def _draw_image(self, image: NDArray[np.int8], left: float, bottom: float) -> None:
        """Draw an image into its square, in its own proportions."""
        height, width = (IMAGE * side / max(image.shape) for side in image.shape)
        extent = (left, left + width, bottom, bottom + height)
        colors: dict[str, Any] = {"cmap": ListedColormap(COLORS), "vmin": NOT_ACQUIRED, "vmax": BOUGHT}
        self.ax_.imshow(image, extent=extent, origin="upper", interpolation="nearest", aspect="equal", **colors)
        self.ax_.add_patch(Rectangle((left, bottom), width, height, fill=False, edgecolor=UNKNOWN, linewidth=0.6))

    def _draw_link(self, parent: tuple[float, float], child: tuple[float, float]) -> None:
        """Draw a line that leaves and arrives level."""
        start, end = (parent[0] + self._strip_width, parent[1] + IMAGE / 2), (child[0], child[1] + IMAGE / 2)
        bend = (start[0] + end[0]) / 2
        path = Path([start, (bend, start[1]), (bend, end[1]), end], [Path.MOVETO] + 3 * [Path.CURVE4])
        self.ax_.add_patch(PathPatch(path, fill=False, edgecolor=RULE, linewidth=1.6))


def _exits_text(rows: tuple[int, ...]) -> str:
    if len(rows) > MOST_NAMED:
        return f"{len(rows):,} rows exit"
    named = " and ".join(map(str, rows))
    return f"row{'s' if len(rows) > 1 else ''} {named} exit{'s' if len(rows) == 1 else ''}" if rows else ""


def _visited(tree: Any, exits: NDArray[np.int64]) -> NDArray[np.bool_]:
    """Mark the nodes that some row passes, given where each ends."""
    passed = np.zeros(tree.n_nodes, dtype=bool)
    passed[exits] = True
    for k in range(tree.n_nodes - 1, 0, -1):  # children have larger numbers than their parents
        passed[tree.parent[k]] |= passed[k]
    return passed


def _slots(tree: Any, shown: NDArray[np.bool_]) -> NDArray[np.float64]:
    """Give every last node of a shown path a row of its own, and every other the middle of its children."""
    below = [[child for child in children(tree, k) if shown[child]] for k in range(tree.n_nodes)]
    ends = [k for k in top_to_bottom(tree) if shown[k] and not below[k]]
    slots = np.zeros(tree.n_nodes)
    slots[ends] = np.arange(len(ends))
    for k in range(tree.n_nodes - 1, -1, -1):
        if below[k]:
            slots[k] = slots[below[k]].mean()
    return slots
